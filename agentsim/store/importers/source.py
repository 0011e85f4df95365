"""Bytes of an unknown file as something that importers can look at: a document, lines, a stream of events, an archive.

Everything here assumes the worst of its input: compressed bombs, nesting without end, bytes that are no text.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from agentsim.errors import TranscriptError
from agentsim.limits import limit

#: Compressed data may unfold to so many bytes whatever its own size is.
SMALL = 16 << 20

#: As much of the file's beginning is looked at to recognise it.
HEAD = 1 << 20
SAMPLE = 40

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"


@dataclass(slots=True)
class Source:
    """A file that is read.

    Args:
        name: as messages name it; "" for bytes.
        path: where it lies; None for bytes.
        data: its bytes; None for a file that is read line by line.
    """

    name: str
    path: Path | None = None
    data: bytes | None = None
    skipped: dict[str, int] = field(default_factory=dict)
    broken: int = 0

    def error(self, message: str, line: int = 0) -> TranscriptError:
        """A TranscriptError that names this file."""
        return TranscriptError(message, file=self.name or "recording", line=line)

    def head(self) -> bytes:
        """Its first bytes."""
        if self.data is not None:
            return self.data[:HEAD]
        with self._open() as file:
            return file.read(HEAD)

    def whole(self) -> bytes:
        """All its bytes.

        Raises:
            TranscriptError: they are more than is read of a file.
        """
        if self.data is None:
            most = limit("import_file_bytes")
            with self._open() as file:
                data = file.read(most + 1)
            if len(data) > most:
                raise self.error(
                    f"more than {most} bytes, which is the most that is read of a file (import_file_bytes)"
                )
            self.data = data
        return self.data

    def text(self) -> str:
        """All its text.

        Raises:
            TranscriptError: it is no UTF-8.
        """
        data = self.whole()
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self.error(f"not UTF-8: byte {data[error.start]:#04x} at offset {error.start}", line) from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Its lines with their numbers, without reading the whole file at once.

        Raises:
            TranscriptError: a line is longer than is read of a file.
        """
        most = limit("import_file_bytes")
        with self._open() as file:
            for number, line in enumerate(iter(partial(file.readline, most + 1), b""), 1):
                if len(line) > most:
                    raise self.error(f"a line of more than {most} bytes (import_file_bytes)", number)
                if line.strip():
                    yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line

    def records(self) -> Iterator[tuple[int, Any]]:
        """Its lines as JSON values; a line that is none is skipped, counted and named."""
        for number, line in self.lines():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                self.skip_line(number, _error_of(line) or error)

    def skip(self, what: str) -> None:
        """Count something that is not read."""
        self.skipped[what] = self.skipped.get(what, 0) + 1

    def skip_line(self, number: int, error: Exception) -> None:
        """Name a line that can't be read; the first few by number."""
        self.broken += 1
        self.skip(f"broken line {number}: {reason(error)}" if self.broken <= 5 else "further broken lines")

    def _open(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        return self.path.open("rb")


def _error_of(line: bytes) -> Exception | None:
    """What is wrong with a line by itself: with its line end, a text that is cut is told as one with a control character."""
    try:
        json.loads(line.rstrip())
    except (ValueError, RecursionError) as error:
        return error
    return None


def reason(error: Exception) -> str:
    """Why a JSON text can't be read, in few words."""
    if isinstance(error, RecursionError):
        return "nested too deep"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start + 1}"
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON ({error.msg} at column {error.colno})"
    text = str(error)
    return "a number is too large" if "integer string conversion" in text else text


def open_source(where: str | Path | bytes, name: str = "") -> Source:
    """A source of a path or of bytes, unfolded where it is compressed with gzip.

    Raises:
        TranscriptError: it can't be opened, is empty, or is a bomb.
    """
    if isinstance(where, bytes):
        source = Source(name, None, where)
    elif where == "":
        raise TranscriptError("a file was expected, but its name is empty")
    else:
        path = Path(where)
        try:
            if path.is_dir():
                raise TranscriptError("a folder, but a file was expected", file=str(where))
            path.open("rb").close()
        except (OSError, ValueError) as error:
            raise TranscriptError(getattr(error, "strerror", None) or str(error), file=str(where)) from None
        source = Source(str(where), path)
    head = source.head()
    if not head.strip(b" \t\r\n\x00"):
        raise source.error("the file is empty")
    if head.startswith(GZIP):
        source.data = unfold(source.whole(), source)
    return source


def unfold(data: bytes, source: Source) -> bytes:
    """Decompress gzip, within bounds.

    Raises:
        TranscriptError: it unfolds to more than is sensible, or is cut or broken.
    """
    most = sensible(data)
    try:
        plain = gunzip(data, most + 1)
    except ValueError as error:
        raise source.error(f"broken gzip data: {error}") from None
    if len(plain) > most:
        raise source.error(f"{len(data)} bytes of gzip unfold to more than {most}: refused")
    return plain


def sensible(data: bytes, small: int = SMALL) -> int:
    """How many bytes compressed data may unfold to."""
    return min(limit("import_unfolded_bytes"), max(small, len(data) * limit("import_ratio")))


def gunzip(data: bytes, most: int) -> bytes:
    """Decompress gzip or zlib data up to `most` bytes.

    Raises:
        ValueError: it is cut or broken.
    """
    out: list[bytes] = []
    while data and most > 0:
        decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            plain = decompressor.decompress(data, most)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        out.append(plain)
        most -= len(plain)
        if not decompressor.eof and most > 0:
            raise ValueError("it ends too early")
        data = decompressor.unused_data if decompressor.unused_data.startswith(GZIP) else b""
    return b"".join(out)


@dataclass(slots=True)
class Shape:
    """What a source looks like.

    Args:
        kind: "document" (one JSON or YAML value), "lines" (JSON values, one a line), "events" (server-sent), "zip", "text".
        value: the document; of lines, the first few values; of an archive None.
        what: in words, for a file that nobody knows.
    """

    kind: str
    value: Any = None
    what: str = ""


def shape_of(source: Source) -> Shape:
    """Look at a source.

    Raises:
        TranscriptError: it is of a kind that is known, but broken.
    """
    from agentsim.store.importers.cassette import is_cassette, load_yaml
    from agentsim.store.importers.streams import events_of

    head = source.head()
    if head.startswith(ZIP):
        return Shape("zip", what="a zip archive")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] in (b"{", b"["):
        return _json_shape(source, head)
    if _is_event_stream(start):
        return Shape("events", events_of(start[:65536])[:SAMPLE], "server-sent events")
    if is_cassette(start):
        value = load_yaml(source)
        return Shape("document", value, describe(value))
    sample = _sample(source)
    if sample and any(isinstance(value, dict) for value in sample):
        return Shape("lines", sample, _describe_lines(sample))
    if b"\x00" in head[:4096]:
        return Shape("text", what="binary data")
    beginning = head[:65536].decode("utf-8", "replace")
    return Shape("text", beginning, f"text that begins with {beginning.lstrip()[:40]!r}")


def _json_shape(source: Source, head: bytes) -> Shape:
    """One document, or one a line. A first line that is a whole value with more behind it means lines."""
    first, _, rest = head.lstrip().partition(b"\n")
    if rest.strip() and _loads(first) is not None:
        sample = _sample(source)
        return Shape("lines", sample, _describe_lines(sample))
    problem: Exception
    try:
        value = json.loads(source.text())
        return Shape("document", value, describe(value))
    except (ValueError, RecursionError) as error:
        problem = error
    sample = _sample(source)
    if any(isinstance(value, dict) for value in sample) and b"\n" in head:
        return Shape("lines", sample, _describe_lines(sample))
    line = getattr(problem, "lineno", 0)
    raise source.error(f"broken JSON, maybe cut: {reason(problem)}", line)


def _loads(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _sample(source: Source) -> list[Any]:
    values: list[Any] = []
    for number, line in source.lines():
        value = _loads(line)
        if value is not None:
            values.append(value)
        if len(values) >= SAMPLE or number > 10 * SAMPLE:
            break
    return values


def _is_event_stream(start: bytes) -> bool:
    fields = (b"data:", b"event:", b"id:", b"retry:", b":")
    lines = [line.strip() for line in start[:4096].splitlines() if line.strip()][:3]
    return bool(lines) and lines[0].startswith(fields) and any(b"data:" in line for line in start[:65536].splitlines())


def describe(value: Any) -> str:
    """A JSON value in words, for people."""
    if isinstance(value, dict):
        return f"a JSON object with {_keys(value)}"
    if isinstance(value, list):
        first = f", the first {describe(value[0]).replace('a JSON o', 'an o').replace('JSON ', '')}" if value else ""
        return f"a JSON list of {len(value)}{first}" if value else "an empty JSON list"
    return f"a JSON {type(value).__name__}"


def _describe_lines(sample: list[Any]) -> str:
    first = next((value for value in sample if isinstance(value, dict)), None)
    return f"JSON lines, the first an object with {_keys(first)}" if first is not None else "JSON lines without objects"


def glimpse(value: Any, depth: int = 5) -> Any:
    """As much of a value as is looked at to recognise it: the beginnings of long lists."""
    if depth and isinstance(value, list):
        return [glimpse(item, depth - 1) for item in value[:SAMPLE]]
    if depth and isinstance(value, dict):
        return {key: glimpse(item, depth - 1) for key, item in islice(value.items(), 5 * SAMPLE)}
    return value


def _keys(value: dict[str, Any]) -> str:
    keys = [str(key)[:40] for key in value][:8]
    return f"the keys {', '.join(keys)}" if keys else "no keys"
