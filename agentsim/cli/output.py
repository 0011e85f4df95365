"""Where a command writes: what becomes of it where nobody reads it, or where it can't be written."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any

from agentsim.errors import UsageError


class _Out(io.FileIO):
    """A pipe or file that is written to.

    A reader that has seen enough (`| head -1`) changes nothing of what a command found: what comes then is dropped. A disk that is
    full is told once, if there is still a place for it.
    """

    lost = False
    tells = True

    def write(self, data: Any) -> int:
        if not self.lost:
            try:
                return super().write(data)
            except BrokenPipeError:
                self.lost = True
            except OSError as error:
                self.lost = True  # what is still in buffers must not fail again when the process ends
                if self.tells:
                    raise UsageError(f"standard output can't be written: {error.strerror or error}") from None
        return memoryview(data).nbytes


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Standard output and error while a command runs; a terminal is left as it is.

    Raises:
        UsageError: standard output is closed, or can't be written.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    if sys.stdout is None:
        raise UsageError("standard output is closed, so nothing can be printed")
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _of(sys.stdout, tells=True), _of(sys.stderr, tells=False)
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        finally:
            sys.stdout, sys.stderr = before


def _of(stream: Any, tells: bool) -> Any:
    """The stream, with what its encoding can't say escaped: no text ends a command."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    try:
        number = stream.fileno()
        if stream.isatty():
            return stream
    except (OSError, ValueError):  # a stream of a test's, which is no file
        return stream
    stream.flush()
    raw = _Out(number, "w", closefd=False)
    raw.tells = tells
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
