"""How the history of a run that starts in the middle is written (`messages:`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.core import messages
from agentsim.core.messages import (
    Block,
    Message,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
)
from agentsim.scenario.arguments import as_arguments
from agentsim.scenario.blocks import BLOCKS, CONTENT_KEYS, WHOLE, content_rules, cut, items_of, noted, split
from agentsim.scenario.document import Node, Path, Report
from agentsim.scenario.model import AnyCall, OutputBlock
from agentsim.scenario.records import Key, Part, Record, Tagged
from agentsim.scenario.replies import SAYS, STOP_REASON, USAGE
from agentsim.scenario.shapes import Anything, Either, Flag, ListOf, Made, Named
from agentsim.scenario.shapes import Text as TextShape


def _result(part: Part) -> ToolResult:
    return ToolResult(part.get("for"), part.get("content", ""), part.get("is_error", False))


RESULT = Record(
    "a tool result",
    {
        "for": Key(noted("result for"), "id of the call", required=True),
        "content": Key(Anything(), "what the tool gave: a text or another JSON value"),
        "is_error": Key(Flag(), "whether the request says that it is an error"),
    },
    _result,
)
RESULT_ENTRY = Record(
    "a tool result",
    {"tool_result": Key(RESULT, "a tool's result", required=True)},
    lambda part: part.get("tool_result"),
)

USER_BLOCK = Named(
    "user_block",
    Tagged("a block of a user", {"text": BLOCKS["text"], "tool_result": RESULT_ENTRY, "opaque": BLOCKS["opaque"]}),
)


def _assistant(part: Part) -> tuple[Block, ...]:
    items = items_of(part)
    if part.has("cut_after"):
        items = cut(items, part.get("cut_after")) or items
    if any(isinstance(item, AnyCall) for item in items):
        part.complain("a call of any tool ('*') can't stand in the history: no request fills it")
    known = [Text(as_arguments(item.value)) if isinstance(item, OutputBlock) else item for item in items]
    return split(known)[0]


def _says_something(part: Part) -> None:
    if not any(map(part.has, SAYS)):
        part.complain(
            "a reply needs one of content, text, tool_use, refusal …; one without content is written `empty: true`"
        )


ASSISTANT = Record(
    "a reply in the history",
    {
        **CONTENT_KEYS,
        "stop_reason": Key(STOP_REASON, "as in a reply; requests don't carry it"),
        "cut_after": Key(WHOLE, "only so many characters of the last call's arguments arrived"),
        "usage": Key(USAGE, "as in a reply; requests don't carry it"),
    },
    _assistant,
    rules=(content_rules, _says_something),
)


def _text_blocks(value: str, node: Node, path: Path, report: Report) -> tuple[Text, ...]:
    return (Text(value),)


_TEXT = Made(TextShape(), _text_blocks)
USER = Either(
    "a text or a list of blocks", {"text": _TEXT, "list": Made(ListOf(USER_BLOCK, least=1), lambda v, *_: tuple(v))}
)
REPLY = Either("a reply", {"text": _TEXT, "mapping": ASSISTANT})

MESSAGE = Named(
    "message",
    Tagged(
        "a message",
        {
            "user": Record(
                "a user message", {"user": Key(USER, "a text or blocks")}, lambda part: ("user", part.get("user"))
            ),
            "assistant": Record(
                "an assistant message",
                {"assistant": Key(REPLY, "a reply")},
                lambda part: ("assistant", part.get("assistant")),
            ),
            "tool_result": Record(
                "a tool result",
                {"tool_result": Key(RESULT, "a tool's result; adjacent ones go in one user message")},
                lambda part: ("result", (part.get("tool_result"),)),
            ),
        },
    ),
)


def _messages(entries: list[tuple[str, tuple[messages.Part, ...]]], *_: Any) -> tuple[Message, ...]:
    """Messages with adjacent tool results in one, and every id given."""
    joined: list[tuple[str, tuple[messages.Part, ...]]] = []
    for kind, parts in entries:
        if kind == "result" and joined and joined[-1][0] == "result":
            joined[-1] = (kind, joined[-1][1] + parts)
        else:
            joined.append((kind, parts))
    ids = _Ids(part for _, parts in joined for part in parts)
    return tuple(
        Message("assistant" if kind == "assistant" else "user", tuple(map(ids.named, parts))) for kind, parts in joined
    )


class _Ids:
    """Counts ids for the history's calls, past those that are written out."""

    def __init__(self, parts: Iterator[messages.Part]) -> None:
        self._taken = {part.id for part in parts if isinstance(part, ToolCall | ServerCall)}
        self._names: dict[str, str] = {}
        self._counts = {"call": 0, "srvtoolu": 0}
        self._last = ""

    def named(self, part: messages.Part) -> messages.Part:
        if isinstance(part, ToolCall):
            return part if part.id else ToolCall(self._next("call"), part.name, part.arguments)
        if isinstance(part, ServerCall):
            self._last = part.id or self._next("srvtoolu")
            self._names[self._last] = part.name
            return ServerCall(self._last, part.name, part.arguments)
        if isinstance(part, ServerResult):
            call_id = part.call_id or self._last
            return ServerResult(call_id, part.content, self._names.get(call_id, ""))
        return part

    def _next(self, kind: str) -> str:
        while True:
            self._counts[kind] += 1
            name = f"{kind}_{self._counts[kind]}"
            if name not in self._taken:
                return name


MESSAGES = Made(ListOf(MESSAGE, "a list of messages"), _messages)
