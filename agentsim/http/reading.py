"""Requests as far as they can be read without knowing whose they are; the same bytes are read once.

Agents that are run again and again send the same opening each time, tools and all, so what a body means is kept by its
bytes, for a while. Whoever gets it must not change it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from agentsim.core.value import value
from agentsim.http.codecs import codec_of
from agentsim.limits import limit
from agentsim.wire.base import Codec, Complaint, Context, HttpRequest, ModelRequest, Route, read_json
from agentsim.wire.memory import Memory

TOO_LARGE = Complaint("body_is_small_enough", "Request exceeds the maximum size", 413, "request_too_large")

_KEPT, _LARGEST_KEPT = 256, 64 * 1024


@value
class Opening:
    """What a body shows of its conversation before it is read.

    Args:
        prompt: text of the first user message.
        begins: it holds no reply yet and continues nothing that is stored.
        parent: id of the stored reply that it continues.
        conversation: id of the stored conversation that it belongs to.
    """

    prompt: str
    begins: bool
    parent: str | None = None
    conversation: str | None = None


@value
class Reading:
    """One request, read.

    Args:
        codec, route: whose it is and what it asks for.
        body: its JSON; None where `wrong` says why there is none.
        opening: of its conversation.
        asked: the request for a reply in neutral words, where that needs no memory of what was before.
        complaint: what is wrong with `asked` by itself, no rule being switched off.
        misfit: what is wrong with it as the beginning of a conversation, likewise.
    """

    codec: Codec
    route: Route
    body: Any
    opening: Opening
    wrong: Complaint | None = None
    asked: ModelRequest | None = None
    complaint: Complaint | None = None
    misfit: Complaint | None = None


_readings: OrderedDict[Any, Reading] = OrderedDict()


def read(request: HttpRequest) -> Reading | None:
    """The request, read; None where no codec knows its URL."""
    body = request.body
    headers = request.headers
    versions = headers.get("anthropic-version"), headers.get("anthropic-beta")
    key = (body, request.method, request.url, versions) if len(body) <= _LARGEST_KEPT else None
    known = _readings.get(key) if key is not None else None
    if known is not None:
        return known
    found = codec_of(request)
    if found is None:
        return None
    codec, route = found
    reading = _read(codec, route, request)
    if key is not None and reading.asked is not None:
        _readings[key] = reading
        if len(_readings) > _KEPT:
            _readings.popitem(last=False)
    return reading


def _read(codec: Codec, route: Route, request: HttpRequest) -> Reading:
    body, wrong = parsed(request)
    start = opening(body)
    if wrong is not None or route.operation != "generate" or not start.begins or b"item_reference" in request.body:
        return Reading(codec, route, body, start, wrong)
    try:
        asked = codec.decode_request(request, body)
    except Exception:  # a refusal, or a mistake of ours: whoever answers comes to it again, and tells which
        return Reading(codec, route, body, start)
    complaint = codec.body_complaint(asked, ())
    misfit = None if complaint else codec.history_complaint(asked, Context(asked.messages, Memory()))
    return Reading(codec, route, body, start, None, asked, complaint, misfit)


def parsed(request: HttpRequest) -> tuple[Any, Complaint | None]:
    """A request's body as JSON, or why it is none."""
    if len(request.body) > limit("request_body_bytes"):
        return None, TOO_LARGE
    if not request.body and request.method != "POST":
        return None, None
    try:
        return read_json(request.body), None
    except ValueError as error:
        text = f"The request body is not valid JSON: {error}"
        return None, Complaint("body_is_json", text)


def opening(body: Any) -> Opening:
    """The opening of a request of any provider."""
    if not isinstance(body, dict):
        return Opening("", True)
    thread = body.get("thread")
    parent = thread.get("previous_message_id") if isinstance(thread, dict) else body.get("previous_response_id")
    parent = parent if isinstance(parent, str) else None
    items = body.get("messages") or body.get("input") or body.get("contents") or []
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    conversation = conversation if isinstance(conversation, str) else None
    if isinstance(items, str):
        return Opening(items, parent is None and conversation is None, parent, conversation)
    prompt, replied = "", False
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        role = item.get("role")
        if role == "user" and not prompt:
            prompt = _text(item.get("content", item.get("parts")))
        if role in ("assistant", "model") or (role is None and item.get("type") != "message"):
            replied = True
            break
    begins = not replied and parent is None and conversation is None
    return Opening(prompt, begins, parent, conversation)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
