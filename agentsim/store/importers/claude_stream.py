"""Claude Code's stream-json frames, which the Agent SDKs exchange with the CLI: bare, one a line, or recorded with a direction.

As in a session file a reply comes block by block under one message id; a subagent's frames name the call that it works for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import Block, ToolResult, Usage
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, reply_blocks, text_of, usage
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording

_FRAMES = ("system", "assistant", "user", "result", "control_request", "control_response", "stream_event")


class _Thread:
    """The frames of one agent."""

    def __init__(self, name: str, parent: str | None) -> None:
        self.builder = ConversationBuilder(name)
        self.builder.parent = parent
        self.key: str | None = None
        self.blocks: list[Block] = []
        self.results: list[ToolResult] = []
        self.raw: str | None = None
        self.usage: Usage | None = None
        self.place = 0

    def close(self) -> None:
        if self.key is not None:
            self.builder.reply(self.blocks, self.raw, self.place, usage=self.usage)
        self.key, self.blocks, self.raw, self.usage = None, [], None, None
        for result in self.results:
            self.builder.result(result.call_id, result.output, result.is_error)
        self.results = []

    def assistant(self, message: dict[str, Any], place: int) -> None:
        key = text_of(message.get("id")) or f"frame {place}"
        if key != self.key:
            self.close()
            self.key, self.place = key, place
        self.blocks += [b for b in reply_blocks(claude_parts(message.get("content"))) if b not in self.blocks]
        self.raw = text_of(message.get("stop_reason")) or self.raw
        self.usage = usage(message.get("usage")) or self.usage

    def user(self, message: dict[str, Any], typed: bool) -> None:
        parts = claude_parts(message.get("content"))
        results = [part for part in parts if isinstance(part, ToolResult)]
        self.results += results
        others = [part for part in parts if not isinstance(part, ToolResult)]
        if others:
            self.close()
            self.builder.say(*others, typed=typed)


def _frames(source: Source, shape: Shape) -> Iterator[tuple[int, Any]]:
    if shape.kind == "lines":
        entries: Any = source.records()
    else:
        value = shape.value
        entries = enumerate(value["messages"] if isinstance(value, dict) else value, 1)
    for number, entry in entries:
        frame = entry.get("message") if isinstance(entry, dict) and "direction" in entry else entry
        yield number, frame


def _read(source: Source, shape: Shape) -> Recording:
    threads: dict[str | None, _Thread] = {}
    notes = []
    for place, frame in _frames(source, shape):
        frame = as_dict(frame)
        kind, message = frame.get("type"), as_dict(frame.get("message"))
        if kind in ("assistant", "user") and message:
            parent = text_of(frame.get("parent_tool_use_id"))
            thread = threads.setdefault(parent, _Thread("subagent" if parent else "", parent))
            if kind == "assistant" and message.get("model") != "<synthetic>":
                thread.assistant(message, place)
            elif kind == "user":
                thread.user(message, not frame.get("isSynthetic"))
            else:
                source.skip("synthetic message")
        elif kind == "result":
            notes.append(f"the run ended with {frame.get('subtype')!r} after {frame.get('num_turns')} turns")
        else:
            source.skip(f"frame of type {kind if isinstance(kind, str) else 'none'}")
    for thread in threads.values():
        thread.close()
    conversations = tuple(thread.builder.conversation() for thread in threads.values())
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    return Recording(IMPORTER.name, conversations, {}, tuple(notes), (STOP_REASONS,) if missing else ())


def _is_frame(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in _FRAMES


def _fits(value: Any) -> bool:
    entries = as_list(value.get("messages")) if isinstance(value, dict) else as_list(value)
    frames = [as_dict(v).get("message") if "direction" in as_dict(v) else v for v in entries]
    telling = ("parent_tool_use_id", "session_id", "request_id", "request", "response")
    return sum(_is_frame(f) and any(key in as_dict(f) for key in telling) for f in frames) * 2 >= len(frames) > 0


IMPORTER = Importer("claude-stream-json", "Claude Code stream-json frames", ("document", "lines"), _fits, _read)
