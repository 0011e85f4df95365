"""Semantic Kernel's ChatCompletionAgent: the chat service calls functions by itself, so many times.

Measured on semantic-kernel 1.45.0 (openai 3.57.0):

    for attempt in range(maximum_auto_invoke_attempts):            # default 5; not above 0: by hand
      reply = model call, the client's HTTP retries inside
      no calls: return it, be it cut, refused or empty
      append the calls (a text beside them is lost); run them side by side
        unknown, unreadable, unfitting, throwing: a result that says so
        results are appended as they come in
      a filter said terminate: return the results
    get_response: return one more model call without tools          # calls in it are handed back unrun
    invoke_stream: end                                              # no further call

By hand (no attempt allowed) there is one request, with tools, and its calls are handed back. The pieces of a stream never show a
finish reason, nor the words of a refusal.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Block, Message, Text, ToolCall, ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import Raised
from agentsim.core.style import Refused, Style
from agentsim.core.wires import CHAT, Seen
from agentsim.styles._python_clients import RETRY, client_error, ending
from agentsim.styles._semantic_kernel_calls import FAILED, Answered, received
from agentsim.styles._semantic_kernel_options import OPTIONS, Options, configure

#: Finish reasons that its enumeration has; it throws at any other.
KNOWN = ("stop", "length", "content_filter", "tool_calls", "function_call", None)


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One prompt: attempts, then what the caller gets of the last reply."""
    options: Options = run.options or Options()
    talk = Talk(run, options)
    limit = options.limit(run.limit)
    while limit is None or run.count < limit:
        reply = yield from talk.call()
        if isinstance(reply, Outcome) or not reply.calls:
            return reply if isinstance(reply, Outcome) else talk.answered(reply)
        problem = yield from talk.answer(reply)
        if problem is not None:
            return problem
        run.count += 1
        if talk.terminated:
            return talk.ended_by_filter()
    by_hand = limit <= 0
    if run.streamed and not by_hand:
        return run.returned(run.all_text, ended="limit")
    if not by_hand:
        run.offered = ()
    reply = yield from talk.call()
    run.offered = None
    if isinstance(reply, Outcome):
        return reply
    reached = not (by_hand and (options.by_hand or not reply.calls))
    return talk.handed_back(reply, ended="limit" if reached else "handed_back" if reply.calls else None)


class Talk:
    """One prompt's exchange with the service, and what of it stays in the agent's thread."""

    def __init__(self, run: Run, options: Options) -> None:
        self.run, self.filter = run, options.filter.start() if options.filter is not None else None
        self.begun = len(run.history)
        self.terminated = False
        self.results: Sequence[ToolResult] = ()

    def call(self) -> Generator[Action, Event, Seen | Outcome]:
        """The reply, or how the run ended without one. A stream that merely ends is a reply."""
        run = self.run
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            if not (seen.fault.in_stream and seen.fault.disconnect == "end"):
                return self.failed(seen)
            seen, _ = run.partly(seen.fault)
        if seen.word not in KNOWN:
            return self.threw("ValueError", f"{seen.word!r} is not a valid FinishReason")
        return seen

    def answer(self, seen: Seen) -> Generator[Action, Event, Outcome | None]:
        """Append the calls and their results, in the order in which they come in."""
        run, refused, due = self.run, list[ToolResult | None](), list[ToRun]()
        raised: Raised | None = None
        for call in seen.calls:
            try:
                due.append(ToRun(call.id, call.name, received(run, call)))
                refused.append(None)
            except Answered as answered:
                refused.append(ToolResult(call.id, answered.text))
                continue
            try:
                said = self.filter() if self.filter is not None else None
                self.terminated |= bool((said or {}).get("terminate"))
            except Raised as error:
                due.pop()
                raised = raised or error
        run.history.append(Message("assistant", tuple(b for b in seen.reply.blocks if isinstance(b, ToolCall))))
        runs = yield from run.use(due)
        if run.aborted:
            return self.threw("CancelledError", "", "aborted")
        if raised is not None:
            return self.threw(raised.type, str(raised), "guardrail")
        self.results = in_order_of_arrival(refused, runs)
        run.answer_with(self.results)
        return None

    # -- the end ----------------------------------------------------------------------------------------------------

    def answered(self, seen: Seen) -> Outcome:
        """A reply without calls is the answer, whatever stopped it."""
        return self.handed_back(seen)

    def handed_back(self, seen: Seen, ended: str | None = None) -> Outcome:
        """The caller gets the reply. In the thread it is its calls, or else its text; a stream's texts, all of them."""
        run = self.run
        calls: tuple[Block, ...] = tuple(b for b in seen.reply.blocks if isinstance(b, ToolCall))
        text = run.all_text if run.streamed else seen.text or seen.refusal or ""
        said: tuple[Block, ...] = calls if calls and not run.streamed else (Text(text),) if text else ()
        run.history.append(Message("assistant", said))
        if run.streamed:
            return run.returned(text, ended=ended, dropped=True)
        return run.returned(text, seen.word, done=not calls, ended=ended, dropped=True)

    def ended_by_filter(self) -> Outcome:
        """The caller gets the results of the last calls; a stream shows none."""
        text = self.run.all_text if self.run.streamed else "".join(as_text(one.output) for one in self.results)
        return self.run.returned(text, ended="stop_condition")

    def failed(self, failure: Failed) -> Outcome:
        """Errors of a request are wrapped; of a stream that has begun, they are the client's own."""
        name, message = client_error(CHAT, failure.fault, openai=3)
        if failure.aborted:
            name, message = "CancelledError", ""
        elif not failure.fault.in_stream:
            name = "ServiceResponseException"
        return self.threw(name, message, ending(failure))

    def threw(self, name: str, message: str, ended: str | None = None) -> Outcome:
        """An exception leaves the run; without streaming, the agent's thread keeps nothing of it but the prompt."""
        if not self.run.streamed:
            self.run.rewrite(self.begun)
        return self.run.threw(name, message, ended, dropped=True)


def in_order_of_arrival(refused: Sequence[ToolResult | None], runs: Sequence[ToolRun]) -> list[ToolResult]:
    """Every call's result: those that take no time in the order of the calls, then whoever is ready first."""
    ready, left = list[tuple[float, ToolResult]](), iter(runs)
    for result in refused:
        if result is not None:
            ready.append((0.0, result))
        elif (done := next(left, None)) is not None:
            ready.append((done.seconds, rendered(done)))
    return [result for _, result in sorted(ready, key=lambda one: one[0])]


def rendered(done: ToolRun) -> ToolResult:
    """A run's result; a function has no way but an exception to say that it failed."""
    output = FAILED.format(name=done.name, problem=done.output) if done.is_error else as_text(done.output)
    return ToolResult(done.call_id, output)


def as_text(value: Any) -> str:
    """Other values are written as Python shows them."""
    return value if isinstance(value, str) else str(value)


def read_limit(value: Any) -> float | Refused | None:
    """pydantic reads it as a whole number."""
    if isinstance(value, int | float) and float(value).is_integer():
        return int(value)
    problem = f"Input should be a valid integer [input_value={value!r}]"
    message = f"1 validation error for FunctionChoiceBehavior\nmaximum_auto_invoke_attempts\n  {problem}"
    return Refused("ValidationError", message)


STYLES = (
    Style(
        name="semantic-kernel/ChatCompletionAgent",
        sdk="semantic-kernel 1.45.0",
        unit="attempt",
        knob="maximum_auto_invoke_attempts",
        default=5,
        loop=loop,
        checks="before each call: once the attempts are used up, one more call without tools (streamed: none)",
        at_limit="the reply of that call, its calls unrun; streamed: what was said so far",
        signal="the message holds no calls; streamed: none",
        wires=(CHAT,),
        streams=None,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
    ),
)
