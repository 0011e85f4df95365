"""agentsim's own transcripts: a header, then an event a line. A broken line costs that event, not the others."""

from __future__ import annotations

import dataclasses
from typing import Any

from agentsim.core.events import Event, ModelReplied
from agentsim.core.transcript import Transcript
from agentsim.errors import TranscriptError
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list
from agentsim.store.importers.source import Shape, Source
from agentsim.store.jsonl import HEADER, VERSION
from agentsim.store.recording import Conversation, Origin, Recording
from agentsim.store.values import event_from_data


def _read(source: Source, shape: Shape) -> Recording:
    events: list[Event] = []
    origins: list[Origin] = []
    for number, value in source.records():
        if HEADER in as_dict(value):
            if value[HEADER] != VERSION:
                raise source.error(
                    f"expected a transcript of version {VERSION}, found version {value[HEADER]!r}", number
                )
            continue
        try:
            event = event_from_data(value)
            _check(event)
        except (TranscriptError, ValueError, AttributeError, LookupError, TypeError) as error:
            source.skip_line(number, error)
            continue
        events.append(event)
        if isinstance(event, ModelReplied):
            origins.append(Origin(event.reply.stop_reason, number))
    return Recording(IMPORTER.name, (Conversation(Transcript(events), tuple(origins)),))


#: Fields that are texts wherever they stand; an event's own reader takes what it is given.
_TEXTS = {"id", "name", "arguments", "text", "thinking", "signature", "call_id", "kind", "role"}


def _check(value: Any) -> None:
    """Raises TypeError where a field of an event is of a wrong type."""
    if isinstance(value, tuple):
        for item in value:
            _check(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            inner = getattr(value, field.name)
            optional = field.name == "stop_reason" and inner is not None
            if (field.name in _TEXTS or optional) and not isinstance(inner, str):
                raise TypeError(f"{field.name} of {type(value).__name__} is no text")
            _check(inner)


def _fits(value: Any) -> bool:
    values = as_list(value)
    return bool(values) and HEADER in as_dict(values[0])


IMPORTER = Importer("agentsim-transcript", "agentsim transcripts", ("lines",), _fits, _read)
