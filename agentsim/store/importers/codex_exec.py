"""The events of `codex exec --json`: no call ids, no reply boundary, results inside the items.

Each command, change or MCP call is a client call with its own result; what stands between two such is one reply.
"""

from __future__ import annotations

import json
from typing import Any

from agentsim.core.messages import Block, ServerCall, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import REPLY_BOUNDARIES, STOP_REASONS, Recording

_CALLS = {"command_execution": "shell", "file_change": "apply_patch", "mcp_tool_call": "", "collab_tool_call": ""}


class _Exec:
    def __init__(self, source: Source) -> None:
        self.source, self.builder = source, ConversationBuilder()
        self.items: dict[str, dict[str, Any]] = {}
        self.order: list[str] = []
        self.blocks: list[Block] = []
        self.results: list[tuple[str, Any, bool]] = []
        self.place = 0
        self.notes: list[str] = []

    def event(self, event: Any, place: int) -> None:
        event = as_dict(event)
        kind = event.get("type")
        if kind == "thread.started":
            self.builder.name = text_of(event.get("thread_id")) or ""
        elif kind in ("item.started", "item.updated", "item.completed"):
            self._item(as_dict(event.get("item")), place, done=kind == "item.completed")
        elif kind in ("turn.completed", "turn.failed"):
            self._close_items(place)
            self.close()
            if kind == "turn.failed":
                self.notes.append(f"a turn failed: {str(as_dict(event.get('error')).get('message'))[:200]}")
        elif kind == "error":
            self.notes.append(f"error: {str(event.get('message'))[:200]}")
        elif kind != "turn.started":
            self.source.skip(f"event {kind if isinstance(kind, str) else 'without a type'}")

    def _item(self, item: dict[str, Any], place: int, *, done: bool) -> None:
        identity = text_of(item.get("id")) or f"item_{place}"
        if identity not in self.items:
            self.order.append(identity)
        self.items[identity] = item
        if done:
            self._take(identity, place, answered=True)

    def _close_items(self, place: int) -> None:
        """What was started and never completed has no result."""
        for identity in list(self.order):
            self._take(identity, place, answered=False)

    def _take(self, identity: str, place: int, *, answered: bool) -> None:
        if identity in self.order:
            self.order.remove(identity)
        item = self.items.pop(identity)
        kind = text_of(item.get("type")) or text_of(item.get("item_type")) or "none"
        text = text_of(item.get("text")) or ""
        if kind in _CALLS:
            self._call(identity, kind, item, place, answered)
        elif kind in ("agent_message", "assistant_message"):
            self._add(Text(text), place)
        elif kind == "reasoning":
            self._add(Thinking(text), place)
        elif kind == "web_search":
            self._add(ServerCall(identity, "web_search", json.dumps({"query": item.get("query")})), place)
        else:
            self.source.skip(f"item of type {kind}")

    def _add(self, block: Block, place: int) -> None:
        if self.results:
            self.close()
        self.place = self.place or place
        self.blocks.append(block)

    def _call(self, identity: str, kind: str, item: dict[str, Any], place: int, answered: bool) -> None:
        self._add(
            ToolCall(identity, _CALLS[kind] or text_of(item.get("tool")) or kind, json.dumps(_input(kind, item))), place
        )
        if answered:
            failed = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (0, None)
            self.results.append((identity, _output(item), failed))

    def close(self) -> None:
        if self.blocks:
            self.builder.reply(self.blocks, None, self.place)
        for result in self.results:
            self.builder.result(*result)
        self.blocks, self.results, self.place = [], [], 0


def _input(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    if kind == "command_execution":
        return {"command": item.get("command")}
    if kind == "file_change":
        return {"changes": item.get("changes")}
    given = item.get("arguments")
    return given if isinstance(given, dict) else {} if given is None else {"arguments": given}


def _output(item: dict[str, Any]) -> Any:
    for key in ("aggregated_output", "result", "error"):
        if item.get(key) is not None:
            return item[key]
    return text_of(item.get("status")) or ""


def _read(source: Source, shape: Shape) -> Recording:
    run = _Exec(source)
    last = 0
    for last, event in source.records() if shape.kind == "lines" else enumerate(as_list(shape.value), 1):
        run.event(event, last)
    run._close_items(last)
    run.close()
    notes = ("the prompt is not recorded", *run.notes)
    return Recording(IMPORTER.name, (run.builder.conversation(),), {}, notes, (STOP_REASONS, REPLY_BOUNDARIES))


def _fits(value: Any) -> bool:
    kinds = [as_dict(v).get("type") for v in as_list(value)]
    return any(kind in ("thread.started", "turn.started", "item.completed", "turn.completed") for kind in kinds)


IMPORTER = Importer("codex-exec", "codex exec --json", ("lines", "document"), _fits, _read)
