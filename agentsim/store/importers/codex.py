"""Codex rollouts: `~/.codex/sessions/…/rollout-*.jsonl`; old ones are bare items without an envelope.

Nothing marks where a reply ends, nor why: what the model made in a row is one reply. What is visible is there twice, as
`response_item` and as `event_msg`: only the first is read. A compaction replaces the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import Message, Text
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.responses_items import ItemReader, is_item, is_model_made, is_result, kind_of, user_parts
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import REPLY_BOUNDARIES, STOP_REASONS, Recording

#: What the harness writes into the user's messages by itself.
_HARNESS = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions",
    "<collaboration_mode>",
    "# AGENTS.md",
)
_ENVELOPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "inter_agent_communication")


class _Rollout:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.builder = ConversationBuilder()
        self.reader = ItemReader(self.builder, source.skip)
        self.notes: dict[str, int] = {}

    def line(self, record: Any, place: int) -> None:
        """Take one line."""
        if not isinstance(record, dict):
            self.source.skip("line that is no object")
            return
        kind = record.get("type")
        payload = record.get("payload")
        if kind == "session_meta" or (kind is None and "timestamp" in record and "id" in record):
            self._meta(as_dict(payload) or record)
        elif kind == "response_item":
            self.item(as_dict(payload), place)
        elif kind == "compacted":
            self._compacted(as_dict(payload))
        elif kind == "event_msg":
            self._event(as_dict(payload))
        elif kind == "turn_context" or record.get("record_type") == "state":
            pass
        elif is_item(record):
            self.item(record, place)
        else:
            self.source.skip(f"line of type {kind if isinstance(kind, str) else 'none'}")

    def item(self, item: dict[str, Any], place: int) -> None:
        """Take one item."""
        if kind_of(item) == "message" and item.get("role") == "user":
            self.reader.close()
            for part in user_parts(item):
                harness = isinstance(part, Text) and part.text.lstrip().startswith(_HARNESS)
                self.builder.say(part, typed=not harness)
        elif is_model_made(item) or is_result(item) or kind_of(item) == "message":
            self.reader.item(item, place)
        else:
            self.source.skip(f"response_item of type {kind_of(item) or 'none'}")

    def _meta(self, meta: dict[str, Any]) -> None:
        if self.builder.name:
            self._note("a further session_meta line: the session was resumed, or has sub-agents")
        self.builder.name = self.builder.name or text_of(meta.get("id")) or ""
        instructions = meta.get("base_instructions", meta.get("instructions"))
        self.builder.system = self.builder.system or text_of(instructions) or text_of(as_dict(instructions).get("text"))

    def _compacted(self, payload: dict[str, Any]) -> None:
        self.reader.close()
        history = [m for item in as_list(payload.get("replacement_history")) if (m := _message(item))]
        summary = text_of(payload.get("message"))
        if not history and summary:
            history = [Message("user", (Text(summary),))]
        self.builder.rewrite(0, history)
        self._note("compaction: the history was replaced by a summary")

    def _event(self, payload: dict[str, Any]) -> None:
        kind = text_of(payload.get("type")) or "none"
        if kind == "turn_aborted":
            self.reader.close()
            self._note("a turn was aborted")
        elif kind == "error":
            self._note(f"error: {str(payload.get('message'))[:120]}")

    def _note(self, text: str) -> None:
        self.notes[text] = self.notes.get(text, 0) + 1


def _message(item: Any) -> Message | None:
    item = as_dict(item)
    if kind_of(item) != "message" or item.get("role") not in ("user", "assistant"):
        return None
    return Message(item["role"], user_parts(item))


def _records(source: Source, shape: Shape) -> Iterator[tuple[int, Any]]:
    if shape.kind == "lines":
        return source.records()
    value = shape.value
    return iter(enumerate([value.get("session", {}), *value["items"]] if isinstance(value, dict) else value, 1))


def _read(source: Source, shape: Shape) -> Recording:
    rollout = _Rollout(source)
    for place, record in _records(source, shape):
        rollout.line(record, place)
    rollout.reader.close()
    notes = tuple(text if n == 1 else f"{text} ({n} times)" for text, n in rollout.notes.items())
    return Recording(IMPORTER.name, (rollout.builder.conversation(),), {}, notes, (STOP_REASONS, REPLY_BOUNDARIES))


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value.get("items"), list) and "session" in value and any(map(is_item, value["items"]))
    records = [v for v in as_list(value) if isinstance(v, dict)]
    if any(v.get("type") in _ENVELOPES and isinstance(v.get("payload"), dict) for v in records):
        return True
    first = records[0] if records else {}
    return (
        "type" not in first
        and {"id", "timestamp"} <= first.keys()
        and ("instructions" in first or any(map(is_item, records[1:])))
    )


IMPORTER = Importer("codex-rollout", "Codex rollouts", ("lines", "document"), _fits, _read)
