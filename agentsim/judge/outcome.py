"""What the caller of an agent got: an answer, no answer, or a crash of the agent's own code."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from agentsim.judge.case import Got


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: In place of an answer that nobody saw.
UNKNOWN: Final = _Unknown()

#: Errors that nobody raises on purpose to say that a run is over.
CRASHES = (
    LookupError,
    TypeError,
    AttributeError,
    NameError,
    ArithmeticError,
    UnicodeError,
    RecursionError,
    NotImplementedError,
    StopIteration,
    StopAsyncIteration,
    json.JSONDecodeError,
)

_CRASH_TEXT = re.compile(
    r"^(?:Uncaught )?((?:IndexError|KeyError|TypeError|AttributeError|NameError|UnboundLocalError|ZeroDivisionError|"
    r"RecursionError|json\.decoder\.JSONDecodeError|ReferenceError|RangeError|SyntaxError)\b.*)$",
    re.MULTILINE,
)

#: Where Python begins to tell of an exception. Of several the last is the one that ended it; those before are its causes.
_TRACEBACK = "Traceback (most recent call last):\n"

#: A lost connection in JavaScript: the Fetch standard has it a TypeError, which Node.js, Deno and the browsers word in these ways.
_LOST = re.compile(
    r"TypeError: (?:fetch failed|terminated|network error|Failed to fetch|Load failed|NetworkError when|other side closed|"
    r"error sending request|error reading a body|body failed)"
)


def got_of(value: Any) -> Got | None:
    """What a returned value or a raised exception is.

    Args:
        value: None, an empty text and an exception are no answer, a text is one; of anything else it can't be told.
    """
    if isinstance(value, BaseException):
        return "crash" if isinstance(value, CRASHES) else "none"
    if value is None or value == "":
        return "none"
    if isinstance(value, str):
        return "answer" if value.strip() else "none"
    return None


def crash_of(value: Any) -> str | None:
    """A crash in words: the exception's type and text; None for what is none."""
    return f"{type(value).__name__}: {value}" if isinstance(value, CRASHES) else None


def crash_in(text: str) -> str | None:
    """The crash that a process's standard error tells of; None where it tells of none.

    Args:
        text: of an exception that another one caused, only the one that ended the process counts; a connection that is lost
            is none of the agent's errors, whatever its class.
    """
    _, began, last = text.rpartition(_TRACEBACK)
    found = [line for line in _CRASH_TEXT.findall(last if began else text) if not _LOST.match(line)]
    return str(found[-1])[:200] if found else None
