"""One call of the AI SDK in the making: what generateText, streamText and WorkflowAgent keep from step to step."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import Message, ServerCall, ServerResult, Text, ToolCall, ToolResult, Usage
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.scripted import Raised
from agentsim.core.tools import Decision
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall
from agentsim.styles import _ai_sdk_wire as wire
from agentsim.styles._ai_sdk_calls import PROTO, Call, Tools, accepted
from agentsim.styles._ai_sdk_options import Options, Step
from agentsim.styles._ai_sdk_subagent import Loop, run_agents

Steps = Generator[Action, Event, Any]


class Session:
    """One call of the SDK: a prompt's run, or one more after approvals were answered.

    Attributes:
        run, options: of the loop.
        agent_loop: of an agent that is a tool.
        strict: tools are checked as WorkflowAgent does.
        steps: the finished ones; `text`, `finish`: the last one's.
        waiting: calls that somebody is asked to approve; `meant`: by id, those that run when they say yes.
        said: the messages that the caller gets back and keeps; `base` is what the caller had before.
        error: type and message of the first error that a stream emitted while it went on.
        choice: the tool choice of the next request.
        checked: the history is known to have a result for every call.
    """

    def __init__(self, run: Run, agent_loop: Loop, *, strict: bool = False) -> None:
        self.run, self.agent_loop, self.strict = run, agent_loop, strict
        self.options: Options = run.options or Options()
        self.steps: list[Step] = []
        self.text, self.finish = "", "other"
        self.waiting: list[Call] = []
        self.meant: dict[str, Call] = {}
        self.said: list[Message] = []
        self.base = list(run.history)
        self.error: tuple[str, str] | None = None
        self.choice = self.options.tool_choice
        self.pending: set[str] = set()
        self.checked = False
        self.began = run.ledger.clock
        options = self.options
        started = run.memory.setdefault("functions", {})  # a function of the user's lives on over prompts and resumes
        for name in ("prepare_step", "repair", "on_step_end"):
            own = getattr(options, name)
            started.setdefault(name, own.start() if own else None)
        started.setdefault("conditions", [(condition, condition.start()) for condition in options.stop_when or ()])
        self._prepare_step, self._repair = started["prepare_step"], started["repair"]
        self._on_step_end, self.conditions = started["on_step_end"], started["conditions"]
        run.offered = None

    # -- before a request -----------------------------------------------------------------------------------------

    def prepare(self, *, kept: bool) -> Steps:
        """Ask `prepareStep`. `messages` stay for all later steps; the rest lasts one step, or is `kept`.

        Raises:
            Raised: the function threw.
        """
        if not kept:
            self.choice, self.run.offered = self.options.tool_choice, None
        if self._prepare_step is None:
            return
        yield from self.run.wait(self.options.prepare_step.seconds if self.options.prepare_step else 0.0)
        changes = self._prepare_step()
        if changes is None:
            return
        self.choice = changes.get("toolChoice", self.choice)
        if "activeTools" in changes:
            self.run.offered = tuple(changes["activeTools"])
        if "messages" in changes:
            self.checked = False
            self.run.rewrite(0, [Message(said["role"], (Text(said["content"]),)) for said in changes["messages"]])

    def unanswered(self) -> str | None:
        """What the SDK says of a history whose calls lack results: it sends no such request."""
        if self.checked:
            return None  # what the loop itself appends is always answered
        self.checked = True
        calls = [part.id for m in self.run.history for part in m.content if isinstance(part, ToolCall)]
        done = {part.call_id for m in self.run.history for part in m.content if isinstance(part, ToolResult)}
        lost = list(dict.fromkeys(call for call in calls if call not in done))
        if not lost:
            return None
        word = ("s are", "s") if len(lost) > 1 else (" is", "")
        return f"Tool result{word[0]} missing for tool call{word[1]} {', '.join(lost)}."

    @property
    def deadline(self) -> float | None:
        """Clock time at which `timeout.totalMs` goes off."""
        return None if self.options.total is None else self.began + self.options.total

    @property
    def late(self) -> bool:
        """Whether it has gone off."""
        return self.deadline is not None and self.run.ledger.clock >= self.deadline

    @property
    def given_up(self) -> tuple[str, str, str] | None:
        """Name and message of the caller's giving up, and the contract's `ended`; None where nobody has."""
        if self.run.aborted:
            return "AbortError", "This operation was aborted", "aborted"
        if self.late or self.run.timed_out:
            return "TimeoutError", "The operation was aborted due to timeout", "timeout"
        return None

    @property
    def retry(self) -> Retry:
        """Which faults are sent again: the Chat package also begins a stream anew that failed before its first output."""
        return Retry(self.options.retries, before_output=self.run.wire == CHAT)

    # -- the reply ------------------------------------------------------------------------------------------------

    def tools(self) -> Tools:
        """The tools of this step's request."""
        names = (*self.run.tools, *self.run.server_tools)
        if self.run.offered is not None:
            names = tuple(name for name in names if name in self.run.offered)
        specs = {name: spec for name, spec in self.run.tools.items() if name in names}
        given = bool(self.run.tools or self.run.server_tools)
        return Tools(specs, names, self.strict, None if given or self.strict else "No tools are available.")

    def accept(self, seen: Seen) -> Generator[Action, Event, list[Call]]:
        """The reply's calls, each valid, repaired or invalid."""
        tools, repair, asked = self.tools(), self._repair, list[float]()

        def asking() -> Any:
            asked.append(self.options.repair.seconds if self.options.repair else 0.0)
            return repair() if repair else None

        calls = [accepted(call, tools, asking if repair else None) for call in self._with_own_ids(seen)]
        yield from self.run.wait(max(asked, default=0.0))
        return calls

    def _with_own_ids(self, seen: Seen) -> list[SeenCall]:
        """The Chat package streams a second call of one id under an id that it makes up."""
        if seen.wire != CHAT or not seen.streamed:
            return list(seen.calls)
        calls, known, memory = [], set[str](), self.run.memory
        for call in seen.calls:
            if call.id in known:
                memory["minted"] = memory.get("minted", 0) + 1
                call = replace(call, id=f"minted_{memory['minted']}")
            known.add(call.id)
            calls.append(call)
        return calls

    def choice_violated(self, seen: Seen) -> bool:
        """Whether a call was required and none came."""
        return self.choice == "required" and not any(isinstance(b, ToolCall | ServerCall) for b in seen.reply.blocks)

    def unreadable(self, seen: Seen) -> bool:
        """Whether a whole JSON body can't be read: the SDK's parser refuses a `__proto__` in it."""
        return seen.wire == ANTHROPIC and not seen.streamed and any(PROTO.search(call.raw) for call in seen.calls)

    def lost_result(self, seen: Seen) -> str | None:
        """Id of a provider's result whose call is of an earlier reply and of no declared tool."""
        here = {b.id for b in seen.reply.blocks if isinstance(b, ServerCall)}
        for block in seen.reply.blocks:
            if isinstance(block, ServerResult) and block.call_id not in here | self.pending:
                return block.call_id
        return None

    def note_pending(self, seen: Seen) -> None:
        """Keep count of declared provider tools whose result is still to come; on Responses call and result are one item."""
        if seen.wire == RESPONSES:
            return
        open_ = seen.open_server_calls()
        self.pending |= {call.id for call in open_ if call.name in self.run.server_tools}
        self.pending -= {b.call_id for b in seen.reply.blocks if isinstance(b, ServerResult)}

    # -- tools ----------------------------------------------------------------------------------------------------

    def is_client(self, call: Call) -> bool:
        """Whether the tool has no `execute` on this side."""
        return self.run.tools[call.name].client

    def approval(self, call: Call) -> str | None:
        """What the call needs before it runs: "user-approval", "denied", or nothing."""
        said = self.options.approval.get(call.name)
        if said is None:
            return "user-approval" if self.run.tools[call.name].approval is not None else None
        return None if said == "approved" else said

    def use(self, calls: Sequence[Call], *, one_by_one: bool = False) -> Generator[Action, Event, list[ToolResult]]:
        """Run tools; their outputs as they are sent."""
        given = yield from run_agents(self.run, calls, self.agent_loop)
        time = self.options.tool
        to_run = [ToRun(call.id, call.name, call.input, own, time) for call, own in zip(calls, given, strict=True)]
        workers = 1 if one_by_one else None if self.strict else self.options.concurrency
        deadline = (
            self.deadline if self.run.streamed else None
        )  # a stream ends at once, generateText waits for its tools
        runs = yield from self.run.use(to_run, workers=workers, deadline=deadline)
        if (
            self.run.streamed and workers != 1 and not self.strict
        ):  # told as they settle, and a throw settles first: seen where calls share an id
            runs = tuple(sorted(runs, key=lambda run: not run.raised))
        return [wire.output(self.run.wire, run) for run in runs]

    def resume(
        self,
        waiting: Sequence[Call],
        answers: Sequence[Decision],
        meant: Mapping[str, Call] | None = None,
        *,
        one_by_one: bool = False,
    ) -> Steps:
        """What the person said: approved calls run before any request and are no step, denied ones get a result.

        Args:
            meant: the call that the history holds under an id, which is what runs.
        """
        left = list(waiting)
        approved, refused = list[Call](), list[ToolResult]()
        for answer in answers:
            call = next((c for c in left if answer.call_id in (None, c.id)), None)
            if call is None or answer.kind == "edit":
                continue
            left.remove(call)
            if answer.kind == "approve":
                approved.append(call)
            else:
                refused.append(wire.denied(call.id, answer.message))
        to_run = [(meant or {}).get(call.id, call) for call in waiting if call in approved]
        results = yield from self.use(to_run, one_by_one=one_by_one)
        self.say(None, [*results, *refused])

    # -- after a step ---------------------------------------------------------------------------------------------

    def say(self, reply: Message | None, results: Sequence[ToolResult]) -> None:
        """The step's messages go into the history, and to the caller."""
        new = [reply] if reply is not None else []
        new += [Message("user", tuple(results))] if results else []
        self.run.history += new
        self.said += new

    def took(self, seen: Seen, calls: Sequence[Call]) -> None:
        """The step is finished: the only counter there is."""
        usage = seen.reply.usage or Usage()
        tokens = usage.input_tokens + usage.output_tokens
        tokens += usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        shown = [call for call in calls if call.error is None or not self.strict]
        names = [call.name for call in shown] + [b.name for b in seen.reply.blocks if isinstance(b, ServerCall)]
        self.steps.append(Step(tuple(names), tokens))
        self.run.count += 1
        self.text = wire.shown_text(seen)

    def step_ended(self) -> Steps:
        """Call `onStepEnd`; what it throws is swallowed."""
        if self._on_step_end is None or self.options.on_step_end is None:
            return
        yield from self.run.wait(self.options.on_step_end.seconds)
        with suppress(Raised):
            self._on_step_end()

    def at_limit(self) -> bool:
        """`isStepCount(limit)`: steps.length === limit."""
        return self.run.limit is not None and self.run.count == self.run.limit

    def keep(self, outcome: Outcome) -> None:
        """What the caller's own history is after this call: nothing of one that threw; WorkflowAgent gives it back whole."""
        lost = outcome.returned == "error" and outcome.final_text is None
        if self.strict and not lost:
            return
        wanted = [*self.base, *([] if lost else self.said)]
        history, same = self.run.history, 0
        while same < min(len(wanted), len(history)) and wanted[same] is history[same]:
            same += 1
        if same < max(len(wanted), len(history)):
            self.run.rewrite(same, wanted[same:])


def thrown(failure: Failed, retries: int) -> tuple[str, str]:
    """Name and message of what a failed request throws after its attempts."""
    fault = failure.fault
    message = fault.message if fault.status is not None else f"Cannot connect to API: {_lost(fault)}"
    if retries and failure.attempts > retries:
        return "AI_RetryError", f"Failed after {failure.attempts} attempts. Last error: AI_APICallError: {message}"
    if retries and failure.attempts > 1:
        error = f"'AI_APICallError: {message}'"
        return "AI_RetryError", f"Failed after {failure.attempts} attempts with non-retryable error: {error}"
    return "AI_APICallError", message


def _lost(fault: Fault) -> str:
    if fault.disconnect == "refuse":
        return "connect ECONNREFUSED"
    return "read ECONNRESET" if fault.disconnect == "reset" else "other side closed"
