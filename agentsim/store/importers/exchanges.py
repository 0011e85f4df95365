"""HTTP traffic as conversations: which exchange is a model request, and which of them belong together.

Requests, replies and conversations are three things. A file may hold several conversations (variants of one test), one
conversation over two providers, or requests that carry only what is new because the provider keeps the rest. So a request
belongs to a conversation where it *does* continue it: by the id of a stored reply, by the messages that it begins with, or by
the calls that it answers.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from agentsim.core.events import Fault
from agentsim.core.messages import Message, ToolResult
from agentsim.store.importers import chat_messages, claude_messages, responses_items
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, text_of
from agentsim.store.importers.said import ANTHROPIC, CHAT, RESPONSES, Said, error_of, said, wire_of_body
from agentsim.store.importers.source import GZIP, Source, gunzip, sensible
from agentsim.store.importers.streams import events_of, said_in, wire_of_events
from agentsim.store.importers.threads import Threads
from agentsim.store.recording import Declared, Recording

_POLL = re.compile(r"/responses/([^/]+)$")
_ENDINGS = (("/messages", ANTHROPIC), ("/responses", RESPONSES), ("/chat/completions", CHAT))


@dataclass(slots=True)
class Exchange:
    """One request with its answer, as recorded.

    Args:
        url: "" where it is not recorded.
        request, response: bodies: text, bytes, or a JSON value.
        status: of HTTP.
        headers: of the response, names in lower case.
        broken: "end" or "reset" where the connection is known to have gone away in the middle, "client" where the client left.
    """

    method: str
    url: str
    request: Any
    status: int | None
    response: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    broken: str | None = None

    @property
    def host(self) -> str:
        """Where it went."""
        try:
            return urlsplit(self.url).hostname or "an unnamed host"
        except ValueError:
            return "an unnamed host"

    @property
    def path(self) -> str:
        """The URL's path."""
        try:
            return urlsplit(self.url).path.rstrip("/")
        except ValueError:
            return ""


@dataclass(slots=True)
class Asked:
    """A model request in neutral words."""

    wire: str
    messages: list[Message]
    system: str | None
    declared: dict[str, Declared]
    parent: str | None = None
    conversation: str | None = None


def recording_of(exchanges: Iterable[Exchange], source: Source, name: str) -> Recording:
    """The recording of a file's traffic.

    Args:
        source: for what is skipped.
        name: of the format.
    """
    threads = Threads()
    for place, exchange in enumerate(exchanges, 1):
        _take(exchange, place, threads, source)
    conversations = threads.conversations()
    notes = []
    if not conversations:
        notes.append("it holds no request of the three wire formats (Claude Messages, Responses, Chat Completions)")
    return Recording(name, conversations, {}, tuple(notes))


def _take(exchange: Exchange, place: int, threads: Threads, source: Source) -> None:
    answer = plain_body(exchange.response)
    if exchange.method == "GET":
        poll = _POLL.search(exchange.path)
        if poll and isinstance(answer, dict) and threads.knows(poll[1]):
            threads.update(poll[1], said(answer, RESPONSES))
        else:
            source.skip(f"GET {exchange.path or exchange.host}")
        return
    body = plain_body(exchange.request)
    wire = _wire(exchange, body, answer)
    if wire is None or not isinstance(body, dict):
        what = f"{exchange.method} {exchange.host}{exchange.path}" if exchange.url else "a request"
        source.skip(f"{what}: not one of the three wire formats")
        return
    answers = _answers(exchange, answer, wire)
    if answers is None:
        source.skip(f"answer to {exchange.path or 'a request'} that can't be read")
        return
    asked = asked_for(body, wire)
    for said_ in answers:
        threads.take(asked, said_, place)


def _wire(exchange: Exchange, body: Any, answer: Any) -> str | None:
    if exchange.method != "POST" or not isinstance(body, dict):
        return None
    has = {ANTHROPIC: "messages", CHAT: "messages", RESPONSES: "input"}
    for ending, wire in _ENDINGS:
        if exchange.path.endswith(ending):
            fits = isinstance(body.get(has[wire]), list | str) or (
                wire == RESPONSES and bool({"prompt", "previous_response_id"} & body.keys())
            )
            return wire if fits else None
    if exchange.path and "REDACTED" not in exchange.url:
        return None
    found = wire_of_events(answer) if isinstance(answer, list) else wire_of_body(answer)
    if found is not None:
        return found
    return _wire_of_request(body) if exchange.status is None or exchange.status >= 400 else None


def _wire_of_request(body: dict[str, Any]) -> str | None:
    if isinstance(body.get("messages"), list):
        tools = as_list(body.get("tools"))
        claude = "system" in body or "anthropic_version" in body or any("input_schema" in as_dict(t) for t in tools)
        return ANTHROPIC if claude else CHAT
    return RESPONSES if isinstance(body.get("input"), list) else None


def _answers(exchange: Exchange, answer: Any, wire: str) -> list[Said] | None:
    status = exchange.status
    if exchange.broken is not None:
        return [_broken(exchange, answer, wire)]
    if status is not None and status >= 400:
        return [Said(fault=error_of(answer, status, _seconds(exchange.headers.get("retry-after"))))]
    if isinstance(answer, list) and answer and all(isinstance(event, dict) for event in answer):
        if "error" in answer[0] and wire_of_events(answer) is None:
            return [Said(fault=error_of(answer[0], status))]
        return said_in(answer, wire) or None
    if not isinstance(answer, dict):
        return None
    if wire_of_body(answer) == wire:
        return [said(answer, wire)]
    if answer.get("error") or answer.get("type") == "error":
        return [Said(fault=error_of(answer, status))]
    return None


def _broken(exchange: Exchange, answer: Any, wire: str) -> Said:
    """What arrived before the connection went away."""
    how = "reset" if exchange.broken == "reset" else "end"
    if exchange.status is None:
        return Said(fault=Fault(None, disconnect=how))
    last = ((said_in(answer, wire) if isinstance(answer, list) else []) or [Said()])[-1]
    if last.fault is not None:
        last.fault = replace(last.fault, disconnect=how) if last.fault.disconnect else last.fault
        return last
    if exchange.broken == "client" and last.raw:  # it had all it wanted, and did not wait for the stream's end
        return last
    return last.broken("api_error", "", how)


def _seconds(value: str | None) -> float | None:
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None


def asked_for(body: dict[str, Any], wire: str) -> Asked:
    """A request's body in neutral words."""
    if wire == ANTHROPIC:
        messages = [
            Message("assistant" if m.get("role") == "assistant" else "user", claude_parts(m.get("content")))
            for m in as_list(body.get("messages"))
            if isinstance(m, dict) and m.get("role") != "system"
        ]
        thread = as_dict(body.get("thread"))
        return Asked(
            wire,
            messages,
            claude_messages.system_text(body.get("system")),
            claude_messages.declared_tools(body.get("tools")),
            text_of(thread.get("previous_message_id")),
        )
    items = [item for item in as_list(body.get("messages")) if isinstance(item, dict)]
    if wire == CHAT:
        system = _system(items, None)
        tools = chat_messages.declared_tools(body.get("tools"), body.get("functions"))
        return Asked(wire, [m for item in items if (m := _chat_message(item))], system, tools)
    items = [item for item in responses_items.items_of(body.get("input")) if isinstance(item, dict)]
    kept = body.get("conversation")
    return Asked(
        wire,
        [m for item in items if (m := _item_message(item))],
        _system(items, text_of(body.get("instructions"))),
        responses_items.declared_tools(body.get("tools")),
        text_of(body.get("previous_response_id")),
        text_of(kept) or text_of(as_dict(kept).get("id")),
    )


def _system(items: Sequence[dict[str, Any]], first: str | None) -> str | None:
    texts = [first] if first else []
    for item in items:
        if item.get("role") in ("system", "developer"):
            texts += [part.text for part in chat_messages.parts_of(item.get("content")) if hasattr(part, "text")]
    return "\n\n".join(texts) or None


def _chat_message(message: dict[str, Any]) -> Message | None:
    role = message.get("role")
    if role == "assistant":
        return Message("assistant", tuple(chat_messages.reply_blocks(message)))
    if role in ("tool", "function"):
        result = ToolResult(chat_messages.result_id(message), chat_messages.output_of(message.get("content")))
        return Message("user", (result,))
    return Message("user", chat_messages.user_parts(message)) if role == "user" else None


def _item_message(item: dict[str, Any]) -> Message | None:
    if responses_items.is_model_made(item):
        return Message("assistant", tuple(responses_items.blocks_of(item)))
    if responses_items.is_result(item):
        return Message("user", (ToolResult(responses_items.call_id(item), responses_items.output_of(item)),))
    return Message("user", responses_items.user_parts(item)) if item.get("role") == "user" else None


# -- bodies -------------------------------------------------------------------------------------------------------------


def plain_body(body: Any) -> Any:
    """A recorded body as a JSON value, a list of a stream's events, or a text; None where there is none."""
    if isinstance(body, list) and body and all(isinstance(piece, str) for piece in body):
        body = _joined(body)
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogateescape")
    if not isinstance(body, bytes):
        return body
    body = _unpacked(body)
    start = body.lstrip()[:6]
    if start.startswith((b"data:", b"event:", b":")):
        return events_of(body)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace") or None


def _joined(pieces: list[str]) -> str | bytes:
    """A body in several pieces; where they are hexadecimal, as some recorders write binary ones, the bytes."""
    text = "".join(pieces)
    if text and re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text):
        return bytes.fromhex(text)
    return text


def _unpacked(body: bytes) -> bytes:
    """Decompressed, by the bytes' own word: recorders decompress bodies and keep the header."""
    is_zlib = body[:1] == b"\x78" and len(body) > 2 and (body[0] << 8 | body[1]) % 31 == 0
    if body.startswith(GZIP) or is_zlib:
        most = sensible(body, 1 << 20)
        try:
            plain = gunzip(body, most + 1)
        except ValueError:
            return b""
        return plain if len(plain) <= most else b""
    return body


def from_base64(text: str) -> bytes:
    """Bytes of a base64 text; none where it is none."""
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return b""


def header_map(headers: Any) -> dict[str, str]:
    """Headers, however a recorder lays them out, with lower-case names."""
    if isinstance(headers, dict):
        pairs: Iterable[Any] = headers.items()
    elif isinstance(headers, list) and headers and isinstance(headers[0], str):
        pairs = zip(headers[::2], headers[1::2], strict=False)
    else:
        pairs = [(as_dict(h).get("name"), as_dict(h).get("value")) for h in as_list(headers)]
    found = {}
    for name, value in pairs:
        value = value[0] if isinstance(value, list) and value else value
        found[str(name).lower()] = str(value)
    return found
