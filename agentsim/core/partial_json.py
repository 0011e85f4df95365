"""What clients make of JSON that was cut off: each SDK repairs it in its own way, and runs tools with the result.

Facts: anthropic's SDKs use jiter's partial mode (Python) or an equal one (TypeScript), which drops an unfinished value unless asked to
keep trailing strings; LangChain's parsers close what is open, so that an unfinished string is kept.
"""

from __future__ import annotations

import json
from typing import Any

_CLOSING = {"{": "}", "[": "]"}


class NotAPrefix(ValueError):
    """The text is not the beginning of any JSON value."""


def complete(text: str, *, strings: bool) -> Any:
    """The JSON value of which `text` is the beginning, with what is open closed.

    Args:
        text: JSON, possibly cut off anywhere.
        strings: keep an unfinished string as it is so far; otherwise an unfinished value is dropped.
    Returns:
        The value. Unfinished keys, numbers and words are dropped.
    Raises:
        NotAPrefix: no JSON value begins like this, or nothing of it has arrived.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    for candidate in _candidates(text, strings):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    raise NotAPrefix(f"{text!r} is not the beginning of a JSON value")


def _candidates(text: str, strings: bool) -> list[str]:
    """The text closed as it stands, then closed after each earlier comma or opening that could end it."""
    open_, cuts, in_string = _scan(text)
    found = []
    if in_string:
        if strings:
            found.append(_string_closed(text) + _close(open_))
    else:
        found.append(text.rstrip().rstrip(",") + _close(open_))
    found += [text[:at].rstrip().rstrip(",") + _close(opened) for at, opened in reversed(cuts[-2:])]
    return found


def _string_closed(text: str) -> str:
    """The text with its last string closed; a half escape is dropped."""
    tail = len(text) - len(text.rstrip("\\"))
    if tail % 2:
        text = text[:-1]
    for back in range(2, 6):
        at = text.rfind("\\u", max(0, len(text) - back))
        if at >= 0 and len(text) - at < 6:
            return text[:at] + '"'
    return text + '"'


def _scan(text: str) -> tuple[str, list[tuple[int, str]], bool]:
    """What is open at the end, the places after which nothing is unfinished, and whether a string is open."""
    open_, cuts, in_string, escaped = "", [], False, False
    for at, char in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "{[":
            open_ += char
            cuts.append((at + 1, open_))
        elif char in "}]":
            if not open_ or _CLOSING[open_[-1]] != char:
                raise NotAPrefix(f"{text!r} is not the beginning of a JSON value")
            open_ = open_[:-1]
        elif char == ",":
            cuts.append((at, open_))
    return open_, cuts, in_string


def _close(open_: str) -> str:
    return "".join(_CLOSING[char] for char in reversed(open_))
