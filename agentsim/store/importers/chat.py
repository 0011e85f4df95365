"""Chat Completions: a list of messages, a request's body, a completion's body, several of them, a fine-tuning file."""

from __future__ import annotations

from typing import Any

from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list
from agentsim.store.importers.chat_messages import ROLES, add_message, declared_tools
from agentsim.store.importers.said import CHAT, said
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording


def _read(source: Source, shape: Shape) -> Recording:
    values = [value for _, value in source.records()] if shape.kind == "lines" else [shape.value]
    if shape.kind == "lines" and all(map(_is_message, values)):
        values = [values]
    elif isinstance(shape.value, list) and shape.kind == "document" and not _is_message(shape.value[0]):
        values = shape.value
    builders, place = [], 0
    for value in values:
        builder = ConversationBuilder()
        builders.append(builder)
        place = _conversation(builder, value, place, source)
    conversations = tuple(builder.conversation() for builder in builders)
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    return Recording(IMPORTER.name, conversations, inferred=(STOP_REASONS,) if missing else ())


def _conversation(builder: ConversationBuilder, value: Any, place: int, source: Source) -> int:
    """Take one value: messages, a request with messages, a completion, or a request with its completion."""
    body = as_dict(value)
    builder.declared = declared_tools(body.get("tools"), body.get("functions"))
    for message in value if isinstance(value, list) else as_list(body.get("messages")):
        place += 1
        if not isinstance(message, dict) or not add_message(builder, message, place):
            source.skip(f"entry {place} that is no message")
    if _is_completion(body):
        place += 1
        answer = said(body, CHAT)
        builder.reply(answer.blocks, answer.raw, place, usage=answer.usage)
    return place


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in ROLES:
        return False
    return ("content" in value or "tool_calls" in value or "function_call" in value) and not {
        "parts",
        "lc",
        "type",
    } & value.keys()


def _is_completion(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(as_dict(c).get("message"), dict) for c in as_list(value.get("choices"))
    )


def _is_chat(messages: Any) -> bool:
    """Messages of this wire, rather than Claude's: a tool speaks, or content is text and images."""
    if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
        return False
    kinds = {as_dict(part).get("type") for m in messages for part in as_list(m.get("content"))}
    return not kinds & {"tool_use", "tool_result", "server_tool_use", "tool-call", "tool-result"}


def _fits(value: Any) -> bool:
    if _is_completion(value) or _is_chat(value):
        return True
    if isinstance(value, dict):
        return _is_chat(value.get("messages"))
    return (
        isinstance(value, list)
        and bool(value)
        and all(_is_completion(v) or _is_chat(as_dict(v).get("messages")) for v in value)
    )


IMPORTER = Importer("chat", "Chat Completions messages and bodies", ("document", "lines"), _fits, _read)
