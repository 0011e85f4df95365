"""Playing a scenario: the cursor over its scripts.

A Player hands out replies and faults in order, gives calls their counted ids, and fills what only a request can fill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Block, Reply, ServerCall, ServerResult, Text, ToolCall
from agentsim.errors import UsageError
from agentsim.scenario.arguments import as_arguments, fitting_arguments
from agentsim.scenario.model import (
    FOREVER,
    AnyCall,
    Entry,
    OutputBlock,
    Pace,
    Scenario,
    ScriptedFault,
    ScriptedReply,
)
from agentsim.scenario.request import RequestView, check_request, holds
from agentsim.scenario.runs import ToolScripts

__all__ = ["Mark", "Played", "Player", "RequestView", "ToolScripts", "check_request"]

#: Positions of a Player; an opaque value for `restore`.
Mark = tuple[int, int, tuple[tuple[int, int, Reply | None, str], ...]]


_UNREAD: Any = object()


class Played:
    """What answers one request.

    Attributes:
        entry: the script's entry.
        reply: the reply, every id given; None where a fault answers.
        fault: the fault, ids of its partial reply given; else None.
        complaint: why the request is not the one that the entry is for; `fault` then is the 400 that says so, and the script
            has not moved.
    """

    __slots__ = ("complaint", "entry", "fault", "reply")

    def __init__(
        self, entry: Entry, reply: Reply | None, fault: Fault | None = None, complaint: str | None = None
    ) -> None:
        self.entry = entry
        self.reply = reply
        self.fault = fault
        self.complaint = complaint

    @property
    def pace(self) -> Pace:
        """Virtual latencies."""
        return self.entry.pace

    @property
    def characters_per_chunk(self) -> int | None:
        """Of the stream; None: whole blocks in a few chunks."""
        return self.entry.characters_per_chunk

    @property
    def repeat(self) -> int:
        """How often the entry is played in all; FOREVER without end."""
        return self.entry.repeat

    @property
    def handoff(self) -> tuple[str, ...]:
        """Agents that the reply hands over to; each is a call at the reply's end."""
        return self.entry.handoff if isinstance(self.entry, ScriptedReply) else ()


class _Cursor:
    """Where one agent's script stands. `plans`: for each entry that was reached, what `_plan` says of it."""

    __slots__ = ("index", "last", "plans", "played", "script", "server_id", "tools")

    def __init__(self, script: tuple[Entry, ...], tools: Mapping[str, Any]) -> None:
        self.script = script
        self.tools = tools
        self.plans: list[Any] = [_UNREAD] * len(script)
        self.index = 0
        self.played = 0
        self.last: Reply | None = None
        self.server_id = ""

    @property
    def unused(self) -> int:
        rest = [
            entry for entry in self.script[self.index :] if isinstance(entry, ScriptedReply) and entry.repeat != FOREVER
        ]
        left = sum(entry.repeat for entry in rest)
        return left - self.played if rest and rest[0] is self.script[self.index] else left


class Player:
    """The cursor over a scenario's scripts. Same requests, same replies: nothing here is random.

    Args:
        scenario: what is played; it is only read, so many players may share it.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._main = _Cursor(scenario.script, scenario.tools)
        self._agents = {name: _Cursor(agent.script, agent.tools) for name, agent in scenario.agents.items()}
        self._taken: set[str] = set()
        self._server_names: dict[str, str] = {}
        for part in (part for message in scenario.messages for part in message.content):
            if isinstance(part, ToolCall | ServerCall):
                self._taken.add(part.id)
                if isinstance(part, ServerCall):
                    self._server_names[part.id] = part.name
        self._calls = self._servers = 0

    def next_entry(self, agent: str | None = None, view: RequestView | None = None) -> Played | None:
        """What answers the next request.

        Args:
            agent: whose script; None or the main agent's name is the main one.
            view: the request; may be left out where no entry looks at it.
        Returns:
            The reply or fault; None at the end of the script.
        Raises:
            UsageError: the scenario has no such agent.
        """
        cursor = self._main if agent is None else self._cursor(agent)
        script = cursor.script
        while cursor.index < len(script):
            entry = script[cursor.index]
            plan = cursor.plans[cursor.index]
            if plan is _UNREAD:
                plan = cursor.plans[cursor.index] = _plan(entry)
            if plan is not None:
                return self._play_simple(cursor, entry, plan)  # type: ignore[arg-type]
            if entry.when is None or holds(entry.when, view):
                return self._play(cursor, entry, view)
            cursor.index += 1
            cursor.played = 0
        return None

    @property
    def unused(self) -> int:
        """Replies never asked for, over all scripts. Faults, endless entries and those passed over don't count."""
        return sum(cursor.unused for cursor in self._cursors())

    @property
    def next_unused(self) -> int:
        """Where in the file's `replies` the main script stands, counted from 0."""
        return self._main.index

    def mark(self) -> Mark:
        """The place in all scripts, to come back to."""
        places = tuple((c.index, c.played, c.last, c.server_id) for c in self._cursors())
        return self._calls, self._servers, places

    def restore(self, mark: Mark) -> None:
        """Go back to a place."""
        self._calls, self._servers, places = mark
        for cursor, place in zip(self._cursors(), places, strict=True):
            cursor.index, cursor.played, cursor.last, cursor.server_id = place

    # -- inside ---------------------------------------------------------------------------------------------------------

    def _cursors(self) -> tuple[_Cursor, ...]:
        return (self._main, *self._agents.values())

    def _cursor(self, agent: str) -> _Cursor:
        if agent == self.scenario.agent:
            return self._main
        if agent not in self._agents:
            known = ", ".join(self._agents) or "none"
            raise UsageError(f"scenario {self.scenario.name!r} has no agent {agent!r}; it has {known}")
        return self._agents[agent]

    def _play_simple(self, cursor: _Cursor, entry: ScriptedReply, unnamed: tuple[int, ...]) -> Played:
        """The fast way for the entries that most scripts are made of."""
        cursor.played += 1
        if cursor.played >= entry.repeat != FOREVER:
            cursor.index += 1
            cursor.played = 0
        reply = entry.reply
        if unnamed:
            blocks = list(reply.blocks)
            for at in unnamed:
                call = blocks[at]
                blocks[at] = ToolCall(self._call_id(), call.name, call.arguments)  # type: ignore[union-attr]
            reply = Reply(tuple(blocks), reply.stop_reason, reply.usage)
        cursor.last = reply
        return Played(entry, reply)

    def _play(self, cursor: _Cursor, entry: Entry, view: RequestView | None) -> Played:
        if entry.request is not None or entry.extras:
            complaint = self._complaint(cursor, entry, view or RequestView())
            if complaint is not None:
                return Played(entry, None, Fault(400, "invalid_request_error", complaint), complaint)
        cursor.played += 1
        if cursor.played >= entry.repeat != FOREVER:
            cursor.index += 1
            cursor.played = 0
        if type(entry) is ScriptedReply:
            cursor.last = reply = self._finished(cursor, entry, entry.reply, view)
            return Played(entry, reply)
        assert isinstance(entry, ScriptedFault)
        return Played(entry, None, self._fault(cursor, entry, view))

    def _complaint(self, cursor: _Cursor, entry: Entry, view: RequestView) -> str | None:
        tools = _offered(cursor, view)
        if any(type(extra) is AnyCall for _, extra in entry.extras) and not tools:
            why = f"offers {', '.join(view.withheld)}, none of which --tool allows" if view.withheld else "offers none"
            return f"the reply{_at(entry)} calls a tool of the request's choice ('*'), but the request {why}"
        wrong = check_request(entry.request, view, tools, cursor.last) if entry.request is not None else None
        return None if wrong is None else f"this is not the request that the reply{_at(entry)} is for: {wrong}"

    def _fault(self, cursor: _Cursor, entry: ScriptedFault, view: RequestView | None) -> Fault:
        fault = entry.fault
        if fault.partial is None:
            return fault
        partial = self._finished(cursor, entry, fault.partial, view)
        if partial is fault.partial:
            return fault
        return Fault(
            fault.status,
            fault.type,
            fault.message,
            fault.retry_after,
            fault.after_characters,
            fault.disconnect,
            partial,
        )

    def _finished(self, cursor: _Cursor, entry: Entry, reply: Reply, view: RequestView | None) -> Reply:
        """The reply with its extras filled in, its handoffs as calls, and every id given."""
        blocks: list[Block] | None = None
        stop = reply.stop_reason
        if entry.extras or (type(entry) is ScriptedReply and entry.handoff):
            blocks, stop = self._filled(cursor, entry, reply, view or RequestView())
        for at, block in enumerate(blocks if blocks is not None else reply.blocks):
            named = self._named(cursor, block)
            if named is not block:
                blocks = list(reply.blocks) if blocks is None else blocks
                blocks[at] = named
        return reply if blocks is None else Reply(tuple(blocks), stop, reply.usage)

    def _named(self, cursor: _Cursor, block: Block) -> Block:
        """The block with the ids that it lacks."""
        if isinstance(block, ToolCall) and not block.id:
            return ToolCall(self._call_id(), block.name, block.arguments)
        if isinstance(block, ServerCall):
            call_id = block.id or self._server_call_id()
            cursor.server_id = call_id
            self._server_names[call_id] = block.name
            return block if block.id else ServerCall(call_id, block.name, block.arguments)
        if isinstance(block, ServerResult) and not (block.call_id and block.name):
            call_id = block.call_id or cursor.server_id
            return ServerResult(call_id, block.content, block.name or self._server_names.get(call_id, ""))
        return block

    def _filled(self, cursor: _Cursor, entry: Entry, reply: Reply, view: RequestView) -> tuple[list[Block], str | None]:
        blocks, stop = list(reply.blocks), reply.stop_reason
        for at, extra in entry.extras:
            if isinstance(extra, AnyCall):
                blocks.insert(at, _any_call(extra, _offered(cursor, view)))
            else:
                blocks.insert(at, _output(extra, view.output_tool))
                if view.output_tool and stop == "end_turn":
                    stop = "tool_use"
        names = entry.handoff if isinstance(entry, ScriptedReply) else ()
        blocks += [ToolCall("", handoff_tool(name, view.offered), "{}") for name in names]
        return blocks, stop

    def _call_id(self) -> str:
        while True:
            self._calls += 1
            name = f"call_{self._calls}"
            if name not in self._taken:
                return name

    def _server_call_id(self) -> str:
        while True:
            self._servers += 1
            name = f"srvtoolu_{self._servers}"
            if name not in self._taken:
                return name


def _plan(entry: Entry) -> tuple[int, ...] | None:
    """Positions of the calls that need an id, in an entry that needs nothing else; None for the other entries."""
    if isinstance(entry, ScriptedFault) or entry.when or entry.request or entry.extras or entry.handoff:
        return None
    blocks = entry.reply.blocks
    if any(isinstance(block, ServerCall | ServerResult) for block in blocks):
        return None
    return tuple(at for at, block in enumerate(blocks) if isinstance(block, ToolCall) and not block.id)


def _at(entry: Entry) -> str:
    return f" on line {entry.line}" if entry.line else ""


def _offered(cursor: _Cursor, view: RequestView) -> dict[str, Any]:
    """The tools that the request offers, name -> JSON Schema."""
    own = {name: spec.schema for name, spec in cursor.tools.items() if not spec.server}
    if view.offered is None:
        return own
    if isinstance(view.offered, Mapping):
        return dict(view.offered)
    return {name: own.get(name, {}) for name in view.offered}


def _any_call(any_call: AnyCall, tools: Mapping[str, Any]) -> ToolCall:
    """A call of the first offered tool for which fitting arguments can be made, else of the first.

    With raw or cut arguments tools that have to have arguments come first, so that they can be wrong.
    """
    if any_call.raw is not None:
        name = next((name for name, schema in tools.items() if schema.get("required")), next(iter(tools)))
        return ToolCall(any_call.id or "", name, any_call.raw[: any_call.cut_after])
    if any_call.cut_after is not None:
        tools = dict(sorted(tools.items(), key=lambda tool: not tool[1].get("required")))
    made = (
        {name: fitting_arguments(schema, any_call.overrides) for name, schema in tools.items()}
        if len(tools) > 1
        else {}
    )
    name = next((name for name, (_, fits) in made.items() if fits), next(iter(tools)))
    arguments, _ = made.get(name) or fitting_arguments(tools[name], any_call.overrides)
    return ToolCall(any_call.id or "", name, as_arguments(arguments)[: any_call.cut_after])


def _output(block: OutputBlock, tool: str | None) -> Block:
    """Structured output: a call of the SDK's output tool where it has one, else JSON text."""
    text = as_arguments(block.value)
    return ToolCall("", tool, text) if tool else Text(text)


def handoff_tool(agent: str, offered: Any = None) -> str:
    """Name of the tool by which a request lets the model hand over to an agent.

    Args:
        agent: its name.
        offered: the tools in the request; SDKs write the name differently (`transfer_to_B`, `transfer_to_b`).
    """
    name = f"transfer_to_{agent}"
    plain = _letters(name)
    return next((tool for tool in offered or () if _letters(tool) == plain), name)


def _letters(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
