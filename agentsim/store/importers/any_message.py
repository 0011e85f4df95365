"""One message of whatever framework: traces and dumps mix the wires' forms with their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import Block, Message, Part, ServerCall, ServerResult, Text, Thinking, ToolCall, ToolResult
from agentsim.store.building import arguments_text
from agentsim.store.importers import chat_messages, langchain_messages
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, text_of
from agentsim.store.importers.responses_items import blocks_of, call_id, is_model_made, is_result, output_of

_CLAUDE = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
_AI_SDK = {"tool-call", "tool-result", "tool-error"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message in neutral words. `role`: system, user or assistant; results are the user's."""

    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its texts."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


def spoken(value: Any) -> Spoken | None:
    """A message of any form; None for what is none."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str):
        value = {"role": value[0], "content": value[1]}
    if not isinstance(value, dict):
        return None
    if langchain_messages.is_message(value):
        found = langchain_messages.read(value)
        return Spoken(found.role, found.parts) if found is not None else None
    if isinstance(value.get("parts"), list):
        return _with_parts(value)
    if "role" not in value:
        return _item(value)
    role = {"developer": "system", "ai": "assistant", "model": "assistant", "human": "user"}.get(
        str(value["role"]), value["role"]
    )
    if role in ("tool", "function"):
        return Spoken("user", tuple(_tool_content(value)))
    if role not in ("system", "user", "assistant"):
        return None
    return Spoken(role, tuple(_content(value, role)))


def _item(value: dict[str, Any]) -> Spoken | None:
    if is_model_made(value):
        return Spoken("assistant", tuple(blocks_of(value)))
    if is_result(value):
        return Spoken("user", (ToolResult(call_id(value), output_of(value)),))
    return None


def _content(value: dict[str, Any], role: str) -> Iterable[Part]:
    content = value.get("content")
    kinds = {as_dict(part).get("type") for part in as_list(content)}
    if kinds & _AI_SDK:
        return ai_sdk_parts(content)
    if kinds & _CLAUDE:
        return claude_parts(content)
    return chat_messages.reply_blocks(value) if role == "assistant" else chat_messages.parts_of(content)


def _tool_content(value: dict[str, Any]) -> Iterable[Part]:
    content = value.get("content")
    if {as_dict(part).get("type") for part in as_list(content)} & _AI_SDK:
        return [part for part in ai_sdk_parts(content) if isinstance(part, ToolResult)]
    return [ToolResult(chat_messages.result_id(value), chat_messages.output_of(content))]


# -- the AI SDK's model messages ----------------------------------------------------------------------------------------


def ai_sdk_parts(content: Any) -> list[Part]:
    """Content of the AI SDK: model messages, steps and model outputs have the same parts."""
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [part for item in as_list(content) if (part := _ai_sdk_part(as_dict(item))) is not None]


def _ai_sdk_part(item: dict[str, Any]) -> Part | None:
    kind = item.get("type")
    identity, name = text_of(item.get("toolCallId")) or "", text_of(item.get("toolName")) or ""
    if kind == "text":
        return Text(text_of(item.get("text")) or "")
    if kind == "reasoning":
        return Thinking(text_of(item.get("text")) or "")
    if kind == "tool-call":
        arguments = arguments_text(item.get("input", item.get("args")))
        return (ServerCall if item.get("providerExecuted") is True else ToolCall)(identity, name, arguments)
    if kind in ("tool-result", "tool-error"):
        value, failed = ai_sdk_output(item)
        if item.get("providerExecuted") is True:
            return ServerResult(identity, value, name)
        return ToolResult(identity, value, failed or kind == "tool-error" or item.get("isError") is True)
    return None


def ai_sdk_output(item: dict[str, Any]) -> tuple[Any, bool]:
    """A tool's output, and whether it is an error: `{type: text|json|error-text|…, value}`, or the value itself."""
    output = item.get("output", item.get("result", item.get("error")))
    if isinstance(output, dict) and isinstance(output.get("type"), str) and ("value" in output or "reason" in output):
        kind = output["type"]
        return output.get("value", output.get("reason")), kind.startswith("error") or kind == "execution-denied"
    return "" if output is None else output, False


# -- OpenTelemetry's messages ---------------------------------------------------------------------------------------------


def _with_parts(value: dict[str, Any]) -> Spoken | None:
    role = str(value.get("role"))
    role = {"tool": "user", "developer": "system", "model": "assistant"}.get(role, role)
    parts = [part for item in value["parts"] if (part := _otel_part(as_dict(item))) is not None]
    return Spoken(role, tuple(parts)) if role in ("system", "user", "assistant") else None


def _otel_part(item: dict[str, Any]) -> Part | None:
    kind = item.get("type")
    identity = text_of(item.get("id")) or ""
    if kind == "text":
        return Text(text_of(item.get("content")) or text_of(item.get("text")) or "")
    if kind in ("reasoning", "thinking"):
        return Thinking(text_of(item.get("content")) or text_of(item.get("text")) or "")
    if kind == "tool_call":
        return ToolCall(identity, text_of(item.get("name")) or "", arguments_text(item.get("arguments")))
    if kind == "tool_call_response":
        output = item.get("response", item.get("result"))
        return ToolResult(identity, "" if output is None else output, item.get("is_error") is True)
    if kind == "server_tool_call":
        given = as_dict(item.get("server_tool_call")) or item
        return ServerCall(identity, text_of(item.get("name")) or "", arguments_text(given.get("arguments")))
    if kind == "server_tool_call_response":
        return ServerResult(identity, item.get("server_tool_call_response"))
    return None


# -- lists --------------------------------------------------------------------------------------------------------------


def messages_of(values: Any) -> tuple[list[Message], str | None]:
    """Messages of any form, and the system prompt among them. A JSON text is read; a plain one is what a user says."""
    if isinstance(values, str):
        try:
            values = json.loads(values)
        except (ValueError, RecursionError):
            return [Message("user", (Text(values),))], None
    if isinstance(values, dict):
        values = values.get("messages", [values])
    found, systems = [], []
    for value in as_list(values):
        message = spoken(value) if not isinstance(value, str) else Spoken("user", (Text(value),))
        if message is None:
            continue
        if message.role == "system":
            systems.append(message.text)
        elif message.role in ("user", "assistant"):
            found.append(Message("assistant" if message.role == "assistant" else "user", message.parts))
    return found, "\n\n".join(systems) or None


def said_blocks(parts: Iterable[Part]) -> list[Block]:
    """The parts that a reply may hold."""
    return [part for part in parts if not isinstance(part, ToolResult)]
