"""Messages of Chat Completions, both ways, and what the API refuses about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import Message, Opaque, Part, Refusal, Reply, Text, ToolCall, ToolResult
from agentsim.wire import openai
from agentsim.wire.base import Complaint, Json

# fmt: off
_FIELDS = frozenset({
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls", "prediction",
    "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort",
    "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options",
    "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
})
# fmt: on
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")


def message_from_wire(message: Json) -> Message | None:
    """One entry of `messages`; None for system and developer messages, which are no part of the history."""
    role = message["role"]
    if role in ("system", "developer"):
        return None
    content = message.get("content")
    if role in ("tool", "function"):
        call_id = str(message.get("tool_call_id", message.get("name", "")))
        return Message("user", (ToolResult(call_id, _plain(content)),))
    if role == "user":
        return Message("user", tuple(_parts(content)))
    return Message("assistant", tuple(_assistant(message, content)))


def _assistant(message: Json, content: Any) -> Iterator[Part]:
    calls = message.get("tool_calls") or []
    if not (calls and content == ""):
        yield from _parts(content)
    if message.get("refusal"):
        yield Refusal(str(message["refusal"]))
    for call in calls:
        function = call.get("function") or call.get("custom") or {}
        arguments = function.get("arguments", function.get("input", ""))
        yield ToolCall(str(call.get("id", "")), str(function.get("name", "")), str(arguments))


def _parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(content)
        return
    for part in content or ():
        kind = part.get("type")
        if kind == "text":
            yield Text(str(part.get("text", "")))
        elif kind == "refusal":
            yield Refusal(str(part.get("refusal", "")))
        else:
            yield Opaque(str(kind), {key: value for key, value in part.items() if key != "type"})


def _plain(content: Any) -> Any:
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        return content[0].get("text", "")
    return content


def text_of(content: Any) -> str:
    return "".join(part.text for part in _parts(content) if isinstance(part, Text))


def structure(body: Any, fresh: int = 0) -> Iterator[Complaint]:
    """What would make the request unreadable; messages before `fresh` were looked at before."""
    if not isinstance(body, dict):
        yield Complaint("has_legal_types", "We could not parse the JSON body of your request.")
        return
    messages = body.get("messages", [])
    if not isinstance(messages, list):
        yield openai.wrong_type("messages", "an array of objects", messages)
        return
    for index in range(fresh, len(messages)):
        yield from _message(f"messages[{index}]", messages[index])
    tools = body.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        yield openai.wrong_type("tools", "an array of objects", tools)
    for index, tool in enumerate(tools or () if isinstance(tools, list) else ()):
        yield from _of_kind(f"tools[{index}]", tool)
    options = body.get("stream_options")
    if options is not None and not isinstance(options, dict):
        yield openai.wrong_type("stream_options", "an object", options)


def _message(where: str, message: Any) -> Iterator[Complaint]:
    if not isinstance(message, dict):
        yield openai.wrong_type(where, "an object", message)
        return
    if "role" not in message:
        yield openai.missing(f"{where}.role")
    elif message["role"] not in _ROLES:
        yield openai.invalid_role(f"{where}.role", message["role"], _ROLES)
    content = message.get("content")
    is_parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
    if content is not None and not isinstance(content, str) and not is_parts:
        yield openai.wrong_type(f"{where}.content", "one of a string or array of objects", content)
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        yield openai.wrong_type(f"{where}.tool_calls", "an array of objects", calls)
        return
    for index, call in enumerate(calls or ()):
        yield from _of_kind(f"{where}.tool_calls[{index}]", call)


def _of_kind(where: str, thing: Any) -> Iterator[Complaint]:
    """A tool or a call: its type is a word, and what stands under that word an object."""
    if not isinstance(thing, dict):
        return
    kind = thing.get("type", "function")
    if not isinstance(kind, str):
        yield openai.wrong_type(f"{where}.type", "a string", kind)
        return
    for name in {kind: None, "function": None, "custom": None}:
        if not isinstance(thing.get(name), dict | None):
            yield openai.wrong_type(f"{where}.{name}", "an object", thing[name])


def body(body: Json, fresh: int = 0) -> Iterator[Complaint]:
    yield from openai.body_fields(body, _FIELDS, ("messages", "model"))
    if body.get("messages") == []:
        yield openai.empty_array("messages")
    if body.get("tools") == []:
        yield openai.empty_array("tools")
    for index, tool in enumerate(body.get("tools") or ()):
        if "type" not in tool:
            yield openai.missing(f"tools[{index}].type")
        elif tool["type"] == "function" and not (tool.get("function") or {}).get("name"):
            yield openai.missing(f"tools[{index}].function.name")
    for index, message in enumerate(body.get("messages", [])[fresh:], fresh):
        yield from _part_fields(f"messages[{index}]", message.get("content"))
        if message.get("tool_calls") == []:
            yield openai.empty_array(f"messages[{index}].tool_calls")
        if message["role"] == "tool" and "tool_call_id" not in message:
            text = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'"
            yield Complaint("has_tool_call_id", text, param=f"messages.[{index}].tool_call_id")
        if message["role"] in ("user", "tool", "system") and message.get("content") is None:
            text = "Invalid value for 'content': expected a string, got null."
            yield Complaint("no_empty_message", text, param=f"messages.[{index}].content")


def _part_fields(where: str, content: Any) -> Iterator[Complaint]:
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if "type" not in part:
            yield openai.missing(f"{where}.content[{index}].type")
        elif part["type"] == "text" and not isinstance(part.get("text"), str):
            yield openai.missing(f"{where}.content[{index}].text")


def message_to_wire(reply: Reply) -> Json:
    """The message of a whole completion; `tool_calls` is absent where there is none."""
    text, refusal = said(reply)
    message: Json = {"role": "assistant", "content": text, "refusal": refusal, "annotations": []}
    if calls := [_call(call) for call in reply.calls]:
        message["tool_calls"] = calls
    return message


def said(reply: Reply) -> tuple[str | None, str | None]:
    """`content` and `refusal`; text beside a refusal's stop reason is the refusal, having no other place."""
    texts = [block.text for block in reply.blocks if isinstance(block, Text)]
    refusals = [block.text for block in reply.blocks if isinstance(block, Refusal)]
    text = "".join(texts) if texts else None
    refusal = "".join(refusals) if refusals else None
    if refusal is None and reply.stop_reason == "refusal" and text:
        return None, text
    return text, refusal


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
