"""Parts and contents of Gemini's API, both ways, and what it refuses about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from agentsim.core.messages import Block, Message, Opaque, Part, Refusal, Text, Thinking, ToolCall, ToolResult
from agentsim.core.wires import parse
from agentsim.wire.base import Complaint, Context, Json, Offer, Pieces

# fmt: off
_FIELDS = frozenset({
    "contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config", "generationConfig",
    "generation_config", "safetySettings", "safety_settings", "cachedContent", "cached_content", "labels", "model",
    "serviceTier", "store",
})
# fmt: on
_ANSWER_KEYS = ("functionResponse", "function_response")
_CALL_KEYS = ("functionCall", "function_call")


def structure(body: Any) -> Iterator[Complaint]:
    if not isinstance(body, dict):
        yield Complaint("has_legal_types", "Invalid JSON payload received.")
        return
    contents = body.get("contents", [])
    if not (isinstance(contents, list) and all(map(_is_content, contents))):
        yield Complaint("has_legal_types", "Invalid value at 'contents'")
    system = body.get("systemInstruction") or body.get("system_instruction") or {}
    if not _is_content(system):
        yield Complaint("has_legal_types", "Invalid value at 'system_instruction'")
    tools = body.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(map(_is_tool, tools))):
        yield Complaint("has_legal_types", "Invalid value at 'tools'")


def _is_content(content: Any) -> bool:
    """Whether a content is an object with a list of parts that are objects, as are the calls and answers in them."""
    if not isinstance(content, dict):
        return False
    parts = content.get("parts") or []
    return _are_objects(parts) and all(
        isinstance(part[key], dict) for part in parts for key in (*_CALL_KEYS, *_ANSWER_KEYS) if key in part
    )


def _is_tool(tool: Any) -> bool:
    """Whether a tool is an object whose declarations are objects, as are their schemas."""
    if not isinstance(tool, dict):
        return False
    declared = tool.get("functionDeclarations") or tool.get("function_declarations") or []
    return _are_objects(declared) and all(
        isinstance(function.get(key) or {}, dict)
        for function in declared
        for key in ("parametersJsonSchema", "parameters")
    )


def _are_objects(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def body(body: Json) -> Iterator[Complaint]:
    for name in body:
        if name not in _FIELDS:
            text = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            yield Complaint("no_unknown_fields", text)
    if not body.get("contents"):
        text = "* GenerateContentRequest.contents: contents is not specified"
        yield Complaint("has_messages", text)
    for index, content in enumerate(body.get("contents", [])):
        if content.get("role", "user") not in ("user", "model", "function"):
            yield Complaint("has_legal_roles", "Please use a valid role: user, model.")
        if not content.get("parts"):
            text = f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty."
            yield Complaint("no_empty_message", text)


def history(context: Context) -> Iterator[Complaint]:
    history = context.history
    for index, message in enumerate(history):
        calls = sum(isinstance(part, ToolCall) for part in message.content)
        if not calls or index < context.new_from - 1:
            continue
        after = history[index + 1].content if index + 1 < len(history) else ()
        if sum(isinstance(part, ToolResult) for part in after) != calls:
            text = (
                "Please ensure that the number of function response parts is equal to the number of function call parts "
                "of the function call turn."
            )
            yield Complaint("every_call_is_answered", text)


def message(content: Json) -> Message:
    role = "assistant" if content.get("role") == "model" else "user"
    return Message(role, tuple(part_from_wire(part) for part in content.get("parts") or []))  # type: ignore[arg-type]


def part_from_wire(part: Json) -> Part:
    call = next((part[key] for key in _CALL_KEYS if key in part), None)
    if call is not None:
        name = str(call.get("name", ""))
        return ToolCall(str(call.get("id") or name), name, json.dumps(call.get("args") or {}))
    answer = next((part[key] for key in _ANSWER_KEYS if key in part), None)
    if answer is not None:
        response = answer.get("response")
        plain = response["result"] if isinstance(response, dict) and set(response) == {"result"} else response
        failed = isinstance(response, dict) and set(response) == {"error"}
        return ToolResult(str(answer.get("id") or answer.get("name", "")), plain, failed)
    if "text" in part:
        signature = str(part.get("thoughtSignature") or part.get("thought_signature") or "")
        return Thinking(str(part["text"]), signature) if part.get("thought") else Text(str(part["text"]))
    kind = next((key for key in part if key not in ("thoughtSignature", "thought")), "part")
    return Opaque(kind, part)


def offers(tools: Iterable[Json]) -> Iterator[Offer]:
    for tool in tools:
        declared = tool.get("functionDeclarations") or tool.get("function_declarations")
        if declared is None:
            yield from (Offer(name, server=True) for name in tool)
            continue
        for function in declared:
            schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
            yield Offer(str(function.get("name", "")), str(function.get("description", "")), schema)


def parts(block: Block, cutter: Pieces) -> Iterator[Json]:
    match block:
        case Text(text) | Refusal(text):
            if not text:
                yield {"text": ""}
            yield from ({"text": piece} for piece in cutter(text))
        case Thinking(thinking, signature):
            thought: Json = {"text": thinking, "thought": True}
            yield thought | ({"thoughtSignature": signature} if signature else {})
        case ToolCall(call_id, name, arguments):
            list(cutter(arguments))
            yield {"functionCall": {"id": call_id, "name": name, "args": parse(arguments)[0]}}
        case Opaque(_, data):
            yield dict(data)
