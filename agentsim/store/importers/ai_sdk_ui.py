"""AI SDK UI messages: a chat's history as a browser or a database keeps it. `step-start` separates model calls."""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Opaque, ServerCall, ServerResult, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.ui_parts import UiMessage
from agentsim.store.recording import REPLY_BOUNDARIES, STOP_REASONS, Recording

_ROLES = ("system", "user", "assistant")


def take_message(builder: ConversationBuilder, message: dict[str, Any], place: int, source: Source) -> bool:
    """Take one message.

    Returns:
        Whether a boundary between its replies had to be inferred.
    """
    parts = [as_dict(part) for part in as_list(message.get("parts"))]
    role = message.get("role")
    if role == "system":
        builder.system = "\n\n".join(filter(None, [builder.system, *_texts(parts)])) or None
    elif role == "user":
        others = [Opaque(str(p.get("type")), p) for p in parts if p.get("type") not in ("text", None)]
        builder.say(*map(Text, _texts(parts)), *others)
    elif role == "assistant":
        return _assistant(builder, parts, place, source)
    else:
        source.skip("entry that is no message")
    return False


def _texts(parts: list[dict[str, Any]]) -> list[str]:
    return [text for part in parts if part.get("type") == "text" and (text := text_of(part.get("text"))) is not None]


def _assistant(builder: ConversationBuilder, parts: list[dict[str, Any]], place: int, source: Source) -> bool:
    ui = UiMessage(builder, place)
    before = len(builder.origins)
    for part in parts:
        kind = text_of(part.get("type")) or ""
        if kind == "step-start":
            ui.step()
        elif kind == "text":
            ui.block(Text(text_of(part.get("text")) or ""))
        elif kind == "reasoning":
            ui.block(Thinking(text_of(part.get("text")) or text_of(part.get("reasoning")) or ""))
        elif kind == "tool-invocation":
            _old_tool(ui, as_dict(part.get("toolInvocation")))
        elif kind == "dynamic-tool" or kind.startswith("tool-"):
            _tool(builder, ui, kind, part)
        else:
            source.skip(f"part of type {kind or 'none'}")
    ui.close()
    return any(origin.split for origin in builder.origins[before:])


def _tool(builder: ConversationBuilder, ui: UiMessage, kind: str, part: dict[str, Any]) -> None:
    name = text_of(part.get("toolName")) or kind.removeprefix("tool-")
    identity, state = text_of(part.get("toolCallId")) or "", part.get("state")
    given = part.get("input", part.get("rawInput"))
    arguments = arguments_text(given if given is not None else part.get("rawInput"))
    if part.get("providerExecuted") is True:
        ui.block(ServerCall(identity, name, arguments))
        if "output" in part:
            ui.block(ServerResult(identity, part["output"], name))
        return
    ui.block(ToolCall(identity, name, arguments))
    if state == "output-available":
        ui.result(identity, "" if part.get("output") is None else part["output"])
    elif state == "output-error":
        ui.result(identity, text_of(part.get("errorText")) or "", True)
    elif state == "output-denied":
        reason = text_of(as_dict(part.get("approval")).get("reason"))
        ui.result(identity, reason or "Tool execution denied.", True)
    elif state in ("approval-requested", "approval-responded"):
        builder.pending.add(identity)


def _old_tool(ui: UiMessage, tool: dict[str, Any]) -> None:
    """Version 4's invocations."""
    identity = text_of(tool.get("toolCallId")) or ""
    ui.block(ToolCall(identity, text_of(tool.get("toolName")) or "", arguments_text(tool.get("args"))))
    if tool.get("state") == "result":
        ui.result(identity, "" if tool.get("result") is None else tool["result"])


def _messages(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value.get("messages", [value.get("message")] if "message" in value else [value])
    return as_list(value)


def _read(source: Source, shape: Shape) -> Recording:
    messages = [v for _, v in source.records()] if shape.kind == "lines" else _messages(shape.value)
    builder = ConversationBuilder(text_of(as_dict(shape.value).get("id")) or "")
    inferred = [take_message(builder, as_dict(message), place, source) for place, message in enumerate(messages, 1)]
    missing = (STOP_REASONS, REPLY_BOUNDARIES) if any(inferred) else (STOP_REASONS,)
    return Recording(IMPORTER.name, (builder.conversation(),), inferred=missing)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in _ROLES or not isinstance(value.get("parts"), list):
        return False
    parts = [as_dict(part) for part in value["parts"]]
    return all(isinstance(part.get("type"), str) for part in parts) and not any(_is_foreign(part) for part in parts)


def _is_foreign(part: dict[str, Any]) -> bool:
    """Parts of TanStack AI and of OpenTelemetry."""
    kind = part.get("type")
    if kind == "text":
        return "content" in part and "text" not in part
    return kind in ("tool-call", "tool-result", "tool_call", "tool_call_response", "thinking")


def _fits(value: Any) -> bool:
    messages = _messages(value) if isinstance(value, list | dict) else []
    return bool(messages) and all(map(_is_message, messages))


IMPORTER = Importer("aisdk-ui-messages", "AI SDK UI messages", ("document", "lines"), _fits, _read)
