"""What the Responses API refuses about a request's items, in its own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.wire import openai
from agentsim.wire.base import Complaint, Json
from agentsim.wire.memory import Memory

# fmt: off
FIELDS = frozenset({
    "access_programs", "background", "background_options", "context_management", "conversation", "image", "include",
    "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation",
    "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream", "stream_options",
    "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
})
# fmt: on
_ROLES = ("assistant", "system", "developer", "user")
_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "web_search_call": "ws"}
_LONGEST_CALL_ID = 64


def structure(body: Any, fresh: int = 0) -> Iterator[Complaint]:
    """What would make the request unreadable; items before `fresh` were looked at before."""
    if not isinstance(body, dict):
        yield Complaint("has_legal_types", "We could not parse the JSON body of your request.")
        return
    given = body.get("input", "")
    if not isinstance(given, str | list):
        yield openai.wrong_type("input", "one of a string or array of input items", given)
        return
    for index, item in enumerate(given[fresh:] if isinstance(given, list) else (), fresh):
        yield from unreadable(f"input[{index}]", item)
    tools = body.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        yield openai.wrong_type("tools", "an array of objects", tools)
    conversation = body.get("conversation")
    if not isinstance(conversation, str | dict | None):
        yield openai.wrong_type("conversation", "one of an object or string", conversation)


def unreadable(where: str, item: Any) -> Iterator[Complaint]:
    """What would make one item unreadable."""
    if not isinstance(item, dict):
        yield openai.wrong_type(where, "an object", item)
        return
    kind = item.get("type", "message")
    for name in ("id", "call_id", "name"):
        if not isinstance(item.get(name), str | None):
            yield openai.wrong_type(f"{where}.{name}", "a string", item[name])
    if not isinstance(kind, str):
        yield openai.wrong_type(f"{where}.type", "a string", kind)
    elif kind == "message":
        if item.get("role") not in _ROLES:
            yield openai.invalid_role(where, item.get("role"), _ROLES)
        content = item.get("content", "")
        is_parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        if not isinstance(content, str) and not is_parts:
            yield openai.wrong_type(f"{where}.content", "one of an array of objects or string", content)
    elif kind == "reasoning" and not _is_list_of_objects(item.get("summary") or []):
        yield openai.wrong_type(f"{where}.summary", "an array of objects", item["summary"])


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def fields(body: Json, fresh: int = 0) -> Iterator[Complaint]:
    """Parameters that are missing, unknown, wrong or at odds, and the shape of items from `fresh` on."""
    required = ("model",) if body.get("prompt") or "conversation" in body else ("model", "input")
    yield from openai.body_fields(body, FIELDS, required)
    if body.get("previous_response_id") and body.get("conversation"):
        text = "Mutually exclusive parameters. You can only provide one of: 'previous_response_id', 'conversation'."
        yield Complaint("one_way_to_continue", text, code="mutually_exclusive_parameters")
    given = body.get("input")
    for index, item in enumerate(given[fresh:] if isinstance(given, list) else (), fresh):
        yield from _shape(f"input[{index}]", item)


def _shape(where: str, item: Json) -> Iterator[Complaint]:
    kind, item_id, call_id = item.get("type", "message"), item.get("id"), item.get("call_id")
    prefix = _PREFIXES.get(kind)
    if prefix and isinstance(item_id, str) and not item_id.startswith(prefix):
        text = f"Invalid '{where}.id': '{item_id}'. Expected an ID that begins with '{prefix}'."
        yield Complaint("item_ids_have_their_prefix", text, param=f"{where}.id", code="invalid_value")
    if isinstance(call_id, str) and len(call_id) > _LONGEST_CALL_ID:
        text = (
            f"Invalid '{where}.call_id': string too long. Expected a string with maximum length {_LONGEST_CALL_ID}, "
            f"but got a string with length {len(call_id)} instead."
        )
        yield Complaint("call_ids_are_short", text, param=f"{where}.call_id", code="string_above_max_length")
    if kind in ("function_call", "function_call_output"):
        needed = ("call_id", "name", "arguments") if kind == "function_call" else ("call_id", "output")
        for name in needed:
            if name not in item:
                yield openai.missing(f"{where}.{name}")
    if kind == "function_call" and not isinstance(item.get("arguments", ""), str):
        yield openai.wrong_type(f"{where}.arguments", "a string", item["arguments"])


def items(given: list[Json], stored: list[Json], memory: Memory) -> Iterator[Complaint]:
    """Item ids over the whole input, and reasoning items with what belongs to them.

    Args:
        given: the request's items, references resolved.
        stored: the items of the response or conversation that it continues.
    """
    seen = {item["id"] for item in stored if item.get("id")}
    for item in given:
        item_id = item.get("id")
        if item_id and item_id in seen:
            text = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
            yield Complaint("ids_are_unique", text, param="input")
        if item_id:
            seen.add(item_id)
    for index, item in enumerate(given):
        after = given[index + 1].get("id") if index + 1 < len(given) else None
        yield from _reasoning(item, after, seen, memory)


def _reasoning(item: Json, after: str | None, seen: set[str], memory: Memory) -> Iterator[Complaint]:
    item_id = item.get("id") or ""
    kind = item.get("type", "message")
    follower = memory.followers.get(item_id)
    if follower is not None and after != follower:
        text = f"Item '{item_id}' of type '{kind}' was provided without its required following item."
        yield Complaint("reasoning_keeps_its_follower", text, param="input")
    reason = memory.reasons.get(item_id)
    if reason is not None and reason not in seen:
        text = f"Item '{item_id}' of type '{kind}' was provided without its required 'reasoning' item: '{reason}'."
        yield Complaint("calls_keep_their_reasoning", text, param="input")


def not_stored(item_id: str) -> Complaint:
    """A reference to an item that is not stored."""
    text = (
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )
    return Complaint("references_are_stored", text, 404, param="input")


def no_parent(response_id: str) -> Complaint:
    """A response that is not stored."""
    text = f"Previous response with id '{response_id}' not found."
    return Complaint("parents_are_stored", text, param="previous_response_id", code="previous_response_not_found")


def not_found(what: str, thing_id: str) -> Complaint:
    """A stored thing that is not there."""
    return Complaint("things_exist", f"{what} with id '{thing_id}' not found.", 404)
