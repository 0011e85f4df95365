"""Cut JSON as LangChain repairs it in streams: JavaScript reads as far as it goes, Python closes what is open.

Facts: `parsePartialJson` of @langchain/core 1.4.0 and `parse_partial_json` of langchain-core 1.8.3, whose results were compared.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

_WORDS: tuple[tuple[str, object], ...] = (("null", None), ("true", True), ("false", False))
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "b": "\b", "f": "\f", "/": "/"}
_CLOSING = {"{": "}", "[": "]"}
_HEX = frozenset("0123456789abcdefABCDEF")


class Unreadable(ValueError):
    """Nothing can be made of this text."""


def javascript(text: str) -> Any:
    """What LangChain JS makes of a call's arguments in a stream.

    Raises:
        Unreadable: they are no beginning of a JSON value (words, a trailing comma, further text).
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _Reader(text.strip()).whole()


def python(text: str) -> Any:
    """What LangChain for Python makes of them: what is open is closed, then characters go from the end until it is JSON.

    Raises:
        Unreadable: no beginning of the text is JSON.
    """
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    characters, open_ = _closed(text)
    tail = "".join(reversed(open_))
    while characters:
        try:
            return json.loads("".join(characters) + tail, strict=False)
        except json.JSONDecodeError as error:
            # Every longer beginning holds the rejected character too.
            del characters[min(error.pos, len(characters) - 1) :]
        except RecursionError:
            break
    raise Unreadable(text)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _closed(text: str) -> tuple[list[str], list[str]]:
    """The text's characters with an open string closed, and the brackets that are still to be closed."""
    characters: list[str] = []
    open_: list[str] = []
    inside = escaped = False
    for char in text:
        if inside:
            if char == '"' and not escaped:
                inside = False
            escaped = char == "\\" and not escaped
        elif char == '"':
            inside, escaped = True, False
        elif char in _CLOSING:
            open_.append(_CLOSING[char])
        elif char in "}]" and (not open_ or open_.pop() != char):
            raise Unreadable(text)
        characters.append(char)
    if inside:
        if escaped:
            characters.pop()
        characters.append('"')
    return characters, open_


class _Reader:
    """A descent that stops without complaint where the text stops."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def whole(self) -> Any:
        if not self.text:
            raise Unreadable("nothing")
        value = self._value()
        self._space()
        if self.at < len(self.text):
            self._wrong()
        return value

    def _wrong(self) -> NoReturn:
        raise Unreadable(f"{self.text[self.at : self.at + 1]!r} at {self.at}")

    @property
    def _ended(self) -> bool:
        return self.at >= len(self.text)

    def _space(self) -> None:
        while not self._ended and self.text[self.at].isspace():
            self.at += 1

    def _value(self) -> Any:
        self._space()
        if self._ended:
            self._wrong()
        char = self.text[self.at]
        if char == "{":
            return self._object()
        if char == "[":
            return self._array()
        if char == '"':
            return self._string()
        for word, value in _WORDS:
            if word.startswith(self.text[self.at : self.at + len(word)]):
                self.at = min(self.at + len(word), len(self.text))
                return value
        return self._number()

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while not self._closes("}", bool(found)):
            key = self._string()
            self._space()
            if self._ended:
                break
            if self.text[self.at] != ":":
                self._wrong()
            self.at += 1
            self._space()
            if self._ended:
                break
            found[key] = self._value()
        return found

    def _array(self) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while not self._closes("]", bool(found)):
            found.append(self._value())
        return found

    def _closes(self, bracket: str, comma: bool) -> bool:
        """Whether the container ends here, by its bracket or with the text; between entries there is a comma."""
        self._space()
        if self._ended:
            return True
        if self.text[self.at] == bracket:
            self.at += 1
            return True
        if comma:
            if self.text[self.at] != ",":
                self._wrong()
            self.at += 1
            self._space()
        return self._ended

    def _string(self) -> str:
        if self.text[self.at] != '"':
            self._wrong()
        self.at += 1
        found: list[str] = []
        while not self._ended:
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                break
            found.append(self._escape() if char == "\\" else char)
        # Halves of a pair arrive one by one; what has no other half can't be written anywhere.
        return "".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _escape(self) -> str:
        if self._ended:
            return "\\"
        char = self.text[self.at]
        self.at += 1
        if char != "u":
            return _ESCAPED[char] if char in _ESCAPED else self._wrong()
        digits = self.text[self.at : self.at + 4]
        if not _HEX.issuperset(digits):
            self._wrong()
        self.at += len(digits)
        return chr(int(digits, 16)) if len(digits) == 4 else f"u{digits}"

    def _number(self) -> float | int:
        begin = self.at
        while not self._ended and self.text[self.at] in "+-.0123456789eE":
            self.at += 1
        digits = self.text[begin : self.at]
        while digits and digits != "-":
            try:
                value: float | int = json.loads(digits)
                return value
            except ValueError:
                digits = digits[:-1]  # a number that is cut behind its point or exponent
        return 0 if digits else self._wrong()
