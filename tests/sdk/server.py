"""A scripted fake model server: three wires, streamed and not, in the standard library alone.

It exists to drive real SDKs, so it is lenient: it records what it is sent and never refuses a
request. What it answers is decided by a script that is posted to ``/control/KEY``.

A call with ``caller: true`` gets the optional ``caller`` field that newer Claude models send: some
SDKs write such a call back in another way.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import broken

Json = dict[str, Any]
Event = tuple[str | None, Json]

CHUNK = 6
OPERATIONS = {
    "messages": "anthropic-messages",
    "responses": "openai-responses",
    "chat/completions": "openai-chat",
}


# --- scripts -------------------------------------------------------------------------------------


def blocks_of(reply: Json) -> list[Json]:
    """Bring the short keys of a reply into one ordered list of blocks."""
    if reply.get("empty"):
        return []
    if "content" in reply:
        return [_block(entry) for entry in reply["content"]]
    blocks: list[Json] = []
    if "thinking" in reply:
        blocks.append({"t": "thinking", "thinking": reply["thinking"], "signature": "sig"})
    if "text" in reply:
        blocks.append({"t": "text", "text": reply["text"]})
    for call in reply.get("server_calls", []):
        blocks.append({"t": "server_call", **call})
        if "result" in call:
            blocks.append({"t": "server_result", "name": call["name"], "content": call["result"]})
    blocks += [{"t": "call", **call} for call in reply.get("calls", [])]
    return blocks


def _block(entry: Json) -> Json:
    """One entry of a reply's general ``content`` list."""
    if "call" in entry:
        return {"t": "call", **entry["call"]}
    if "server_call" in entry:
        return {"t": "server_call", **entry["server_call"]}
    if "server_result" in entry:
        return {"t": "server_result", **entry["server_result"]}
    if "thinking" in entry:
        thinking = entry["thinking"]
        return {"t": "thinking", "thinking": thinking, "signature": entry.get("signature", "sig")}
    if "refusal" in entry:
        return {"t": "refusal", "text": entry["refusal"]}
    return {"t": "text", "text": entry["text"]}


def with_offered_names(blocks: list[Json], body: Json) -> list[Json]:
    """Scripts say `lookup`; an MCP host offers it as `mcp__SERVER__lookup` and wants that name."""
    offered = [str(tool.get("name", "")) for tool in body.get("tools") or []]
    named = []
    for block in blocks:
        full = [name for name in offered if name.endswith(f"__{block.get('name')}")]
        known = block["t"] != "call" or block["name"] in offered or len(full) != 1
        named.append(block if known else {**block, "name": full[0]})
    return named


def short_name(name: str) -> str:
    """A tool's name without the MCP server that it comes from."""
    return name.split("__", 2)[2] if name.startswith("mcp__") and name.count("__") > 1 else name


def stop_of(reply: Json, blocks: list[Json]) -> str | None:
    """The stop reason in the names of the Claude API; ``{"raw": word}`` is that word."""
    if "stop" in reply:
        stop = reply["stop"]
        return stop["raw"] if isinstance(stop, dict) else stop
    if any(block["t"] == "refusal" for block in blocks):
        return "refusal"
    return "tool_use" if any(block["t"] == "call" for block in blocks) else "end_turn"


def raw_arguments(block: Json) -> str:
    """The argument string as the model wrote it."""
    return block["raw"] if "raw" in block else json.dumps(block.get("args", {}))


def object_arguments(block: Json) -> Json:
    """The arguments as an object, for places that can't hold a broken string."""
    try:
        value = json.loads(raw_arguments(block))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def pieces(text: str) -> list[str]:
    """Cut a text into the fragments of its deltas."""
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


# --- sessions ------------------------------------------------------------------------------------


class Session:
    """One script, what was asked of it, and the counters that keep its ids unique."""

    def __init__(self, script: Json) -> None:
        self.replies: list[Json] = script["replies"]
        self.repeat = script.get("then") == "repeat"
        self.max_requests = int(script.get("max_requests") or 40)
        self.requests: list[Json] = []
        self.served = 0
        self.unbounded = False
        self.out_of_script = False
        self.counters: dict[str, int] = {}
        self.memory: dict[str, list[Any]] = {}
        self.items: dict[str, Json] = {}

    def next_id(self, prefix: str) -> str:
        """Count ids, so that the same run gives the same bytes."""
        self.counters[prefix] = self.counters.get(prefix, 0) + 1
        return f"{prefix}_{self.counters[prefix]}"

    def next_reply(self) -> Json:
        """The reply that stands next, or one that ends a run that is longer than its script."""
        if len(self.requests) > self.max_requests:
            self.unbounded = True
            return {"text": "stopped by the rig"}
        index = self.served
        if index >= len(self.replies):
            if not self.repeat:
                self.out_of_script = True
                return {"text": "out of script"}
            index = len(self.replies) - 1
        self.served += 1
        return self.replies[index]

    def named(self, reply: Json) -> list[Json]:
        """The blocks of a reply with every id given."""
        blocks = [dict(block) for block in blocks_of(reply)]
        last_server_id = ""
        for block in blocks:
            if block["t"] == "call":
                block.setdefault("id", self.next_id("call"))
            elif block["t"] == "server_call":
                block.setdefault("id", self.next_id("srvtoolu"))
                last_server_id = block["id"]
            elif block["t"] == "server_result":
                block.setdefault("for", last_server_id)
        return blocks

    def report(self) -> Json:
        """What ``GET /control/KEY`` answers."""
        return {
            "requests": self.requests,
            "served": self.served,
            "unbounded": self.unbounded,
            "out_of_script": self.out_of_script,
        }


# --- neutral view of requests ----------------------------------------------------------------------


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


# --- Claude Messages -------------------------------------------------------------------------------


def claude_message(session: Session, body: Json, blocks: list[Json], stop: str | None) -> Json:
    """The full reply of the Messages API."""
    details = {"type": "refusal", "category": None, "explanation": None}
    return {
        "id": session.next_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "claude-sonnet-5"),
        "container": None,
        "content": [_claude_content(block) for block in blocks],
        "stop_reason": stop,
        "stop_sequence": "STOP" if stop == "stop_sequence" else None,
        "stop_details": details if stop == "refusal" else None,
        "diagnostics": None,
        "usage": _claude_usage(5),
    }


def _claude_usage(output_tokens: int) -> Json:
    return {
        "input_tokens": 10,
        "output_tokens": output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "global",
        "speed": "standard",
    }


def _claude_content(block: Json) -> Json:
    kind = block["t"]
    if kind in ("text", "refusal"):
        # No null `citations`: the AI SDK's schema refuses what the official SDK accepts.
        return {"type": "text", "text": block["text"]}
    if kind == "thinking":
        signature = block["signature"]
        return {"type": "thinking", "thinking": block["thinking"], "signature": signature}
    if kind == "server_result":
        name = block["name"]
        return {
            "type": f"{name}_tool_result",
            "tool_use_id": block["for"],
            "content": block["content"],
        }
    call = {"id": block["id"], "name": block["name"], "input": object_arguments(block)}
    if kind == "server_call":
        return {"type": "server_tool_use", **call}
    caller = {"caller": {"type": "direct"}} if block.get("caller") else {}
    return {"type": "tool_use", **call, **caller}


def claude_events(message: Json, blocks: list[Json]) -> Iterator[Event]:
    """The same reply as the events of a stream."""
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    start |= {"stop_details": None, "usage": _claude_usage(1)}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(blocks):
        shell, deltas = _claude_deltas(message["content"][index], block)
        opening = {"type": "content_block_start", "index": index, "content_block": shell}
        yield "content_block_start", opening
        if index == 0:
            yield "ping", {"type": "ping"}
        for delta in deltas:
            name = "content_block_delta"
            yield name, {"type": name, "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    delta["container"] = None
    usage = {"input_tokens": 10, "output_tokens": 5}
    usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def _claude_deltas(content: Json, block: Json) -> tuple[Json, list[Json]]:
    """The empty shell that opens a block, and the deltas that fill it."""
    kind = content["type"]
    if kind == "text":
        texts = [{"type": "text_delta", "text": piece} for piece in pieces(content["text"])]
        return {**content, "text": ""}, texts
    if kind == "thinking":
        thoughts = pieces(content["thinking"])
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
        deltas.append({"type": "signature_delta", "signature": content["signature"]})
        return {**content, "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use"):
        fragments = ["", *pieces(raw_arguments(block))]
        return {**content, "input": {}}, [
            {"type": "input_json_delta", "partial_json": fragment} for fragment in fragments
        ]
    return content, []


# --- OpenAI Responses --------------------------------------------------------------------------------


def responses_object(session: Session, body: Json, blocks: list[Json], stop: str | None) -> Json:
    """The full reply of the Responses API."""
    status, reason = _responses_status(stop)
    return {
        "id": session.next_id("resp"),
        "object": "response",
        "created_at": 1700000000,
        "completed_at": 1700000001,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": None,
        "model": body.get("model", "gpt-6-astra"),
        "output": _responses_output(session, blocks, stop),
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        },
        "metadata": {},
    }


def _responses_status(stop: str | None) -> tuple[str | None, str | None]:
    """Status and the reason of an incomplete reply; a word of no wire is such a reason."""
    if stop is None:
        return None, None
    if stop in ("max_tokens", "model_context_window_exceeded"):
        return "incomplete", "max_output_tokens"
    known = ("end_turn", "tool_use", "stop_sequence", "refusal", "pause_turn", "compaction")
    return ("completed", None) if stop in known else ("incomplete", stop)


def _responses_output(session: Session, blocks: list[Json], stop: str | None) -> list[Json]:
    items: list[Json] = []
    if any(block["t"] == "refusal" for block in blocks):
        stop = None if stop == "refusal" else stop  # texts beside a refusal are texts
    for index, block in enumerate(blocks):
        is_last = index == len(blocks) - 1
        cut = is_last and stop in ("max_tokens", "model_context_window_exceeded")
        item = _responses_item(session, block, stop, "incomplete" if cut else "completed")
        if item:
            items.append(item)
    return items


def _responses_item(session: Session, block: Json, stop: str | None, status: str) -> Json | None:
    kind = block["t"]
    if kind in ("text", "refusal"):
        refused = kind == "refusal" or stop == "refusal"
        part = {"type": "refusal", "refusal": block["text"]}
        if not refused:
            part = {"type": "output_text", "text": block["text"], "annotations": []}
            part["logprobs"] = []
        item = {"id": session.next_id("msg"), "type": "message", "status": status}
        return {**item, "role": "assistant", "content": [part]}
    if kind == "call":
        item = {"id": session.next_id("fc"), "type": "function_call", "status": status}
        item |= {"call_id": block["id"], "name": block["name"]}
        return {**item, "arguments": raw_arguments(block)}
    if kind == "thinking":
        summary = [{"type": "summary_text", "text": block["thinking"]}]
        item = {"id": session.next_id("rs"), "type": "reasoning", "summary": summary}
        return {**item, "encrypted_content": block["signature"]}
    if kind == "server_call":
        action = {"type": "search", **object_arguments(block)}
        item = {"id": session.next_id("ws"), "type": "web_search_call", "status": "completed"}
        return {**item, "action": action}
    return None


def responses_events(response: Json) -> Iterator[Event]:
    """The same reply as the events of a stream, numbered from 0."""
    for number, event in enumerate(_responses_sequence(response)):
        yield event["type"], {**event, "sequence_number": number}


def _responses_sequence(response: Json) -> Iterator[Json]:
    early = {**response, "status": "in_progress", "output": [], "usage": None}
    early |= {"completed_at": None, "incomplete_details": None}
    yield {"type": "response.created", "response": early}
    yield {"type": "response.in_progress", "response": early}
    for index, item in enumerate(response["output"]):
        opened = dict(item)
        if "status" in item:
            opened["status"] = "in_progress"
        for key, empty in (("content", []), ("arguments", ""), ("summary", [])):
            if key in item:
                opened[key] = empty
        added = {"type": "response.output_item.added", "output_index": index}
        yield {**added, "item": opened}
        yield from _responses_deltas(item, {"item_id": item["id"], "output_index": index})
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ending = "incomplete" if response["status"] == "incomplete" else "completed"
    yield {"type": f"response.{ending}", "response": response}


def _responses_deltas(item: Json, where: Json) -> Iterator[Json]:
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        for piece in pieces(item["arguments"]):
            yield {"type": f"{name}.delta", **where, "delta": piece}
        yield {"type": f"{name}.done", **where, "arguments": item["arguments"]}
    elif item["type"] == "reasoning":
        yield from _reasoning_deltas(item, where)
    elif item["type"] == "message":
        yield from _message_deltas(item["content"][0], {**where, "content_index": 0})
    else:
        for state in ("in_progress", "searching", "completed"):
            yield {"type": f"response.web_search_call.{state}", **where}


def _reasoning_deltas(item: Json, where: Json) -> Iterator[Json]:
    name = "response.reasoning_summary"
    where = {**where, "summary_index": 0}
    text = item["summary"][0]["text"]
    empty = {"type": "summary_text", "text": ""}
    yield {"type": f"{name}_part.added", **where, "part": empty}
    for piece in pieces(text):
        yield {"type": f"{name}_text.delta", **where, "delta": piece}
    yield {"type": f"{name}_text.done", **where, "text": text}
    yield {"type": f"{name}_part.done", **where, "part": item["summary"][0]}


def _message_deltas(part: Json, where: Json) -> Iterator[Json]:
    key = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if key == "refusal" else "response.output_text"
    extra = {} if key == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **where, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield {"type": f"{name}.delta", **where, "delta": piece, **extra}
    yield {"type": f"{name}.done", **where, key: part[key], **extra}
    yield {"type": "response.content_part.done", **where, "part": part}


# --- OpenAI Chat Completions ---------------------------------------------------------------------------


def chat_completion(session: Session, body: Json, blocks: list[Json], stop: str | None) -> Json:
    """The full reply of Chat Completions, which has neither thinking nor server tools."""
    texts = [block["text"] for block in blocks if block["t"] == "text"]
    refusals = [block["text"] for block in blocks if block["t"] == "refusal"]
    if stop == "refusal" and not refusals:
        texts, refusals = [], texts
    message: Json = {"role": "assistant", "content": "".join(texts) if texts else None}
    message |= {"refusal": "".join(refusals) if refusals else None, "annotations": []}
    calls = [_chat_call(block) for block in blocks if block["t"] == "call"]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "finish_reason": _chat_reason(stop), "logprobs": None}
    return {
        "id": session.next_id("chatcmpl"),
        "object": "chat.completion",
        "created": 1700000000,
        "model": body.get("model", "gpt-6-astra"),
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{**choice, "message": message}],
        "usage": _chat_usage(),
    }


def _chat_usage() -> Json:
    details = {"reasoning_tokens": 0, "audio_tokens": 0}
    details |= {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
    return {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": details,
    }


def _chat_call(block: Json) -> Json:
    function = {"name": block["name"], "arguments": raw_arguments(block)}
    return {"id": block["id"], "type": "function", "function": function}


def _chat_reason(stop: str | None) -> str | None:
    names = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "refusal": "stop",
        "pause_turn": "stop",
        "compaction": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }
    return names.get(stop, stop) if stop is not None else None


def chat_events(completion: Json, body: Json) -> Iterator[Event]:
    """The same reply as unnamed chunks; usage comes last where it was asked for."""
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    shared = {key: completion[key] for key in ("id", "created", "model", "service_tier")}
    shared |= {"object": "chat.completion.chunk", "system_fingerprint": None}
    if wants_usage:
        shared["usage"] = None
    choice = completion["choices"][0]
    for delta in _chat_deltas(choice["message"]):
        yield None, {**shared, "choices": [_chat_choice(delta, None)]}
    yield None, {**shared, "choices": [_chat_choice({}, choice["finish_reason"])]}
    if wants_usage:
        yield None, {**shared, "choices": [], "usage": completion["usage"]}


def _chat_choice(delta: Json, reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _chat_deltas(message: Json) -> Iterator[Json]:
    content = message["content"]
    first = "" if content is not None else None
    yield {"role": "assistant", "content": first, "refusal": None}
    for piece in pieces(content or ""):
        yield {"content": piece}
    for piece in pieces(message["refusal"] or ""):
        yield {"refusal": piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **call, "function": function}]}
        for piece in pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


# --- the HTTP side -----------------------------------------------------------------------------------


class Answer:
    """A response: either a JSON body or a list of server-sent events."""

    def __init__(
        self,
        body: Json | None = None,
        *,
        status: int = 200,
        events: list[Event] | None = None,
        done: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.events = events
        self.done = done
        self.headers = headers or {}
        self.reset: str | None = None  # "before" the headers, or "after" what there is of the body

    def break_off(self, wire: str, how: Json) -> None:
        """Let a stream end early; a reply that is not streamed can only be missing."""
        if "after" not in how:
            self.reset = "before"
        if "after" not in how or self.events is None:
            return
        self.events = broken.cut(wire, self.events, how["after"])
        self.done = False
        if how["how"] == "error":
            kind, message = how.get("type", "overloaded_error"), how.get("message", "Overloaded")
            self.events.append(broken.error_event(wire, kind, message))
        if how["how"] == "reset":
            self.reset = "after"

    def encode(self) -> bytes:
        """The bytes of the whole response, length included, so connections stay open."""
        if self.events is None:
            payload = json.dumps(self.body or {}).encode()
            kind = "application/json"
        else:
            frames = [_frame(name, data) for name, data in self.events]
            payload = "".join([*frames, "data: [DONE]\n\n" if self.done else ""]).encode()
            kind = "text/event-stream; charset=utf-8"
        length = len(payload) + (1000 if self.reset else 0)
        headers = {"content-type": kind, "content-length": str(length), **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Scripted\r\n{lines}\r\n".encode() + payload


def _frame(name: str | None, data: Json) -> str:
    opening = f"event: {name}\n" if name else ""
    return f"{opening}data: {json.dumps(data)}\n\n"


def wire_of(path: str) -> str | None:
    """The wire that a path below ``/s/KEY`` speaks, with any number of ``/v1`` before it."""
    rest = path.strip("/")
    while rest.startswith("v1/"):
        rest = rest[3:]
    return OPERATIONS.get(rest)


class Rig:
    """All sessions of one server."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}

    def handle(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Answer:
        """Answer one HTTP request."""
        path = urlsplit(target).path
        if path.startswith("/control/"):
            return self._control(method, path.removeprefix("/control/"), raw)
        key, rest = self._route(path, headers)
        session = self.sessions.get(key)
        if session is None:
            return _failure(None, 404, "not_found_error", f"no session for {path}")
        if rest.endswith("/count_tokens"):
            return Answer({"input_tokens": 10})
        wire = wire_of(rest)
        if wire is None or method != "POST":
            return _failure(None, 404, "not_found_error", f"no such operation: {method} {rest}")
        return self._model(session, wire, path, json.loads(raw))

    def _route(self, path: str, headers: dict[str, str]) -> tuple[str, str]:
        """Session key and the rest of the path: by prefix, else by API key."""
        if path.startswith("/s/"):
            key, _, rest = path[3:].partition("/")
            return key, f"/{rest}"
        secret = headers.get("x-api-key") or headers.get("authorization", "")
        return secret.removeprefix("Bearer ").removeprefix("sim-"), path

    def _control(self, method: str, key: str, raw: bytes) -> Answer:
        if method == "POST":
            self.sessions[key] = Session(json.loads(raw))
            return Answer({"ok": True})
        if key not in self.sessions:
            return Answer({"error": "no such session"}, status=404)
        return Answer(self.sessions[key].report())

    def _model(self, session: Session, wire: str, path: str, body: Json) -> Answer:
        items = history(session, wire, body)
        view = neutral(wire, items)
        record: Json = {"path": path, "body": body, "streamed": bool(body.get("stream"))}
        record |= {"faulted": False, "messages": [message["short"] for message in view]}
        record |= {"full": [message["full"] for message in view], "calls": []}
        session.requests.append(record)
        reply = session.next_reply()
        if "http_error" in reply:
            record["faulted"] = True
            error = reply["http_error"]
            failure = _failure(
                wire, error["status"], error.get("type", ""), error.get("message", "")
            )
            if "retry_after" in error:
                failure.headers["retry-after"] = str(error["retry_after"])
            return failure
        blocks = session.named(reply)
        record["calls"] = [
            {"id": block["id"], "name": block["name"], "args": object_arguments(block)}
            for block in blocks
            if block["t"] == "call"
        ]
        if wire == "anthropic-messages":
            blocks = with_offered_names(blocks, body)
        answer = _reply(session, wire, body, items, blocks, stop_of(reply, blocks))
        if "broken" in reply:
            answer.break_off(wire, reply["broken"])
            record["faulted"] = answer.reset == "before"
        return answer


def _failure(wire: str | None, status: int, kind: str, message: str) -> Answer:
    """A scripted HTTP error; it asks for a retry at once, so that back-off costs no time."""
    body: Json = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    headers = {"retry-after-ms": "1", "x-request-id": "req_1", "request-id": "req_1"}
    if wire in (None, "anthropic-messages"):
        error = {"type": kind, "message": message}
        body = {"type": "error", "error": error, "request_id": "req_1"}
    return Answer(body, status=status, headers=headers)


def _reply(
    session: Session,
    wire: str,
    body: Json,
    items: list[Any],
    blocks: list[Json],
    stop: str | None,
) -> Answer:
    """Write a reply on its wire and remember it for threads."""
    streamed = bool(body.get("stream"))
    headers = {"request-id": "req_1", "x-request-id": "req_1"}
    if wire == "anthropic-messages":
        message = claude_message(session, body, blocks, stop)
        said = {"role": "assistant", "content": message["content"]}
        session.memory[message["id"]] = [*items, said]
        events = list(claude_events(message, blocks)) if streamed else None
        return Answer(message, events=events, headers=headers)
    if wire == "openai-responses":
        response = responses_object(session, body, blocks, stop)
        session.memory[response["id"]] = [*items, *response["output"]]
        session.items |= {item["id"]: item for item in response["output"]}
        events = list(responses_events(response)) if streamed else None
        return Answer(response, events=events, headers=headers)
    completion = chat_completion(session, body, blocks, stop)
    events = list(chat_events(completion, body)) if streamed else None
    return Answer(completion, events=events, done=True, headers=headers)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


async def _reset(writer: asyncio.StreamWriter, payload: bytes) -> None:
    """Send what there is and break the connection, late enough for the client to have read it."""
    writer.write(payload)
    await writer.drain()
    await asyncio.sleep(0.05)
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


def connection(rig: Rig) -> Callable[..., Awaitable[None]]:
    """The handler of one keep-alive connection."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while request := await reader.readline():
                method, target, _ = request.decode("latin-1").split(" ", 2)
                headers: dict[str, str] = {}
                while (line := await reader.readline()).strip():
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
                raw = await _body(reader, headers)
                try:
                    answer = rig.handle(method, target, headers, raw)
                except Exception as error:  # a rig that dies would hang the SDK under test
                    print(f"rig: {method} {target}: {error!r}", file=sys.stderr)
                    answer = _failure(None, 418, "rig_error", repr(error))
                payload = answer.encode()
                if method == "HEAD":
                    payload = payload.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                if answer.reset:
                    await _reset(writer, payload if answer.reset == "after" else b"")
                    return
                writer.write(payload)
                await writer.drain()
        writer.close()

    return talk


def start(port: int = 0) -> int:
    """Serve from a daemon thread and give back the port."""
    ready: list[int] = []
    signal = threading.Event()

    async def serve() -> None:
        server = await asyncio.start_server(
            connection(Rig()), "127.0.0.1", port, limit=2**26, backlog=200
        )
        ready.append(server.sockets[0].getsockname()[1])
        signal.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    signal.wait()
    return ready[0]


if __name__ == "__main__":
    print(start(int(sys.argv[1]) if len(sys.argv) > 1 else 0), flush=True)
    threading.Event().wait()
