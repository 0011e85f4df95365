"""OpenAI's Responses API, with `previous_response_id`, conversations and `store`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Message, RedactedThinking, Reply, Thinking, Usage
from agentsim.core.wires import RESPONSES, cannot_express
from agentsim.errors import CannotExpress
from agentsim.wire import openai, responses_checks, responses_store, responses_stream, strict
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
    first,
    read_json,
    same_items,
)
from agentsim.wire.memory import Memory, Turn
from agentsim.wire.responses_items import message_from_wire, output_of

#: Parameters that change nothing of the response but what `variant` holds.
_PLAIN = frozenset({"input", "instructions", "model", "store", "stream"})
_SEALED = "reasoning.encrypted_content"


class ResponsesCodec:
    """OpenAI's Responses API."""

    wire = RESPONSES
    hosts = ("api.openai.com",)

    def matches(self, request: HttpRequest) -> Route | None:
        """`…/responses` and what lies below it, `…/conversations` likewise."""
        return responses_store.route(request)

    # --- requests ----------------------------------------------------------------------------------------------

    def headers_complaint(self, request: HttpRequest, off: Collection[str] = ()) -> Complaint | None:
        """A key."""
        return first(openai.headers_complaints(request.headers), off)

    def decode_request(
        self, request: HttpRequest, body: Json, before: ModelRequest | None = None, memory: Memory | None = None
    ) -> ModelRequest:
        """The request in neutral words; references to stored items are resolved."""
        fresh = same_items(body.get("input") if isinstance(body, dict) else None, before)
        if wrong := first(responses_checks.structure(body, fresh), ()):
            raise Refused(wrong)
        items = _items(body.get("input", []), memory or Memory())
        messages, places = decode_items(items, message_from_wire, before, fresh)
        conversation = body.get("conversation")
        if isinstance(conversation, dict):
            conversation = conversation.get("id")
        return ModelRequest(
            wire=self.wire,
            model=str(body.get("model", "")),
            stream=body.get("stream") is True,
            messages=messages,
            places=places,
            items=items,
            offers=tuple(map(_offer, body.get("tools") or ())),
            system=_system(body, items),
            parent=body.get("previous_response_id"),
            conversation=conversation,
            keeps=body.get("store") is not False,
            body=body,
            headers=request.headers,
            fresh=fresh,
        )

    def body_complaint(self, asked: ModelRequest, off: Collection[str] = ()) -> Complaint | None:
        """What is wrong with the request by itself."""
        return first(responses_checks.fields(asked.body, asked.fresh), off)

    def history(self, asked: ModelRequest, memory: Memory) -> tuple[Message, ...]:
        """The stored response's conversation, then the request's own items."""
        if asked.conversation is not None:
            conversation = memory.conversations.get(asked.conversation)
            if conversation is None:
                raise Refused(responses_checks.not_found("Conversation", asked.conversation))
            return decode_items(conversation.items, message_from_wire)[0] + asked.messages
        if asked.parent is None:
            return asked.messages
        turn = memory.turns.get(asked.parent)
        if turn is None:
            raise Refused(responses_checks.no_parent(asked.parent))
        return turn.history + asked.messages

    def history_complaint(self, asked: ModelRequest, context: Context) -> Complaint | None:
        """What is wrong with it as part of its conversation."""
        return first(self._history(asked, context), context.off)

    def _history(self, asked: ModelRequest, context: Context) -> Iterator[Complaint]:
        stored = self._stored_items(asked, context.memory)
        yield from responses_checks.items(list(asked.items), stored, context.memory)
        for each in strict.broken_rules(context.history, RESPONSES, None, context.new_from):
            yield Complaint(each.rule, each.message, param="input")

    def _stored_items(self, asked: ModelRequest, memory: Memory) -> list[Json]:
        if asked.conversation in memory.conversations:
            return memory.conversations[asked.conversation].items
        items: list[Json] = []
        turn = memory.turns.get(asked.parent or "")
        while turn is not None:
            items += [*turn.asked.items, *turn.output]
            turn = memory.turns.get(turn.asked.parent or "")
        return items

    # --- answers -----------------------------------------------------------------------------------------------

    def refuse(self, complaint: Complaint, tag: str) -> HttpResponse:
        """An error answer, laid out as this endpoint lays it out."""
        return responses_store.indented(openai.refusal(complaint, tag))

    def reply_id(self, tag: str) -> str:
        """As in `response.id`."""
        return f"resp_{tag}"

    def encode_reply(self, reply: Reply, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """The reply, whole or streamed."""
        response = self._response(reply, asked, tag)
        if not asked.stream:
            return openai.json_response(response, tag)
        chunks, pieces = responses_stream.encode(response, size)
        return HttpResponse(200, openai.answer_headers(openai.EVENTS, tag), chunks, pieces)

    def variant(self, asked: ModelRequest) -> Hashable | None:
        """A response repeats most of its request; one that says nothing special is the same for all."""
        instructions = asked.body.get("instructions")
        if asked.body.keys() <= _PLAIN and (instructions is None or isinstance(instructions, str)):
            return asked.model, asked.stream, asked.keeps, instructions
        return None

    def _response(self, reply: Reply, asked: ModelRequest, tag: str) -> Json:
        if problem := cannot_express(reply, RESPONSES):
            raise CannotExpress(problem)
        sealed = _SEALED in (asked.body.get("include") or ())
        return response_object(reply, asked, self.reply_id(tag), output_of(reply, tag, sealed=sealed))

    def encode_fault(self, fault: Fault, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """A fault before or inside the reply."""
        how = broken(fault)
        if fault.in_stream and asked.stream:
            response = self._response(fault.partial or Reply(), asked, tag)
            error = None if how else openai.fault_error(fault)
            chunks, pieces = responses_stream.encode(response, size, limit=fault.after_characters, error=error)
            return HttpResponse(200, openai.answer_headers(openai.EVENTS, tag), chunks, pieces, broken=how)
        if fault.in_stream and fault.partial is not None:
            return self.encode_reply(fault.partial, asked, tag, size)
        if how:
            return HttpResponse(200, broken=how, headless=True)
        return responses_store.indented(openai.fault_response(fault, tag))

    def decode_reply(self, response: HttpResponse) -> Reply | Fault:
        """What a whole answer said."""
        if response.status != 200:
            return openai.decoded_fault(response)
        if response.streams:
            return responses_stream.decode(response.chunks)
        return responses_stream.reply_of(read_json(response.body))

    def keep(self, asked: ModelRequest, history: tuple[Message, ...], reply: Reply, tag: str, memory: Memory) -> None:
        """Store the response unless it was not to be; append to its conversation."""
        turn = Turn(
            asked, (*history, Message("assistant", reply.blocks)), reply, lambda: self._response(reply, asked, tag)
        )
        if any(isinstance(block, Thinking | RedactedThinking) for block in reply.blocks):
            memory.saw_reasoning(turn.output)
        if asked.keeps:
            memory.keep(self.reply_id(tag), turn)
        if asked.conversation in memory.conversations:
            memory.conversations[asked.conversation].items += [*asked.items, *turn.output]

    def other(self, route: Route, request: HttpRequest, body: Json, memory: Memory, tag: str) -> HttpResponse:
        """Stored responses and conversations, token counts, compaction."""
        return responses_store.answer(route, request, body, memory, tag)


def _items(given: Any, memory: Memory) -> list[Json]:
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    items: list[Json] = []
    for item in given:
        if item.get("type") == "item_reference" or (set(item) == {"id"}):
            found = memory.item(item.get("id", ""))
            if found is None:
                raise Refused(responses_checks.not_stored(str(item.get("id"))))
            items.append(found)
        else:
            items.append(item)
    return items


def _offer(tool: Json) -> Offer:
    kind = str(tool.get("type", "function"))
    client = kind in ("function", "custom")
    name = str(tool.get("name") or kind)
    return Offer(name, str(tool.get("description") or ""), tool.get("parameters") or {}, not client)


def _system(body: Json, items: list[Json]) -> str | None:
    texts = [str(body["instructions"])] if body.get("instructions") else []
    for item in items:
        if item.get("type", "message") == "message" and item.get("role") in ("system", "developer"):
            content = item.get("content", "")
            texts.append(
                content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)
            )
    return "\n".join(texts) if texts else None


def response_object(reply: Reply, asked: ModelRequest, response_id: str, output: list[Json]) -> Json:
    """The whole response object; what a request may set is repeated in it."""
    body = asked.body
    incomplete = reply.stop_reason == "max_tokens"
    return {
        "id": response_id,
        "object": "response",
        "created_at": openai.CREATED,
        "status": "incomplete" if incomplete else "completed",
        "background": False,
        "completed_at": None if incomplete else openai.CREATED,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if incomplete else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "model": asked.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": asked.parent,
        "conversation": {"id": asked.conversation} if asked.conversation else None,
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": "default",
        "store": asked.keeps,
        "temperature": body.get("temperature", 1.0),
        "text": {"verbosity": "medium", **(body.get("text") or {}), "format": _format(body)},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [_echo(tool) for tool in body.get("tools") or ()],
        "top_logprobs": body.get("top_logprobs", 0),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": usage_to_wire(reply),
        "user": body.get("user"),
        "metadata": body.get("metadata") or {},
    }


def _format(body: Json) -> Json:
    given = (body.get("text") or {}).get("format")
    return given if isinstance(given, dict) else {"type": "text"}


def _echo(tool: Json) -> Json:
    if tool.get("type") != "function":
        return tool
    return {"description": None, "parameters": {}, "strict": True, **tool}


def usage_to_wire(reply: Reply) -> Json:
    """The usage object; cached tokens are part of the input's."""
    usage = reply.usage or Usage()
    total = openai.total_input(usage)
    return {
        "input_tokens": total,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total + usage.output_tokens,
    }
