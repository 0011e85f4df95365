"""Items of the Responses API as logs hold them: more kinds than a wire has to speak, fields that may be missing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentsim.core.messages import (
    Block,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
)
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.recording import Declared

#: Calls that the client carries out; their results come back under `call_id`.
CLIENT_CALLS = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
)
_MODEL_MADE = ("reasoning", "compaction", "program")
_OTHERS = ("item_reference", "mcp_list_tools", "mcp_approval_request")
_TEXTS = ("input_text", "output_text", "text", "summary_text")


def kind_of(item: dict[str, Any]) -> str:
    """An item's type; a bare message has none."""
    kind = item.get("type")
    return kind if isinstance(kind, str) and kind else "message" if "role" in item else ""


def is_result(item: dict[str, Any]) -> bool:
    """Whether it answers a call of the client's."""
    kind = kind_of(item)
    return kind.endswith("_call_output") or kind == "function_call_result" or (
        kind == "tool_search_output" and item.get("execution") == "client"
    )  # fmt: skip


def is_model_made(item: dict[str, Any]) -> bool:
    """Whether the model wrote it."""
    kind = kind_of(item)
    return item.get("role") == "assistant" if kind == "message" else kind in _MODEL_MADE or kind.endswith("_call")


def is_item(value: Any) -> bool:
    """Whether this is an item that no other wire has."""
    if not isinstance(value, dict):
        return False
    kind = kind_of(value)
    if kind == "message":
        return value.get("role") in ("user", "assistant", "system", "developer") and "tool_calls" not in value
    return is_model_made(value) or is_result(value) or kind in _OTHERS


def is_telling(value: Any) -> bool:
    """Whether this item shows that the list it stands in is of this wire: a message alone could be of any."""
    if not is_item(value):
        return False
    if value.get("type") == "message":
        return isinstance(value.get("role"), str)
    if kind_of(value) == "function_call" and not isinstance(value.get("name"), str):
        return False
    kinds = {as_dict(part).get("type") for part in as_list(value.get("content"))}
    return kind_of(value) != "message" or bool(kinds & {"input_text", "output_text", "input_image"})


def call_id(item: dict[str, Any]) -> str:
    """The id that pairs a call with its result; JavaScript's SDK writes it in camel case."""
    for key in ("call_id", "callId", "id"):
        if found := text_of(item.get(key)):
            return found
    return ""


def blocks_of(item: dict[str, Any]) -> list[Block]:
    """The blocks of an item that the model made."""
    kind = kind_of(item)
    if kind == "message":
        return _message_blocks(item.get("content"))
    if kind == "reasoning":
        return [_reasoning(item)]
    if kind == "tool_search_call" and item.get("execution") == "client":
        return [ToolCall(call_id(item), "tool_search", _arguments(item))]
    if kind in CLIENT_CALLS:
        return [ToolCall(call_id(item), _name(item, kind), _arguments(item))]
    if kind.endswith("_call"):  # web search and its like; new ones keep coming
        return [ServerCall(text_of(item.get("id")) or call_id(item), _name(item, kind), _arguments(item))]
    return [Opaque(kind or "unknown", {key: value for key, value in item.items() if key != "type"})]


def output_blocks(items: Iterable[Any]) -> list[Block]:
    """The blocks of a response's output. A call that is answered there ran at the provider, be it a shell's."""
    items = [item for item in items if isinstance(item, dict)]
    answered = {call_id(item): item for item in items if is_result(item)}
    blocks: list[Block] = []
    for item in items:
        if is_result(item):
            blocks.append(ServerResult(call_id(item), output_of(item)))
            continue
        for block in blocks_of(item):
            hosted = isinstance(block, ToolCall) and block.id in answered
            blocks.append(
                ServerCall(block.id, block.name, block.arguments) if hosted and isinstance(block, ToolCall) else block
            )
    return blocks


def _name(item: dict[str, Any], kind: str) -> str:
    return text_of(item.get("name")) or kind.removesuffix("_call")


def _arguments(item: dict[str, Any]) -> str:
    """The argument text; free text of a custom tool is one key of an object, since a scenario's calls have objects."""
    if "arguments" in item:
        return arguments_text(item["arguments"])
    if isinstance(item.get("input"), str):
        return json.dumps({"input": item["input"]})
    for key in ("input", "action", "operation", "queries", "code"):
        if item.get(key) is not None:
            value = item[key]
            return json.dumps(value if isinstance(value, dict) else {key: value}, default=str)
    return "{}"


def _reasoning(item: dict[str, Any]) -> Block:
    summary = [t for part in as_list(item.get("summary")) if (t := text_of(as_dict(part).get("text")))]
    content = [t for part in as_list(item.get("content")) if (t := text_of(as_dict(part).get("text")))]
    sealed = text_of(item.get("encrypted_content")) or ""
    if sealed and not summary and not content:
        return RedactedThinking(sealed)
    return Thinking("\n".join(content or summary), sealed)


def _message_blocks(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    blocks: list[Block] = []
    for part in as_list(content):
        part = as_dict(part)
        kind = part.get("type")
        if kind in _TEXTS and isinstance(part.get("text"), str):
            blocks.append(Text(part["text"]))
        elif kind == "refusal":
            blocks.append(Refusal(text_of(part.get("refusal")) or ""))
        elif part:
            blocks.append(Opaque(str(kind), {key: value for key, value in part.items() if key != "type"}))
    return blocks


def user_parts(item: dict[str, Any]) -> tuple[Part, ...]:
    """The parts of a user's message."""
    return tuple(_message_blocks(item.get("content")))


def output_of(item: dict[str, Any]) -> Any:
    """What a call gave: a list of one text, or an object of one, is that text."""
    output = item.get("output", item.get("tools"))
    if isinstance(output, dict) and output.get("type") in _TEXTS and isinstance(output.get("text"), str):
        return output["text"]
    if isinstance(output, list) and len(output) == 1 and as_dict(output[0]).get("type") in _TEXTS:
        return output[0].get("text", "")
    return "" if output is None else output


class ItemReader:
    """Takes items one by one; those that the model made in a row are one reply, since nothing marks where one ends.

    Args:
        builder: where they go.
        source_skip: called with the name of what is not read.
    """

    def __init__(self, builder: ConversationBuilder, source_skip: Any) -> None:
        self.builder, self._skip = builder, source_skip
        self._blocks: list[Block] = []
        self._place = 0
        self._raw: str | None = None

    def item(self, item: Any, place: int, raw: str | None = None) -> None:
        """Take one item. `raw`: the stop reason of the reply that it is part of."""
        if not isinstance(item, dict):
            self._skip("entry that is no item")
        elif is_model_made(item):
            self._place = self._place or place
            self._raw = raw or self._raw
            self._blocks += blocks_of(item)
            if not self._blocks:
                self._blocks = [Text("")]
        elif is_result(item):
            self.close()
            self.builder.result(call_id(item), output_of(item))
        elif kind_of(item) == "message" and item.get("role") in ("user", "tool"):
            self.close()
            self.builder.say(*user_parts(item))
        elif kind_of(item) == "message" and item.get("role") in ("system", "developer"):
            texts = [part.text for part in user_parts(item) if isinstance(part, Text)]
            self.builder.system = "\n\n".join(filter(None, [self.builder.system, *texts])) or None
        else:
            self._skip(f"item of type {kind_of(item) or 'none'}")

    def close(self) -> None:
        """What the model made so far is a whole reply."""
        if self._blocks:
            self.builder.reply(self._blocks, self._raw, self._place)
        self._blocks, self._place, self._raw = [], 0, None


def declared_tools(tools: Any) -> dict[str, Declared]:
    """The tools of a Responses request."""
    found = {}
    for tool in as_list(tools):
        tool = as_dict(tool)
        kind = text_of(tool.get("type")) or "function"
        name = text_of(tool.get("name")) or kind
        schema = tool.get("parameters")
        server = kind not in (
            "function",
            "custom",
            "local_shell",
            "shell",
            "apply_patch",
            "computer_use_preview",
            "computer",
        )
        found[name] = Declared(
            name, text_of(tool.get("description")) or "", schema if isinstance(schema, dict) else None, server
        )
    return found


def items_of(value: Any) -> Iterable[Any]:
    """A request's `input`: a text is one user message."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return as_list(value)
