"""The Claude Messages API: stable and beta, versions 2023-06-01 and 2026-10-21, threads, token counts, models."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Message, Reply, Usage
from agentsim.core.wires import ANTHROPIC
from agentsim.wire import anthropic_checks as checks
from agentsim.wire import anthropic_stream, strict
from agentsim.wire.anthropic_blocks import block_from_wire, block_to_wire, message_from_wire
from agentsim.wire.base import (
    Complaint,
    Context,
    HttpRequest,
    HttpResponse,
    Json,
    ModelRequest,
    Offer,
    Refused,
    Route,
    broken,
    decode_items,
    dumps,
    first,
    read_json,
    same_items,
)
from agentsim.wire.memory import Memory, Turn

#: error.type of each status.
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_MESSAGES = {
    "overloaded_error": "Overloaded",
    "api_error": "Internal server error",
    "rate_limit_error": "This request would exceed your organization's rate limit.",
    "timeout_error": "Request timed out",
    "authentication_error": "invalid x-api-key",
    "permission_error": "Your API key does not have permission to use the specified resource.",
    "not_found_error": "Not found",
    "request_too_large": "Request exceeds the maximum size",
}
_MODELS = ("claude-fable-5-1", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5")
_FINE_GRAINED = "fine-grained-tool-streaming-2025-05-14"


class AnthropicCodec:
    """The Claude Messages API."""

    wire = ANTHROPIC
    hosts = ("api.anthropic.com",)

    def matches(self, request: HttpRequest) -> Route | None:
        """`…/messages`, with any number of `/v1` before it: base URLs are written with and without."""
        path, post = request.path.rstrip("/"), request.method == "POST"
        if path.endswith("/messages/count_tokens"):
            return Route("count_tokens") if post else None
        if path.endswith("/messages"):
            return Route("generate") if post else None
        if request.method == "GET" and "anthropic-version" in request.headers:
            _, found, model = path.partition("/v1/models")
            if found and model[:1] in ("", "/"):
                return Route("model", model[1:]) if model else Route("models")
        return None

    # --- requests ----------------------------------------------------------------------------------------------

    def headers_complaint(self, request: HttpRequest, off: Collection[str] = ()) -> Complaint | None:
        """A key in either spelling, and a version."""
        return first(checks.headers(request.headers), off)

    def decode_request(
        self, request: HttpRequest, body: Json, before: ModelRequest | None = None, memory: Memory | None = None
    ) -> ModelRequest:
        """The request in neutral words."""
        fresh = same_items(body.get("messages") if isinstance(body, dict) else None, before)
        if wrong := first(checks.structure(body, fresh), ()):
            raise Refused(wrong)
        items = body.get("messages", [])
        messages, places = decode_items(items, message_from_wire, before, fresh)
        thread = body.get("thread") or {}
        continues = thread.get("type") == "continue"
        offers = None if continues else tuple(map(_offer, body.get("tools") or ()))
        return ModelRequest(
            wire=self.wire,
            model=str(body.get("model", "")),
            stream=body.get("stream") is True,
            messages=messages,
            places=places,
            items=items,
            offers=offers,
            system=_system(body.get("system")),
            parent=thread.get("previous_message_id") if continues else None,
            conversation=None,
            keeps=bool(thread),
            body=body,
            headers=request.headers,
            fresh=fresh,
        )

    def body_complaint(self, asked: ModelRequest, off: Collection[str] = ()) -> Complaint | None:
        """What is wrong with the request by itself."""
        return first(self._body(asked), off)

    def _body(self, asked: ModelRequest) -> Iterator[Complaint]:
        yield from checks.fields(asked.body, asked.headers)
        yield from checks.threads(asked.body, asked.headers)
        yield from checks.blocks(asked.body, asked.headers, asked.fresh)

    def history(self, asked: ModelRequest, memory: Memory) -> tuple[Message, ...]:
        """The thread's messages, then the request's own."""
        if asked.parent is None:
            return asked.messages
        turn = memory.turns.get(asked.parent)
        if turn is None:
            raise Refused(_thread(f"Thread not found: {asked.parent}", "thread_not_found", 404))
        if turn.continued:
            raise Refused(_thread(f"Message {asked.parent} was already continued.", "thread_already_continued"))
        return turn.history + asked.messages

    def keep(self, asked: ModelRequest, history: tuple[Message, ...], reply: Reply, tag: str, memory: Memory) -> None:
        """Keep a thread under the reply's id; a refusal ends it."""
        if asked.parent is not None and asked.parent in memory.turns:
            memory.turns[asked.parent].continued = True
        if asked.keeps and reply.stop_reason != "refusal":
            memory.keep(self.reply_id(tag), Turn(asked, (*history, Message("assistant", reply.blocks)), reply))

    def history_complaint(self, asked: ModelRequest, context: Context) -> Complaint | None:
        """What is wrong with it as part of its conversation."""
        return first(self._history(asked, context), context.off)

    def _history(self, asked: ModelRequest, context: Context) -> Iterator[Complaint]:
        stored = len(context.history) - len(asked.messages)

        def place(index: int) -> int:
            return index if index < stored else stored + asked.places[index - stored]

        broken = strict.broken_rules(
            context.history,
            ANTHROPIC,
            asked.offered,
            context.new_from,
            resumes=context.resumes,
            prefill=checks.takes_prefill(asked.model),
            place=place,
        )
        for each in broken:
            yield Complaint(each.rule, each.message)
        yield from checks.thinking(asked.body, tuple(context.history), context.memory.thoughts, context.resumes)

    # --- answers -----------------------------------------------------------------------------------------------

    def refuse(self, complaint: Complaint, tag: str) -> HttpResponse:
        """An error answer."""
        error: Json = {"type": complaint.type, "message": complaint.message}
        if complaint.code or complaint.details:
            error["details"] = {"error_code": complaint.code, **complaint.details}
        return self._error(complaint.status, error, tag, (("x-should-retry", "false"),))

    def _error(self, status: int, error: Json, tag: str, more: tuple[tuple[str, str], ...]) -> HttpResponse:
        body = {"type": "error", "error": error, "request_id": f"req_{tag}"}
        return HttpResponse(status, (*_headers("application/json", tag), *more), (dumps(body).encode(),))

    def reply_id(self, tag: str) -> str:
        """As in `message.id`."""
        return f"msg_{tag}"

    def encode_reply(self, reply: Reply, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """The reply, whole or streamed."""
        message = self._message(reply, asked, tag)
        if not asked.stream:
            return HttpResponse(200, _headers("application/json", tag), (dumps(message).encode(),))
        chunks, pieces = anthropic_stream.encode(reply, message, size, close_cut=self._closes_cut(asked))
        return HttpResponse(200, _headers(_EVENTS, tag), chunks, pieces)

    def variant(self, asked: ModelRequest) -> Hashable | None:
        """The model, whether it streams, its stop sequence, and fine-grained streaming."""
        stop = asked.body.get("stop_sequences")
        return asked.model, asked.stream, str(stop) if stop else None, self._closes_cut(asked)

    def _closes_cut(self, asked: ModelRequest) -> bool:
        """With fine-grained tool streaming a cut call's block is never closed."""
        return _FINE_GRAINED not in asked.headers.get("anthropic-beta", "")

    def _message(self, reply: Reply, asked: ModelRequest, tag: str) -> Json:
        content = [wire for block in reply.blocks if (wire := block_to_wire(block)) is not None]
        stop = reply.stop_reason
        sequences = asked.body.get("stop_sequences") or ["STOP"]
        return {
            "id": self.reply_id(tag),
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "container": None,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": sequences[0] if stop == "stop_sequence" else None,
            "stop_details": _stop_details(reply) if stop == "refusal" else None,
            "diagnostics": None,
            "usage": usage_to_wire(reply),
        }

    def encode_fault(self, fault: Fault, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """A fault before or inside the reply."""
        how = broken(fault)
        if fault.in_stream and asked.stream:
            partial = fault.partial or Reply()
            message = self._message(partial, asked, tag)
            chunks, pieces = anthropic_stream.encode(partial, message, size, limit=fault.after_characters)
            if not how:
                chunks += (anthropic_stream.error(self._fault_error(fault), f"req_{tag}"),)
            return HttpResponse(200, _headers(_EVENTS, tag), chunks, pieces, broken=how)
        if fault.in_stream and fault.partial is not None:
            return self.encode_reply(fault.partial, asked, tag, size)
        if how:
            return HttpResponse(200, broken=how, headless=True)
        error = self._fault_error(fault)
        return self._error(_fault_status(fault, error["type"]), error, tag, retry_headers(fault))

    def _fault_error(self, fault: Fault) -> Json:
        kind = fault.type or ERROR_TYPES.get(fault.status or 0, "api_error")
        return {"type": kind, "message": fault.message or _MESSAGES.get(kind, kind)}

    def decode_reply(self, response: HttpResponse) -> Reply | Fault:
        """What a whole answer said."""
        if response.status != 200:
            return _error_fault(response)
        if response.streams:
            return anthropic_stream.decode(response.chunks)
        return message_reply(read_json(response.body))

    def other(self, route: Route, request: HttpRequest, body: Json, memory: Memory, tag: str) -> HttpResponse:
        """Token counts and models."""
        if route.operation == "count_tokens":
            return self._count(request, body, tag)
        if route.operation == "models":
            models = [_model(name) for name in _MODELS]
            page = {"data": models, "has_more": False, "first_id": _MODELS[0], "last_id": _MODELS[-1]}
            return HttpResponse(200, _headers("application/json", tag), (dumps(page).encode(),))
        return HttpResponse(200, _headers("application/json", tag), (dumps(_model(route.id)).encode(),))

    def _count(self, request: HttpRequest, body: Json, tag: str) -> HttpResponse:
        wrong = first(checks.structure(body), ()) or first(checks.fields(body, request.headers, counts=True), ())
        if wrong:
            return self.refuse(wrong, tag)
        said = [body.get(name) for name in ("system", "tools", "messages")]
        count: Json = {"input_tokens": max(1, len(dumps(said)) // 4)}
        if body.get("context_management"):
            count["context_management"] = {"original_input_tokens": count["input_tokens"]}
        return HttpResponse(200, _headers("application/json", tag), (dumps(count).encode(),))


def _thread(message: str, code: str, status: int = 400) -> Complaint:
    kind = "not_found_error" if status == 404 else "invalid_request_error"
    return Complaint("threads_exist", message, status, kind, code=code)


_EVENTS = "text/event-stream; charset=utf-8"


def _headers(kind: str, tag: str) -> tuple[tuple[str, str], ...]:
    return (
        ("content-type", kind),
        ("request-id", f"req_{tag}"),
        ("anthropic-organization-id", "00000000-0000-0000-0000-000000000000"),
    )


def retry_headers(fault: Fault) -> tuple[tuple[str, str], ...]:
    """How long to wait: what the scenario says, else a millisecond, because SDKs ignore 0 and back off for seconds."""
    if fault.retry_after is not None:
        return (("retry-after", f"{fault.retry_after:g}"),)
    if fault.status in (408, 409, 429) or (fault.status or 0) >= 500:
        return (("retry-after-ms", "1"),)
    return ()


def _fault_status(fault: Fault, kind: str) -> int:
    if fault.status and fault.status != 200:
        return fault.status
    return next((status for status, name in ERROR_TYPES.items() if name == kind), 500)


def _stop_details(reply: Reply) -> Json:
    category = next((block.category for block in reply.blocks if hasattr(block, "category")), None)
    return {"type": "refusal", "category": category, "explanation": None}


def usage_to_wire(reply: Reply) -> Json:
    """The usage object; where nobody stated any, ten tokens in and five out."""
    usage = reply.usage or Usage()
    written = usage.cache_creation_input_tokens
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "global",
        "speed": "standard",
    }


def usage_from_wire(usage: Json) -> Usage:
    """Token counts; what is missing or null is 0."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(*(usage.get(name) or 0 for name in names))


def message_reply(message: Json) -> Reply:
    """A whole message as a reply."""
    blocks = tuple(map(block_from_wire, message.get("content") or ()))
    return anthropic_stream.finished(blocks, message, usage_from_wire(message.get("usage") or {}))


def _error_fault(response: HttpResponse) -> Fault:
    headers = dict(response.headers)
    after = headers.get("retry-after")
    try:
        error = read_json(response.body)["error"]
        kind, text = str(error["type"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        kind, text = ERROR_TYPES.get(response.status, "api_error"), response.body.decode("utf-8", "replace")
    return Fault(response.status, kind, text, float(after) if after else None)


def _offer(tool: Json) -> Offer:
    kind = tool.get("type")
    client = kind in (None, "custom")
    name = str(tool.get("name") or kind)
    return Offer(name, str(tool.get("description") or ""), tool.get("input_schema") or {}, not client)


def _system(system: Any) -> str | None:
    if isinstance(system, list):
        return "\n".join(str(block.get("text", "")) for block in system if isinstance(block, dict))
    return system if isinstance(system, str) else None


def _model(name: str) -> Json:
    return {
        "type": "model",
        "id": name,
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    }
