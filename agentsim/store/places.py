"""Whether a file can be read or written, told before the work is done that needs it."""

from __future__ import annotations

import os
import stat
import sys

from agentsim.errors import UsageError
from agentsim.limits import limit

#: Names standard input, where a file is read.
STANDARD_INPUT = "-"


def check_writable(path: str | os.PathLike[str]) -> None:
    """Find out that a file could not be written.

    Raises:
        UsageError: the path is empty, a folder, or in a folder that is missing or closed.
    """
    path = os.fspath(path)
    if not path:
        raise UsageError("a file was expected, but its name is empty")
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise UsageError(f"{path!r} is a folder; name a file")
    if not os.path.isdir(folder):
        raise UsageError(f"{path!r} can't be written: there is no folder {folder!r}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{path!r} can't be written: permission denied")


def unwritable(path: str | os.PathLike[str], error: OSError) -> UsageError:
    """What the system said when a file was written."""
    return UsageError(f"{os.fspath(path)!r} can't be written: {error.strerror or error}")


def unreadable(path: str | os.PathLike[str], error: OSError) -> UsageError:
    """What the system said when a file was read."""
    return UsageError(f"{os.fspath(path)!r} can't be read: {error.strerror or error}")


def is_stream(path: str) -> bool:
    """Whether a name is standard input's, or a pipe's: what comes out of it can be read only once, and only by this process."""
    return path == STANDARD_INPUT or (
        os.path.exists(path) and not (stat.S_ISREG(mode := os.stat(path).st_mode) or stat.S_ISDIR(mode))
    )


def stream_at(path: str) -> bytes | None:
    """All that comes out of standard input or a pipe, which can be read only once; None for a file.

    Raises:
        UsageError: it can't be read, or is more than is read of a file.
    """
    try:
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                raise UsageError("standard input is closed")
            data = sys.stdin.buffer.read(limit("import_file_bytes") + 1)
        elif not is_stream(path):
            return None
        else:
            with open(path, "rb") as file:
                data = file.read(limit("import_file_bytes") + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(data) > (most := limit("import_file_bytes")):
        raise UsageError(
            f"{path!r}: more than {most} bytes, which is the most that is read of a file (import_file_bytes)"
        )
    return data


def title(path: str) -> str:
    """How messages name a file."""
    return "standard input" if path == STANDARD_INPUT else path
