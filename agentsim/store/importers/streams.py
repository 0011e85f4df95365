"""Replies out of the events of a stream, in whatever state the stream was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentsim.core.messages import Block, Refusal, ServerCall, Text, ToolCall
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, reply_blocks, text_of
from agentsim.store.importers.said import ANTHROPIC, CHAT, RESPONSES, Said, error_of, said
from agentsim.wire.sse import Decoder

Event = dict[str, Any]


def events_of(data: bytes) -> list[Event]:
    """The JSON objects that a text of server-sent events carries; what is none is left out."""
    decoder = Decoder()
    found: list[Event] = []
    for event in [*decoder.feed(data), *decoder.close()]:
        try:
            value = json.loads(event.data)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value if "type" in value or not event.name else {"type": event.name, **value})
    return found


def wire_of_events(events: Sequence[Event]) -> str | None:
    """Whose stream it is."""
    for event in events[:20]:
        kind = text_of(event.get("type")) or ""
        if kind.startswith("response."):
            return RESPONSES
        if kind in ("message_start", "content_block_start", "message_delta"):
            return ANTHROPIC
        if isinstance(event.get("choices"), list) and event.get("object") != "text_completion":
            return CHAT
    return None


def said_in(events: Sequence[Event], wire: str) -> list[Said]:
    """The replies of a stream, mostly one; several where a file holds several streams one after the other."""
    return list({ANTHROPIC: _claude_stream, RESPONSES: _responses_stream, CHAT: _chat_stream}[wire](events))


def _claude_stream(events: Sequence[Event]) -> Iterator[Said]:
    stream: _ClaudeStream | None = None
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            message = as_dict(event.get("message"))
            if stream is None or (message.get("id") != stream.body.get("id") or stream.ended):
                if stream is not None:
                    yield stream.finish()
                stream = _ClaudeStream(message)
        elif stream is None and kind in ("content_block_start", "content_block_delta", "message_delta", "error"):
            stream = _ClaudeStream({})
            stream.take(event)
        elif stream is not None:
            stream.take(event)
    if stream is not None:
        yield stream.finish()


class _ClaudeStream:
    """A message in the making. Arguments are kept as the text that arrived."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.body = dict(message)
        self.usage = dict(as_dict(message.get("usage")))
        self.blocks: dict[Any, dict[str, Any]] = {}
        self.raw: dict[Any, list[str]] = {}
        self.open: set[Any] = set()
        self.error: Any = None
        self.ended = False

    def take(self, event: Event) -> None:
        kind, index = event.get("type"), event.get("index", 0)
        index = index if isinstance(index, int | str) else 0
        if kind == "content_block_start":
            self.blocks[index] = dict(as_dict(event.get("content_block")))
            self.raw.pop(index, None)
            self.open.add(index)
        elif kind == "content_block_delta":
            self._delta(index, as_dict(event.get("delta")))
        elif kind == "content_block_stop":
            self.open.discard(index)
        elif kind == "message_delta":
            self.body.update(as_dict(event.get("delta")))
            self.usage.update({k: v for k, v in as_dict(event.get("usage")).items() if v is not None})
        elif kind == "message_stop":
            self.ended = True
        elif kind == "error":
            self.error = event

    def _delta(self, index: Any, delta: dict[str, Any]) -> None:
        block = self.blocks.setdefault(index, {})
        kind = delta.get("type")
        for name, key in (("text_delta", "text"), ("thinking_delta", "thinking")):
            if kind == name:
                block.setdefault("type", key)
                block[key] = f"{text_of(block.get(key)) or ''}{text_of(delta.get(key)) or ''}"
        if kind == "signature_delta":
            block["signature"] = text_of(delta.get("signature")) or ""
        elif kind == "input_json_delta":
            self.raw.setdefault(index, []).append(text_of(delta.get("partial_json")) or "")
        elif kind == "compaction_delta":
            block.update({key: value for key, value in delta.items() if key != "type"})

    def finish(self) -> Said:
        blocks = [part for index, block in self.blocks.items() for part in self._parts(index, block)]
        answer = said({**self.body, "content": [], "usage": self.usage}, ANTHROPIC)
        if answer.blocks:  # a refusal with a category: its words are the last text
            refusal = answer.blocks[-1]
            words = blocks.pop() if blocks and isinstance(blocks[-1], Text) else Text("")
            blocks.append(
                Refusal(words.text, refusal.category)
                if isinstance(refusal, Refusal) and isinstance(words, Text)
                else refusal
            )
        answer.blocks = blocks
        if self.error is not None:
            error = error_of(self.error, 200)
            return answer.broken(error.type, error.message)
        if not self.ended and answer.raw is None and (self.open or not self.blocks):
            return answer.broken("", "", "end")
        return answer

    def _parts(self, index: Any, block: dict[str, Any]) -> Iterator[Block]:
        """A block; a call with the argument text that arrived."""
        text = "".join(self.raw.get(index, ()))
        for part in reply_blocks(claude_parts([block])):
            yield replace(part, arguments=text) if text and isinstance(part, ToolCall | ServerCall) else part


def _responses_stream(events: Sequence[Event]) -> Iterator[Said]:
    items: dict[Any, dict[str, Any]] = {}
    head: dict[str, Any] = {}
    error: Any = None
    whole: set[Any] = set()
    for event in events:
        kind = text_of(event.get("type")) or ""
        if kind == "response.output_item.done":
            whole.add(_index(event))
        if kind in ("response.completed", "response.incomplete", "response.failed", "response.cancelled"):
            body = {**head, **as_dict(event.get("response"))}
            if not as_list(body.get("output")) and items:
                body["output"] = list(items.values())
            yield said(body, RESPONSES)
            items, head, error = {}, {}, None
        elif kind in ("response.created", "response.queued", "response.in_progress"):
            head = {**head, **as_dict(event.get("response"))}
        elif kind == "error" or event.get("error"):
            error = event
        else:
            _responses_event(kind, event, items)
    if not (items or head or error):
        return
    answer = said({**head, "status": None, "output": list(items.values())}, RESPONSES)
    if error is not None:
        fault = error_of(error, 200)
        yield answer.broken(fault.type, fault.message)
    elif head.get("background") is True:
        answer.raw, answer.waiting = text_of(head.get("status")), True
        yield answer
    elif items and whole >= items.keys():  # only the end is missing, as where a file was shortened
        yield answer
    else:
        yield answer.broken("", "", "end")


def _index(event: Event) -> Any:
    index = event.get("output_index", 0)
    return index if isinstance(index, int | str) else 0


def _responses_event(kind: str, event: Event, items: dict[Any, dict[str, Any]]) -> None:
    index = _index(event)
    if kind in ("response.output_item.added", "response.output_item.done"):
        items[index] = dict(as_dict(event.get("item")))
        return
    item = items.get(index)
    delta = text_of(event.get("delta"))
    if item is None or delta is None:
        return
    if kind in ("response.output_text.delta", "response.refusal.delta"):
        key, name = ("text", "output_text") if "text" in kind else ("refusal", "refusal")
        parts = item["content"] = as_list(item.get("content"))
        if not parts:
            parts.append({"type": name, key: ""})
        parts[-1] = {**as_dict(parts[-1]), "type": name, key: f"{as_dict(parts[-1]).get(key) or ''}{delta}"}
    elif kind == "response.function_call_arguments.delta":
        item["arguments"] = f"{text_of(item.get('arguments')) or ''}{delta}"
    elif kind == "response.custom_tool_call_input.delta":
        item["input"] = f"{text_of(item.get('input')) or ''}{delta}"


def _chat_stream(events: Sequence[Event]) -> Iterator[Said]:
    stream: _ChatStream | None = None
    for event in events:
        identity = event.get("id")
        if stream is not None and stream.done and as_list(event.get("choices")) and identity != stream.id:
            yield stream.finish()
            stream = None
        if stream is None:
            if not as_list(event.get("choices")) and "error" not in event:
                continue
            stream = _ChatStream(identity)
        stream.take(event)
    if stream is not None:
        yield stream.finish()


class _ChatStream:
    """A completion in the making; only its first choice."""

    def __init__(self, identity: Any) -> None:
        self.id = identity
        self.text: list[str] = []
        self.refusal: list[str] = []
        self.thoughts: list[str] = []
        self.calls: dict[Any, dict[str, Any]] = {}
        self.old: dict[str, Any] = {}
        self.raw: str | None = None
        self.done = False
        self.usage: Any = None
        self.error: Any = None

    def take(self, event: Event) -> None:
        self.usage = event.get("usage") or self.usage
        if event.get("error"):
            self.error = event
        for choice in as_list(event.get("choices")):
            choice = as_dict(choice)
            if choice.get("index", 0) in (0, None):
                self._delta(as_dict(choice.get("delta")) or as_dict(choice.get("message")))
                if isinstance(choice.get("finish_reason"), str):
                    self.raw, self.done = choice["finish_reason"], True

    def _delta(self, delta: dict[str, Any]) -> None:
        for key, parts in (
            ("content", self.text),
            ("refusal", self.refusal),
            ("reasoning_content", self.thoughts),
            ("reasoning", self.thoughts),
        ):
            if isinstance(delta.get(key), str):
                parts.append(delta[key])
        for position, call in enumerate(as_list(delta.get("tool_calls"))):
            self._call(as_dict(call), position)
        if old := as_dict(delta.get("function_call")):
            self.old["name"] = self.old.get("name") or old.get("name")
            self.old["arguments"] = f"{self.old.get('arguments') or ''}{text_of(old.get('arguments')) or ''}"

    def _call(self, call: dict[str, Any], position: int) -> None:
        index = call.get("index")
        index = position if not isinstance(index, int | str) else index
        kept = self.calls.setdefault(index, {"id": None, "function": {"name": None, "arguments": ""}})
        function = as_dict(call.get("function")) or as_dict(call.get("custom"))
        fresh, name = text_of(call.get("id")), text_of(function.get("name"))
        if fresh and kept["id"] and fresh != kept["id"] and name:  # another call under the same index
            index = f"{index}/{fresh}"
            kept = self.calls.setdefault(index, {"id": None, "function": {"name": None, "arguments": ""}})
        kept["id"] = kept["id"] or fresh
        kept["function"]["name"] = kept["function"]["name"] or name
        more = function.get("arguments", function.get("input"))
        kept["function"]["arguments"] += more if isinstance(more, str) else json.dumps(more) if more is not None else ""

    def finish(self) -> Said:
        message = {
            "content": "".join(self.text) if self.text else None,
            "refusal": "".join(self.refusal),
            "reasoning": "".join(self.thoughts),
            "tool_calls": list(self.calls.values()),
            "function_call": self.old,
        }
        body = {"id": self.id, "usage": self.usage, "choices": [{"message": message, "finish_reason": self.raw}]}
        answer = said(body, CHAT)
        if self.error is not None:
            fault = error_of(self.error, 200)
            return answer.broken(fault.type, fault.message)
        return answer
