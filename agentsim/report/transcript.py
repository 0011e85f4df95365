"""A run as a transcript that a person reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentsim.core.events import (
    Aborted,
    Event,
    Fault,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    OutOfScript,
    RunFinished,
    RunStarted,
    TimedOut,
    ToolRun,
    ToolsRan,
    Unbounded,
)
from agentsim.core.history import Joined, short, short_part
from agentsim.core.messages import (
    Message,
    RedactedThinking,
    Refusal,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.judge.result import Result
from agentsim.report.plain import line


def result_lines(result: Result, *, full: bool = False) -> Iterator[str]:
    """The lines of `agentsim run`."""
    limit = "none" if result.limit is None else f"{result.limit:g}"
    kind = "default " if result.limit_is_default else ""
    yield f"{result.scenario.name} under {result.style.name} ({result.style.sdk})"
    stream = "streamed" if result.stream else "not streamed"
    yield f"{result.wire}, {stream}; {result.style.knob}: {kind}{limit}"
    yield ""
    yield from transcript_lines(result.transcript, full=full)
    yield ""
    yield from ending_lines(result)


def ending_lines(result: Result) -> Iterator[str]:
    """How a run ended, and what there is to say about the whole of it."""
    silent = "  SILENT: the caller is told that it is done, and it is not" if result.silent else ""
    yield f"ended: {result.ended}, returned: {result.returned}{silent}"
    requests = "" if result.model_requests == result.model_calls else f" ({many(result.model_requests, 'request')})"
    calls = f"{many(result.model_calls, 'model call')}{requests}, {many(result.tool_rounds, 'tool round')}"
    least = f"; least limit that is enough: {result.least_limit}" if result.least_limit is not None else ""
    yield f"{calls}; counted: {many(result.count, result.style.unit)}{least}"
    for refused in result.refused_requests:
        yield f"the real API would refuse request {refused['request']}: {refused['rule']}"
    if result.unused_replies:
        yield f"unused replies: {result.unused_replies}"
    if result.seconds:
        yield f"virtual seconds: {result.seconds:g}"
    if result.cost_usd is not None:
        yield f"cost: {result.cost_usd:.6f} USD"


def many(number: float, word: str) -> str:
    """A number of things, in words."""
    return f"{number:g} {word}{'' if number == 1 else 's'}"


def transcript_lines(events: Any, *, full: bool = False) -> Iterator[str]:
    """A line or a few for each event, requests counted from 1; no text in it forges a line or steers a terminal."""
    return map(line, _lines(events, full))


def _lines(events: Any, full: bool) -> Iterator[str]:
    threads: dict[int, Joined] = {}
    number = 0
    for event in events:
        if type(event) is ModelRequested:
            number += 1
            sent = threads.setdefault(event.thread, Joined()).request(event.kept, event.new)
            who = f" of {event.agent}" if event.agent else ""
            yield f"request {number}{who}: keeps {sent.kept}, new: {', '.join(map(short, sent.new)) or 'nothing'}"
            if full:
                yield from (f"    {text}" for message in sent.new for text in message_lines(message))
        else:
            yield from _event_lines(event)


def _event_lines(event: Event) -> Iterator[str]:
    if isinstance(event, ModelReplied):
        yield f"reply: {event.reply.stop_reason}{_seconds(event.seconds)}"
        yield from (f"    {text}" for text in reply_lines(event.reply))
    elif isinstance(event, ModelFailed):
        yield f"fault: {fault_text(event.fault)}{_seconds(event.seconds)}"
    elif isinstance(event, ToolsRan):
        yield from map(_run_line, event.runs)
    elif isinstance(event, Aborted | TimedOut):
        yield from map(_run_line, event.runs)
        yield "the caller gives up" if isinstance(event, Aborted) else "the time is up"
    elif isinstance(event, OutOfScript):
        yield "the script has no further reply"
    elif isinstance(event, Unbounded):
        yield "nothing would ever stop this run; given up"
    elif isinstance(event, RunStarted):
        if event.messages:
            yield f"starts with {len(event.messages)} messages of history"
    elif isinstance(event, RunFinished):
        outcome = event.outcome
        if outcome.error_type is not None:
            yield f"throws {outcome.error_type}: {outcome.error_message}"
        else:
            yield f"returns {_json(outcome.final_text)} ({outcome.finish_reason or 'no finish reason'})"


def _run_line(run: ToolRun) -> str:
    if run.timed_out:
        return f"tool {run.name}({_json(run.input)}) is given up: it took too long{_seconds(run.seconds)}"
    mark = "raises" if run.raised else "fails" if run.is_error else "returns"
    return f"tool {run.name}({_json(run.input)}) {mark} {_json(run.output)}{_seconds(run.seconds)}"


def reply_lines(reply: Reply) -> Iterator[str]:
    """A reply's blocks, a line each."""
    if not reply.blocks:
        yield "(no content)"
    for block in reply.blocks:
        yield part_text(block)


def message_lines(message: Message) -> Iterator[str]:
    """A message's parts, a line each, behind its role."""
    for part in message.content or ():
        yield f"{message.role}: {part_text(part)}"
    if not message.content:
        yield f"{message.role}: (no content)"


def part_text(part: Any) -> str:
    """One block or result on one line."""
    if isinstance(part, Text):
        return _json(part.text)
    if isinstance(part, ToolCall):
        return f"{part.id} = {part.name}({part.arguments})"
    if isinstance(part, ServerCall):
        return f"{part.id} = {part.name}({part.arguments}), at the provider"
    if isinstance(part, ServerResult):
        return f"result of {part.call_id} at the provider: {_json(part.content)}"
    if isinstance(part, ToolResult):
        return f"{'error ' if part.is_error else ''}result of {part.call_id}: {_json(part.output)}"
    if isinstance(part, Thinking):
        return f"thinking {_json(part.thinking)}"
    if isinstance(part, Refusal):
        return f"refusal {_json(part.text)}"
    return "redacted thinking" if isinstance(part, RedactedThinking) else short_part(part)


def fault_text(fault: Fault) -> str:
    """A fault on one line."""
    where = f" after {fault.after_characters} characters" if fault.after_characters is not None else ""
    if fault.disconnect == "refuse":
        return "the connection is refused"
    if fault.disconnect == "stall":
        return f"nothing more comes{where}, and the client stops waiting"
    if fault.disconnect:
        return f"the connection is lost ({fault.disconnect}){where}"
    return f"{fault.status} {fault.type}: {fault.message}{where}"


def _seconds(seconds: float) -> str:
    return f" [{seconds:g} s]" if seconds else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
