"""AI SDK streams: the UI message stream (server-sent events, or their JSON), and version 4's data stream (`0:"text"`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentsim.core.messages import Block, ServerCall, ServerResult, Text, Thinking, ToolCall, ToolResult
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers import Importer
from agentsim.store.importers.ai_sdk import ai_sdk_usage, finish_reason
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.streams import events_of
from agentsim.store.recording import STOP_REASONS, Recording

_QUIET = (
    "start",
    "finish",
    "text-start",
    "text-end",
    "reasoning-start",
    "reasoning-end",
    "message-metadata",
    "tool-input-start",
)


class _Stream:
    """A message in the making; its replies are told apart by steps."""

    def __init__(self, source: Source) -> None:
        self.source, self.builder = source, ConversationBuilder()
        self.blocks: list[Block] = []
        self.results: list[ToolResult] = []
        self.inputs: dict[str, str] = {}
        self.place = 0
        self.raw: str | None = None
        self.usage: Any = None
        self.begun = False

    def take(self, chunk: dict[str, Any], place: int) -> None:
        kind = text_of(chunk.get("type")) or ""
        identity = text_of(chunk.get("toolCallId")) or ""
        if kind == "start-step":
            self.close()
            self.begun, self.place = True, place
        elif kind == "finish-step":
            self.raw = finish_reason(chunk.get("finishReason")) or self.raw
            self.usage = chunk.get("usage")
        elif kind == "text-delta":
            self._text(Text, text_of(chunk.get("delta")) or text_of(chunk.get("text")) or "", place)
        elif kind == "reasoning-delta":
            self._text(Thinking, text_of(chunk.get("delta")) or text_of(chunk.get("text")) or "", place)
        elif kind == "tool-input-delta":
            self.inputs[identity] = self.inputs.get(identity, "") + (text_of(chunk.get("inputTextDelta")) or "")
        elif kind in ("tool-input-available", "tool-input-error", "tool-call"):
            self._call(chunk, identity, place)
        elif kind in ("tool-output-available", "tool-output-error", "tool-output-denied", "tool-result"):
            self._result(chunk, identity, kind)
        elif kind == "tool-approval-request":
            self.builder.pending.add(identity)
        elif kind in ("error", "abort"):
            self.source.skip(
                f"{kind}: {text_of(chunk.get('errorText')) or text_of(chunk.get('reason')) or ''}"[:120].rstrip(": ")
            )
        elif kind == "finish" and self.raw is None:
            self.raw = finish_reason(chunk.get("finishReason"))
        elif kind not in _QUIET:
            self.source.skip(f"chunk of type {kind or 'none'}")

    def _begin(self, place: int) -> None:
        if self.results:  # a stream without steps
            self.close()
        if not self.begun:
            self.begun, self.place = True, place

    def _text(self, kind: type[Text] | type[Thinking], words: str, place: int) -> None:
        self._begin(place)
        last = self.blocks[-1] if self.blocks else None
        if isinstance(last, Text) and kind is Text:
            self.blocks[-1] = Text(last.text + words)
        elif isinstance(last, Thinking) and kind is Thinking:
            self.blocks[-1] = Thinking(last.thinking + words)
        else:
            self.blocks.append(kind(words))

    def _call(self, chunk: dict[str, Any], identity: str, place: int) -> None:
        self._begin(place)
        given = chunk.get("input", chunk.get("args"))
        arguments = self.inputs.pop(identity, "") or arguments_text(given)
        if chunk.get("type") == "tool-input-error" and isinstance(given, str):
            arguments = given
        make = ServerCall if chunk.get("providerExecuted") is True else ToolCall
        self.blocks.append(make(identity, text_of(chunk.get("toolName")) or "", arguments))
        if chunk.get("type") == "tool-input-error":
            self.results.append(ToolResult(identity, text_of(chunk.get("errorText")) or "", True))

    def _result(self, chunk: dict[str, Any], identity: str, kind: str) -> None:
        output = chunk.get("output", chunk.get("result", chunk.get("errorText")))
        if chunk.get("providerExecuted") is True:
            self.blocks.append(ServerResult(identity, output))
            return
        known = {b.id for b in self.blocks if isinstance(b, ToolCall)} | {b.id for b in self.builder.last_calls}
        if identity not in known:  # LangGraph's adapter never says that a call was made
            self.source.skip("result of a call that the stream does not show")
            return
        if all(result.call_id != identity for result in self.results) and chunk.get("preliminary") is not True:
            self.results.append(
                ToolResult(
                    identity, "" if output is None else output, kind not in ("tool-output-available", "tool-result")
                )
            )

    def close(self) -> None:
        if self.begun:
            self.builder.reply(self.blocks, self.raw, self.place, usage=ai_sdk_usage(self.usage))
        self.builder.say(*self.results)
        self.blocks, self.results, self.raw, self.usage, self.begun = [], [], None, None, False


def _recording(chunks: Iterable[tuple[int, Any]], source: Source, name: str) -> Recording:
    stream = _Stream(source)
    for place, chunk in chunks:
        stream.take(as_dict(chunk), place)
    stream.close()
    conversation = stream.builder.conversation()
    missing = any(origin.raw is None for origin in conversation.origins)
    return Recording(name, (conversation,), {}, ("the prompt is not recorded",), (STOP_REASONS,) if missing else ())


def _read_ui(source: Source, shape: Shape) -> Recording:
    if shape.kind == "events":
        return _recording(enumerate(events_of(source.whole()), 1), source, UI.name)
    return _recording(source.records() if shape.kind == "lines" else enumerate(shape.value, 1), source, UI.name)


def _fits_ui(value: Any) -> bool:
    kinds = [as_dict(v).get("type") for v in as_list(value)]
    telling = {"start-step", "finish-step", "text-delta", "tool-input-available", "tool-output-available"}
    return bool(telling & set(filter(None, (k for k in kinds if isinstance(k, str)))))


# -- version 4's data stream ----------------------------------------------------------------------------------------------

_CODES = {"9": "tool-call", "a": "tool-result", "f": "start-step", "e": "finish-step", "d": "finish"}
_TEXTS = {"0": ("text-delta", "delta"), "g": ("reasoning-delta", "delta"), "3": ("error", "errorText")}


def _chunk(code: str, value: Any) -> dict[str, Any] | None:
    """A part of the data stream as the chunk that it became in version 5."""
    if code in _TEXTS:
        kind, key = _TEXTS[code]
        return {"type": kind, key: value}
    return {**as_dict(value), "type": _CODES[code]} if code in _CODES else None


def _read_data(source: Source, shape: Shape) -> Recording:
    chunks = []
    for number, line in source.lines():
        code, _, text = line.decode("utf-8", "replace").partition(":")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            source.skip_line(number, error)
            continue
        chunk = _chunk(code, value)
        if chunk is not None:
            chunks.append((number, chunk))
        else:
            source.skip(f"part of type {code[:20]!r}")
    return _recording(chunks, source, DATA.name)


def _fits_data(value: Any) -> bool:
    lines = [line for line in str(value or "").splitlines() if line][:20]
    return len(lines) > 1 and all(line[:1] in "0123456789abcdefghijk" and line[1:2] == ":" for line in lines)


UI = Importer("aisdk-ui-stream", "AI SDK UI message streams", ("events", "lines", "document"), _fits_ui, _read_ui)
DATA = Importer("aisdk-data-stream", "AI SDK data streams", ("text",), _fits_data, _read_data)
