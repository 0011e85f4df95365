"""The Vercel AI SDK: generateText, streamText, ToolLoopAgent.generate and ToolLoopAgent.stream are one loop.

Measured on ai 7.0.143 with @ai-sdk/anthropic 4.0.82 and @ai-sdk/openai 4.0.118. In the SDK's own order of checks:

    steps = []
    loop:
      reply = the model, up to 3 requests for each step
      a call of an unknown tool, with arguments that are no JSON or don't fit: invalid, answered with an error whatever the finish reason
      finish reason "tool-calls" or "stop": run every valid call that has an implementation, together
      steps.push(step)                                  # the only counter
      go on only if every client call has its output, there is a client call or a pending provider call,
        and no stop condition is true                   # asked here, last: isStepCount(n) is steps.length === n
    return the last step's text and finish reason       # never throws for a cap
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Message, ServerCall, ServerResult, ToolCall, ToolResult
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall

RETRY = Retry(retries=2)
SDK = "ai 7.0.143, @ai-sdk/anthropic 4.0.82, @ai-sdk/openai 4.0.118"

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
    "compaction": "other",
}
CHAT_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool-calls", "content_filter": "content-filter"}


def finish_reason(seen: Seen) -> str:
    """The AI SDK's finish reason of a reply. Responses has none on the wire: calls make it `tool-calls`."""
    if seen.wire == ANTHROPIC:
        return FINISH.get(seen.stop or "", "other")
    if seen.wire == RESPONSES:
        if seen.cut:
            return "length"
        if seen.refusal is not None and not seen.calls:
            return "content-filter"
        return "tool-calls" if seen.calls else "stop"
    if seen.refusal is not None and seen.word == "stop":
        return "content-filter"
    return CHAT_FINISH.get(seen.word or "", "other")


def shown_text(seen: Seen) -> str:
    """The step's text: a refusal's words are text here on every wire."""
    return seen.text + (seen.refusal or "")


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the AI SDK's loop."""
    while True:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen)
        finish = finish_reason(seen)
        outputs = yield from run_tools(run, seen, finish)
        run.count += 1
        waiting = pending(run, seen)
        if not all(outputs) or not (seen.calls or waiting):
            return end(run, seen, finish)
        if run.limit is not None and run.count == run.limit:
            return end(run, seen, finish, ended="limit")
        send_back(run, seen, outputs)


def run_tools(run: Run, seen: Seen, finish: str) -> Generator[Action, Event, list[ToolResult | None]]:
    """An output for every call that gets one, None for those that get none (cut off by the finish reason, or the client's)."""
    runs_tools = finish in ("tool-calls", "stop")
    outputs: list[ToolResult | None] = [invalid(run, call) for call in seen.calls]
    due = [i for i, call in enumerate(seen.calls) if outputs[i] is None and runs_tools and not run.tools[call.name].client]
    settled = yield from run.settle([seen.calls[i] for i in due], lambda call: None, lambda done: render(run, done))
    for i, result in zip(due, settled.results, strict=True):
        outputs[i] = result
    return outputs


def pending(run: Run, seen: Seen) -> tuple[ServerCall, ...]:
    """Calls of declared provider tools that have no result yet, over all steps."""
    done, calls = set(), []
    for block in [*(b for m in run.history for b in m.content), *seen.reply.blocks]:
        if type(block) is ServerResult:
            done.add(block.call_id)
        elif type(block) is ServerCall and block.name in run.server_tools:
            calls.append(block)
    return tuple(call for call in calls if call.id not in done)


def invalid(run: Run, call: SeenCall) -> ToolResult | None:
    """The error output of a call that the SDK does not accept; None where it does."""
    problem = run.problem(call)
    if problem is None:
        return None
    if problem == "unknown":
        text = f"AI_NoSuchToolError: Model tried to call unavailable tool '{call.name}'. Available tools: {', '.join(run.tools)}."
    elif problem == "json":
        text = (
            f"AI_InvalidToolInputError: Invalid input for tool {call.name}: AI_JSONParseError: "
            f"JSON parsing failed: Text: {call.raw}."
        )
    else:
        value = json.dumps(call.arguments, separators=(",", ":"), ensure_ascii=False)
        text = (
            f"AI_InvalidToolInputError: Invalid input for tool {call.name}: AI_TypeValidationError: "
            f"Type validation failed: Value: {value}."
        )
    return error_output(run, call.id, text)


def error_output(run: Run, call_id: str, text: str) -> ToolResult:
    """An error as the provider's wire says it: `is_error` on Claude, `{"error": …}` elsewhere."""
    if run.wire == ANTHROPIC:
        return ToolResult(call_id, text, is_error=True)
    return ToolResult(call_id, json.dumps({"error": text}, ensure_ascii=False))


def render(run: Run, done: ToolRun) -> ToolResult:
    """A tool's output as it is sent: text as it is, other values as JSON, an exception as an error output."""
    if done.raised:
        return error_output(run, done.call_id, f"Error: {done.output}")
    return ToolResult(done.call_id, as_text(done.output), is_error=done.is_error and run.wire == ANTHROPIC)


def as_text(value: Any) -> str:
    """A tool's output as text, as JSON.stringify writes it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def send_back(run: Run, seen: Seen, outputs: list[ToolResult | None]) -> None:
    """The reply and its outputs go into the history; a call that could not be read is sent back with input {}."""
    raws = {id(call): "{}" if not call.is_object else call.raw for call in seen.calls}
    calls = iter(seen.calls)
    blocks = [
        ToolCall(b.id, b.name, raws[id(next(calls))]) if isinstance(b, ToolCall) else b for b in seen.reply.blocks
    ]
    if blocks:
        run.history.append(Message("assistant", tuple(blocks)))
    run.answer_with([output for output in outputs if output is not None])


def end(run: Run, seen: Seen, finish: str, ended: str | None = None) -> Outcome:
    """The SDK returns the last step. A client tool's call that waits is handed back."""
    if ended is None and finish in ("tool-calls", "stop") and any(
        run.problem(call) is None and run.tools[call.name].client for call in seen.calls
    ):
        ended = "handed_back"
    return run.returned(
        shown_text(seen), finish, done=finish == "stop", ended=ended, reported=int(run.count), dropped=bool(seen.calls)
    )


def failed(run: Run, failure: Failed) -> Outcome:
    """What a failed model call comes to: generate throws and loses the steps; a stream keeps those that are done."""
    fault = failure.fault
    if failure.aborted:
        return run.threw("AbortError", "This operation was aborted", "aborted")
    if fault.in_stream:
        return _broken(run, fault)
    message = fault.message or "Cannot connect to API"
    if failure.attempts > RETRY.retries:
        name, message = "AI_RetryError", f"Failed after {failure.attempts} attempts. Last error: {message}"
    else:
        name = "AI_APICallError"
    if run.streamed and run.count:
        return run.threw(name, message, "http_error", finish="other", text="", reported=int(run.count))
    return run.threw(name, message, "http_error")


def _broken(run: Run, fault: Fault) -> Outcome:
    """A stream that broke: an error event ends the run with its text so far; one that merely ends is no error at all."""
    text = "".join(getattr(b, "text", "") for b in fault.partial.blocks) if fault.partial else ""
    if fault.disconnect is None:
        return run.threw("AI_StreamProviderError", fault.message, "broken_stream", finish="error", text=text)
    finish = "interrupted" if run.wire == RESPONSES else "other"
    return run.returned(text, finish, done=False, ended="broken_stream", reported=int(run.count) + 1)


def read_limit(value: Any) -> float | None:
    """`isStepCount(n)` compares with `===`: only a whole number of at least 1 ever fires."""
    return value if value is not None and value >= 1 and value == int(value) else None


def _style(name: str, default: float, streams: bool) -> Style:
    return Style(
        name=f"ai-sdk/{name}",
        sdk=SDK,
        unit="step",
        knob="stopWhen: isStepCount(n)",
        default=default,
        loop=loop,
        checks="after the step's tools ran, and only where the loop would go on",
        at_limit='returns the last step; finishReason "tool-calls" is the only sign',
        signal='finishReason == "stop"',
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=streams,
        read_limit=read_limit,
    )


STYLES = (
    _style("generateText", 1, streams=False),
    _style("streamText", 1, streams=True),
    _style("ToolLoopAgent.generate", 20, streams=False),
    _style("ToolLoopAgent.stream", 20, streams=True),
)
