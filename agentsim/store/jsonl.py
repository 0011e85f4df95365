"""Transcripts as JSON Lines: a header with a version, then an event a line. The same run gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentsim.core.events import Event
from agentsim.core.transcript import Transcript
from agentsim.errors import TranscriptError
from agentsim.store.values import event_from_data, event_to_data

VERSION = 1
HEADER = "agentsim_transcript"


def dumps(transcript: Iterable[Event]) -> str:
    """A transcript as text, a header line and a line for each event."""
    lines: list[dict[str, Any]] = [{HEADER: VERSION}, *map(event_to_data, transcript)]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


def loads(text: str, *, file: str = "") -> Transcript:
    """The transcript that `dumps` wrote.

    Args:
        text: JSON Lines.
        file: how messages name it.
    Raises:
        TranscriptError: it is none, or a line of it is broken; says which.
    """
    events: list[Event] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            raise TranscriptError(f"this line is no JSON: {error}", file=file, line=number) from None
        if number == 1:
            _check_header(data, file)
            continue
        try:
            events.append(event_from_data(data))
        except TranscriptError as error:
            raise TranscriptError(str(error), file=file, line=number) from None
    return Transcript(events)


def _check_header(data: Any, file: str) -> None:
    version = data.get(HEADER) if isinstance(data, dict) else None
    if version != VERSION:
        found = f"version {version}" if version is not None else "no header"
        raise TranscriptError(f"expected a transcript of version {VERSION}, found {found}", file=file, line=1)
