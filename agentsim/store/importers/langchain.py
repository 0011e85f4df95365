"""LangChain: dumps of messages, LangGraph states, and LangGraph's streams of `[mode, payload]`.

An event of a stream may hold the whole history again, so messages are told apart by their ids; pieces of a streamed reply have
the same id and are joined.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import Block, Part, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.any_message import said_blocks
from agentsim.store.importers.blocks import as_list
from agentsim.store.importers.langchain_messages import Read, is_message, is_telling, read
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording

_DEEPEST = 12


def _messages(value: Any, depth: int = 0) -> Iterator[Read]:
    """Every message in a value, in its order."""
    if isinstance(value, dict):
        if is_message(value):
            found = read(value)
            if found is not None:
                yield found
            return
        for inner in value.values():
            if depth < _DEEPEST and isinstance(inner, dict | list):
                yield from _messages(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            if depth < _DEEPEST and isinstance(inner, dict | list):
                yield from _messages(inner, depth + 1)


def _joined(messages: Iterator[Read]) -> Iterator[Read]:
    """Pieces of one reply as one; a message that comes again is left out."""
    seen: set[str] = set()
    pieces: list[Read] = []
    for message in messages:
        if message.chunk and pieces and message.id == pieces[0].id:
            pieces.append(message)
            continue
        if pieces:
            yield _whole(pieces)
            pieces = []
        if message.id is not None and message.id in seen:
            continue
        if message.id is not None:
            seen.add(message.id)
        if message.chunk:
            pieces = [message]
        else:
            yield message
    if pieces:
        yield _whole(pieces)


def _whole(pieces: list[Read]) -> Read:
    parts: list[Part] = []
    for part in (part for piece in pieces for part in piece.parts):
        last = parts[-1] if parts else None
        if isinstance(part, Text) and isinstance(last, Text):
            parts[-1] = Text(last.text + part.text)
        elif isinstance(part, Thinking) and isinstance(last, Thinking):
            parts[-1] = Thinking(last.thinking + part.thinking, part.signature or last.signature)
        elif isinstance(part, ToolCall) and any(isinstance(p, ToolCall) and p.id == part.id for p in parts):
            parts = [part if isinstance(p, ToolCall) and p.id == part.id else p for p in parts]
        else:
            parts.append(part)
    raw = next((piece.raw for piece in reversed(pieces) if piece.raw), None)
    usage = next((piece.usage for piece in reversed(pieces) if piece.usage), None)
    return Read("assistant", tuple(parts), pieces[0].id, raw, usage)


def _read(source: Source, shape: Shape) -> Recording:
    values = _values(source, shape)
    builder = ConversationBuilder()
    systems: list[str] = []
    for place, message in enumerate(_joined(_messages(values)), 1):
        if message.role == "system":
            systems += [part.text for part in message.parts if isinstance(part, Text)]
        elif message.role == "assistant":
            blocks: list[Block] = said_blocks(message.parts)
            builder.reply(blocks, message.raw, place, usage=message.usage)
        else:
            for part in message.parts:
                builder.say(part)
    builder.system = "\n\n".join(systems) or None
    conversation = builder.conversation()
    missing = any(origin.raw is None for origin in conversation.origins)
    return Recording(IMPORTER.name, (conversation,), inferred=(STOP_REASONS,) if missing else ())


def _values(source: Source, shape: Shape) -> Any:
    """The document, or all lines; dumps of dumps are JSON in a string."""
    value = [v for _, v in source.records()] if shape.kind == "lines" else shape.value
    return (
        [json.loads(v) if isinstance(v, str) and v[:1] in "[{" else v for v in value]
        if isinstance(value, list)
        else value
    )


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        states = [value, *(v for v in value.values() if isinstance(v, dict))]
        return (
            is_telling(value)
            or value.get("lc") == 1
            or any(is_telling(m) for s in states for m in as_list(s.get("messages")))
        )
    if not isinstance(value, list) or not value:
        return False
    return any(map(is_telling, value)) or any(_is_event(v) and _holds(v) for v in value)


def _holds(value: Any, depth: int = 0) -> bool:
    """Whether a telling message is somewhere in it."""
    if is_telling(value):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < _DEEPEST and any(_holds(v, depth + 1) for v in inner)


def _is_event(value: Any) -> bool:
    """An entry of a LangGraph stream."""
    if isinstance(value, dict):
        return bool({"event", "data", "values", "updates"} & value.keys()) or any(
            isinstance(v, dict) and "messages" in v for v in value.values()
        )
    modes = ("values", "updates", "messages", "debug", "tasks", "checkpoints", "custom")
    return (
        isinstance(value, list) and 2 <= len(value) <= 3 and any(v in modes for v in value if isinstance(v, str))
    ) or _is_batch(value)


def _is_batch(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_message, value))


IMPORTER = Importer("langchain-dump", "LangChain and LangGraph message dumps", ("document", "lines"), _fits, _read)
