"""Claude's content blocks and messages, both ways.

A scenario may name any tool of the provider's; the API knows seven. A name that it doesn't know goes out as `web_search`,
whose results carry an `encrypted_content` that no client may read: any JSON value fits in there and comes back.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from agentsim.core.messages import (
    Block,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.core.wires import parse
from agentsim.wire.base import Json

#: Tools that run at the provider, as `server_tool_use.name` has them.
SERVER_TOOLS = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
    "advisor",
)

_RESULT_TYPES = {"tool_search_tool_regex": "tool_search", "tool_search_tool_bm25": "tool_search"}
_URL = "https://scenario.invalid/"


def arguments_object(arguments: str) -> Json:
    """Arguments as the object that a whole body must hold: `{}` where the text is none."""
    value, _ = parse(arguments)
    return value if type(value) is dict else {}


def block_to_wire(block: Block) -> Json | None:
    """A block of a reply; None where it has no content there (a refusal without words)."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolCall(id, name, arguments):
            call = {"id": id, "name": name, "input": arguments_object(arguments)}
            return {"type": "tool_use", **call, "caller": {"type": "direct"}}
        case Thinking(thinking, signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case RedactedThinking(data):
            return {"type": "redacted_thinking", "data": data}
        case ServerCall(id, name, arguments):
            call = {"id": id, "name": server_name(name), "input": arguments_object(arguments)}
            return {"type": "server_tool_use", **call}
        case ServerResult(call_id, content, name):
            return _server_result(call_id, content, server_name(name))
        case Refusal(text):
            return {"type": "text", "text": text} if text else None
        case Opaque(kind, data):
            return {"type": kind, **data}


def server_name(name: str) -> str:
    """The name under which a tool of the provider's goes out."""
    return name if name in SERVER_TOOLS else "web_search"


def _server_result(call_id: str, content: Any, name: str) -> Json:
    kind = _RESULT_TYPES.get(name, name)
    if not _is_native(content, kind):
        content = _wrapped(content, kind)
    return {"type": f"{kind}_tool_result", "tool_use_id": call_id, "content": content}


def _is_native(content: Any, kind: str) -> bool:
    """Whether the scenario wrote the content as the API has it, an error object for one."""
    items = content if kind == "web_search" and isinstance(content, list) else [content]
    return all(isinstance(item, dict) and kind in str(item.get("type", "")) for item in items)


def _wrapped(content: Any, kind: str) -> Any:
    text = content if isinstance(content, str) else json.dumps(content)
    match kind:
        case "web_search":
            sealed = base64.b64encode(json.dumps(content).encode()).decode()
            found = {"type": "web_search_result", "url": _URL, "title": text[:80], "page_age": None}
            return [{**found, "encrypted_content": sealed}]
        case "web_fetch":
            source = {"type": "text", "media_type": "text/plain", "data": text}
            document = {"type": "document", "source": source, "title": None, "citations": None}
            return {"type": "web_fetch_result", "url": _URL, "content": document, "retrieved_at": None}
        case "code_execution" | "bash_code_execution":
            ran = {"stdout": text, "stderr": "", "return_code": 0, "content": []}
            return {"type": f"{kind}_result", **ran}
        case "text_editor_code_execution":
            lines = {"num_lines": None, "start_line": None, "total_lines": None}
            return {"type": f"{kind}_view_result", "content": text, "file_type": "text", **lines}
        case "advisor":
            return {"type": "advisor_result", "text": text}
        case _:
            names = content if isinstance(content, list) else [text]
            references = [{"type": "tool_reference", "tool_name": str(name)} for name in names]
            return {"type": "tool_search_tool_search_result", "tool_references": references}


def _unwrapped(content: Any) -> Any:
    if isinstance(content, list) and len(content) == 1 and _has(content[0], "url", _URL):
        try:
            return json.loads(base64.b64decode(content[0]["encrypted_content"]))
        except (KeyError, TypeError, ValueError, binascii.Error):
            return content
    if _has(content, "url", _URL) and _has(content.get("content"), "type", "document"):
        return content["content"]["source"]["data"]
    if _has(content, "return_code", 0) and content.get("stderr") == "" and content.get("content") == []:
        return content.get("stdout")
    return content


def _has(value: Any, key: str, wanted: Any) -> bool:
    return isinstance(value, dict) and value.get(key) == wanted


def block_from_wire(block: Json) -> Part:
    """A block of a request or a reply; one that is not known is kept as it is."""
    kind = block.get("type")
    match kind:
        case "text":
            return Text(str(block.get("text", "")))
        case "tool_use":
            return ToolCall(str(block.get("id", "")), str(block.get("name", "")), json.dumps(block.get("input", {})))
        case "tool_result":
            output = plain(block.get("content", ""))
            return ToolResult(str(block.get("tool_use_id", "")), output, block.get("is_error") is True)
        case "thinking":
            return Thinking(str(block.get("thinking", "")), str(block.get("signature", "")))
        case "redacted_thinking":
            return RedactedThinking(str(block.get("data", "")))
        case "server_tool_use":
            return ServerCall(str(block.get("id", "")), str(block.get("name", "")), json.dumps(block.get("input", {})))
    if isinstance(kind, str) and kind.endswith("_tool_result") and kind != "mcp_tool_result":
        name = kind.removesuffix("_tool_result")
        return ServerResult(str(block.get("tool_use_id", "")), _unwrapped(block.get("content")), name)
    rest = {key: value for key, value in block.items() if key not in ("type", "cache_control")}
    return Opaque(str(kind), rest)


def plain(content: Any) -> Any:
    """A tool result's content: a list of one text is that text."""
    if isinstance(content, list) and len(content) == 1 and _has(content[0], "type", "text"):
        return content[0].get("text", "")
    return content


def message_from_wire(message: Any) -> Message | None:
    """One entry of `messages`; None for a system message, which is no part of the history."""
    if message["role"] == "system":
        return None
    content = message["content"]
    if isinstance(content, str):
        return Message(message["role"], (Text(content),) if content else ())
    return Message(message["role"], tuple(map(block_from_wire, content)))
