"""Mastra's Agent.generate and Agent.stream: a step is one model call with its tools, whatever the finish reason.

Measured on @mastra/core 1.71.0 with @ai-sdk/anthropic 3.0.140 and @ai-sdk/openai 3.0.141:

    conds = maxSteps truthy ? [steps.length === maxSteps] : [steps.length === 5]
    loop:
      reply = model(...)                                     # 1 HTTP request, no retry by default
      run all its client calls (at most 10 at once), whatever the finish reason
      go on = (has calls and reason not in {error, length, content-filter}) or reason not in {stop, error, length, content-filter}
      steps.push(...)
      stop = go on and any(conds)                            # asked only while it would go on
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import strip_unknown
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Message, Part, ToolCall, ToolResult
from agentsim.core.run import NO_RETRY, Failed, Run, fault_ending
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall
from agentsim.styles.ai_sdk import finish_reason

ENDS = frozenset({"error", "length", "content-filter"})
WORKERS = 10


def generate(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of Agent.generate: its text is that of all steps."""
    return (yield from loop(run, stream=False))


def stream(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of Agent.stream."""
    return (yield from loop(run, stream=True))


def loop(run: Run, stream: bool) -> Generator[Action, Event, Outcome]:
    """One run of the agentic loop."""
    texts: list[str] = []
    while True:
        seen = yield from run.call(NO_RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen, stream)
        texts.append(seen.text + (seen.refusal or ""))
        finish = finish_reason(seen)
        yield from step(run, seen)
        run.count += 1
        calls = bool(seen.calls)
        goes_on = (calls and finish not in ENDS) or finish not in ENDS | {"stop"}
        if goes_on and run.limit is not None and run.count == run.limit:
            return end(run, texts, finish, stream, "limit")
        if not goes_on:
            return end(run, texts, finish, stream, None)


def end(run: Run, texts: list[str], finish: str, stream: bool, ended: str | None) -> Outcome:
    """generate joins the text of all steps; stream does so only in runs without tool rounds."""
    text = texts[-1] if stream and run.rounds else "".join(texts)
    return run.returned(text, finish, done=finish == "stop", ended=ended, reported=int(run.count))


def step(run: Run, seen: Seen) -> Generator[Action, Event, None]:
    """Run a reply's calls and put both into the history."""
    refused = [refusal(run, call) for call in seen.calls]
    due = [call for call, result in zip(seen.calls, refused, strict=True) if result is None]
    inputs = [ToRun(c.id, c.name, strip_unknown(run.tools[c.name].schema, readable(c))) for c in due]
    runs = iter((yield from run.use(inputs, workers=WORKERS)))
    results = [result or render(run, next(runs)) for result in refused]
    run.history.append(Message("assistant", tuple(resent(seen))))
    run.answer_with(unique(results))


def readable(call: SeenCall) -> Any:
    """Arguments that can't be read are {}."""
    return call.arguments if call.is_object else {}


def refusal(run: Run, call: SeenCall) -> ToolResult | None:
    """The result of a call that is not run; None where it is."""
    spec = run.tools.get(call.name)
    if spec is None:
        names = ", ".join(run.tools)
        text = f'Tool "{call.name}" not found. Available tools: {names}. Call tools by their exact name only.'
        return ToolResult(call.id, text, is_error=run.wire == ANTHROPIC)
    problem = spec.problem(readable(call))
    if problem is None:
        return None
    message = f"Tool input validation failed for {call.name}. Please fix the following errors and try again:\n- {problem}"
    return ToolResult(call.id, json.dumps({"error": True, "message": message}, ensure_ascii=False))


def render(run: Run, done: ToolRun) -> ToolResult:
    """A tool's output as it is sent."""
    if done.is_error:
        return ToolResult(done.call_id, str(done.output), is_error=run.wire == ANTHROPIC)
    output = done.output if isinstance(done.output, str) else json.dumps(done.output, separators=(",", ":"))
    return ToolResult(done.call_id, output)


def resent(seen: Seen) -> list[Part]:
    """The reply as it is sent back: of two calls with one id only the first is kept."""
    calls = iter(seen.calls)
    parts: list[Part] = []
    ids: set[str] = set()
    for block in seen.reply.blocks:
        if not isinstance(block, ToolCall):
            parts.append(block)
            continue
        call = next(calls)
        if call.id not in ids:
            ids.add(call.id)
            parts.append(ToolCall(call.id, call.name, call.raw if call.is_object else "{}"))
    return parts


def unique(results: list[ToolResult]) -> list[ToolResult]:
    """One result an id."""
    return list({result.call_id: result for result in results}.values())


def failed(run: Run, failure: Failed, stream: bool) -> Outcome:
    """generate throws; stream ends with an error chunk, and `steps` has the failed one."""
    fault = failure.fault
    message = fault.message or "Cannot connect to API"
    if not stream:
        return run.threw("AI_APICallError", message, fault_ending(fault))
    return run.threw(
        "AI_APICallError", message, fault_ending(fault), finish="error", text="", reported=int(run.count) + 1
    )


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


STYLES = (_style("Agent.generate", generate, streams=False), _style("Agent.stream", stream, streams=True))
