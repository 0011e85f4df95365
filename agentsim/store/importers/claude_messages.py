"""Claude messages: a list of messages, a request's body, a reply's body; one of them in a file, or one a line."""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Message
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, reply_blocks, text_of, usage
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Declared, Recording

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")


def declared_tools(tools: Any) -> dict[str, Declared]:
    """The tools of a request's body. Those with a dated type and no schema run at the provider."""
    found = {}
    for tool in as_list(tools):
        name = text_of(as_dict(tool).get("name"))
        if name is None:
            continue
        schema = tool.get("input_schema")
        server = not isinstance(schema, dict) and str(tool.get("type", "custom")) != "custom"
        found[name] = Declared(
            name, text_of(tool.get("description")) or "", schema if isinstance(schema, dict) else None, server
        )
    return found


def system_text(system: Any) -> str | None:
    """A system prompt, which may be a list of text blocks."""
    if isinstance(system, str):
        return system or None
    texts = [text for block in as_list(system) if (text := text_of(as_dict(block).get("text")))]
    return "\n\n".join(texts) or None


def add_message(builder: ConversationBuilder, message: dict[str, Any], place: int) -> None:
    """Take one message: an assistant's is a reply."""
    parts = claude_parts(message.get("content"))
    if message.get("role") == "assistant":
        raw = text_of(message.get("stop_reason")) or text_of(as_dict(message.get("state")).get("stopReason"))
        builder.reply(
            reply_blocks(parts), raw, place, usage=usage(message.get("usage")), key=text_of(message.get("id"))
        )
    elif message.get("role") == "system":
        builder.system = system_text(message.get("content")) or builder.system
    else:
        add_user_parts(builder, Message("user", parts))


def add_user_parts(builder: ConversationBuilder, message: Message) -> None:
    """Take a user message."""
    builder.say(*message.content)


def _read(source: Source, shape: Shape) -> Recording:
    values = [value for _, value in source.records()] if shape.kind == "lines" else [shape.value]
    builders: list[ConversationBuilder] = []
    place = 0
    if shape.kind == "lines" and all(_is_message(value) for value in values):
        values = [values]
    for value in values:
        builder = ConversationBuilder()
        builders.append(builder)
        messages = value if isinstance(value, list) else as_list(as_dict(value).get("messages"))
        if isinstance(value, dict):
            builder.system = system_text(value.get("system"))
            builder.declared = declared_tools(value.get("tools"))
            if value.get("type") == "message":
                messages = [value]
        for message in messages:
            place += 1
            if isinstance(message, dict) and message.get("role") in ("user", "assistant", "system"):
                add_message(builder, message, place)
            else:
                source.skip(f"entry {place} that is no message")
    conversations = tuple(builder.conversation() for builder in builders)
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    return Recording(IMPORTER.name, conversations, inferred=(STOP_REASONS,) if missing else ())


def _is_message(value: Any) -> bool:
    """A message that only Claude writes: its content is typed blocks, and nothing in it is of another wire."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant", "system"):
        return False
    return (
        isinstance(value.get("content"), str | list)
        and not {"tool_calls", "parts", "lc", "tool_call_id", "finish_reason"} & value.keys()
    )


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        if value.get("type") == "message" and value.get("role") == "assistant":
            return isinstance(value.get("content"), list) and "output" not in value and value.get("status") is None
        messages = value.get("messages")
        return (
            isinstance(messages, list)
            and _fits_messages(messages)
            and ("model" in value or "system" in value or _has_blocks(messages))
        )
    if not isinstance(value, list) or not value:
        return False
    return _fits_messages(value) or all(isinstance(item, dict) and _fits(item) for item in value)


def _fits_messages(messages: list[Any]) -> bool:
    return bool(messages) and all(map(_is_message, messages)) and not _is_chat(messages)


def _has_blocks(messages: list[Any]) -> bool:
    return any(as_dict(block).get("type") in _BLOCKS for m in messages for block in as_list(m.get("content")))


def _is_chat(messages: list[Any]) -> bool:
    """Whether Chat Completions or Responses wrote it: their content parts have types of their own."""
    kinds = {as_dict(part).get("type") for m in messages for part in as_list(as_dict(m).get("content"))}
    return bool(
        kinds & {"input_text", "output_text", "image_url", "input_image", "refusal", "tool-call", "tool-result"}
    )


IMPORTER = Importer("claude-messages", "Claude messages", ("document", "lines"), _fits, _read)
