"""TanStack AI's UI messages: a result is there twice, as the call's output and as a part of its own; no part marks where a reply
ends, so that one message counts as one, and is played as the several replies that it must have been.
"""

from __future__ import annotations

import json
from typing import Any

from agentsim.core.messages import Opaque, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.ui_parts import UiMessage
from agentsim.store.recording import REPLY_BOUNDARIES, STOP_REASONS, Recording


def _words(part: dict[str, Any]) -> str:
    return text_of(part.get("content")) or text_of(part.get("text")) or ""


def _assistant(builder: ConversationBuilder, parts: list[dict[str, Any]], place: int, source: Source) -> None:
    ui = UiMessage(builder, place)
    outputs: dict[str, Any] = {}
    with_results = {text_of(p.get("toolCallId")) for p in parts if p.get("type") == "tool-result"}
    for part in parts:
        kind = part.get("type")
        if kind == "text":
            ui.block(Text(_words(part)))
        elif kind == "thinking":
            ui.block(Thinking(_words(part), text_of(part.get("signature")) or ""))
        elif kind == "tool-call":
            identity = text_of(part.get("id")) or ""
            ui.block(ToolCall(identity, text_of(part.get("name")) or "", _arguments(part)))
            if part.get("state") in ("approval-requested", "approval-responded"):
                builder.pending.add(identity)
            if part.get("output") is not None:
                outputs[identity] = part["output"]
                if identity not in with_results:
                    ui.result(identity, part["output"])
        elif kind == "tool-result":
            identity = text_of(part.get("toolCallId")) or ""
            ui.result(
                identity,
                part.get("content", outputs.get(identity, "")),
                part.get("state") == "error" or bool(part.get("error")),
            )
        else:
            source.skip(f"part of type {kind if isinstance(kind, str) else 'none'}")
    ui.close()


def _arguments(part: dict[str, Any]) -> str:
    arguments = part.get("arguments")
    if arguments in ("", None) and part.get("input") is not None:
        return json.dumps(part["input"], default=str)
    return arguments_text(arguments)


def _read(source: Source, shape: Shape) -> Recording:
    builder = ConversationBuilder()
    for place, message in enumerate(_messages(shape.value), 1):
        message = as_dict(message)
        parts = [as_dict(part) for part in as_list(message.get("parts"))]
        role = message.get("role")
        if role == "assistant":
            _assistant(builder, parts, place, source)
        elif role == "user":
            builder.say(*(Text(_words(p)) if p.get("type") == "text" else Opaque(str(p.get("type")), p) for p in parts))
        elif role == "system":
            builder.system = "\n\n".join(filter(None, [builder.system, *map(_words, parts)])) or None
        else:
            source.skip("entry that is no message")
    return Recording(IMPORTER.name, (builder.conversation(),), inferred=(STOP_REASONS, REPLY_BOUNDARIES))


def _messages(value: Any) -> list[Any]:
    return as_list(value.get("messages")) if isinstance(value, dict) else as_list(value)


def _fits(value: Any) -> bool:
    messages = _messages(value)
    parts = [as_dict(part) for message in messages for part in as_list(as_dict(message).get("parts"))]
    if not all("role" in as_dict(message) for message in messages):
        return False
    return any(
        (p.get("type") == "text" and "content" in p) or (p.get("type") == "tool-call" and "name" in p) for p in parts
    ) and any("id" in as_dict(message) or "createdAt" in as_dict(message) for message in messages)


IMPORTER = Importer("tanstack-ui", "TanStack AI messages", ("document",), _fits, _read)
