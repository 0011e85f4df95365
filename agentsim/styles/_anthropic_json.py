"""What Anthropic's SDKs make of a streamed call's arguments: both complete JSON that was cut off, each in its own way.

TypeScript completes the whole text once its block has ended (the vendored partial JSON parser of @anthropic-ai/sdk): a dangling
string, a last number that more digits could follow, a cut word, a key without a value and a trailing comma are dropped, what is
open is closed; anything else than cut JSON is an error. Python parses what has arrived after every piece (jiter, partial mode):
a cut string is dropped, a trailing number is kept, what follows a whole value is not looked at.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agentsim.core.partial_json import NotAPrefix

_TOKEN = re.compile(r'\s*(?:([{}\[\]:,])|"((?:[^"\\]|\\.)*)"|(-?[0-9.eE+-]+)|([A-Za-z]+))', re.DOTALL)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CLOSING = {"{": "}", "[": "]"}
_WORDS = {"true": True, "false": False, "null": None}


def completed_js(text: str) -> Any:
    """The arguments as TypeScript's SDK has them.

    Args:
        text: what arrived, possibly cut; "" is no arguments.
    Raises:
        NotAPrefix: it is neither JSON nor cut JSON.
    """
    if not text:
        return {}
    tokens = _tokens(text)
    if tokens is None:
        return _strict(text, text)
    kept = _without_cut_end(tokens)
    return _strict("".join(word for _, word in kept) + _tail(kept, text), text)


def _tokens(text: str) -> list[tuple[str, str]] | None:
    """(kind, JSON text) of each token; a string that never ends is no token. None: something else than JSON."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip(" \t\r\n"):
        found = _TOKEN.match(text, at)
        if found is None:
            return tokens if text[at:].lstrip().startswith('"') else None
        at = found.end()
        mark, string, number, word = found.groups()
        if mark:
            tokens.append((mark, mark))
        elif string is not None:
            tokens.append(("string", f'"{string}"'))
        elif number:
            tokens.append(("number" if at < len(text) and _NUMBER.fullmatch(number) else "cut", f" {number}"))
        elif word in _WORDS:
            tokens.append(("word", f" {word}"))
        elif text[at:].strip() or not any(whole.startswith(word) for whole in _WORDS):
            return None
    return tokens


def _without_cut_end(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The tokens without those at the end that say only half of something."""
    open_: list[str] = []
    for kind, _ in tokens:
        if kind in "{[":
            open_.append(kind)
        elif kind in "}]" and open_:
            open_.pop()
    kept = list(tokens)
    while kept:
        kind = kept[-1][0]
        is_key = kind == "string" and open_[-1:] == ["{"] and len(kept) > 1 and kept[-2][0] in "{,"
        if kind in (":", "cut") or is_key:
            kept.pop()
            continue
        if kind == ",":
            kept.pop()
        break
    return kept


def _tail(tokens: list[tuple[str, str]], text: str) -> str:
    tail: list[str] = []
    for kind, _ in tokens:
        if kind in _CLOSING:
            tail.append(_CLOSING[kind])
        elif kind in ("}", "]") and (not tail or tail.pop() != kind):
            _strict(text, text)
    return "".join(reversed(tail))


def _strict(completed: str, text: str) -> Any:
    try:
        return json.loads(completed, parse_constant=_no_constant, strict=False)
    except (ValueError, RecursionError) as error:
        raise NotAPrefix(f"SyntaxError: {error}. JSON: {text}") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def completed_python(text: str) -> Any:
    """The arguments as Python's SDK has them.

    Args:
        text: what arrived, possibly cut; "" is no arguments.
    Raises:
        NotAPrefix: no JSON value begins like this.
    """
    if not text:
        return {}
    try:
        return _Prefix(text).value()
    except _Ended:
        raise NotAPrefix(f"EOF while parsing a value at line 1 column {len(text)}. JSON: {text}") from None


class _Ended(Exception):
    """The text ends where a value is not whole."""


class _Prefix:
    """Reads the JSON value with which a text begins; objects and lists that are cut keep what is whole in them."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def value(self) -> Any:
        char = self.next()
        if char == "{":
            return self.members()
        if char == "[":
            return self.items()
        if char == '"':
            return self.string()
        if char in "-0123456789":
            return self.number()
        return self.word()

    def next(self) -> str:
        """The next character that is no space; it is not taken."""
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1
        if self.at == len(self.text):
            raise _Ended
        return self.text[self.at]

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        try:
            if self.next() == "}":
                self.at += 1
                return found
            while True:
                if self.next() != '"':
                    raise self.wrong("trailing comma" if found and self.next() == "}" else "key must be a string")
                key = self.string()
                if self.next() != ":":
                    raise self.wrong("expected `:`")
                self.at += 1
                found[key] = self.value()
                if self.ends("}"):
                    return found
        except _Ended:
            return found

    def items(self) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        try:
            if self.next() == "]":
                self.at += 1
                return found
            while True:
                if found and self.next() == "]":
                    raise self.wrong("trailing comma")
                found.append(self.value())
                if self.ends("]"):
                    return found
        except _Ended:
            return found

    def ends(self, closing: str) -> bool:
        """Take the bracket (True) or the comma (False) that follows a whole entry."""
        char = self.next()
        if char not in (closing, ","):
            raise self.wrong(f"expected `,` or `{closing}`")
        self.at += 1
        return char == closing

    def string(self) -> str:
        end = self.at + 1
        while end < len(self.text) and self.text[end] != '"':
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.at = len(self.text)
            raise _Ended
        raw, self.at = self.text[self.at : end + 1], end + 1
        try:
            return str(json.loads(raw))
        except ValueError:
            raise self.wrong("invalid string") from None

    def number(self) -> float:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            if self.text[self.at + 1 :]:
                raise self.wrong("invalid number")
            raise _Ended
        self.at = found.end()
        rest = self.text[self.at :]
        if rest in (".", "e", "E", "e-", "e+", "E-", "E+"):
            raise _Ended
        return json.loads(found[0])  # type: ignore[no-any-return]

    def word(self) -> Any:
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
            if word.startswith(self.text[self.at :]):
                raise _Ended
        known = self.text[self.at] in "tfn"
        raise self.wrong("expected ident" if known else "expected value")

    def wrong(self, what: str) -> NotAPrefix:
        return NotAPrefix(f"{what} at line 1 column {self.at + 1}. JSON: {self.text}")
