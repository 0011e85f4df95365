"""Requests as one neutral list of messages, whatever wire they came on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scripts import Json, Session, short_name


def neutral(wire: str, items: list[Any]) -> list[Json]:
    """Messages as ``{"short", "full"}``: adjacent items of one role are one message."""
    read = {"anthropic-messages": _claude, "openai-responses": _responses, "openai-chat": _chat}
    joined: list[tuple[str, list[tuple[str, Any]]]] = []
    for item in items:
        for role, parts in read[wire](item):
            if joined and joined[-1][0] == role:
                joined[-1][1].extend(parts)
            else:
                joined.append((role, list(parts)))
    return [
        {
            "short": f"{role}:" + "+".join(short for short, _ in parts),
            "full": json.dumps([role, [full for _, full in parts]], sort_keys=True),
        }
        for role, parts in joined
    ]


Parts = Iterator[tuple[str, list[tuple[str, Any]]]]


def _claude(message: Json) -> Parts:
    if message["role"] == "system":
        return
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    yield message["role"], [_claude_block(block) for block in content]


def _claude_block(block: Json) -> tuple[str, Any]:
    kind = block["type"]
    if kind in ("tool_use", "server_tool_use"):
        name = short_name(block["name"])
        return f"{kind}({name})", [kind, block["id"], name, block.get("input")]
    if kind == "tool_result":
        mark = "!" if block.get("is_error") is True else ""
        full = [kind, block["tool_use_id"], _plain(block.get("content")), bool(mark)]
        return f"tool_result({block['tool_use_id']}){mark}", full
    if kind.endswith("_tool_result"):
        name = kind.removesuffix("_tool_result")
        return f"server_tool_result({name})", [kind, block["tool_use_id"], block.get("content")]
    if kind == "text":
        return "text", ["text", block["text"]]
    if kind in ("thinking", "redacted_thinking"):
        return kind, [kind, block.get("thinking", block.get("data")), block.get("signature")]
    return kind, {key: value for key, value in block.items() if key != "cache_control"}


def _plain(content: Any) -> Any:
    """A list of one text is the same as the text."""
    only = content[0] if isinstance(content, list) and len(content) == 1 else None
    if isinstance(only, dict) and only.get("type") == "text":
        return only["text"]
    return content


def _responses(item: Any) -> Parts:
    if isinstance(item, str):
        yield "user", [("text", ["text", item])]
        return
    kind = item.get("type", "message")
    if kind == "message":
        if item["role"] not in ("system", "developer"):
            yield item["role"], _responses_parts(item["content"])
    elif kind in ("function_call", "custom_tool_call"):
        full = ["tool_use", item["call_id"], item["name"], item.get("arguments", item.get("input"))]
        yield "assistant", [(f"tool_use({item['name']})", full)]
    elif kind.endswith("_call_output"):
        full = ["tool_result", item["call_id"], _plain_output(item["output"])]
        yield "user", [(f"tool_result({item['call_id']})", full)]
    elif kind == "reasoning":
        yield "assistant", [("thinking", ["thinking", item.get("summary")])]
    elif kind.endswith("_call"):
        name = kind.removesuffix("_call")
        yield "assistant", [(f"server_tool_use({name})", [kind, item.get("action")])]
    else:
        yield "assistant", [(kind, item)]


def _plain_output(output: Any) -> Any:
    only = output[0] if isinstance(output, list) and len(output) == 1 else None
    if isinstance(only, dict) and only.get("type") == "input_text":
        return only["text"]
    return output


def _responses_parts(content: Any) -> list[tuple[str, Any]]:
    if isinstance(content, str):
        return [("text", ["text", content])] if content else []
    parts: list[tuple[str, Any]] = []
    for part in content:
        kind = part["type"]
        if kind in ("input_text", "output_text", "text"):
            parts.append(("text", ["text", part["text"]]))
        elif kind == "refusal":
            parts.append(("refusal", ["refusal", part["refusal"]]))
        else:
            parts.append((kind, part))
    return parts


def _chat(message: Json) -> Parts:
    role = message["role"]
    if role in ("system", "developer"):
        return
    content = message.get("content")
    if role in ("tool", "function"):
        call_id = message.get("tool_call_id", message.get("name"))
        yield "user", [(f"tool_result({call_id})", ["tool_result", call_id, _plain(content)])]
        return
    parts = _responses_parts(content or "")
    if content == "" and not message.get("tool_calls") and not message.get("refusal"):
        parts.append(("text", ["text", ""]))  # a message that has nothing else does have an empty text
    if message.get("refusal"):
        parts.append(("refusal", ["refusal", message["refusal"]]))
    for call in message.get("tool_calls") or []:
        function = call.get("function") or call.get("custom")
        full = ["tool_use", call["id"], function["name"], function.get("arguments")]
        parts.append((f"tool_use({function['name']})", full))
    yield role, parts


def history(session: Session, wire: str, body: Json) -> list[Any]:
    """The request's items with threads and previous responses put in front."""
    if wire == "anthropic-messages":
        thread = body.get("thread") or {}
        before = session.memory.get(thread.get("previous_message_id", ""), [])
        return [*before, *body.get("messages", [])]
    if wire == "openai-responses":
        items = body.get("input", [])
        items = [items] if isinstance(items, str) else items
        items = [_referred(session, item) for item in items]
        return [*session.memory.get(body.get("previous_response_id") or "", []), *items]
    return list(body.get("messages", []))


def _referred(session: Session, item: Any) -> Any:
    """A stored item in place of a reference to it."""
    if isinstance(item, dict) and item.get("type") == "item_reference":
        return session.items.get(item["id"], item)
    return item
