"""Messages of Chat Completions as logs hold them."""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Block, Opaque, Part, Refusal, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers.blocks import as_dict, as_list, text_of, usage
from agentsim.store.recording import Declared

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def parts_of(content: Any) -> list[Block]:
    """Content: a text, or typed parts."""
    if isinstance(content, str):
        return [Text(content)] if content else []
    blocks: list[Block] = []
    for part in as_list(content):
        if isinstance(part, str):
            blocks.append(Text(part))
            continue
        part = as_dict(part)
        kind = part.get("type")
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            blocks.append(Text(part["text"]))
        elif kind == "refusal":
            blocks.append(Refusal(text_of(part.get("refusal")) or ""))
        elif kind in ("thinking", "reasoning"):
            words = text_of(part.get("thinking")) or text_of(part.get("reasoning")) or text_of(part.get("text")) or ""
            blocks.append(Thinking(words, text_of(part.get("signature")) or ""))
        elif part:
            blocks.append(Opaque(str(kind), {key: value for key, value in part.items() if key != "type"}))
    return blocks


def reply_blocks(message: dict[str, Any]) -> list[Block]:
    """The blocks of an assistant's message. A call without a name is none: gateways fill unused fields with nothing."""
    blocks = parts_of(message.get("content"))
    thoughts = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    if thoughts:
        blocks.insert(0, Thinking(thoughts))
    if refusal := text_of(message.get("refusal")):
        blocks.append(Refusal(refusal))
    for call in as_list(message.get("tool_calls")):
        if found := _call(as_dict(call)):
            blocks.append(found)
    old = as_dict(message.get("function_call"))
    if name := text_of(old.get("name")):
        blocks.append(ToolCall(name, name, arguments_text(old.get("arguments"))))
    return blocks


def _call(call: dict[str, Any]) -> ToolCall | None:
    function = next((f for key in ("function", "custom") if (f := as_dict(call.get(key))).get("name")), call)
    name = text_of(function.get("name")) or text_of(call.get("function"))
    if not name:
        return None
    given = function.get("arguments", function.get("input"))
    if given is None:
        given = function.get("args", call.get("args"))
    return ToolCall(text_of(call.get("id")) or "", name, arguments_text(given))


def result_id(message: dict[str, Any]) -> str:
    """The id of the call that a tool's message answers; the old functions had names only."""
    ids = as_list(message.get("tool_call_ids"))
    return (
        text_of(message.get("tool_call_id")) or (text_of(ids[0]) if ids else None) or text_of(message.get("name")) or ""
    )


def output_of(content: Any) -> Any:
    """A tool's output: a list of one text is that text."""
    if isinstance(content, list) and len(content) == 1 and as_dict(content[0]).get("type") == "text":
        return content[0].get("text", "")
    return "" if content is None else content


def add_message(builder: ConversationBuilder, message: dict[str, Any], place: int, *, raw: str | None = None) -> bool:
    """Take one message: an assistant's is a reply.

    Args:
        raw: the reply's stop reason, where something beside the message tells it.
    Returns:
        Whether it was a message.
    """
    role = message.get("role")
    if role == "assistant":
        raw = raw or text_of(message.get("finish_reason"))
        builder.reply(reply_blocks(message), raw, place, usage=usage(message.get("usage")))
    elif role in ("tool", "function"):
        builder.result(result_id(message), output_of(message.get("content")), message.get("is_error") is True)
    elif role == "user":
        builder.say(*user_parts(message))
    elif role in ("system", "developer"):
        texts = [part.text for part in parts_of(message.get("content")) if isinstance(part, Text)]
        builder.system = "\n\n".join(filter(None, [builder.system, *texts])) or None
    else:
        return False
    return True


def user_parts(message: dict[str, Any]) -> tuple[Part, ...]:
    """The parts of a user's message."""
    return tuple(parts_of(message.get("content")))


def declared_tools(tools: Any, functions: Any = None) -> dict[str, Declared]:
    """The tools of a request, the old `functions` too."""
    found = {}
    for tool in [*as_list(tools), *({"function": f} for f in as_list(functions))]:
        tool = as_dict(tool)
        function = as_dict(tool.get("function")) or as_dict(tool.get("custom")) or tool
        name = text_of(function.get("name"))
        if name is None:
            continue
        schema = function.get("parameters") or function.get("inputSchema") or function.get("input_schema")
        found[name] = Declared(
            name, text_of(function.get("description")) or "", schema if isinstance(schema, dict) else None
        )
    return found
