"""Items of the Responses API, both ways.

The API's hosted web search stands for every server tool of a scenario: its query carries the input, and its result is part
of the same item. A call's item id (`fc_…`) is not its `call_id`, by which a result pairs with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import (
    Block,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Reply,
    ServerCall,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.wire.base import Json


def output_of(reply: Reply, tag: str, *, sealed: bool) -> list[Json]:
    """The output items of a reply.

    Args:
        reply: what was said; text beside a refusal's stop reason is the refusal.
        tag: makes the ids unique.
        sealed: whether reasoning carries its `encrypted_content`.
    """
    refuses = reply.stop_reason == "refusal" and not any(isinstance(block, Refusal) for block in reply.blocks)
    items: list[Json] = []
    for index, block in enumerate(reply.blocks):
        if refuses and isinstance(block, Text):
            block = Refusal(block.text)
        item = _item(block, f"{tag}_{index + 1}", sealed)
        if item is not None:
            items.append(item)
    if items and reply.stop_reason == "max_tokens" and "status" in items[-1]:
        items[-1]["status"] = "incomplete"
    return items


def _item(block: Block, tag: str, sealed: bool) -> Json | None:
    match block:
        case Text(text):
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            return _message(tag, part)
        case Refusal(text):
            return _message(tag, {"type": "refusal", "refusal": text})
        case ToolCall(call_id, name, arguments):
            call = {"call_id": call_id, "name": name, "arguments": arguments}
            return {"id": f"fc_{tag}", "type": "function_call", "status": "completed", **call}
        case Thinking(thinking, signature):
            summary = [{"type": "summary_text", "text": thinking}]
            return _reasoning(tag, summary, signature if sealed else None)
        case RedactedThinking(data):
            return _reasoning(tag, [], data)
        case ServerCall(server_id, _, arguments):
            query = _query(arguments)
            action = {"type": "search", "query": query, "queries": [query]}
            return {"id": f"ws_{server_id}", "type": "web_search_call", "status": "completed", "action": action}
    return None


def _message(tag: str, part: Json) -> Json:
    return {"id": f"msg_{tag}", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _reasoning(tag: str, summary: list[Json], sealed: str | None) -> Json:
    return {"id": f"rs_{tag}", "type": "reasoning", "summary": summary, "encrypted_content": sealed}


def _query(arguments: str) -> str:
    """The query of a search; input that is no `{"query": text}` goes as its JSON."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    query = value.get("query") if isinstance(value, dict) and len(value) == 1 else None
    return query if isinstance(query, str) and not query.startswith(("{", "[")) else arguments


def _arguments(query: str) -> str:
    return query if query.startswith(("{", "[")) else json.dumps({"query": query})


def blocks_of(item: Json) -> Iterator[Part]:
    """The blocks of one item; one that is not known is kept as it is."""
    match item.get("type", "message"):
        case "message":
            yield from _parts(item.get("content"))
        case "function_call" | "custom_tool_call":
            arguments = item.get("arguments", item.get("input", ""))
            yield ToolCall(str(item.get("call_id", "")), str(item.get("name", "")), str(arguments))
        case "function_call_output" | "custom_tool_call_output":
            yield ToolResult(str(item.get("call_id", "")), plain(item.get("output", "")))
        case "reasoning":
            summary = [str(part.get("text", "")) for part in item.get("summary") or ()]
            sealed = item.get("encrypted_content") or ""
            yield Thinking("".join(summary), sealed) if summary or not sealed else RedactedThinking(sealed)
        case "web_search_call":
            query = (item.get("action") or {}).get("query") or ""
            name = str(item.get("id", "")).removeprefix("ws_")
            yield ServerCall(name, "web_search", _arguments(str(query)))
        case kind:
            yield Opaque(str(kind), {key: value for key, value in item.items() if key != "type"})


def _parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for part in content or ():
        kind = part.get("type")
        if kind in ("input_text", "output_text", "text"):
            yield Text(str(part.get("text", "")))
        elif kind == "refusal":
            yield Refusal(str(part.get("refusal", "")))
        else:
            yield Opaque(str(kind), {key: value for key, value in part.items() if key != "type"})


def plain(output: Any) -> Any:
    """A call's output: a list of one text is that text."""
    if isinstance(output, list) and len(output) == 1 and isinstance(output[0], dict):
        only = output[0]
        if only.get("type") in ("input_text", "output_text", "text"):
            return only.get("text", "")
    return output


def message_from_wire(item: Json) -> Message | None:
    """One item of `input`; None for system and developer messages, which are no part of the history."""
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        if role in ("system", "developer"):
            return None
        return Message("assistant" if role == "assistant" else "user", tuple(blocks_of(item)))
    is_answer = kind.endswith("_output") and kind not in ("tool_search_output", "program_output")
    from_client = is_answer or kind in ("mcp_approval_response", "compaction_trigger")
    return Message("user" if from_client else "assistant", tuple(blocks_of(item)))
