"""The reply of a script as the OpenAI Responses API writes it, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator

from scripts import Json, Session, object_arguments, pieces, raw_arguments

Event = tuple[str | None, Json]


def responses_object(session: Session, body: Json, blocks: list[Json], stop: str | None) -> Json:
    """The full reply of the Responses API."""
    status, reason = _responses_status(stop)
    return {
        "id": session.next_id("resp"),
        "object": "response",
        "created_at": 1700000000,
        "completed_at": 1700000001,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": None,
        "model": body.get("model", "gpt-6-astra"),
        "output": _responses_output(session, blocks, stop),
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        },
        "metadata": {},
    }


def _responses_status(stop: str | None) -> tuple[str | None, str | None]:
    """Status and the reason of an incomplete reply; a word of no wire is such a reason."""
    if stop is None:
        return None, None
    if stop in ("max_tokens", "model_context_window_exceeded"):
        return "incomplete", "max_output_tokens"
    known = ("end_turn", "tool_use", "stop_sequence", "refusal", "pause_turn", "compaction")
    return ("completed", None) if stop in known else ("incomplete", stop)


def _responses_output(session: Session, blocks: list[Json], stop: str | None) -> list[Json]:
    items: list[Json] = []
    if any(block["t"] == "refusal" for block in blocks):
        stop = None if stop == "refusal" else stop  # texts beside a refusal are texts
    for index, block in enumerate(blocks):
        is_last = index == len(blocks) - 1
        cut = is_last and stop in ("max_tokens", "model_context_window_exceeded")
        item = _responses_item(session, block, stop, "incomplete" if cut else "completed")
        if item:
            items.append(item)
    return items


def _responses_item(session: Session, block: Json, stop: str | None, status: str) -> Json | None:
    kind = block["t"]
    if kind in ("text", "refusal"):
        refused = kind == "refusal" or stop == "refusal"
        part = {"type": "refusal", "refusal": block["text"]}
        if not refused:
            part = {"type": "output_text", "text": block["text"], "annotations": []}
            part["logprobs"] = []
        item = {"id": session.next_id("msg"), "type": "message", "status": status}
        return {**item, "role": "assistant", "content": [part]}
    if kind == "call":
        item = {"id": session.next_id("fc"), "type": "function_call", "status": status}
        item |= {"call_id": block["id"], "name": block["name"]}
        return {**item, "arguments": raw_arguments(block)}
    if kind == "thinking":
        summary = [{"type": "summary_text", "text": block["thinking"]}]
        item = {"id": session.next_id("rs"), "type": "reasoning", "summary": summary}
        return {**item, "encrypted_content": block["signature"]}
    if kind == "server_call":
        action = {"type": "search", **object_arguments(block)}
        item = {"id": session.next_id("ws"), "type": "web_search_call", "status": "completed"}
        return {**item, "action": action}
    return None


def responses_events(response: Json) -> Iterator[Event]:
    """The same reply as the events of a stream, numbered from 0."""
    for number, event in enumerate(_responses_sequence(response)):
        yield event["type"], {**event, "sequence_number": number}


def _responses_sequence(response: Json) -> Iterator[Json]:
    early = {**response, "status": "in_progress", "output": [], "usage": None}
    early |= {"completed_at": None, "incomplete_details": None}
    yield {"type": "response.created", "response": early}
    yield {"type": "response.in_progress", "response": early}
    for index, item in enumerate(response["output"]):
        opened = dict(item)
        if "status" in item:
            opened["status"] = "in_progress"
        empty: Json = {"content": [], "arguments": "", "summary": []}
        opened |= {key: value for key, value in empty.items() if key in item}
        added = {"type": "response.output_item.added", "output_index": index}
        yield {**added, "item": opened}
        yield from _responses_deltas(item, {"item_id": item["id"], "output_index": index})
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ending = "incomplete" if response["status"] == "incomplete" else "completed"
    yield {"type": f"response.{ending}", "response": response}


def _responses_deltas(item: Json, where: Json) -> Iterator[Json]:
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        for piece in pieces(item["arguments"]):
            yield {"type": f"{name}.delta", **where, "delta": piece}
        yield {"type": f"{name}.done", **where, "arguments": item["arguments"]}
    elif item["type"] == "reasoning":
        yield from _reasoning_deltas(item, where)
    elif item["type"] == "message":
        yield from _message_deltas(item["content"][0], {**where, "content_index": 0})
    else:
        for state in ("in_progress", "searching", "completed"):
            yield {"type": f"response.web_search_call.{state}", **where}


def _reasoning_deltas(item: Json, where: Json) -> Iterator[Json]:
    name = "response.reasoning_summary"
    where = {**where, "summary_index": 0}
    text = item["summary"][0]["text"]
    empty = {"type": "summary_text", "text": ""}
    yield {"type": f"{name}_part.added", **where, "part": empty}
    for piece in pieces(text):
        yield {"type": f"{name}_text.delta", **where, "delta": piece}
    yield {"type": f"{name}_text.done", **where, "text": text}
    yield {"type": f"{name}_part.done", **where, "part": item["summary"][0]}


def _message_deltas(part: Json, where: Json) -> Iterator[Json]:
    key = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if key == "refusal" else "response.output_text"
    extra = {} if key == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **where, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield {"type": f"{name}.delta", **where, "delta": piece, **extra}
    yield {"type": f"{name}.done", **where, key: part[key], **extra}
    yield {"type": "response.content_part.done", **where, "part": part}
