"""LangChain's messages: how a reply is read into one, and how each is written back on its wire.

Measured: @langchain/anthropic 1.5.11, @langchain/openai 1.6.0; langchain-anthropic 1.7.10, langchain-openai 1.7.4.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentsim.core.messages import (
    Block,
    Message,
    Part,
    Refusal,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
)
from agentsim.core.run import Run
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall, parse
from agentsim.styles import _langchain_json as partial


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the graph's state.

    Args:
        kind: "human", "ai" or "tool".
        text: what `.text` shows.
        message: as the next requests carry it; None where they leave it out.
        calls, invalid: an AI message's `tool_calls` and `invalid_tool_calls`.
        finish: the word that its metadata show.
        call_id, name, failed: a tool message's call, tool and whether its status is "error".
    """

    kind: str
    text: str
    message: Message | None
    calls: tuple[SeenCall, ...] = ()
    invalid: tuple[SeenCall, ...] = ()
    finish: str | None = None
    call_id: str = ""
    name: str = ""
    failed: bool = False


class BadMessage(ValueError):
    """The reply can't even be made into a message."""


# -- reading --------------------------------------------------------------------------------------------------------


def read(seen: Seen, python: bool) -> Said:
    """The reply as an AI message.

    Raises:
        BadMessage: Python's message class takes no arguments but an object.
    """
    calls, invalid = [], []
    unread: set[int] = set()  # by position: calls may share an id
    for position, call in enumerate(seen.calls):
        try:
            value = _python_arguments(call, seen) if python else _javascript_arguments(call, seen)
        except partial.Unreadable:
            invalid.append(call)
            unread.add(position)
        else:
            calls.append(SeenCall(call.id, call.name, call.raw, value))
    back = _written(seen, unread, python)
    return Said("ai", seen.text, back, tuple(calls), tuple(invalid), finish_reason(seen, python))


def _javascript_arguments(call: SeenCall, seen: Seen) -> Any:
    if not seen.streamed:
        if call.broken:
            raise partial.Unreadable(call.raw)
        return call.arguments
    value = partial.javascript(call.raw.strip() or "{}")
    if not isinstance(value, dict):
        raise partial.Unreadable(call.raw)
    return value


def _python_arguments(call: SeenCall, seen: Seen) -> Any:
    if seen.wire == ANTHROPIC and not seen.streamed:
        return call.arguments
    if not seen.streamed or seen.wire == RESPONSES:
        _check_whole(call, seen)
    if not seen.streamed:
        return _python_whole(call, seen)
    value = partial.python(call.raw) if call.raw else {}
    if not isinstance(value, dict):
        raise partial.Unreadable(call.raw)
    return value


def _python_whole(call: SeenCall, seen: Seen) -> Any:
    if seen.wire == CHAT and not call.raw:
        return {}
    try:
        value = json.loads(call.raw, strict=False)
    except (ValueError, RecursionError):
        raise partial.Unreadable(call.raw) from None
    return value or {}  # elsewhere it is an object, or was refused


def _check_whole(call: SeenCall, seen: Seen) -> None:
    """A whole reply's message is validated; of a Responses stream the last event is one too."""
    value, broken = parse(call.raw)
    if broken or isinstance(value, dict) or (seen.wire == CHAT and not value):
        return
    raise BadMessage(
        "1 validation error for AIMessage\ntool_calls.0.args\n  Input should be a valid dictionary "
        f"[type=dict_type, input_value={value!r}, input_type={type(value).__name__}]"
    )


def finish_reason(seen: Seen, python: bool) -> str | None:
    """What the last message's metadata show; JavaScript shows nothing for a streamed Chat reply."""
    return None if seen.wire == CHAT and seen.streamed and not python else seen.word


# -- writing back ---------------------------------------------------------------------------------------------------


def _written(seen: Seen, unread: set[int], python: bool) -> Message | None:
    """The reply in the next requests."""
    blocks: list[Block]
    if seen.wire == CHAT:
        blocks = _chat(seen, unread, python)
    elif seen.wire == RESPONSES:
        blocks = _responses(seen, python)
    else:
        blocks = _anthropic(seen, python)
    if not blocks and python and seen.wire == ANTHROPIC:
        return None
    return Message("assistant", tuple(blocks))


def _chat(seen: Seen, unread: set[int], python: bool) -> list[Block]:
    """One text, then the calls; those that could not be read come last, or are forgotten by JavaScript. A refusal's words are lost."""
    told = list(enumerate(b for b in seen.reply.blocks if isinstance(b, ToolCall)))
    calls = [block for position, block in told if position not in unread]
    calls += [block for position, block in told if position in unread and python]
    return [*([Text(seen.text)] if seen.text or not calls else []), *calls]


def _responses(seen: Seen, python: bool) -> list[Block]:
    """The output items as they came; a refusal's words are a refusal. JavaScript forgets a hosted tool's result."""
    refused = seen.refusal is not None and not any(isinstance(b, Refusal) for b in seen.reply.blocks)
    told: list[Block] = [Refusal(b.text) if refused and isinstance(b, Text) else b for b in seen.reply.blocks]
    return told if python else [b for b in told if not isinstance(b, ServerResult)]


def _anthropic(seen: Seen, python: bool) -> list[Block]:
    """The blocks as they came, but for empty texts beside calls, and for calls that share an id."""
    blocks = list(seen.reply.blocks)
    if python:
        blocks = [b for b in blocks if not (isinstance(b, Text) and not b.text.strip())]
    elif seen.streamed and seen.calls:
        blocks = [b for b in blocks if not (isinstance(b, Text) and not b.text)]
    same: dict[str, list[ToolCall]] = {}
    for block in blocks:
        if isinstance(block, ToolCall):
            same.setdefault(block.id, []).append(block)
    told: list[Block] = []
    for block in blocks:
        if not isinstance(block, ToolCall) or len(same[block.id]) == 1:
            told.append(block)
        elif python:
            told += same[block.id]  # every block of a shared id becomes all of them
        else:
            told.append(replace(block, arguments=same[block.id][0].arguments) if seen.streamed else block)
    return told


def human(text: str) -> Said:
    """A user's message."""
    return Said("human", text, Message("user", (Text(text),)))


def ai(text: str, name: str = "") -> Said:
    """A message that LangChain wrote in the model's name."""
    return Said("ai", text, Message("assistant", (Text(text),)), name=name)


def tool(run: Run, call: SeenCall, output: Any, *, failed: bool = False, python: bool, name: str | None = None) -> Said:
    """A tool message; only Python marks an error, and only Claude's wire can carry the mark."""
    marked = failed and python and run.wire == ANTHROPIC
    text = output if isinstance(output, str) else ""
    back = Message("user", (ToolResult(call.id, output, is_error=marked),))
    shown = call.name if name is None else name
    return Said("tool", text, back, call_id=call.id, name=shown, failed=failed)


def content_of(output: Any, python: bool) -> Any:
    """A tool's return value as a message's content: texts and lists of blocks as they are, all else as JSON."""
    if isinstance(output, str) or _are_blocks(output):
        return output
    return json.dumps(output, ensure_ascii=False, separators=None if python else (",", ":"))


def _are_blocks(output: Any) -> bool:
    known = ("text", "image", "image_url", "json", "search_result", "document", "file")
    return (
        isinstance(output, list)
        and bool(output)
        and all(isinstance(b, dict) and b.get("type") in known for b in output)
    )


# -- history --------------------------------------------------------------------------------------------------------


def from_history(messages: Sequence[Message]) -> list[Said]:
    """Messages that a run starts with, as the graph's state; each result is a message of its own."""
    said: list[Said] = []
    names = {b.id: b.name for m in messages for b in m.content if isinstance(b, ToolCall)}
    for message in messages:
        if message.role == "assistant":
            said.append(_old_reply(message))
            continue
        said += [_old_part(part, names) for part in message.content]
    return said


def _old_reply(message: Message) -> Said:
    calls = []
    for block in message.content:
        if isinstance(block, ToolCall):
            value, broken = parse(block.arguments)
            calls.append(SeenCall(block.id, block.name, block.arguments, {} if broken else value))
    text = "".join(b.text for b in message.content if isinstance(b, Text))
    return Said("ai", text, message, tuple(calls))


def _old_part(part: Part, names: dict[str, str]) -> Said:
    message = Message("user", (part,))
    if isinstance(part, ToolResult):
        text = part.output if isinstance(part.output, str) else ""
        name = names.get(part.call_id, "")
        return Said("tool", text, message, call_id=part.call_id, name=name, failed=part.is_error)
    return Said("human", part.text if isinstance(part, Text) else "", message)
