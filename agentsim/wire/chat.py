"""OpenAI's Chat Completions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import (
    Block,
    Message,
    Refusal,
    Reply,
    Text,
    ToolCall,
    Usage,
)
from agentsim.core.wires import CHAT, CHAT_WORDS, cannot_express
from agentsim.errors import CannotExpress
from agentsim.wire import openai, strict
from agentsim.wire.base import (
    Complaint,
    Context,
    Cut,
    HttpRequest,
    HttpResponse,
    Json,
    ModelRequest,
    Offer,
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
from agentsim.wire.chat_messages import body as body_complaints
from agentsim.wire.chat_messages import message_from_wire, message_to_wire, said, structure, text_of
from agentsim.wire.memory import Memory
from agentsim.wire.sse import Decoder

_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "function_call": "tool_use"}


class ChatCodec:
    """OpenAI's Chat Completions."""

    wire = CHAT
    hosts = ("api.openai.com",)

    def matches(self, request: HttpRequest) -> Route | None:
        """`…/chat/completions`, whatever stands before it."""
        path = request.path.rstrip("/")
        if request.method == "POST" and path.endswith("/chat/completions"):
            return Route("generate")
        if request.method == "GET" and "anthropic-version" not in request.headers:
            _, found, model = path.partition("/models")
            if found and model[:1] in ("", "/"):
                return Route("model", model[1:]) if model else Route("models")
        return None

    # --- requests ----------------------------------------------------------------------------------------------

    def headers_complaint(self, request: HttpRequest, off: Collection[str] = ()) -> Complaint | None:
        """A key."""
        return first(openai.headers_complaints(request.headers), off)

    def decode_request(
        self, request: HttpRequest, body: Json, before: ModelRequest | None = None, memory: Memory | None = None
    ) -> ModelRequest:
        """The request in neutral words."""
        fresh = same_items(body.get("messages") if isinstance(body, dict) else None, before)
        if wrong := first(structure(body, fresh), ()):
            raise Refused(wrong)
        items = body.get("messages", [])
        messages, places = decode_items(items, message_from_wire, before, fresh)
        systems = [text_of(item.get("content")) for item in items if item["role"] in ("system", "developer")]
        return ModelRequest(
            wire=self.wire,
            model=str(body.get("model", "")),
            stream=body.get("stream") is True,
            messages=messages,
            places=places,
            items=items,
            offers=tuple(map(_offer, body.get("tools") or ())),
            system="\n".join(systems) if systems else None,
            parent=None,
            conversation=None,
            keeps=False,
            body=body,
            headers=request.headers,
            fresh=fresh,
        )

    def body_complaint(self, asked: ModelRequest, off: Collection[str] = ()) -> Complaint | None:
        """What is wrong with the request by itself."""
        return first(body_complaints(asked.body, asked.fresh), off)

    def history(self, asked: ModelRequest, memory: Memory) -> tuple[Message, ...]:
        """The request's own messages: nothing is stored here."""
        return asked.messages

    def keep(self, asked: ModelRequest, history: tuple[Message, ...], reply: Reply, tag: str, memory: Memory) -> None:
        """Chat Completions keeps nothing that a later request could continue."""

    def history_complaint(self, asked: ModelRequest, context: Context) -> Complaint | None:
        """What is wrong with it as a conversation."""
        return first(self._history(asked, context), context.off)

    def _history(self, asked: ModelRequest, context: Context) -> Iterator[Complaint]:
        for each in strict.broken_rules(context.history, CHAT, None, context.new_from):
            place = asked.places[each.at] if each.at < len(asked.places) else len(asked.items) - 1
            what = "content" if each.rule == "no_empty_message" else "role"
            yield Complaint(each.rule, each.message, param=f"messages.[{place}].{what}")

    # --- answers -----------------------------------------------------------------------------------------------

    def refuse(self, complaint: Complaint, tag: str) -> HttpResponse:
        """An error answer."""
        return openai.refusal(complaint, tag)

    def reply_id(self, tag: str) -> str:
        """As in the completion's `id`."""
        return f"chatcmpl-{tag}"

    def encode_reply(self, reply: Reply, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """The reply, whole or streamed."""
        if problem := cannot_express(reply, CHAT):
            raise CannotExpress(problem)
        if not asked.stream:
            return openai.json_response(self._completion(reply, asked, tag), tag)
        chunks, pieces = self._stream(reply, asked, tag, Pieces(size))
        return HttpResponse(200, openai.answer_headers(openai.EVENTS, tag), chunks, pieces)

    def variant(self, asked: ModelRequest) -> Hashable | None:
        """The model, whether it streams, and what the reply is to hold."""
        body = asked.body
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return asked.model, asked.stream, with_usage, _count(asked), bool(body.get("logprobs"))

    def _completion(self, reply: Reply, asked: ModelRequest, tag: str) -> Json:
        message = message_to_wire(reply)
        logprobs = _logprobs(message["content"]) if asked.body.get("logprobs") else None
        choices = [
            {"index": index, "finish_reason": _word(reply), "logprobs": logprobs, "message": message}
            for index in range(_count(asked))
        ]
        return {**self._head(asked, tag, "chat.completion"), "choices": choices, "usage": usage_to_wire(reply)}

    def _head(self, asked: ModelRequest, tag: str, kind: str) -> Json:
        return {
            "id": self.reply_id(tag),
            "object": kind,
            "created": openai.CREATED,
            "model": asked.model,
            "service_tier": "default",
            "system_fingerprint": None,
        }

    def _stream(
        self, reply: Reply, asked: ModelRequest, tag: str, cutter: Pieces
    ) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
        with_usage = bool((asked.body.get("stream_options") or {}).get("include_usage"))
        head = dumps(self._head(asked, tag, "chat.completion.chunk"))[:-1]
        tail = ',"usage":null}' if with_usage else "}"
        out: list[bytes] = []
        pieces: list[int] = []

        def send(delta: Json, finish: str | None = None) -> None:
            for index in range(_count(asked)):
                choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
                out.append(f'data: {head},"choices":[{dumps(choice)}]{tail}\n\n'.encode())

        try:
            for delta, is_piece in _deltas(reply, cutter):
                if is_piece:
                    pieces.append(len(out))
                send(delta)
        except Cut:
            return tuple(out), tuple(pieces)
        if cutter.left is None:
            send({}, _word(reply))
            if with_usage:
                out.append(f'data: {head},"choices":[],"usage":{dumps(usage_to_wire(reply))}}}\n\n'.encode())
            out.append(b"data: [DONE]\n\n")
        return tuple(out), tuple(pieces)

    def encode_fault(self, fault: Fault, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """A fault before or inside the reply."""
        how = broken(fault)
        if fault.in_stream and asked.stream:
            partial = fault.partial or Reply()
            if problem := cannot_express(partial, CHAT):
                raise CannotExpress(problem)
            chunks, pieces = self._stream(partial, asked, tag, Pieces(size, fault.after_characters))
            if not how:
                chunks += (f"data: {dumps({'error': openai.fault_error(fault)})}\n\n".encode(),)
            return HttpResponse(200, openai.answer_headers(openai.EVENTS, tag), chunks, pieces, broken=how)
        if fault.in_stream and fault.partial is not None:
            return self.encode_reply(fault.partial, asked, tag, size)
        if how:
            return HttpResponse(200, broken=how, headless=True)
        return openai.fault_response(fault, tag)

    def decode_reply(self, response: HttpResponse) -> Reply | Fault:
        """What a whole answer said."""
        if response.status != 200:
            return openai.decoded_fault(response)
        if response.streams:
            return _decode_stream(response.chunks)
        body = read_json(response.body)
        choice = body["choices"][0]
        return _reply(choice["message"], choice["finish_reason"], usage_from_wire(body.get("usage") or {}))

    def other(self, route: Route, request: HttpRequest, body: Json, memory: Memory, tag: str) -> HttpResponse:
        """The list of models."""
        if route.operation == "models":
            return openai.json_response(openai.models_page(), tag)
        return openai.json_response(openai.model_object(route.id), tag)


def _offer(tool: Json) -> Offer:
    kind = tool.get("type", "function")
    inner = tool.get(kind) if isinstance(tool.get(kind), dict) else {}
    name = str((inner or {}).get("name") or kind)
    return Offer(name, str((inner or {}).get("description") or ""), (inner or {}).get("parameters") or {})


# --- replies ---------------------------------------------------------------------------------------------------------


def _word(reply: Reply) -> str | None:
    stop = reply.stop_reason
    return stop if stop is None else CHAT_WORDS.get(stop, stop)


def _count(asked: ModelRequest) -> int:
    count = asked.body.get("n")
    return count if type(count) is int and 1 <= count <= 128 else 1


def _logprobs(text: str | None) -> Json:
    """A token a word, each certain."""
    words = (text or "").split(" ")
    tokens = [word if index == 0 else f" {word}" for index, word in enumerate(words)] if text else []
    content = [
        {"token": token, "logprob": 0.0, "bytes": list(token.encode("utf-8", "replace")), "top_logprobs": []}
        for token in tokens
    ]
    return {"content": content, "refusal": None}


def usage_to_wire(reply: Reply) -> Json:
    """The usage object; cached tokens are part of the prompt's."""
    usage = reply.usage or Usage()
    total = openai.total_input(usage)
    return {
        "prompt_tokens": total,
        "completion_tokens": usage.output_tokens,
        "total_tokens": total + usage.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def usage_from_wire(usage: Json) -> Usage:
    """Token counts; what is missing is 0."""
    details = usage.get("prompt_tokens_details") or {}
    cached, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return openai.usage_of(usage.get("prompt_tokens") or 0, cached, written, usage.get("completion_tokens") or 0)


def _deltas(reply: Reply, cutter: Pieces) -> Iterator[tuple[Json, bool]]:
    """The deltas of a stream, and whether each carries a piece of the reply."""
    text, refusal = said(reply)
    start = {"role": "assistant", "content": None if text is None else "", "refusal": None if refusal is None else ""}
    yield start, False
    for piece in cutter(text or ""):
        yield {"content": piece}, True
    for piece in cutter(refusal or ""):
        yield {"refusal": piece}, True
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}, False
        for piece in cutter(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, True


def _decode_stream(chunks: Iterable[bytes]) -> Reply | Fault:
    decoder, message, calls = Decoder(), dict[str, Any](), dict[int, Json]()
    finish, usage, error, ended = None, dict[str, Any](), None, False
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    for event in events:
        if event.data == "[DONE]":
            ended = True
            continue
        data = read_json(event.data.encode())
        error = data.get("error") or error
        usage = data.get("usage") or usage
        for choice in (data.get("choices") or ())[:1]:
            _take(choice["delta"], message, calls)
            finish = choice.get("finish_reason") or finish
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    reply = _reply(message, finish, usage_from_wire(usage))
    if ended:
        return reply
    arrived = len(reply.text) + sum(len(call.arguments) for call in reply.calls)
    if error is not None:
        return Fault(200, str(error.get("type")), str(error.get("message")), after_characters=arrived, partial=reply)
    return Fault(200, "", "", after_characters=arrived, disconnect="end", partial=reply)


def _take(delta: Json, message: Json, calls: dict[int, Json]) -> None:
    for name in ("content", "refusal"):
        if delta.get(name) is not None:
            message[name] = (message.get(name) or "") + delta[name]
    for part in delta.get("tool_calls") or ():
        call = calls.setdefault(part["index"], {"id": "", "function": {"name": "", "arguments": ""}})
        function = part.get("function") or {}
        call["id"] = part.get("id") or call["id"]
        call["function"]["name"] = function.get("name") or call["function"]["name"]
        call["function"]["arguments"] += function.get("arguments") or ""


def _reply(message: Json, finish: str | None, usage: Usage) -> Reply:
    blocks: list[Block] = []
    if message.get("content") is not None:
        blocks.append(Text(message["content"]))
    if message.get("refusal") is not None:
        blocks.append(Refusal(message["refusal"]))
    blocks += [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    stop = _STOPS.get(finish, finish) if finish is not None else None
    if stop == "end_turn" and message.get("refusal") is not None:
        stop = "refusal"
    return Reply(tuple(blocks), stop, usage)
