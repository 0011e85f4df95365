"""Mastra's Agent.generate and Agent.stream: a step is one model call with its tools, whatever the finish reason.

Measured on @mastra/core 1.71.0 with @ai-sdk/anthropic 3.0.140 and @ai-sdk/openai 3.0.141:

    conds = maxSteps truthy ? [steps.length === maxSteps] : [steps.length === 5]
    loop:
      reply = model(...)                                     # 1 HTTP request, no retry by default
      reason "other" and no content at all: error
      run all its client calls (at most 10 at once), whatever the finish reason
      a call ended in an error (it threw, unknown tool): go on, and the reason is "tool-calls"
      else go on = (has calls and reason not in {error, length, content-filter}) or reason not in {stop, error, length, content-filter}
      steps.push(...)
      stop = go on and any(conds)                            # asked only while it would go on
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import Part, Reply, ServerCall, ServerResult, Thinking, ToolCall
from agentsim.core.run import NO_RETRY, Failed, Run, fault_ending
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall, see
from agentsim.styles._mastra_calls import Call, accept, output
from agentsim.styles._mastra_history import History, Invocation, as_client, said

ENDS = frozenset({"error", "length", "content-filter"})
WORKERS = 10
FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}
CHAT_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool-calls", "content_filter": "content-filter"}


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the agentic loop."""
    session = Session(run)
    while True:
        reply = yield from run.call(NO_RETRY)
        if isinstance(reply, Failed) and not reply.fault.in_stream:
            return failed(session, reply.fault)
        broken = reply.fault if isinstance(reply, Failed) else None
        seen = run.partly(reply.fault)[0] if isinstance(reply, Failed) else reply
        finish = finish_reason(seen) if broken is None else unfinished(run, broken)
        session.took(seen)
        if wrong := refused(run, seen, finish):
            return session.threw(*wrong, None if broken is None else "broken_stream")
        if broken is not None:
            seen = whole_blocks(run, broken)
        calls = session.accept(seen)
        waiting, errors = yield from session.execute(calls)
        if errors and not waiting:
            finish, goes_on = "tool-calls", True
        else:
            pending = bool(calls) and finish not in ENDS
            goes_on = not waiting and finish is not None and (pending or finish not in ENDS | {"stop"})
        if finish == "error":
            assert broken is not None
            return session.threw(*broke_off(run, broken), "broken_stream")
        run.count += 1
        if goes_on and run.count == run.limit:
            return session.returned(finish, "limit")
        if not goes_on:
            return session.returned(finish, "handed_back" if waiting else None if broken is None else "broken_stream")


class Session:
    """A run's message list and texts."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.history = History(run)
        self.texts: list[str] = []
        self._called = False

    def took(self, seen: Seen) -> None:
        """A step's reply."""
        self.texts.append(seen.text + (seen.refusal or ""))
        self._called = self._called or any(isinstance(b, ToolCall | ServerCall) for b in seen.reply.blocks)

    def accept(self, seen: Seen) -> list[Call]:
        """The reply's calls, put into the message list with the rest of it."""
        run = self.run
        streamed = bool(run.streamed)
        calls = [accept(call, run.tools, run.wire, streamed) for call in with_own_ids(seen)]
        by_block, parts = iter(calls), list[Part | Invocation]()
        invocations: dict[str, Invocation] = {}
        for part in self._server_parts(said(seen.reply.blocks, run.wire), seen):
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            call = next(by_block)
            if call.id not in invocations:
                invocations[call.id] = Invocation(call.id, call.name, call.arguments)
                parts.append(invocations[call.id])
        self.history.add(parts)
        return calls

    def _server_parts(self, parts: list[Part], seen: Seen) -> Sequence[Part | Invocation]:
        run = self.run
        if not run.streamed:
            return parts
        results = [b for b in seen.reply.blocks if isinstance(b, ServerResult) and b.name not in run.server_tools]
        names = {b.id: b.name for b in seen.reply.blocks if isinstance(b, ServerCall)}
        return as_client(parts, [r for r in results if names.get(r.call_id) not in run.server_tools])

    def execute(self, calls: Sequence[Call]) -> Generator[Action, Event, tuple[bool, bool]]:
        """Run what runs and write every result: whether a call waits for the client, and whether one ended in an error."""
        run = self.run
        first = list({call.id: call for call in reversed(calls)}.values())[::-1]
        due = [call for call in [*first, *(c for c in calls if not any(c is f for f in first))] if call.result is None]
        due = [call for call in due if not call.client]
        unknown = any(call.failed and call.name not in run.tools for call in calls)
        to_run = [ToRun(call.id, call.name, call.input) for call in due]
        runs = yield from run.use(to_run, workers=1 if unknown else WORKERS)
        told = [(call, call.result, call.failed) for call in calls if call.result is not None]
        told += [(call, output(done), done.is_error) for call, done in zip(due, runs, strict=False)]
        for call, text, failed_ in sorted(told, key=lambda item: not item[2]):
            self.history.answer(call.id, call.name, call.arguments, text, failed_ and run.wire == ANTHROPIC)
        self.history.write()
        return any(call.client for call in calls), any(failed_ for _, _, failed_ in told)

    @property
    def text(self) -> str:
        """generate joins the texts of all steps, stream only where no step had a call."""
        return self.texts[-1] if self.run.streamed and self._called and self.texts else "".join(self.texts)

    def returned(self, finish: str | None, ended: str | None) -> Outcome:
        """The SDK returned."""
        return self.run.returned(self.text, finish, done=finish == "stop", ended=ended, reported=int(self.run.count))

    def threw(self, name: str, message: str, ended: str | None) -> Outcome:
        """generate throws and nothing is left; stream ends with an error chunk, and `steps` has the failed one."""
        if not self.run.streamed:
            self.history.forget()
            return self.run.threw(name, message, ended)
        count = int(self.run.count) + 1
        return self.run.threw(name, message, ended, finish="error", text=self.text, reported=count)


# -- what a reply is ------------------------------------------------------------------------------------------------


def finish_reason(seen: Seen) -> str:
    """The finish reason of a whole reply. Responses has none on the wire: calls make it `tool-calls`."""
    if seen.wire == ANTHROPIC:
        return FINISH.get(seen.stop or "", "other")
    if seen.wire == RESPONSES:
        if seen.cut:
            return "length"
        if seen.calls:
            return "tool-calls"
        return "content-filter" if seen.refusal is not None else "stop"
    if seen.refusal and seen.word == "stop":
        return "content-filter"
    return CHAT_FINISH.get(seen.word or "", "other")


def unfinished(run: Run, fault: Fault) -> str | None:
    """The finish reason of a stream that broke off; Claude's provider has none where it merely ended."""
    if fault.disconnect != "end":
        return "error"
    return None if run.wire == ANTHROPIC else "other"


def refused(run: Run, seen: Seen, finish: str | None) -> tuple[str, str] | None:
    """Name and message of the error that a reply is, where it is one."""
    if run.wire == CHAT and run.streamed and any(not call.name for call in seen.calls):
        return "AI_InvalidResponseDataError", "Expected 'function.name' to be a string."
    if finish != "other" or has_content(seen):
        return None
    word = f' (provider reported "{seen.word}")' if seen.word and seen.stop else ""
    return "Error", f'Agent stream finished with finishReason "other"{word} without producing any output'


def has_content(seen: Seen) -> bool:
    """Whether anything of a reply was seen."""
    blocks = seen.reply.blocks
    thought = any(isinstance(b, Thinking) and b.thinking for b in blocks)
    return bool(seen.text or seen.refusal or thought or any(isinstance(b, ToolCall | ServerCall) for b in blocks))


def whole_blocks(run: Run, fault: Fault) -> Seen:
    """What the loop goes on with after a stream broke off: calls that were whole; Chat hands on a half one, or none after an error."""
    seen, is_open = run.partly(fault)
    blocks = seen.reply.blocks
    if run.wire == CHAT and fault.disconnect != "end":
        blocks = tuple(b for b in blocks if not isinstance(b, ToolCall))
    elif is_open and run.wire != CHAT and isinstance(blocks[-1], ToolCall | ServerCall):
        blocks = blocks[:-1]
    return seen if blocks == seen.reply.blocks else see(Reply(blocks, None), seen.wire, seen.streamed)


def with_own_ids(seen: Seen) -> Sequence[SeenCall]:
    """The reply's calls; a stream of Chat Completions gives the second one of an id another."""
    if seen.wire != CHAT or not seen.streamed:
        return seen.calls
    ids: set[str] = set()
    calls: list[SeenCall] = []
    for call in seen.calls:
        own = call.id if call.id not in ids else f"minted_{len(calls)}_{call.id}"
        ids.add(own)
        calls.append(SeenCall(own, call.name, call.raw, call.arguments, call.broken))
    return calls


# -- failures -------------------------------------------------------------------------------------------------------


def broke_off(run: Run, fault: Fault) -> tuple[str, str]:
    """Name and message of a stream's error event or reset."""
    if fault.disconnect is not None:
        return "AI_APICallError", "Failed to process successful response"
    at_once = run.wire == CHAT and not fault.after_characters
    return ("AI_APICallError" if at_once else "Error"), fault.message


def failed(session: Session, fault: Fault) -> Outcome:
    """A request that got no reply."""
    message = fault.message if fault.status is not None else f"Cannot connect to API: {lost(fault)}"
    session.texts.append("")
    return session.threw("AI_APICallError", message, fault_ending(fault))


def lost(fault: Fault) -> str:
    """How a connection that gave no headers went away."""
    return "read ECONNRESET" if fault.disconnect == "reset" else "other side closed"


def read_limit(value: Any) -> float | None:
    """0 is the default 5; `===` never fires for -1 or 1.5."""
    if not value:
        return 5
    return value if value >= 1 and value == int(value) else None


def _style(name: str, loop: Any, streams: bool) -> Style:
    return Style(
        name=f"mastra/{name}",
        sdk="@mastra/core 1.71.0, @ai-sdk/anthropic 3.0.140, @ai-sdk/openai 3.0.141",
        unit="step",
        knob="maxSteps",
        default=5,
        loop=loop,
        checks="after the step's tools ran, and only where the loop would go on",
        at_limit='returns; finishReason "tool-calls" is the only sign',
        signal='finishReason == "stop"',
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=streams,
        read_limit=read_limit,
    )


STYLES = (_style("Agent.generate", loop, streams=False), _style("Agent.stream", loop, streams=True))
