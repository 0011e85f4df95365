"""The AI SDK: the `steps` of a result, and the model messages of one.

Steps of version 5 on have `content`; those of version 4 `text`, `toolCalls`, `toolResults`. A tool that threw is a tool-error part
whose error often doesn't survive JSON; what the model was told stands in the step's response messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsim.core.messages import Part, ToolResult, Usage
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.any_message import ai_sdk_parts, said_blocks, spoken
from agentsim.store.importers.blocks import as_dict, as_list, number, text_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording


def ai_sdk_usage(value: Any) -> Usage | None:
    """Tokens of a step; version 6 nests them by kind."""
    value = as_dict(value)
    given, made = (
        value.get("inputTokens", value.get("promptTokens")),
        value.get("outputTokens", value.get("completionTokens")),
    )
    if isinstance(given, dict) or isinstance(made, dict):
        counts = as_dict(given)
        whole, read = number(counts, "total", "noCache") or 0, number(counts, "cacheRead") or 0
        written = number(counts, "cacheWrite") or 0
        return Usage(max(0, whole - read - written), number(as_dict(made), "total") or 0, read, written)
    total, output = number({"n": given}, "n"), number({"n": made}, "n")
    if total is None and output is None:
        return None
    details = as_dict(value.get("inputTokenDetails"))
    read = number(details, "cacheReadTokens") or number(value, "cachedInputTokens") or 0
    written = number(details, "cacheWriteTokens") or 0
    return Usage(max(0, (total or 0) - read - written), output or 0, read, written)


def finish_reason(value: Any) -> str | None:
    """A finish reason; version 6 has the unified and the provider's own."""
    return text_of(value) or text_of(as_dict(value).get("unified")) or text_of(as_dict(value).get("raw"))


def _parts(step: dict[str, Any]) -> list[Part]:
    if isinstance(step.get("content"), list):
        return ai_sdk_parts(step["content"])
    content: list[Any] = [{"type": "text", "text": step["text"]}] if text_of(step.get("text")) else []
    content += [{**as_dict(call), "type": "tool-call"} for call in as_list(step.get("toolCalls"))]
    content += [{**as_dict(result), "type": "tool-result"} for result in as_list(step.get("toolResults"))]
    return ai_sdk_parts(content)


def _told(step: dict[str, Any]) -> dict[str, ToolResult]:
    """What the model was told each call gave."""
    messages = as_list(as_dict(step.get("response")).get("messages"))
    parts = [
        part for m in messages if as_dict(m).get("role") == "tool" for part in ai_sdk_parts(as_dict(m).get("content"))
    ]
    return {part.call_id: part for part in parts if isinstance(part, ToolResult)}


def _read(source: Source, shape: Shape) -> Recording:
    value = [v for _, v in source.records()] if shape.kind == "lines" else shape.value
    steps = value if isinstance(value, list) else value["steps"]
    builder = ConversationBuilder()
    for place, step in enumerate(steps, 1):
        if not _is_step(step):
            source.skip("entry that is no step")
            continue
        parts, told = _parts(step), _told(step)
        builder.reply(
            said_blocks(parts), finish_reason(step.get("finishReason")), place, usage=ai_sdk_usage(step.get("usage"))
        )
        for part in parts:
            if isinstance(part, ToolResult):
                said = told.get(part.call_id, part)
                builder.result(part.call_id, said.output, part.is_error or said.is_error)
        builder.pending |= _pending(step)
    notes = ("the prompt is not recorded",)
    return Recording(STEPS.name, (builder.conversation(),), notes=notes)


def _pending(step: dict[str, Any]) -> set[str]:
    asked = [as_dict(p) for p in as_list(step.get("content")) if as_dict(p).get("type") == "tool-approval-request"]
    return {
        i for p in asked if (i := text_of(p.get("toolCallId")) or text_of(as_dict(p.get("toolCall")).get("toolCallId")))
    }


def _is_step(value: Any) -> bool:
    if not isinstance(value, dict) or "finishReason" not in value:
        return False
    return isinstance(value.get("content"), list) or "toolCalls" in value or "text" in value


def _fits(value: Any) -> bool:
    steps = as_list(as_dict(value).get("steps")) if isinstance(value, dict) else as_list(value)
    return any(map(_is_step, steps))


def _read_messages(source: Source, shape: Shape) -> Recording:
    value = shape.value if isinstance(shape.value, list) else shape.value["messages"]
    builder = ConversationBuilder()
    for place, message in enumerate(value, 1):
        found = spoken(message)
        if found is None:
            source.skip("entry that is no message")
        elif found.role == "system":
            builder.system = "\n\n".join(filter(None, [builder.system, found.text]))
        elif found.role == "assistant":
            results: Sequence[Part] = [part for part in found.parts if isinstance(part, ToolResult)]
            builder.reply(said_blocks(found.parts), None, place)
            builder.say(*results)
        else:
            builder.say(*found.parts)
    return Recording(MESSAGES.name, (builder.conversation(),), inferred=(STOP_REASONS,))


def _fits_messages(value: Any) -> bool:
    messages = value if isinstance(value, list) else as_list(as_dict(value).get("messages"))
    kinds = {as_dict(part).get("type") for m in messages for part in as_list(as_dict(m).get("content"))}
    return bool(kinds & {"tool-call", "tool-result"}) and all("role" in as_dict(m) for m in messages)


STEPS = Importer("aisdk-steps", "AI SDK steps", ("document", "lines"), _fits, _read)
MESSAGES = Importer("aisdk-messages", "AI SDK model messages", ("document",), _fits_messages, _read_messages)
