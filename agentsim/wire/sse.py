"""Server-sent events, both ways: only as much of the format as the providers use.

A stream may be cut at any byte, so the decoder keeps what is not yet a whole event.
"""

from __future__ import annotations

from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event. `name` is "" where the stream names none (Chat Completions, Gemini)."""

    name: str
    data: str


def encode(data: str, name: str = "") -> bytes:
    """One event as bytes. `data` is JSON on one line, so it needs no splitting."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data}\n\n".encode()


class Decoder:
    """Turns bytes, however they were cut, into events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes."""
        data = self._rest + chunk
        at_end = data.endswith(b"\r")  # its line feed may be on its way
        data = (data[:-1] if at_end else data).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = data.split(b"\n\n")
        self._rest = rest + b"\r" if at_end else rest
        return [event for block in whole if (event := _event(block.decode("utf-8", "replace")))]

    def close(self) -> list[ServerEvent]:
        """The events of a stream that ended without its last empty line."""
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        event = _event(rest.decode("utf-8", "replace"))
        return [event] if event else []


def _event(block: str) -> ServerEvent | None:
    name, data = "", []
    for line in block.split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
    return ServerEvent(name, "\n".join(data)) if data else None
