"""The reply of a script as OpenAI Chat Completions writes it, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator

from scripts import Json, Session, pieces, raw_arguments

Event = tuple[str | None, Json]


def chat_completion(session: Session, body: Json, blocks: list[Json], stop: str | None) -> Json:
    """The full reply of Chat Completions, which has neither thinking nor server tools."""
    texts = [block["text"] for block in blocks if block["t"] == "text"]
    refusals = [block["text"] for block in blocks if block["t"] == "refusal"]
    if stop == "refusal" and not refusals:
        texts, refusals = [], texts
    message: Json = {"role": "assistant", "content": "".join(texts) if texts else None}
    message |= {"refusal": "".join(refusals) if refusals else None, "annotations": []}
    calls = [_chat_call(block) for block in blocks if block["t"] == "call"]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "finish_reason": _chat_reason(stop), "logprobs": None}
    return {
        "id": session.next_id("chatcmpl"),
        "object": "chat.completion",
        "created": 1700000000,
        "model": body.get("model", "gpt-6-astra"),
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{**choice, "message": message}],
        "usage": _chat_usage(),
    }


def _chat_usage() -> Json:
    details = {"reasoning_tokens": 0, "audio_tokens": 0}
    details |= {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
    return {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": details,
    }


def _chat_call(block: Json) -> Json:
    function = {"name": block["name"], "arguments": raw_arguments(block)}
    return {"id": block["id"], "type": "function", "function": function}


def _chat_reason(stop: str | None) -> str | None:
    names = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "refusal": "stop",
        "pause_turn": "stop",
        "compaction": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }
    return names.get(stop, stop) if stop is not None else None


def chat_events(completion: Json, body: Json) -> Iterator[Event]:
    """The same reply as unnamed chunks; usage comes last where it was asked for."""
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    shared = {key: completion[key] for key in ("id", "created", "model", "service_tier")}
    shared |= {"object": "chat.completion.chunk", "system_fingerprint": None}
    if wants_usage:
        shared["usage"] = None
    choice = completion["choices"][0]
    for delta in _chat_deltas(choice["message"]):
        yield None, {**shared, "choices": [_chat_choice(delta, None)]}
    yield None, {**shared, "choices": [_chat_choice({}, choice["finish_reason"])]}
    if wants_usage:
        yield None, {**shared, "choices": [], "usage": completion["usage"]}


def _chat_choice(delta: Json, reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _chat_deltas(message: Json) -> Iterator[Json]:
    content = message["content"]
    first = "" if content is not None else None
    yield {"role": "assistant", "content": first, "refusal": None}
    for piece in pieces(content or ""):
        yield {"content": piece}
    for piece in pieces(message["refusal"] or ""):
        yield {"refusal": piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **call, "function": function}]}
        for piece in pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
