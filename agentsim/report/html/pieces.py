"""What a page shows of a block, a result or a message: labelled texts, long ones folded, enormous ones cut."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from agentsim.core.messages import (
    Opaque,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

#: Longer texts are folded, so that a page can be read from top to bottom; past MOST characters they are cut.
LONG, LINES, MOST = 900, 16, 40_000


@dataclass(frozen=True, slots=True)
class Piece:
    """One labelled text.

    Args:
        kind: text, call, server, result, thinking, refusal or other: what it looks like.
        label: what it is, in a word or two.
        text: as it is shown, cut past MOST characters.
        length: of the whole text, in characters.
        code: whether it is data rather than prose.
    """

    kind: str
    label: str
    text: str
    length: int
    code: bool = False

    @property
    def is_long(self) -> bool:
        """Whether it is folded."""
        return self.length > LONG or self.text.count("\n") >= LINES

    @property
    def beginning(self) -> str:
        """What is seen of a folded text."""
        return " ".join(self.text[:160].split()) + "…"

    @property
    def missing(self) -> int:
        """How many characters are not on the page."""
        return self.length - len(self.text)


def piece(kind: str, label: str, text: str, *, code: bool = False) -> Piece:
    """A labelled text, cut where it is enormous."""
    return Piece(kind, label, text[:MOST], len(text), code)


def of_part(part: Any, role: str = "") -> Piece:
    """A block of a reply, or a part of a request's message.

    Args:
        role: whose message it is in, where that is not clear.
    """
    shown = _of_part(part)
    return replace(shown, label=f"{role}: {shown.label}") if role else shown


def _of_part(part: Any) -> Piece:
    if isinstance(part, Text):
        return piece("text", "text", part.text)
    if isinstance(part, ToolCall):
        return piece("call", part.id or "call", f"{part.name}({part.arguments})", code=True)
    if isinstance(part, ServerCall):
        return piece("server", f"{part.id or 'call'}, at the provider", f"{part.name}({part.arguments})", code=True)
    if isinstance(part, ServerResult):
        return of_value("server", f"result of {part.call_id or 'the call before'}, at the provider", part.content)
    if isinstance(part, ToolResult):
        return of_value("result", f"{'error ' if part.is_error else ''}result of {part.call_id}", part.output)
    if isinstance(part, Thinking):
        return piece("thinking", "thinking", part.thinking)
    if isinstance(part, Refusal):
        return piece("refusal", f"refusal{f', {part.category}' if part.category else ''}", part.text)
    if isinstance(part, RedactedThinking):
        return piece("thinking", "thinking", "only the provider can read it")
    kind = part.kind if isinstance(part, Opaque) else type(part).__name__
    return of_value("other", kind, part.data if isinstance(part, Opaque) else str(part))


def of_value(kind: str, label: str, value: Any) -> Piece:
    """Any JSON value under a label: text as it is, other values as JSON."""
    if isinstance(value, str):
        return piece(kind, label, value)
    return piece(kind, label, json_text(value), code=True)


def json_text(value: Any) -> str:
    """A JSON value on one line where it is short, indented where it is not."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= 100 else json.dumps(value, ensure_ascii=False, indent=1, default=str)
