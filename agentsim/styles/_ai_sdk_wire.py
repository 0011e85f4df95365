"""How the AI SDK's providers read a reply and write a step back: finish reasons, resent messages, tool outputs.

Measured on @ai-sdk/anthropic 4.0.82 and @ai-sdk/openai 4.0.118 (Responses and Chat Completions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentsim.core.events import ToolRun
from agentsim.core.messages import (
    Block,
    Message,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen
from agentsim.styles._ai_sdk_calls import Call, as_text, compact, thrown_text

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


def finish_reason(seen: Seen) -> str:
    """The AI SDK's finish reason of a whole reply. Responses has none on the wire: calls make it `tool-calls`."""
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
    if seen.word is None:
        return unfinished_reason(CHAT) if seen.streamed else "other"
    return CHAT_FINISH.get(seen.word, "other")


def unfinished_reason(wire: str) -> str:
    """The finish reason of a stream that ended before it said one."""
    return "other" if wire == ANTHROPIC else "interrupted"


def shown_text(seen: Seen) -> str:
    """The step's text: a refusal's words are text here on every wire."""
    return seen.text + (seen.refusal or "")


def assistant(seen: Seen, calls: Sequence[Call]) -> Message | None:
    """The reply as the core loop sends it back: empty texts dropped, calls with the input that the SDK holds; None: nothing."""
    by_block, parts = iter(calls), list[Block]()
    for block in seen.reply.blocks:
        if isinstance(block, Text | Refusal):
            parts += [Text(block.text)] if block.text else []
        elif isinstance(block, ToolCall):
            call = next(by_block)
            parts.append(ToolCall(call.id, call.name, core_arguments(call, seen.wire)))
        else:
            parts.append(block)
    return on_wire(parts, seen.wire)


def on_wire(parts: Sequence[Block], wire: str) -> Message | None:
    """The parts as the provider's package writes them: it moves calls behind texts, and joins texts where the wire has one."""
    if not parts:
        return None
    if wire == ANTHROPIC:
        return Message("assistant", _calls_last(parts))
    if wire == CHAT:
        text = "".join(part.text for part in parts if isinstance(part, Text))
        others = tuple(part for part in parts if not isinstance(part, Text))
        return Message("assistant", (*((Text(text),) if text else ()), *others))
    return Message("assistant", tuple(parts))


def _calls_last(parts: Sequence[Block]) -> tuple[Block, ...]:
    """Claude's package moves the calls behind everything else, between one thinking block and the next."""
    done, segment = list[Block](), list[Block]()
    for part in [*parts, None]:
        if part is None or isinstance(part, Thinking | RedactedThinking):
            done += [p for p in segment if not isinstance(p, ToolCall)] + [
                p for p in segment if isinstance(p, ToolCall)
            ]
            done += [part] if part is not None else []
            segment = []
        else:
            segment.append(part)
    return tuple(done)


def core_arguments(call: Call, wire: str) -> str:
    """A call's arguments as the core loop sends them back."""
    value = call.input if call.error is None or isinstance(call.input, Mapping | list | type(None)) else {}
    if call.error is None or isinstance(value, Mapping):
        return compact(value)
    if wire == ANTHROPIC:
        return compact({"rawInvalidInput": value})
    return compact(value) if wire == RESPONSES and value is not None else "{}"


def workflow_arguments(call: Call, wire: str) -> str:
    """A call's arguments as WorkflowAgent sends them back: it keeps what could not be read."""
    value = call.input
    if call.error is None or isinstance(value, Mapping):
        return compact(value)
    if wire == ANTHROPIC:
        return compact({"rawInvalidInput": value}) if value != "" else "{}"
    return compact(value) if wire == RESPONSES else "{}"


def error_output(wire: str, call_id: str, text: str) -> ToolResult:
    """An error as the provider's wire says it: `is_error` on Claude, `{"error": …}` elsewhere."""
    if wire == ANTHROPIC:
        return ToolResult(call_id, text, is_error=True)
    return ToolResult(call_id, compact({"error": text}))


def output(wire: str, done: ToolRun) -> ToolResult:
    """A tool's output as it is sent: text as it is, other values as JSON, an exception or an error result as an error."""
    if done.timed_out:
        return error_output(wire, done.call_id, "TimeoutError: The operation was aborted due to timeout")
    if done.raised:
        return error_output(wire, done.call_id, thrown_text("Error", as_text(done.output)))
    if done.is_error:
        return error_output(wire, done.call_id, as_text(done.output))
    return ToolResult(done.call_id, as_text(done.output))


def denied(call_id: str, reason: Any = None) -> ToolResult:
    """A call that a person or a rule said no to: no error mark."""
    return ToolResult(call_id, str(reason) if reason else "Tool call execution denied.")


def in_call_order(calls: Sequence[Call], results: Sequence[ToolResult]) -> list[ToolResult]:
    """Results by the first place of their id among the calls."""
    first: dict[str, int] = {}
    for at, call in enumerate(calls):
        first.setdefault(call.id, at)
    return sorted(results, key=lambda result: first.get(result.call_id, len(first)))
