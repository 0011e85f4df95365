"""A Responses reply as server-sent events, both ways. Events are numbered from 0 over the whole stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Block, Refusal, Reply, ServerCall, Text, ToolCall, Usage
from agentsim.wire import openai
from agentsim.wire.base import Cut, Json, Pieces, dumps, quote, read_json
from agentsim.wire.responses_items import blocks_of
from agentsim.wire.sse import Decoder

#: What an item's parts are when it is added.
_EMPTY: Json = {"status": "in_progress", "content": [], "arguments": "", "summary": []}
_ENDINGS = ("response.completed", "response.incomplete", "response.failed")


class _Writer:
    """Collects events and numbers them."""

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self.pieces: list[int] = []

    def send(self, kind: str, fields: Json) -> None:
        self.raw(kind, dumps(fields)[1:-1])

    def raw(self, kind: str, fields: str) -> None:
        number = len(self.out)
        self.out.append(f'event: {kind}\ndata: {{"type":"{kind}",{fields},"sequence_number":{number}}}\n\n'.encode())

    def deltas(self, kind: str, where: str, pieces: Iterator[str], more: str = "") -> None:
        for piece in pieces:
            self.pieces.append(len(self.out))
            self.raw(kind, f'{where},"delta":{quote(piece)}{more}')


def encode(
    response: Json, size: int | None, *, limit: int | None = None, error: Json | None = None
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """The events, and which of them carry a piece of the reply.

    Args:
        response: the whole object.
        size: characters per piece.
        limit: only so many characters of texts and arguments arrive, and nothing of the reply's end.
        error: an error event that ends the stream.
    """
    writer, cutter = _Writer(), Pieces(size, limit)
    early = {**response, "status": "in_progress", "output": [], "usage": None}
    early |= {"completed_at": None, "incomplete_details": None}
    writer.send("response.created", {"response": early})
    writer.send("response.in_progress", {"response": early})
    try:
        for index, item in enumerate(response["output"]):
            _item(writer, cutter, index, item)
    except Cut:
        pass
    if limit is None:
        status = response["status"]
        writer.send(f"response.{status if status in ('incomplete', 'failed') else 'completed'}", {"response": response})
    if error is not None:
        fields = {name: error[name] for name in ("code", "message", "param")}
        writer.send("error", fields)
    return tuple(writer.out), tuple(writer.pieces)


def _item(writer: _Writer, cutter: Pieces, index: int, item: Json) -> None:
    opened = item | {key: empty for key, empty in _EMPTY.items() if key in item}
    writer.send("response.output_item.added", {"output_index": index, "item": opened})
    where = f'"item_id":{quote(item["id"])},"output_index":{index}'
    match item["type"]:
        case "message":
            for position, part in enumerate(item["content"]):
                _part(writer, cutter, f'{where},"content_index":{position}', part)
        case "function_call":
            name = "response.function_call_arguments"
            writer.deltas(f"{name}.delta", where, cutter(item["arguments"]))
            writer.raw(f"{name}.done", f'{where},"arguments":{quote(item["arguments"])}')
        case "reasoning":
            for position, part in enumerate(item["summary"]):
                _summary(writer, Pieces(cutter.size), f'{where},"summary_index":{position}', part)
        case "web_search_call":
            for state in ("in_progress", "searching", "completed"):
                writer.raw(f"response.web_search_call.{state}", where)
    writer.send("response.output_item.done", {"output_index": index, "item": item})


def _part(writer: _Writer, cutter: Pieces, where: str, part: Json) -> None:
    is_text = part["type"] == "output_text"
    key, name = ("text", "response.output_text") if is_text else ("refusal", "response.refusal")
    more = ',"logprobs":[]' if is_text else ""
    writer.raw("response.content_part.added", f'{where},"part":{dumps({**part, key: ""})}')
    writer.deltas(f"{name}.delta", where, cutter(part[key]), more)
    writer.raw(f"{name}.done", f'{where},"{key}":{quote(part[key])}{more}')
    writer.raw("response.content_part.done", f'{where},"part":{dumps(part)}')


def _summary(writer: _Writer, cutter: Pieces, where: str, part: Json) -> None:
    name = "response.reasoning_summary"
    writer.raw(f"{name}_part.added", f'{where},"part":{{"type":"summary_text","text":""}}')
    writer.deltas(f"{name}_text.delta", where, cutter(part["text"]))
    writer.raw(f"{name}_text.done", f'{where},"text":{quote(part["text"])}')
    writer.raw(f"{name}_part.done", f'{where},"part":{dumps(part)}')


# --- decoding --------------------------------------------------------------------------------------------------------


def reply_of(response: Json) -> Reply | Fault:
    """A whole response object as a reply; a failed one as a fault."""
    if response.get("status") == "failed":
        error = response.get("error") or {}
        return Fault(200, str(error.get("code")), str(error.get("message")), after_characters=0, partial=Reply())
    blocks: tuple[Any, ...] = tuple(block for item in response["output"] for block in blocks_of(item))
    return Reply(blocks, _stop(response, blocks), usage_from_wire(response.get("usage") or {}))


def _stop(response: Json, blocks: tuple[Block, ...]) -> str | None:
    if response.get("status") == "incomplete":
        reason = (response.get("incomplete_details") or {}).get("reason")
        return "max_tokens" if reason == "max_output_tokens" else reason
    if any(isinstance(block, ToolCall) for block in blocks):
        return "tool_use"
    return "refusal" if any(isinstance(block, Refusal) for block in blocks) else "end_turn"


def usage_from_wire(usage: Json) -> Usage:
    """Token counts; what is missing is 0."""
    details = usage.get("input_tokens_details") or {}
    cached, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return openai.usage_of(usage.get("input_tokens") or 0, cached, written, usage.get("output_tokens") or 0)


def decode(chunks: Iterable[bytes]) -> Reply | Fault:
    """The reply of a stream, however its bytes were cut; a Fault where it broke off or held an error."""
    decoder, items, error = Decoder(), dict[int, Json](), None
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    for event in events:
        if event.data == "[DONE]":
            continue
        data = read_json(event.data.encode())
        kind = data.get("type") or event.name
        if kind in _ENDINGS:
            return reply_of(data["response"])
        if kind == "error":
            error = data
        elif data.get("error"):
            error = data["error"]
        else:
            _take(kind, data, items)
    partial = _partial(items)
    arrived = _characters(partial)
    if error is not None:
        kind, text = str(error.get("code") or error.get("type")), str(error.get("message"))
        return Fault(200, kind, text, after_characters=arrived, partial=partial)
    return Fault(200, "", "", after_characters=arrived, disconnect="end", partial=partial)


def _take(kind: str, data: Json, items: dict[int, Json]) -> None:
    index = data.get("output_index", -1)
    if kind in ("response.output_item.added", "response.output_item.done"):
        items[index] = dict(data["item"])
    elif kind == "response.content_part.added":
        items[index].setdefault("content", [])
        items[index]["content"] = [*items[index]["content"], dict(data["part"])]
    elif kind == "response.output_text.delta":
        items[index]["content"][data["content_index"]]["text"] += data["delta"]
    elif kind == "response.refusal.delta":
        items[index]["content"][data["content_index"]]["refusal"] += data["delta"]
    elif kind == "response.function_call_arguments.delta":
        items[index]["arguments"] += data["delta"]


def _partial(items: dict[int, Json]) -> Reply:
    blocks: tuple[Any, ...] = tuple(block for index in sorted(items) for block in blocks_of(items[index]))
    calls = any(isinstance(block, ToolCall) for block in blocks)
    return Reply(blocks, "tool_use" if calls else "end_turn")


def _characters(reply: Reply) -> int:
    return sum(
        len(block.arguments) if isinstance(block, ToolCall) else len(block.text)
        for block in reply.blocks
        if isinstance(block, Text | Refusal | ToolCall) and not isinstance(block, ServerCall)
    )
