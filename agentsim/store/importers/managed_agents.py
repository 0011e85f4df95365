"""Event logs of Claude's managed agents: `[method, payload]` pairs, one a line or in a list.

Custom tools run at the client (`agent.custom_tool_use`, `user.custom_tool_result`), others at the provider. A model request
is a span; an idle session says why it waits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import Block, ServerCall, Text, Thinking, ToolCall, Usage
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, text_of, usage
from agentsim.store.importers.claude_messages import declared_tools
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording

_PREFIXES = ("agent.", "user.", "span.", "session.")
_TELLING = (
    "agent.message",
    "agent.custom_tool_use",
    "agent.tool_use",
    "agent.mcp_tool_use",
    "span.model_request",
    "session.status_",
)


def _event(value: Any) -> dict[str, Any]:
    """The event of an entry, or {}."""
    if isinstance(value, list):
        value = next((v for v in value if isinstance(v, dict)), None)
    value = as_dict(value)
    for key in ("event", "data", "payload"):
        if isinstance(value.get(key), dict) and "type" not in value:
            value = value[key]
    return value if str(value.get("type", "")).startswith(_PREFIXES) else {}


def _listed(value: Any) -> list[Any]:
    """The events that an entry of the log sends: `[method, [session, {events: […]}]]`."""
    if isinstance(value, list):
        return [event for inner in value for event in _listed(inner)]
    return as_list(as_dict(value).get("events"))


def _events(source: Source, shape: Shape) -> Iterator[dict[str, Any]]:
    """Every event once: what a client sends comes back in the stream, with an id."""
    values = [value for _, value in source.records()] if shape.kind == "lines" else shape.value
    found = [event for value in values for entry in (_listed(value) or [value]) if (event := _event(entry))]
    echoed = any(event.get("id") for event in found if str(event["type"]).startswith("user."))
    seen = set()
    for event in found:
        identity = text_of(event.get("id"))
        if identity in seen or (identity is None and echoed):
            continue
        seen.add(identity)
        if identity is None:
            seen.discard(None)
        yield event


def _agent(values: list[Any]) -> dict[str, Any]:
    """The agent that a session was made with."""
    for value in values:
        for inner in value if isinstance(value, list) else [value]:
            if agent := as_dict(as_dict(inner).get("agent")):
                return agent
    return {}


class _Session:
    def __init__(self, source: Source) -> None:
        self.source, self.builder = source, ConversationBuilder()
        self.blocks: list[Block] = []
        self.usage: Usage | None = None
        self.place = 0
        self.spans = False

    def take(self, event: dict[str, Any], place: int) -> None:
        kind = str(event["type"])
        if kind == "user.message":
            self.close()
            self.builder.say(*claude_parts(event.get("content")))
        elif kind in ("user.custom_tool_result", "user.tool_result"):
            self.close()
            call_id = text_of(event.get("custom_tool_use_id")) or text_of(event.get("tool_use_id")) or ""
            content = claude_parts(event.get("content"))
            output = content[0].text if len(content) == 1 and isinstance(content[0], Text) else event.get("content")
            self.builder.result(call_id, "" if output is None else output, event.get("is_error") is True)
        elif kind == "span.model_request_start":
            self.close()
            self.spans = True
        elif kind == "span.model_request_end":
            self.usage = usage(event.get("model_usage") or event.get("usage"))
        elif kind == "session.status_idle":
            self.close()
        elif blocks := _blocks(kind, event):
            self.place = self.place or place
            self.blocks += blocks
        else:
            self.source.skip(f"event {kind}")

    def close(self) -> None:
        if self.blocks:
            self.builder.reply(self.blocks, None, self.place, usage=self.usage)
        self.blocks, self.usage, self.place = [], None, 0


def _blocks(kind: str, event: dict[str, Any]) -> list[Block]:
    name, identity = text_of(event.get("name")) or "", text_of(event.get("id")) or ""
    if kind == "agent.message":
        return [part for part in claude_parts(event.get("content")) if isinstance(part, Text)]
    if kind == "agent.thinking":
        return [Thinking(text_of(event.get("thinking")) or "")]
    if kind == "agent.custom_tool_use":
        return [ToolCall(identity, name, json.dumps(event.get("input") or {}))]
    if kind in ("agent.tool_use", "agent.mcp_tool_use"):
        return [ServerCall(identity, name, json.dumps(event.get("input") or {}))]
    return []


def _read(source: Source, shape: Shape) -> Recording:
    session = _Session(source)
    agent = _agent([value for _, value in source.records()] if shape.kind == "lines" else shape.value)
    session.builder.system = text_of(agent.get("system"))
    tools = [tool for tool in as_list(agent.get("tools")) if as_dict(tool).get("type") == "custom"]
    session.builder.declared = declared_tools(tools)
    for place, event in enumerate(_events(source, shape), 1):
        session.take(event, place)
    session.close()
    notes = (
        ()
        if session.spans
        else ("model requests are not marked; replies are inferred from what stands between results",)
    )
    return Recording(IMPORTER.name, (session.builder.conversation(),), {}, notes, (STOP_REASONS,))


def _fits(value: Any) -> bool:
    events = [_event(entry) for v in as_list(value) for entry in (_listed(v) or [v])]
    return any(str(event.get("type", "")).startswith(_TELLING) for event in events)


IMPORTER = Importer("claude-managed-agents", "Claude managed agents' events", ("lines", "document"), _fits, _read)
