"""Foreign transcripts: `recognise` says what a file is, `read` makes a Recording of it.

Each format is one module with an IMPORTER. Recognition is by content alone: a file's name says nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentsim.errors import TranscriptError, UsageError, nearest
from agentsim.store.importers.source import Shape, Source, glimpse, open_source, shape_of
from agentsim.store.recording import Recording

__all__ = ["FORMATS", "Importer", "read", "recognise", "supported"]


@dataclass(frozen=True, slots=True)
class Importer:
    """How one format is known and read.

    Args:
        name: of the format.
        title: what people call it.
        kinds: kinds of Shape that it may have.
        fits: whether a shape's value is of this format.
        read: makes the recording; gets the source and its shape.
    """

    name: str
    title: str
    kinds: tuple[str, ...]
    fits: Callable[[Any], bool]
    read: Callable[[Source, Shape], Recording]


#: Formats by name, in the order in which they are tried: the more telling shapes first. Value: where its Importer is.
FORMATS = {
    "agentsim-transcript": "own_transcript:IMPORTER",
    "agentsim-recording": "own_recording:IMPORTER",
    "claude-code": "claude_code:IMPORTER",
    "claude-stream-json": "claude_stream:IMPORTER",
    "claude-managed-agents": "managed_agents:IMPORTER",
    "codex-rollout": "codex:IMPORTER",
    "codex-exec": "codex_exec:IMPORTER",
    "vcr": "vcr:IMPORTER",
    "har": "har:IMPORTER",
    "nock": "http_fixtures:NOCK",
    "httpx-snapshot": "http_fixtures:HTTPX",
    "aisdk-ui-stream": "ai_sdk_stream:UI",
    "sse": "raw_streams:SSE",
    "provider-chunks": "raw_streams:CHUNKS",
    "openai-agents-runstate": "openai_agents:STATE",
    "openai-agents-traces": "openai_agents:TRACES",
    "langsmith": "langsmith:IMPORTER",
    "langchain-dump": "langchain:IMPORTER",
    "aisdk-devtools": "ai_sdk_devtools:IMPORTER",
    "aisdk-steps": "ai_sdk:STEPS",
    "aisdk-ui-messages": "ai_sdk_ui:IMPORTER",
    "aisdk-messages": "ai_sdk:MESSAGES",
    "aisdk-data-stream": "ai_sdk_stream:DATA",
    "tanstack-ui": "tanstack:IMPORTER",
    "otel-aisdk-spans": "otel:AI_SDK",
    "otel-genai": "otel:GENAI",
    "inspect-log": "inspect_log:IMPORTER",
    "aimock": "aimock:IMPORTER",
    "swe-agent": "trajectories:SWE_AGENT",
    "mini-swe-agent": "trajectories:MINI_SWE_AGENT",
    "tau-bench": "trajectories:TAU_BENCH",
    "atif": "trajectories:ATIF",
    "responses": "responses:IMPORTER",
    "claude-messages": "claude_messages:IMPORTER",
    "chat": "chat:IMPORTER",
}


def read(where: str | Path | bytes, *, format: str | None = None, name: str = "") -> Recording:  # noqa: A002 - the contract's word
    """Read a recording.

    Args:
        where: a path, or the file's bytes.
        format: one of FORMATS; None recognises it.
        name: how messages name bytes.
    Returns:
        What it holds. Broken and unknown lines are counted in `skipped`, and never lose the others.
    Raises:
        TranscriptError: it can't be read; says file, line and reason, and for an unknown file what it looks like.
        UsageError: there is no such format.
    """
    source = open_source(where, name)
    shape = _shape(source)
    importer = _named(format) if format is not None else _fitting(shape)
    if importer is None:
        raise source.error(
            f"not a recording that is known: it looks like {shape.what or shape.kind}. Supported: {supported()}"
        )
    try:
        recording = importer.read(source, shape)
    except TranscriptError:
        raise
    except RecursionError:
        raise source.error(f"read as {importer.name}: nested too deep") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise source.error(
            f"it looks like {importer.title}, but something in it has an unexpected form ({kind}: {error})"
        ) from error
    skipped = {**source.skipped, **recording.skipped}
    return replace(recording, skipped=skipped)


def recognise(where: str | Path | bytes) -> str | None:
    """The name of a file's format; None where it is none that is known.

    Raises:
        TranscriptError: it can't be opened, or is broken.
    """
    importer = _fitting(_shape(open_source(where)))
    return importer.name if importer is not None else None


def supported() -> str:
    """The supported formats, in words."""
    return ", ".join(importer.title for importer in _importers())


def _shape(source: Source) -> Shape:
    try:
        return shape_of(source)
    except RecursionError:
        raise source.error("nested too deep") from None


def _fitting(shape: Shape) -> Importer | None:
    seen = glimpse(shape.value)
    for importer in _importers():
        if shape.kind in importer.kinds:
            try:
                if importer.fits(seen):
                    return importer
            except (AttributeError, LookupError, TypeError, RecursionError):
                continue
    return None


def _named(name: str) -> Importer:
    if name not in FORMATS:
        near = nearest(name, FORMATS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise UsageError(f"unknown format {name!r}{hint} (known: {', '.join(FORMATS)})")
    return _module(name)


def _importers() -> Iterator[Importer]:
    return map(_module, FORMATS)


def _module(name: str) -> Importer:
    module, _, attribute = FORMATS[name].partition(":")
    importer = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    assert isinstance(importer, Importer)
    return importer
