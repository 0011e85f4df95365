"""TanStack AI's chat(): iterations are model turns, and a strategy is asked after each, the final one too.

Measured on @tanstack/ai 0.58.0 with @tanstack/ai-anthropic 0.18.11 and @tanstack/ai-openai 0.23.1:

    strategy = agentLoopStrategy ?? maxIterations(5);  iterationCount = 0
    do:
      reply = adapter stream (the client library's 2 retries)
      RUN_ERROR from the adapter -> the run is over
      finish reason "tool_calls" and the reply has calls:
        run them ONE AFTER THE OTHER; every failure is a result;  phase = continue
      else: phase = stop
      iterationCount += 1
      a = strategy(state)                                        # always called
    while a and phase == continue

The adapters decide what a reply is: on Chat Completions any call that arrived is `tool_calls` and runs, cut or not.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import strip_unknown
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.scripted import check_keys
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall

RETRY = Retry(2)
CUT = "The response was cut off because the maximum token limit was reached."


@dataclass(frozen=True, slots=True)
class RunError:
    """The adapter's RUN_ERROR event: it ends the run."""

    message: str


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of chat(), read as a stream."""
    shown: str | None = None
    while True:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen.fault, shown)
        shown = message_text(seen, shown)
        finish = adapted(seen)
        if isinstance(finish, RunError):
            return threw(run, finish.message, shown)
        calls = merged(seen) if finish == "tool_calls" and run.tools else []
        if calls:
            yield from run_calls(run, seen, calls)
        run.count += 1
        if not calls:
            return returned(run, shown, finish, dropped=bool(seen.calls))
        if run.limit is not None and not run.count < run.limit:
            return returned(run, shown, finish, ended="limit")


# -- the adapters ---------------------------------------------------------------------------------------------------


def adapted(seen: Seen) -> str | RunError | None:
    """The finish reason that the adapter makes of a reply, or its RUN_ERROR."""
    if seen.wire == ANTHROPIC:
        if seen.stop == "max_tokens":
            return RunError(CUT)
        return "tool_calls" if seen.stop == "tool_use" else "stop"
    if seen.wire == RESPONSES:
        if seen.cut:
            return RunError("max_output_tokens")
        if seen.refusal is not None:
            return RunError(seen.refusal or "Refused without explanation")
        return "tool_calls" if seen.calls else "stop"
    if seen.calls:
        return "tool_calls"
    return "stop" if seen.word in (None, "tool_calls") else seen.word


def message_text(seen: Seen, before: str | None) -> str | None:
    """The last text message so far: a turn has one where it has text; Responses opens one for an empty text too."""
    text = seen.text
    if text or (seen.wire == RESPONSES and any(isinstance(b, Text) for b in seen.reply.blocks)):
        return text
    return before


def merged(seen: Seen) -> list[SeenCall]:
    """The calls by id: two with one id are one call, of the first one's name and with the last one's arguments."""
    calls: dict[str, SeenCall] = {}
    for call in seen.calls:
        first = calls.get(call.id, call)
        calls[call.id] = SeenCall(call.id, first.name, call.raw, _readable(call))
    return list(calls.values())


def _readable(call: SeenCall) -> Any:
    """What is no object or can't be read is {}; an array stays, for the schema to refuse."""
    return call.arguments if not call.broken and isinstance(call.arguments, dict | list) else {}


# -- tools ----------------------------------------------------------------------------------------------------------


def run_calls(run: Run, seen: Seen, calls: list[SeenCall]) -> Generator[Action, Event, None]:
    """Run a turn's calls one after the other, in order; every failure is a result, never marked as an error."""
    refused = {call.id: refusal(run, call) for call in calls}
    due = [call for call in calls if refused[call.id] is None]
    inputs = [ToRun(c.id, c.name, strip_unknown(run.tools[c.name].schema, _given(run, c))) for c in due]
    runs = yield from run.use(inputs, batches=(1,) * len(due))
    rendered = {done.call_id: render(done) for done in runs}
    results = [ToolResult(call.id, refused[call.id] or rendered[call.id]) for call in calls]
    run.history.append(Message("assistant", tuple(resent(run, seen, calls))))
    run.answer_with(results)


def _given(run: Run, call: SeenCall) -> Any:
    """On OpenAI's wires null for an optional property is taken out before it is looked at."""
    if run.wire == ANTHROPIC or not isinstance(call.arguments, dict):
        return call.arguments
    required = run.tools[call.name].schema.get("required", ())
    return {key: value for key, value in call.arguments.items() if value is not None or key in required}


def refusal(run: Run, call: SeenCall) -> str | None:
    """The result of a call that is not run; None where it is."""
    spec = run.tools.get(call.name)
    if spec is None:
        return _json({"error": f"Unknown tool: {call.name}"})
    problem = spec.problem(_given(run, call))
    if problem is None:
        return None
    return _json({"error": f"Input validation failed for tool {call.name}: Validation failed: {problem}"})


def render(done: ToolRun) -> str:
    """A tool's output as it is sent: JSON, and a text that is JSON is read and written again."""
    if done.is_error:
        return _json({"error": done.output})
    if not isinstance(done.output, str):
        return _json(done.output)
    try:
        return _json(json.loads(done.output))
    except ValueError:
        return done.output


def resent(run: Run, seen: Seen, calls: list[SeenCall]) -> list[Part]:
    """The turn as it is sent back: on Claude's wire signed thinking, text, calls; on Responses text comes last."""
    thoughts = [b for b in seen.reply.blocks if isinstance(b, Thinking) and (b.signature or run.wire != ANTHROPIC)]
    texts: list[Part] = [Text(seen.text)] if seen.text else []
    uses: list[Part] = [ToolCall(call.id, call.name, _json(call.arguments)) for call in calls]
    return [*thoughts, *uses, *texts] if run.wire == RESPONSES else [*thoughts, *texts, *uses]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# -- failures -------------------------------------------------------------------------------------------------------


def failed(run: Run, fault: Fault, shown: str | None) -> Outcome:
    """A request that failed is a RUN_ERROR; a stream that merely ends has no RUN_FINISHED."""
    if fault.type == "aborted":
        return run.returned(shown, None, done=False, ended="aborted")
    if fault.in_stream:
        return threw(run, fault.message or "terminated", shown, "broken_stream")
    message = f"{fault.status} {fault.message}" if fault.status is not None else "Connection error."
    return threw(run, message, shown, "http_error")


# -- what the caller sees -------------------------------------------------------------------------------------------


def returned(run: Run, shown: str | None, finish: str | None, *, ended: str | None = None, dropped: bool = False) -> Outcome:
    """As a stream, its last text message and its finish reason; `stream: false` returns all turns' text and no reason."""
    if run.options.stream:
        return run.returned(shown, finish, done=finish == "stop", ended=ended, dropped=dropped)
    return run.returned(run.all_text, None, ended=ended, dropped=dropped)


def threw(run: Run, message: str, shown: str | None, ended: str | None = None) -> Outcome:
    """A RUN_ERROR event; `stream: false` rejects with a plain Error."""
    if run.options.stream:
        return run.threw("RUN_ERROR", message, ended, text=shown)
    return run.threw("Error", message, ended)


@dataclass(frozen=True, slots=True)
class Options:
    """Args: stream: read as a stream; False: one promise for the whole text."""

    stream: bool = True


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree."""
    check_keys(tree, "", ("stream",))
    stream = tree.get("stream", True)
    if not isinstance(stream, bool):
        raise ValueError(f"stream: expected true or false, but {stream!r} came")
    return Options(stream)


STYLES = (
    Style(
        name="tanstack-ai/chat",
        sdk="@tanstack/ai 0.58.0, @tanstack/ai-anthropic 0.18.11, @tanstack/ai-openai 0.23.1",
        unit="iteration",
        knob="agentLoopStrategy: maxIterations(n)",
        default=5,
        loop=loop,
        checks="after the turn's tools ran, always; at least one call is made",
        at_limit="the stream ends after the tool results; RUN_FINISHED(tool_calls) is the only sign",
        signal='RUN_FINISHED with finishReason "stop"',
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=True,
        configure=configure,
    ),
)
