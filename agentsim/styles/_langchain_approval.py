"""Human in the loop: an afterModel node that interrupts the graph before any tool of the reply runs.

gated = the reply's calls to tools that `interruptOn` names;  none: nothing happens (the node still costs its super-step)
interrupt; a resume runs this node again, with a decision for each gated call
JavaScript: one rejected: the others are dropped, and the model is asked at once
Python: rejected calls are answered, all others run
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentsim.core.messages import Message, Text, ToolCall
from agentsim.core.tools import Decision
from agentsim.core.wires import CHAT, SeenCall
from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_messages import Said, tool
from agentsim.styles._langchain_middleware import Hook, Middleware
from agentsim.styles._langchain_tools import Chain, Inner

if TYPE_CHECKING:
    from agentsim.styles._langchain_thread import Thread

_NOTICE = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in your message is the one you produced, "
    "not the one that executed. This was intentional and authorized. Do not re-issue your original call."
)


class Interrupted(Exception):
    """The graph waits for a person; what the node did does not count."""

    def __init__(self, waiting: Sequence[SeenCall]) -> None:
        super().__init__()
        self.waiting = tuple(waiting)


class HumanInTheLoop(Middleware):
    """The middleware of that name."""

    points = frozenset({"after_model"})
    jumps = {"after_model": ("model",)}

    def __init__(self, name: str, settings: Mapping[str, Any], python: bool) -> None:
        super().__init__(name, settings, python)
        self.wraps_tools = python
        self._edits: dict[str, Mapping[str, Any]] = {}

    def hook(self, point: str, thread: Thread) -> Hook:
        """Interrupt, or take the decisions of a resume."""
        yield from ()
        reply = thread.last_ai()
        gated = [call for call in reply.calls if self.settings["interrupt_on"].get(call.name)] if reply else []
        if reply is None or not gated:
            return None
        given, thread.decisions = thread.decisions, None
        if given is None:
            raise Interrupted(gated)
        decisions = _in_order(given, gated)
        if len(decisions) != len(gated):
            raise Leaves(
                "ValueError" if self.python else "Error",
                f"Number of human decisions ({len(decisions)}) does not match number of hanging tool calls ({len(gated)}).",
                "approval",
            )
        take = self._python if self.python else self._javascript
        return take(thread, reply, list(zip(gated, decisions, strict=True)))

    def _python(self, thread: Thread, reply: Said, decided: list[tuple[SeenCall, Decision]]) -> None:
        for call, decision in decided:
            if decision.kind == "reject":
                thread.add(self._rejected(thread, call, decision))
            elif decision.kind == "edit":
                self._edits[call.id] = decision.input or {}

    def _javascript(self, thread: Thread, reply: Said, decided: list[tuple[SeenCall, Decision]]) -> str | None:
        gated = [call for call, _ in decided]
        rejecting = any(decision.kind == "reject" for _, decision in decided)
        revised = [call for call in reply.calls if call not in gated]
        messages = []
        for call, decision in decided:
            if decision.kind == "reject":
                messages.append(self._rejected(thread, call, decision))
            if not rejecting or decision.kind == "reject":
                revised.append(_edited(call, decision))
        thread.revise(reply, _with_calls(reply, revised, thread.run.wire))
        for message in messages:
            thread.add(message)
        return "model" if rejecting else None

    def _rejected(self, thread: Thread, call: SeenCall, decision: Decision) -> Said:
        if not self.python:
            text = decision.message or f"User rejected the tool call for `{call.name}` with id {call.id}"
        elif decision.message:
            text = f"User rejected the tool call for `{call.name}` with reason: {decision.message}"
        else:
            text = _NOT_EXECUTED.format(name=call.name, id=call.id)
        return tool(thread.run, call, text, failed=True, python=self.python)

    def wrap_tool(self, thread: Thread, call: SeenCall, inner: Inner) -> Chain:
        """Python runs an edited call here, and says so in front of its result."""
        edit = self._edits.get(call.id)
        if edit is None:
            return (yield from inner(call))
        made = yield from inner(SeenCall(call.id, call.name, call.raw, edit))
        if not isinstance(made, Said):
            return made
        told = (
            f"{_NOTICE} Executed instead: {call.name} with arguments {json.dumps(edit)}.\n\nTool response:\n{made.text}"
        )
        return tool(thread.run, call, told, failed=made.failed, python=True)


_NOT_EXECUTED = (
    "User rejected the tool call for `{name}` with id {id}. The tool was not executed. Do not retry this tool call unless the "
    "user explicitly requests it."
)


def _in_order(given: Sequence[Decision], gated: Sequence[SeenCall]) -> list[Decision]:
    """The decisions as the resume's list: in the order of the gated calls; bare ones as they stand."""
    ids = [call.id for call in gated]
    bare = [decision for decision in given if decision.call_id is None]
    named = {decision.call_id: decision for decision in given if decision.call_id is not None}
    return [named[id_] for id_ in ids if id_ in named] + bare


def _edited(call: SeenCall, decision: Decision) -> SeenCall:
    if decision.kind != "edit":
        return call
    return SeenCall(call.id, call.name, json.dumps(decision.input), decision.input)


def _with_calls(reply: Said, calls: list[SeenCall], wire: str) -> Said:
    """The reply with other calls; Claude's blocks and Responses' items go back as they came, Chat's are made of the calls."""
    message = reply.message
    if wire == CHAT and message is not None:
        texts = tuple(b for b in message.content if isinstance(b, Text))
        message = Message("assistant", (*texts, *(ToolCall(c.id, c.name, c.raw) for c in calls)))
    return Said("ai", reply.text, message, tuple(calls), reply.invalid, reply.finish)
