"""The Responses API's stored things: responses, their input items, conversations; and what only counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from agentsim.wire import openai, responses_checks
from agentsim.wire.base import HttpRequest, HttpResponse, Json, Refused, Route, dumps, first
from agentsim.wire.memory import Conversation, Memory

_ROUTES = [
    (re.compile(pattern), methods)
    for pattern, methods in (
        (r"/responses$", {"POST": "generate"}),
        (r"/responses/input_tokens$", {"POST": "input_tokens"}),
        (r"/responses/compact$", {"POST": "compact"}),
        (r"/responses/([^/]+)$", {"GET": "get_response", "DELETE": "delete_response"}),
        (r"/responses/([^/]+)/cancel$", {"POST": "cancel_response"}),
        (r"/responses/([^/]+)/input_items$", {"GET": "input_items"}),
        (r"/traces/ingest$", {"POST": "ignored"}),
        (r"/conversations$", {"POST": "new_conversation"}),
        (
            r"/conversations/([^/]+)$",
            {"GET": "get_conversation", "POST": "update_conversation", "DELETE": "delete_conversation"},
        ),
        (r"/conversations/([^/]+)/items$", {"GET": "list_items", "POST": "add_items"}),
        (r"/conversations/([^/]+/items/[^/]+)$", {"GET": "get_item", "DELETE": "delete_item"}),
    )
]


def route(request: HttpRequest) -> Route | None:
    """What a URL below `/responses` or `/conversations` asks for."""
    path = request.path.rstrip("/")
    for pattern, methods in _ROUTES:
        found = pattern.search(path)
        if found and request.method in methods:
            return Route(methods[request.method], found[1] if pattern.groups else "")
    return None


def indented(response: HttpResponse) -> HttpResponse:
    """The same JSON with two-space indent, as this endpoint writes its errors."""
    text = json.dumps(json.loads(response.body), indent=2, ensure_ascii=False)
    return HttpResponse(response.status, response.headers, (text.encode("utf-8", "surrogatepass"),))


def answer(route: Route, request: HttpRequest, body: Json, memory: Memory, tag: str) -> HttpResponse:
    """The answer to everything but a request for a reply.

    Raises:
        Refused: there is no such thing, or the body is wrong.
    """
    if route.operation == "ignored":  # what the agents SDK tells about its runs
        return HttpResponse(204)
    if not isinstance(body, dict | None):
        raise Refused(next(responses_checks.structure(body)))
    return openai.json_response(_ANSWERS[route.operation](route.id, body or {}, memory), tag)


def _get_response(response_id: str, body: Json, memory: Memory) -> Json:
    turn = memory.turns.get(response_id)
    if turn is None or turn.response is None:
        raise Refused(responses_checks.not_found("Response", response_id))
    return turn.response


def _delete_response(response_id: str, body: Json, memory: Memory) -> Json:
    if memory.turns.pop(response_id, None) is None:
        raise Refused(responses_checks.not_found("Response", response_id))
    return {"id": response_id, "object": "response", "deleted": True}


def _input_items(response_id: str, body: Json, memory: Memory) -> Json:
    _get_response(response_id, body, memory)
    items = memory.turns[response_id].asked.items
    return _page([_with_id(item, f"{response_id}_in_{index}") for index, item in enumerate(items)][::-1])


def _with_id(item: Json, fallback: str) -> Json:
    made = {"id": f"msg_{fallback}", "type": "message", "status": "completed", **item}
    if made["type"] == "message" and isinstance(made["content"], str):
        kind = "output_text" if made["role"] == "assistant" else "input_text"
        part = {"type": kind, "text": made["content"]}
        made["content"] = [part | ({"annotations": []} if kind == "output_text" else {})]
    return made


def _page(items: list[Json]) -> Json:
    first_id, last_id = (items[0]["id"], items[-1]["id"]) if items else ("", "")
    return {"object": "list", "data": items, "first_id": first_id, "last_id": last_id, "has_more": False}


def _input_tokens(_: str, body: Json, memory: Memory) -> Json:
    said = [body.get(name) for name in ("instructions", "tools", "input")]
    return {"object": "response.input_tokens", "input_tokens": max(1, len(dumps(said)) // 4)}


def _compact(_: str, body: Json, memory: Memory) -> Json:
    """The user messages, then one item that stands for the rest."""
    if wrong := first(responses_checks.structure(body), ()):
        raise Refused(wrong)
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    _check_items(items, "input")
    users = [_with_id(item, f"kept_{index}") for index, item in enumerate(items) if item.get("role") == "user"]
    number = len(memory.turns) + 1
    compaction = {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": "compacted"}
    details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    made = {"id": f"resp_compact_{number}", "object": "response.compaction", "created_at": openai.CREATED}
    return {**made, "output": [*users, compaction], "usage": {**usage, **details}}


def _check_items(items: list[Any], name: str) -> None:
    """Refuse items that can't be kept: what can't be read, and a message without content."""
    for index, item in enumerate(items):
        where = f"{name}[{index}]"
        wrong = first(responses_checks.unreadable(where, item), ())
        if wrong is None and item.get("type", "message") == "message" and "content" not in item:
            wrong = openai.missing(f"{where}.content")
        if wrong is not None:
            raise Refused(wrong)


def _conversation(conversation_id: str, memory: Memory) -> Conversation:
    found = memory.conversations.get(conversation_id)
    if found is None:
        raise Refused(responses_checks.not_found("Conversation", conversation_id))
    return found


def _shown(conversation: Conversation) -> Json:
    made = {"id": conversation.id, "object": "conversation", "created_at": openai.CREATED}
    return {**made, "metadata": conversation.metadata}


def _new_conversation(_: str, body: Json, memory: Memory) -> Json:
    made = memory.conversation(metadata=body.get("metadata"))
    _append(made, body.get("items") or [])
    return _shown(made)


def _append(conversation: Conversation, items: Any) -> list[Json]:
    if not isinstance(items, list):
        raise Refused(openai.wrong_type("items", "an array of objects", items))
    _check_items(items, "items")
    start = len(conversation.items)
    added = [_with_id(item, f"{conversation.id}_{start + index}") for index, item in enumerate(items)]
    conversation.items += added
    return added


def _get_conversation(conversation_id: str, body: Json, memory: Memory) -> Json:
    return _shown(_conversation(conversation_id, memory))


def _update_conversation(conversation_id: str, body: Json, memory: Memory) -> Json:
    found = _conversation(conversation_id, memory)
    found.metadata = body.get("metadata") or {}
    return _shown(found)


def _delete_conversation(conversation_id: str, body: Json, memory: Memory) -> Json:
    del memory.conversations[_conversation(conversation_id, memory).id]
    return {"id": conversation_id, "object": "conversation.deleted", "deleted": True}


def _list_items(conversation_id: str, body: Json, memory: Memory) -> Json:
    items = _conversation(conversation_id, memory).items
    return _page([_with_id(item, f"{conversation_id}_{index}") for index, item in enumerate(items)][::-1])


def _add_items(conversation_id: str, body: Json, memory: Memory) -> Json:
    return _page(_append(_conversation(conversation_id, memory), body.get("items") or []))


def _find(path: str, memory: Memory) -> tuple[Conversation, Json]:
    conversation_id, _, item_id = path.split("/")
    conversation = _conversation(conversation_id, memory)
    for index, item in enumerate(conversation.items):
        if _with_id(item, f"{conversation_id}_{index}")["id"] == item_id:
            return conversation, item
    raise Refused(responses_checks.not_found("Item", item_id))


def _get_item(path: str, body: Json, memory: Memory) -> Json:
    conversation, item = _find(path, memory)
    return _with_id(item, f"{conversation.id}_{conversation.items.index(item)}")


def _delete_item(path: str, body: Json, memory: Memory) -> Json:
    conversation, item = _find(path, memory)
    conversation.items.remove(item)
    return _shown(conversation)


_ANSWERS: dict[str, Callable[[str, Json, Memory], Json]] = {
    "get_response": _get_response,
    "cancel_response": _get_response,
    "delete_response": _delete_response,
    "input_items": _input_items,
    "input_tokens": _input_tokens,
    "compact": _compact,
    "new_conversation": _new_conversation,
    "get_conversation": _get_conversation,
    "update_conversation": _update_conversation,
    "delete_conversation": _delete_conversation,
    "list_items": _list_items,
    "add_items": _add_items,
    "get_item": _get_item,
    "delete_item": _delete_item,
}
