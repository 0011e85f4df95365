"""Agent Framework's messages: what it reads of a reply on each wire, and what it sends back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import Block, Message, Refusal, ServerCall, ServerResult, Text, ToolCall, ToolResult
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall

#: Claude's stop reasons in its words; any other is shown as it is.
_FINISH = {
    "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls", "end_turn": "stop",
    "refusal": "content_filter", "pause_turn": "stop",
}  # fmt: skip


@dataclass(slots=True)
class Answer:
    """A reply as a message of the framework.

    Args:
        seen: as it came.
        text: its texts and refusals, joined.
        calls: the calls that are to be answered.
        finish: its finish reason.
    """

    seen: Seen
    text: str
    calls: list[SeenCall]
    finish: str | None


def read(seen: Seen) -> Answer:
    """A reply as a message of the framework."""
    merges = seen.wire == RESPONSES and seen.streamed
    return Answer(seen, _text(seen), _merged(seen.calls) if merges else list(seen.calls), _finish(seen))


def _text(seen: Seen) -> str:
    """The message's contents of text, with a space between them. What is one content hangs on the wire, and on streaming."""
    if seen.wire == CHAT:
        return " ".join(part for part in (seen.text, seen.refusal) if part)
    contents: list[str] = []
    before: Block | None = None
    for block in seen.reply.blocks:
        if isinstance(block, Text | Refusal):
            if not (seen.streamed and type(block) is type(before)):
                contents.append(block.text)
            elif seen.wire == ANTHROPIC:
                contents[-1] += block.text
            else:
                contents[-1] = (
                    block.text
                )  # the last event of a text tells the whole of it, and replaces what stood before
        before = block
    return " ".join(contents)


def _finish(seen: Seen) -> str | None:
    if seen.wire == ANTHROPIC:
        return _FINISH.get(seen.stop, seen.stop) if seen.stop else None
    if seen.wire == CHAT:
        return "tool_calls" if seen.word == "function_call" else seen.word
    if seen.stop is None:
        return None  # the stream ended before its last event
    return "length" if seen.cut else "tool_calls" if seen.calls else "stop"


def _merged(calls: tuple[SeenCall, ...]) -> list[SeenCall]:
    """A Responses stream's call of an id and name that came before is the same call, and its arguments take the place of the first's."""
    told: list[SeenCall] = []
    latest: dict[str, int] = {}
    for call in calls:
        at = latest.get(call.id)
        if at is not None and told[at].name == call.name:
            told[at] = call
            continue
        latest[call.id] = len(told)
        told.append(call)
    return told


def arguments_of(call: SeenCall) -> dict[str, Any]:
    """The arguments as an object; what is none becomes one with the key `raw`."""
    if not call.raw:
        return {}
    if call.broken:
        return {"raw": call.raw}
    return call.arguments if isinstance(call.arguments, dict) else {"raw": call.arguments}


def written(answer: Answer, *, without_calls: bool = False, more: str = "") -> list[Message]:
    """The reply in the next requests.

    Args:
        without_calls: calls in it were dropped.
        more: a text that the framework put behind it.
    """
    seen = answer.seen
    if seen.wire == RESPONSES:  # the provider keeps the conversation, and goes on from what it said itself
        refused = seen.refusal is not None and not any(isinstance(b, Refusal) for b in seen.reply.blocks)
        told = [Refusal(b.text) if refused and isinstance(b, Text) else b for b in seen.reply.blocks]
        return [Message("assistant", tuple(b for b in told if not isinstance(b, ServerResult)))]
    blocks = [b for b in seen.reply.blocks if not (without_calls and isinstance(b, ToolCall))]
    if more:
        blocks.append(Text(more))
    if seen.wire == CHAT:
        said = tuple(_chat(blocks, seen))
        return [Message("assistant", said)] if said else []
    return list(_claude(blocks))


def _chat(blocks: list[Block], seen: Seen) -> Iterator[Block]:
    """One message: the texts, then a refusal, then the calls."""
    texts = [b.text for b in blocks if isinstance(b, Text) and b.text]
    refused = seen.refusal is not None and not any(isinstance(b, Refusal) for b in blocks)
    if texts and not refused:
        yield Text("\n".join(texts))
    if seen.refusal:
        yield Refusal(seen.refusal)
    yield from (b for b in blocks if isinstance(b, ToolCall))


def _claude(blocks: list[Block]) -> Iterator[Message]:
    """Empty texts are left out. A provider's own call and its result are sent as if they had been this side's."""
    role, said = "assistant", list[Any]()
    for block in blocks:
        told, of = _claude_block(block)
        if told is None:
            continue
        if said and of != role:
            yield Message(role, tuple(said))  # type: ignore[arg-type]
            said = []
        role = of
        said.append(told)
    yield Message(role, tuple(said))  # type: ignore[arg-type]


def _claude_block(block: Block) -> tuple[Any, str]:
    if isinstance(block, Text) and not block.text:
        return None, "assistant"
    if isinstance(block, ToolCall | ServerCall):
        return ToolCall(block.id, block.name, _as_object(block.arguments)), "assistant"
    if isinstance(block, ServerResult):
        return ToolResult(block.call_id, block.content), "user"
    return block, "assistant"


def _as_object(raw: str) -> str:
    try:
        value = json.loads(raw) if raw else {}
    except ValueError:
        value = raw
    return raw if isinstance(value, dict) and raw else json.dumps(value if isinstance(value, dict) else {"raw": value})
