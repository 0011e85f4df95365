"""A Claude reply as server-sent events, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import (
    Block,
    Refusal,
    Reply,
    ServerCall,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from agentsim.core.wires import parse
from agentsim.wire.anthropic_blocks import block_from_wire
from agentsim.wire.base import Cut, Json, Pieces, dumps, quote, read_json
from agentsim.wire.sse import Decoder

_PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def encode(
    reply: Reply, message: Json, size: int | None, *, limit: int | None = None, close_cut: bool = True
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """The events, and which of them carry a piece of the reply.

    Args:
        reply, message: the same in neutral and in wire form.
        size: characters per piece.
        limit: only so many characters of texts and arguments arrive, and nothing of the reply's end.
        close_cut: whether the block of a call that `max_tokens` cut is closed.
    """
    out: list[bytes] = [_start(message)]
    pieces: list[int] = []
    try:
        _blocks(reply, message, Pieces(size, limit), out, pieces, close_cut)
    except Cut:
        return tuple(out), tuple(pieces)
    if limit is None:
        out += [_delta(message), _STOP]
    return tuple(out), tuple(pieces)


def error(details: Json, request_id: str) -> bytes:
    """An error event inside a stream."""
    body = {"type": "error", "error": details, "request_id": request_id}
    return b"event: error\ndata: " + dumps(body).encode() + b"\n\n"


def _start(message: Json) -> bytes:
    empty = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
    empty["usage"] = {**message["usage"], "output_tokens": 1}
    return _event("message_start", {"message": empty})


def _delta(message: Json) -> bytes:
    names = ("container", "stop_reason", "stop_sequence", "stop_details")
    usage = message["usage"]
    counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counted = {name: usage[name] for name in (*counts, "server_tool_use", "output_tokens_details")}
    return _event("message_delta", {"delta": {name: message[name] for name in names}, "usage": counted})


def _event(name: str, fields: Json) -> bytes:
    return f"event: {name}\ndata: {dumps({'type': name, **fields})}\n\n".encode()


def _blocks(reply: Reply, message: Json, cutter: Pieces, out: list[bytes], pieces: list[int], close_cut: bool) -> None:
    contents = iter(message["content"])
    sent = [block for block in reply.blocks if not (isinstance(block, Refusal) and not block.text)]
    for index, block in enumerate(sent):
        shell, deltas = _parts(block, next(contents), cutter)
        out.append(_event("content_block_start", {"index": index, "content_block": shell}))
        if index == 0:
            out.append(_PING)
        head = f'event: content_block_delta\ndata: {{"type":"content_block_delta","index":{index},"delta":'
        for delta in deltas:
            pieces.append(len(out))
            out.append(f"{head}{delta}}}\n\n".encode())
        if close_cut or index < len(sent) - 1 or not _is_cut(reply, block):
            out.append(b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n' % index)


def _is_cut(reply: Reply, block: Block) -> bool:
    return isinstance(block, ToolCall) and reply.stop_reason == "max_tokens" and parse(block.arguments)[1]


def _parts(block: Block, content: Json, cutter: Pieces) -> tuple[Json, Iterable[str]]:
    """The empty shell that opens a block, and the deltas that fill it, as JSON."""
    match block:
        case Text(text) | Refusal(text):
            return {"type": "text", "text": ""}, _deltas("text_delta", "text", cutter(text))
        case ToolCall(arguments=raw) | ServerCall(arguments=raw):
            return {**content, "input": {}}, _deltas("input_json_delta", "partial_json", _led(cutter(raw)))
        case Thinking(thinking, signature):
            shell = {"type": "thinking", "thinking": "", "signature": ""}
            thoughts = _deltas("thinking_delta", "thinking", Pieces(cutter.size)(thinking))
            return shell, [*thoughts, f'{{"type":"signature_delta","signature":{quote(signature)}}}']
    return content, ()


def _led(pieces: Iterator[str]) -> Iterator[str]:
    """Arguments start with an empty piece, as the provider's do."""
    yield ""
    yield from pieces


def _deltas(kind: str, key: str, pieces: Iterator[str]) -> Iterator[str]:
    for piece in pieces:
        yield f'{{"type":"{kind}","{key}":{quote(piece)}}}'


# --- decoding --------------------------------------------------------------------------------------------------------


class _Accumulator:
    """Builds the reply up, event by event."""

    def __init__(self) -> None:
        self.message: Json = {}
        self.usage: Json = {}
        self.blocks: dict[int, Json] = {}
        self.raw: dict[int, str] = {}
        self.error: Json | None = None
        self.ended = False

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "message_start":
                self.message = dict(event["message"])
                self.usage = dict(self.message.get("usage") or {})
            case "content_block_start":
                self.blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                self.delta(event["index"], event["delta"])
            case "message_delta":
                self.message.update(event.get("delta") or {})
                counted = event.get("usage") or {}
                self.usage.update({name: count for name, count in counted.items() if count is not None})
            case "message_stop":
                self.ended = True
            case "error":
                self.error = event.get("error") or {}

    def delta(self, index: int, delta: Json) -> None:
        block = self.blocks.setdefault(index, {})
        match delta.get("type"):
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "input_json_delta":
                self.raw[index] = self.raw.get(index, "") + delta["partial_json"]
            case "compaction_delta":
                block.update({key: value for key, value in delta.items() if key != "type"})

    def reply(self) -> Reply:
        blocks = tuple(self.block(index) for index in sorted(self.blocks))
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return finished(blocks, self.message, Usage(*(self.usage.get(name) or 0 for name in names)))

    def block(self, index: int) -> Any:
        block = block_from_wire(self.blocks[index])
        if isinstance(block, ToolCall | ServerCall) and index in self.raw:
            return type(block)(block.id, block.name, self.raw[index])
        return block


def decode(chunks: Iterable[bytes]) -> Reply | Fault:
    """The reply of a stream, however its bytes were cut; a Fault where it broke off or held an error."""
    decoder, accumulated = Decoder(), _Accumulator()
    for chunk in chunks:
        for event in decoder.feed(chunk):
            accumulated.take(read_json(event.data.encode()))
    for event in decoder.close():
        accumulated.take(read_json(event.data.encode()))
    if accumulated.ended:
        return accumulated.reply()
    partial = accumulated.reply()
    arrived = characters(partial)
    if accumulated.error is not None:
        kind, text = str(accumulated.error.get("type")), str(accumulated.error.get("message"))
        return Fault(200, kind, text, after_characters=arrived, partial=partial)
    return Fault(200, "", "", after_characters=arrived, disconnect="end", partial=partial)


def characters(reply: Reply) -> int:
    """Characters of a reply's texts and argument strings."""
    return sum(
        len(block.arguments if isinstance(block, ToolCall | ServerCall) else block.text)
        for block in reply.blocks
        if isinstance(block, Text | Refusal | ToolCall | ServerCall)
    )


def finished(blocks: Any, message: Json, usage: Usage) -> Reply:
    """The reply of decoded blocks; a refusal with a category has its words in the last text."""
    category = (message.get("stop_details") or {}).get("category")
    if category is not None:
        blocks = list(blocks)
        if blocks and isinstance(blocks[-1], Text):
            blocks[-1] = Refusal(blocks[-1].text, category)
        else:
            blocks.append(Refusal("", category))
    return Reply(tuple(blocks), message.get("stop_reason"), usage)
