"""A reply's calls in pydantic-ai: limits and retries first, then all valid ones at once."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Run
from agentsim.core.wires import ANTHROPIC, SeenCall
from agentsim.styles._pydantic_ai_options import Options
from agentsim.styles._pydantic_ai_reply import Response, arguments

Steps = Generator[Action, Event, Outcome | None]


@dataclass(slots=True)
class Usage:
    """What a run has used.

    Args:
        tool_calls: that succeeded.
        input_tokens, output_tokens: of all replies.
        failed: tool -> steps in which it failed, since its last success.
        outputs: replies without output that were asked for again.
    """

    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    outputs: int = 0


def run_calls(run: Run, options: Options, usage: Usage, response: Response) -> Steps:
    """Answer the calls; an outcome where the run ends in them."""
    calls = response.calls
    limit = options.limits.get("tool_calls_limit")
    if limit is not None and usage.tool_calls + len(calls) > limit:
        message = f"The next tool call(s) would exceed the tool_calls_limit of {limit:g}"
        return run.threw("UsageLimitExceeded", message, "limit", dropped=True)
    if len({call.id for call in calls}) < len(calls):
        return run.threw("UnexpectedModelBehavior", "Function tool calls must have unique ids", bad_call=True)
    given: list[tuple[SeenCall, str | None]] = []
    for call in calls:
        fitted, problem = checked(run, call)
        if problem is not None and (outcome := exhausted(run, options, usage, response, call.name)):
            return outcome
        given.append((fitted, problem))
    runs = yield from run.use([ToRun(call.id, call.name, call.arguments) for call, problem in given if problem is None])
    if run.aborted:
        return run.threw("CancelledError", "", "aborted")
    return settled(run, options, usage, response, given, runs)


def settled(
    run: Run,
    options: Options,
    usage: Usage,
    response: Response,
    given: list[tuple[SeenCall, str | None]],
    runs: tuple[ToolRun, ...],
) -> Outcome | None:
    """What the runs came to: results, counts, or the first exception."""
    thrown = next((done for done in runs if done.raised), None)
    if thrown is not None:
        return run.threw("Exception", str(thrown.output), "tool_error")
    failing = [done.name for done in runs if done.is_error]
    for name in failing:
        if outcome := exhausted(run, options, usage, response, name):
            return outcome
    results = []
    left = iter(runs)
    for call, problem in given:
        done = None if problem is not None else next(left)
        wrong = problem is not None or (done is not None and done.is_error)
        output = problem if done is None else done.output
        results.append(ToolResult(call.id, output, wrong and run.wire == ANTHROPIC))
    fine = {done.name for done in runs if not done.is_error}
    failed = {call.name for call, problem in given if problem is not None} | set(failing)
    counts = {name: usage.failed.get(name, 0) + 1 for name in failed}
    usage.failed = {name: count for name, count in usage.failed.items() if name not in fine} | counts
    usage.tool_calls += sum(not done.is_error for done in runs)
    run.answer_with(results)
    return None


def exhausted(run: Run, options: Options, usage: Usage, response: Response, name: str) -> Outcome | None:
    """The end of the run where a tool has used up its retries."""
    allowed = options.retries(name)
    if usage.failed.get(name, 0) < allowed:
        return None
    if response.cut_call:
        message = "Model token limit exceeded while generating a tool call, resulting in incomplete arguments."
        return run.threw("IncompleteToolCall", message, bad_call=True)
    return run.threw(
        "UnexpectedModelBehavior", f"Tool {name!r} exceeded max retries count of {allowed}.", bad_call=True
    )


def checked(run: Run, call: SeenCall) -> tuple[SeenCall, str | None]:
    """The call with its arguments converted, and why it is not run."""
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return call, f"Unknown tool name: {call.name!r}. Available tools: {', '.join(map(repr, run.tools))}"
    try:
        value = lax(spec.schema, arguments(call), extra="forbid")
    except Unfit as error:
        return call, f"1 validation error: {error}\n\nFix the errors and try again."
    return SeenCall(call.id, call.name, call.raw, value), None
