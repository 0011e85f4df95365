"""Replies alone: server-sent events of each wire, or the events' JSON, one a line or in a list."""

from __future__ import annotations

import json
from typing import Any

from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.said import Said
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.streams import events_of, said_in, wire_of_events
from agentsim.store.recording import Recording


def _recording(events: list[dict[str, Any]], source: Source, name: str) -> Recording:
    wire = wire_of_events(events)
    if wire is None:
        kinds = sorted({str(event.get("type")) for event in events[:20]})
        raise source.error(f"events of none of the three wires (their types: {', '.join(kinds)[:200] or 'none'})")
    builders = []
    for place, said in enumerate(said_in(events, wire), 1):
        builders.append(_conversation(said, place))
    notes = ("requests are not recorded, only replies",)
    return Recording(name, tuple(builder.conversation() for builder in builders), notes=notes)


def _conversation(said: Said, place: int) -> ConversationBuilder:
    builder = ConversationBuilder()
    if said.fault is not None:
        builder.fail(said.fault)
    else:
        builder.reply(said.blocks, said.raw, place, usage=said.usage, key=said.id)
    return builder


def _read_sse(source: Source, shape: Shape) -> Recording:
    return _recording(events_of(source.whole()), source, SSE.name)


def _read_chunks(source: Source, shape: Shape) -> Recording:
    if shape.kind == "document":
        events = [event for event in shape.value if isinstance(event, dict)]
    else:
        events = []
        for number, line in source.lines():
            try:
                value = json.loads(line.removeprefix(b"data:"))
            except (ValueError, RecursionError) as error:
                if line.strip() != b"data: [DONE]":
                    source.skip_line(number, error)
                continue
            if isinstance(value, dict):
                events.append(value)
    return _recording(events, source, CHUNKS.name)


def _fits_events(value: Any) -> bool:
    return True


def _fits_chunks(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    events = [event for event in value if isinstance(event, dict)]
    return bool(events) and wire_of_events(events) is not None and not any(_is_whole(event) for event in events[:3])


def _is_whole(event: dict[str, Any]) -> bool:
    """A whole completion rather than a piece of one."""
    choices = event.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict) and "message" in choices[0]


SSE = Importer("sse", "raw server-sent events of the three wires", ("events",), _fits_events, _read_sse)
CHUNKS = Importer(
    "provider-chunks",
    "stream events of the three wires as JSON lines",
    ("lines", "document"),
    _fits_chunks,
    _read_chunks,
)
