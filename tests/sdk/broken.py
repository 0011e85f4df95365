"""Replies that break off: an error event, an early end, or a reset, after so many characters.

A reply says ``"broken": {"how": "error" | "end" | "reset", "after": n}``, an error also ``type`` and
``message``; without ``after`` the connection is reset before any header. Characters are counted over the
texts and argument strings; at the full length every block has arrived and only the reply's end is missing.
"""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]
Event = tuple[str | None, Json]


def cut(wire: str, events: list[Event], after: int) -> list[Event]:
    """The events before the first character that is too many."""
    kept: list[Event] = []
    seen = 0
    for name, data in events:
        key, text = _piece(wire, data)
        if _is_end(wire, data) or (text and seen >= after):
            break
        if seen + len(text) > after:
            data = copy.deepcopy(data)
            _holder(wire, data)[key] = text[: after - seen]
        seen += len(text)
        kept.append((name, data))
    return kept


def error_event(wire: str, kind: str, message: str) -> Event:
    """What each provider sends when a stream fails that has begun."""
    if wire == "anthropic-messages":
        error = {"type": kind, "message": message}
        return "error", {"type": "error", "error": error, "request_id": "req_1"}
    if wire == "openai-responses":
        flat = {"type": "error", "code": kind, "message": message, "param": None}
        return "error", {**flat, "sequence_number": 99}
    return None, {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _is_end(wire: str, data: Json) -> bool:
    if wire == "anthropic-messages":
        return bool(data["type"] == "message_delta")
    if wire == "openai-responses":
        return data["type"] in ("response.completed", "response.incomplete")
    return not data["choices"] or data["choices"][0]["finish_reason"] is not None


def _holder(wire: str, data: Json) -> Json:
    """The object that holds the piece of text of a delta."""
    if wire == "anthropic-messages":
        inner: Json = data.get("delta", {})
        return inner
    if wire == "openai-responses":
        return data
    delta: Json = data["choices"][0]["delta"] if data["choices"] else {}
    calls = delta.get("tool_calls")
    return calls[0]["function"] if calls else delta


def _piece(wire: str, data: Json) -> tuple[str, str]:
    """The key and the text of a delta; an empty text where there is none."""
    keys = {
        "anthropic-messages": ("text", "partial_json"),
        "openai-responses": ("delta",),
        "openai-chat": ("content", "refusal", "arguments"),
    }[wire]
    if wire == "openai-responses" and "reasoning" in data["type"]:
        return "delta", ""
    holder = _holder(wire, data)
    found = [(key, holder[key]) for key in keys if isinstance(holder.get(key), str)]
    return found[0] if found else ("", "")
