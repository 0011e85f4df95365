"""Gemini's `generateContent`, as google-genai and litellm speak it: versions v1 and v1beta, whole and streamed."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import (
    Block,
    Message,
    RedactedThinking,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    Usage,
)
from agentsim.core.wires import parse
from agentsim.errors import CannotExpress
from agentsim.wire import gemini_parts
from agentsim.wire.anthropic import retry_headers
from agentsim.wire.base import (
    Complaint,
    Context,
    Cut,
    HttpRequest,
    HttpResponse,
    Json,
    ModelRequest,
    Pieces,
    Refused,
    Route,
    broken,
    decode_items,
    dumps,
    first,
    read_json,
    same_items,
)
from agentsim.wire.memory import Memory
from agentsim.wire.sse import Decoder

GEMINI = "gemini"

_PATH = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")
_FINISH = {
    "end_turn": "STOP",
    "stop_sequence": "STOP",
    "tool_use": "STOP",
    "max_tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
}
_STOPS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_MESSAGES = {
    429: "You exceeded your current quota, please check your plan and billing details.",
    503: "The model is overloaded. Please try again later.",
}
_TYPES = {"overloaded_error": 503, "rate_limit_error": 429, "timeout_error": 504, "invalid_request_error": 400}


class GeminiCodec:
    """Gemini's `generateContent`."""

    wire = GEMINI
    hosts = ("generativelanguage.googleapis.com",)

    def matches(self, request: HttpRequest) -> Route | None:
        """`…/models/{model}:generateContent`, `:streamGenerateContent`, `:countTokens`."""
        found = _PATH.search(request.path) if request.method == "POST" else None
        if found is None:
            return None
        return Route("count_tokens" if found[2] == "countTokens" else "generate", found[1])

    # --- requests ----------------------------------------------------------------------------------------------

    def headers_complaint(self, request: HttpRequest, off: Collection[str] = ()) -> Complaint | None:
        """A key."""
        if request.headers.get("x-goog-api-key") or request.headers.get("authorization") or "key" in request.query:
            return None
        text = "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity."
        return first(iter([Complaint("has_credentials", text, 403, "PERMISSION_DENIED")]), off)

    def decode_request(
        self, request: HttpRequest, body: Json, before: ModelRequest | None = None, memory: Memory | None = None
    ) -> ModelRequest:
        """The request in neutral words. Calls without an id are paired by name and order."""
        if wrong := first(gemini_parts.structure(body), ()):
            raise Refused(wrong)
        items = body.get("contents", [])
        fresh = same_items(items, before)
        messages, places = decode_items(items, gemini_parts.message, before, fresh)
        found = _PATH.search(request.path)
        system = body.get("systemInstruction") or body.get("system_instruction") or {}
        texts = [str(part.get("text", "")) for part in (system.get("parts") or []) if isinstance(part, dict)]
        return ModelRequest(
            wire=self.wire,
            model=found[1] if found else str(body.get("model", "")),
            stream=bool(found and found[2].startswith("stream")),
            messages=messages,
            places=places,
            items=items,
            offers=tuple(gemini_parts.offers(body.get("tools") or ())),
            system="\n".join(texts) if texts else None,
            parent=None,
            conversation=None,
            keeps=False,
            body=body,
            headers=request.headers,
            fresh=fresh,
        )

    def body_complaint(self, asked: ModelRequest, off: Collection[str] = ()) -> Complaint | None:
        """What is wrong with the request by itself."""
        return first(gemini_parts.body(asked.body), off)

    def history(self, asked: ModelRequest, memory: Memory) -> tuple[Message, ...]:
        """The request's own messages: nothing is stored here."""
        return asked.messages

    def history_complaint(self, asked: ModelRequest, context: Context) -> Complaint | None:
        """Each turn's function calls need as many responses in the next turn."""
        return first(gemini_parts.history(context), context.off)

    # --- answers -----------------------------------------------------------------------------------------------

    def refuse(self, complaint: Complaint, tag: str) -> HttpResponse:
        """An error answer."""
        return _error(complaint.status, complaint.message, ())

    def reply_id(self, tag: str) -> str:
        """As in `responseId`."""
        return f"gemini-{tag}"

    def encode_reply(self, reply: Reply, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """The reply, whole or streamed."""
        if problem := _cannot_express(reply):
            raise CannotExpress(problem)
        if not asked.stream:
            parts = [part for block in reply.blocks for part in gemini_parts.parts(block, Pieces(10**9))]
            return _json(self._response(reply, asked, tag, parts, last=True))
        chunks, pieces = self._stream(reply, asked, tag, Pieces(size))
        return HttpResponse(200, (("content-type", "text/event-stream"),), chunks, pieces)

    def variant(self, asked: ModelRequest) -> Hashable | None:
        """The model, and whether it streams."""
        return asked.model, asked.stream

    def _response(self, reply: Reply, asked: ModelRequest, tag: str, parts: list[Json], *, last: bool) -> Json:
        content: Json = {"role": "model", "parts": parts} if parts else {"role": "model"}
        candidate: Json = {"content": content, "index": 0}
        if last and reply.stop_reason is not None:
            candidate["finishReason"] = _FINISH.get(reply.stop_reason, reply.stop_reason)
        usage = _usage(reply)
        names = {"modelVersion": asked.model, "responseId": self.reply_id(tag)}
        return {"candidates": [candidate], "usageMetadata": usage, **names}

    def _stream(
        self, reply: Reply, asked: ModelRequest, tag: str, cutter: Pieces
    ) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
        out: list[bytes] = []

        def send(parts: list[Json], *, last: bool = False) -> None:
            out.append(f"data: {dumps(self._response(reply, asked, tag, parts, last=last))}\n\n".encode())

        waiting: list[Json] = []
        try:
            for block in reply.blocks:
                for part in gemini_parts.parts(block, cutter):
                    if waiting:
                        send(waiting)
                    waiting = [part]
        except Cut:
            if waiting:
                send(waiting)
            return tuple(out), tuple(range(len(out)))
        if waiting or cutter.left is None:
            send(waiting, last=cutter.left is None)
        return tuple(out), tuple(range(len(out)))

    def encode_fault(self, fault: Fault, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """A fault before or inside the reply."""
        how = broken(fault)
        status = fault.status if fault.status and fault.status != 200 else _TYPES.get(fault.type, 500)
        status = 503 if status == 529 else status
        text = fault.message or _MESSAGES.get(status, "An internal error has occurred.")
        if fault.in_stream and asked.stream:
            partial = fault.partial or Reply()
            if problem := _cannot_express(partial):
                raise CannotExpress(problem)
            chunks, pieces = self._stream(partial, asked, tag, Pieces(size, fault.after_characters))
            if not how:
                chunks += (b"data: " + _error(status, text, ()).body + b"\n\n",)
            return HttpResponse(200, (("content-type", "text/event-stream"),), chunks, pieces, broken=how)
        if fault.in_stream and fault.partial is not None:
            return self.encode_reply(fault.partial, asked, tag, size)
        if how:
            return HttpResponse(200, broken=how, headless=True)
        return _error(status, text, retry_headers(fault))

    def decode_reply(self, response: HttpResponse) -> Reply | Fault:
        """What a whole answer said. Calls that came without an id get a counted one."""
        if response.status != 200:
            error = read_json(response.body)["error"]
            return Fault(response.status, str(error.get("status")), str(error.get("message")))
        bodies = list(_events(response.chunks)) if response.streams else [read_json(response.body)]
        return _reply_of(bodies)

    def keep(self, asked: ModelRequest, history: tuple[Message, ...], reply: Reply, tag: str, memory: Memory) -> None:
        """Gemini keeps nothing that a later request could continue."""

    def other(self, route: Route, request: HttpRequest, body: Json, memory: Memory, tag: str) -> HttpResponse:
        """Token counts."""
        if wrong := first(gemini_parts.structure(body), ()):
            raise Refused(wrong)
        return _json({"totalTokens": max(1, len(dumps(body)) // 4)})


def _json(body: Json) -> HttpResponse:
    return HttpResponse(200, (("content-type", "application/json; charset=UTF-8"),), (dumps(body).encode(),))


def _error(status: int, message: str, more: tuple[tuple[str, str], ...]) -> HttpResponse:
    error = {"code": status, "message": message, "status": _STATUSES.get(status, "UNKNOWN")}
    headers = (("content-type", "application/json; charset=UTF-8"), *more)
    return HttpResponse(status, headers, (dumps({"error": error}).encode(),))


# --- replies ---------------------------------------------------------------------------------------------------------


def _cannot_express(reply: Reply) -> str | None:
    if reply.stop_reason in ("pause_turn", "model_context_window_exceeded", "compaction"):
        return f"{GEMINI} has no way to say stop_reason {reply.stop_reason!r}"
    for block in reply.blocks:
        if isinstance(block, ServerCall | ServerResult):
            return f"{GEMINI} has no server_tool_use of a scenario's own tools"
        if isinstance(block, RedactedThinking):
            return f"{GEMINI} has no redacted thinking"
        if isinstance(block, ToolCall) and type(parse(block.arguments)[0]) is not dict:
            return f"{GEMINI} sends arguments as an object, so it can't say {block.arguments!r}"
    calls = bool(reply.calls)
    if (reply.stop_reason == "tool_use") != calls and reply.stop_reason in ("tool_use", "end_turn", "stop_sequence"):
        return f"{GEMINI} says STOP with and without calls, so it can't contradict itself"
    return None


def _usage(reply: Reply) -> Json:
    usage = reply.usage or Usage()
    total = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    counts = {"promptTokenCount": total, "candidatesTokenCount": usage.output_tokens}
    cached = {"cachedContentTokenCount": usage.cache_read_input_tokens} if usage.cache_read_input_tokens else {}
    return {**counts, **cached, "totalTokenCount": total + usage.output_tokens}


def _events(chunks: Iterable[bytes]) -> Iterator[Json]:
    decoder = Decoder()
    for chunk in chunks:
        yield from (read_json(event.data.encode()) for event in decoder.feed(chunk))
    yield from (read_json(event.data.encode()) for event in decoder.close())


def _reply_of(bodies: list[Json]) -> Reply | Fault:
    blocks: list[Block] = []
    finish, usage, error = None, dict[str, Any](), None
    for body in bodies:
        error = body.get("error") or error
        usage = body.get("usageMetadata") or usage
        for candidate in body.get("candidates", [])[:1]:
            finish = candidate.get("finishReason") or finish
            for part in (candidate.get("content") or {}).get("parts", []):
                _add(blocks, gemini_parts.part_from_wire(part))
    stop = _STOPS.get(finish or "", finish)
    if stop == "end_turn" and any(isinstance(block, ToolCall) for block in blocks):
        stop = "tool_use"
    cached = usage.get("cachedContentTokenCount") or 0
    counted = Usage((usage.get("promptTokenCount") or 0) - cached, usage.get("candidatesTokenCount") or 0, cached)
    reply = Reply(tuple(blocks), stop, counted)
    if error is not None:
        return Fault(200, str(error.get("status")), str(error.get("message")), after_characters=0, partial=reply)
    if finish is None and len(bodies) != 1:
        return Fault(200, "", "", after_characters=0, disconnect="end", partial=reply)
    return reply


def _add(blocks: list[Block], part: Any) -> None:
    """A text that follows a text is the rest of it."""
    if isinstance(part, Text) and blocks and isinstance(blocks[-1], Text):
        blocks[-1] = Text(blocks[-1].text + part.text)
    else:
        blocks.append(part)
