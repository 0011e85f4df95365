"""Strands Agents: a cycle is a model call and its tools, and calls the next cycle.

Measured on strands-agents 1.62.0 (anthropic 0.125.0, openai 2.54.0), whose models always stream:

    cycle():                                                    # recursive
      limits: turns, total_tokens, output_tokens (in that order) reached -> return, stop_reason limit_*
      start a cycle (counted)
      reply = model call                                        # throttled (429): again, 6 attempts around the client's 3
        pause_turn: send the paused message back, at most 10 times, all in this call; the parts become one message
      max_tokens: every call becomes a text, append, raise MaxTokensReachedException
      end_turn with calls counts as tool_use
      tool_use: run the calls side by side, append their results (none: nothing); return cycle()
      anything else: return its stop_reason; calls in it are not run, the next prompt answers them
    an error in a cycle that is nested in another is wrapped in EventLoopException

Nothing but Python ends a run without limits: the cycles are nested calls, and in the 315th the interpreter's recursion limit (1000) is
reached.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.coerce import Unfit, lax
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Refused, Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, SeenCall
from agentsim.styles._python_clients import client_error, ending
from agentsim.styles._strands_claims import CLAIMS
from agentsim.styles._strands_options import OPTIONS, Options, configure
from agentsim.styles._strands_reply import Turn, call_model, without_calls

#: Cycles that fit into Python's default recursion limit; one more dies.
NESTED_CYCLES = {ANTHROPIC: 314, CHAT: 313, RESPONSES: 313}
CUT = "Model stopped generating due to maximum token limit."


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of a prompt: cycle after cycle."""
    options: Options = run.options or Options()
    spent = Spent(run, options)
    run.count = 0
    answer_what_waits(run)
    if options.refused is not None:
        return run.threw(*options.refused, "limit")
    while True:
        if (reached := spent.limit()) is not None:
            return run.returned("", reached, done=False, ended="limit", reported=int(run.count))
        if run.count >= NESTED_CYCLES[run.wire]:
            return too_deep(run)
        turn = yield from call_model(run, options)
        if isinstance(turn, Failed):
            return failed(run, turn)
        spent.add(turn)
        if turn.problem is not None:
            return threw(run, *turn.problem)
        if turn.stop == "max_tokens":
            run.history.append(Message("assistant", without_calls(turn.blocks)))
            return run.threw("MaxTokensReachedException", CUT, dropped=True)
        run.history.append(Message("assistant", turn.blocks))
        run.count += 1
        if turn.stop != "tool_use":
            done = turn.stop in ("end_turn", "stop_sequence")
            ended = "broken_stream" if turn.broken else None
            return run.returned(turn.text, turn.stop, done=done, ended=ended, dropped=True, reported=int(run.count))
        settled = yield from run.settle(
            [fitted(run, call) for call in turn.calls],
            lambda call: refused(run, call),
            lambda done: rendered(run, done),
            sequential=options.sequential,
        )
        if run.aborted:
            return run.threw("CancelledError", "", "aborted")
        run.answer_with(settled.results)


class Spent:
    """What the caps are held against, from this prompt on."""

    def __init__(self, run: Run, options: Options) -> None:
        self.run, self.options = run, options
        self.total = self.output = 0

    def add(self, turn: Turn) -> None:
        """Count a model call's tokens."""
        self.total += turn.total_tokens
        self.output += turn.output_tokens

    def limit(self) -> str | None:
        """The stop reason of the cap that is reached, if one is."""
        options, turns = self.options, self.run.limit
        if any(cap is not None and self.run.count >= cap for cap in (turns, options.turns)):
            return "limit_turns"
        if options.total_tokens is not None and self.total >= options.total_tokens:
            return "limit_total_tokens"
        if options.output_tokens is not None and self.output >= options.output_tokens:
            return "limit_output_tokens"
        return None


def answer_what_waits(run: Run) -> None:
    """A new prompt answers the calls that were never run."""
    if len(run.history) < 2 or run.history[-2].role != "assistant":
        return
    waiting = [block for block in run.history[-2].content if isinstance(block, ToolCall)]
    if waiting:
        results = tuple(ToolResult(call.id, "Tool was interrupted.", run.wire == ANTHROPIC) for call in waiting)
        run.rewrite(len(run.history) - 1, [Message("user", (*results, *run.history[-1].content))])


def threw(run: Run, type_: str, message: str, ended: str | None = None) -> Outcome:
    """An error; from the second cycle on, which is nested in the first, it is wrapped."""
    return run.threw("EventLoopException" if run.count else type_, message, ended)


def too_deep(run: Run) -> Outcome:
    """Python's recursion limit; with OpenAI's models the error surfaces as a cancellation."""
    if run.wire == ANTHROPIC:
        return run.threw("EventLoopException", "maximum recursion depth exceeded", "limit")
    return run.threw("CancelledError", "", "limit")


def failed(run: Run, failure: Failed) -> Outcome:
    """The client's own error, but for a throttled request."""
    if failure.aborted:
        return run.threw("CancelledError", "", "aborted")
    type_, message = client_error(run.wire, failure.fault)
    if type_ == "RateLimitError":
        type_ = "ModelThrottledException"
    if failure.fault.in_stream and run.wire == RESPONSES and failure.fault.disconnect is None:
        type_ = "_OpenAIResponsesStreamError"
    return threw(run, type_, message, ending(failure))


def refused(run: Run, call: SeenCall) -> ToolResult | None:
    """The error result of a call that is not run."""
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return ToolResult(call.id, f"Unknown tool: {call.name}", run.wire == ANTHROPIC)
    try:
        lax(spec.schema, call.arguments)
    except Unfit as error:
        return ToolResult(call.id, f"Error: Validation failed for input parameters: {error}", run.wire == ANTHROPIC)
    return None


def fitted(run: Run, call: SeenCall) -> SeenCall:
    """The call with its arguments converted, where they fit."""
    spec = run.tools.get(call.name)
    try:
        value = call.arguments if spec is None else lax(spec.schema, call.arguments)
    except Unfit:
        return call
    return SeenCall(call.id, call.name, call.raw, value)


def rendered(run: Run, done: ToolRun) -> ToolResult:
    """A run's result. What threw is told with its class; only Claude's wire can say that it is an error."""
    text = f"Error: Exception - {done.output}" if done.raised else done.output
    return ToolResult(done.call_id, text, done.is_error and run.wire == ANTHROPIC)


def read_limit(value: Any) -> float | Refused | None:
    """A cap has to be a positive whole number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return Refused("TypeError", f"limits['turns'] must be a positive int, got {value!r}")
    return value


STYLES = (
    Style(
        name="strands/Agent",
        sdk="strands-agents 1.62.0",
        unit="cycle",
        knob="limits.turns",
        default=None,
        loop=loop,
        checks="before each cycle, after the last one's tools ran",
        at_limit='returns; stop_reason is "limit_turns" and the last message holds the tool results',
        signal="stop_reason in {end_turn, stop_sequence}",
        wires=(ANTHROPIC, CHAT, RESPONSES),
        streams=True,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
        claims=CLAIMS,
    ),
)
