"""The reply of a script as the Claude Messages API writes it, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator

from scripts import Json, Session, object_arguments, pieces, raw_arguments

Event = tuple[str | None, Json]


def claude_message(session: Session, body: Json, blocks: list[Json], stop: str | None) -> Json:
    """The full reply of the Messages API."""
    details = {"type": "refusal", "category": None, "explanation": None}
    return {
        "id": session.next_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "claude-sonnet-5"),
        "container": None,
        "content": [_claude_content(block) for block in blocks],
        "stop_reason": stop,
        "stop_sequence": "STOP" if stop == "stop_sequence" else None,
        "stop_details": details if stop == "refusal" else None,
        "diagnostics": None,
        "usage": _claude_usage(5),
    }


def _claude_usage(output_tokens: int) -> Json:
    return {
        "input_tokens": 10,
        "output_tokens": output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "global",
        "speed": "standard",
    }


def _claude_content(block: Json) -> Json:
    kind = block["t"]
    if kind in ("text", "refusal"):
        # No null `citations`: the AI SDK's schema refuses what the official SDK accepts.
        return {"type": "text", "text": block["text"]}
    if kind == "thinking":
        signature = block["signature"]
        return {"type": "thinking", "thinking": block["thinking"], "signature": signature}
    if kind == "server_result":
        name = block["name"]
        return {
            "type": f"{name}_tool_result",
            "tool_use_id": block["for"],
            "content": block["content"],
        }
    call = {"id": block["id"], "name": block["name"], "input": object_arguments(block)}
    if kind == "server_call":
        return {"type": "server_tool_use", **call}
    caller = {"caller": {"type": "direct"}} if block.get("caller") else {}
    return {"type": "tool_use", **call, **caller}


def claude_events(message: Json, blocks: list[Json]) -> Iterator[Event]:
    """The same reply as the events of a stream."""
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    start |= {"stop_details": None, "usage": _claude_usage(1)}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(blocks):
        shell, deltas = _claude_deltas(message["content"][index], block)
        opening = {"type": "content_block_start", "index": index, "content_block": shell}
        yield "content_block_start", opening
        if index == 0:
            yield "ping", {"type": "ping"}
        for delta in deltas:
            name = "content_block_delta"
            yield name, {"type": name, "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    delta["container"] = None
    usage = {"input_tokens": 10, "output_tokens": 5}
    usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def _claude_deltas(content: Json, block: Json) -> tuple[Json, list[Json]]:
    """The empty shell that opens a block, and the deltas that fill it."""
    kind = content["type"]
    if kind == "text":
        texts = [{"type": "text_delta", "text": piece} for piece in pieces(content["text"])]
        return {**content, "text": ""}, texts
    if kind == "thinking":
        thoughts = pieces(content["thinking"])
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
        deltas.append({"type": "signature_delta", "signature": content["signature"]})
        return {**content, "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use"):
        fragments = ["", *pieces(raw_arguments(block))]
        return {**content, "input": {}}, [
            {"type": "input_json_delta", "partial_json": fragment} for fragment in fragments
        ]
    return content, []
