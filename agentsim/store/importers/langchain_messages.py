"""LangChain's messages: `dumpd` constructors, `messages_to_dict`, and plain dictionaries of LangGraph's API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import Block, Part, ServerCall, ServerResult, Text, Thinking, ToolCall, ToolResult, Usage
from agentsim.store.building import arguments_text
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, number, reply_blocks, text_of
from agentsim.store.importers.chat_messages import output_of

_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "function",
    "SystemMessage": "system",
    "HumanMessageChunk": "human",
    "SystemMessageChunk": "system",
    "ChatMessage": "chat",
}
_TYPES = {*_CLASSES, *_CLASSES.values()}


@dataclass(frozen=True, slots=True)
class Read:
    """A message in neutral words.

    Args:
        role: system, user or assistant.
        id: LangChain's; a history that comes again has the same.
        raw, usage: of a reply.
        chunk: it is a piece of a stream.
    """

    role: str
    parts: tuple[Part, ...]
    id: str | None = None
    raw: str | None = None
    usage: Usage | None = None
    chunk: bool = False


def _fields(value: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The kind of a message and its fields."""
    if value.get("lc") == 1 and value.get("type") == "constructor":
        path = as_list(value.get("id"))
        name = str(path[-1]) if path else ""
        return (name, as_dict(value.get("kwargs"))) if name in _CLASSES else None
    kind = value.get("type")
    if kind not in _TYPES:
        return None
    if isinstance(value.get("data"), dict) and "content" in value["data"]:
        return str(kind), value["data"]
    if "content" in value and ("role" not in value or "additional_kwargs" in value or "response_metadata" in value):
        return str(kind), value
    return None


def is_message(value: Any) -> bool:
    """Whether this is one of LangChain's messages."""
    return isinstance(value, dict) and _fields(value) is not None


def is_telling(value: Any) -> bool:
    """Whether this message shows that it is LangChain's: others have a type `system` or `user` too."""
    if not is_message(value):
        return False
    return (
        value.get("lc") == 1
        or isinstance(value.get("data"), dict)
        or value["type"] in ("human", "ai")
        or value["type"] in _CLASSES
    )


def read(value: dict[str, Any]) -> Read | None:
    """A message; None for one that removes others."""
    found = _fields(value)
    if found is None:
        return None
    name, fields = found
    kind = _CLASSES.get(name, name)
    if kind == "chat":
        kind = {"assistant": "ai", "user": "human"}.get(str(fields.get("role")), "human")
    identity = text_of(fields.get("id"))
    if kind == "ai":
        meta = as_dict(fields.get("response_metadata"))
        return Read("assistant", tuple(_reply(fields)), identity, _raw(meta), _usage(fields), name.endswith("Chunk"))
    if kind in ("tool", "function"):
        result = ToolResult(
            text_of(fields.get("tool_call_id")) or text_of(fields.get("name")) or "",
            output_of(fields.get("content")),
            fields.get("status") == "error",
        )
        return Read("user", (result,), identity)
    content = claude_parts(fields.get("content"))
    return Read("system" if kind == "system" else "user", content, identity)


def _reply(fields: dict[str, Any]) -> list[Block]:
    """The blocks of a reply: calls are said twice, in `tool_calls` and among the content's blocks."""
    calls = [c for call in as_list(fields.get("tool_calls")) if (c := _call(as_dict(call)))]
    calls += [c for call in as_list(fields.get("invalid_tool_calls")) if (c := _call(as_dict(call)))]
    if not calls:
        calls = [c for call in as_list(fields.get("tool_call_chunks")) if (c := _call(as_dict(call)))]
    if not calls:
        calls = [
            c
            for call in as_list(as_dict(fields.get("additional_kwargs")).get("tool_calls"))
            if (c := _openai(as_dict(call)))
        ]
    by_id = {call.id: call for call in calls if call.id}
    blocks: list[Block] = []
    for block in _content(fields.get("content")):
        if isinstance(block, ToolCall):
            if calls and block.id not in by_id:
                continue
            block = by_id.pop(block.id, block)
        blocks.append(block)
    had = {id(block) for block in blocks}
    return blocks + [call for call in calls if id(call) not in had]


def _content(content: Any) -> list[Block]:
    if not isinstance(content, list):
        return list(reply_blocks(claude_parts(content)))
    blocks: list[Block] = []
    for item in content:
        item = item if isinstance(item, str) else as_dict(item)
        blocks += [Text(item)] if isinstance(item, str) and item else _block(item) if isinstance(item, dict) else []
    return blocks


def _block(item: dict[str, Any]) -> list[Block]:
    kind = item.get("type")
    if kind in ("tool_call", "function_call", "invalid_tool_call", "tool_call_chunk", "input_json_delta"):
        call = _call(item)
        return [call] if call else []
    if kind == "reasoning":
        words = text_of(item.get("reasoning")) or text_of(item.get("text"))
        summary = [t for part in as_list(item.get("summary")) if (t := text_of(as_dict(part).get("text")))]
        return [Thinking(words or "\n".join(summary), text_of(item.get("encrypted_content")) or "")]
    if kind == "server_tool_call":
        return [
            ServerCall(text_of(item.get("id")) or "", text_of(item.get("name")) or "", arguments_text(item.get("args")))
        ]
    if kind == "server_tool_result":
        return [ServerResult(text_of(item.get("tool_call_id")) or "", item.get("output"))]
    if kind == "web_search_call":
        return [
            ServerCall(text_of(item.get("id")) or "", "web_search", json.dumps(item.get("action") or {}, default=str))
        ]
    return list(reply_blocks(claude_parts([item])))


def _call(call: dict[str, Any]) -> ToolCall | None:
    name = text_of(call.get("name"))
    if not name:
        return None
    identity = text_of(call.get("call_id")) or text_of(call.get("id")) or ""
    return ToolCall(identity, name, arguments_text(call.get("args", call.get("arguments"))))


def _openai(call: dict[str, Any]) -> ToolCall | None:
    function = as_dict(call.get("function"))
    return _call({"id": call.get("id"), "name": function.get("name"), "args": function.get("arguments")})


def _raw(meta: dict[str, Any]) -> str | None:
    for key in ("stop_reason", "finish_reason", "stopReason", "finishReason", "done_reason"):
        found = meta.get(key)
        if isinstance(found, dict):
            found = found.get("reason", found.get("type"))
        if isinstance(found, str):
            return found
    status = text_of(meta.get("status"))
    reason = text_of(as_dict(meta.get("incomplete_details")).get("reason"))
    return f"{status}:{reason}" if status == "incomplete" and reason else status


def _usage(fields: dict[str, Any]) -> Usage | None:
    given = as_dict(fields.get("usage_metadata"))
    total, made = number(given, "input_tokens"), number(given, "output_tokens")
    if total is None and made is None:
        return None
    details = as_dict(given.get("input_token_details"))
    read, written = number(details, "cache_read") or 0, number(details, "cache_creation") or 0
    return Usage(max(0, (total or 0) - read - written), made or 0, read, written)
