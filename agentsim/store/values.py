"""Core values as JSON data and back: what transcripts are stored as, and what `--requests full` shows."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Block, Message, Reply, ToolResult, Usage
from agentsim.errors import TranscriptError

_BLOCKS: dict[str, type] = {cls.__name__: cls for cls in (*get_args(Block), ToolResult)}
_NAMES = {
    "Text": "text", "Thinking": "thinking", "RedactedThinking": "redacted_thinking", "ToolCall": "tool_use",
    "ServerCall": "server_tool_use", "ServerResult": "server_tool_result", "Refusal": "refusal", "Opaque": "opaque",
    "ToolResult": "tool_result",
}  # fmt: skip
_BY_NAME = {name: _BLOCKS[cls] for cls, name in _NAMES.items()}
_EVENTS: dict[str, type] = {cls.__name__: cls for cls in get_args(Event)}


def part_to_data(part: Any) -> dict[str, Any]:
    """A block or result as a mapping; fields at their defaults are left out, so that a file reads well."""
    return {"type": _NAMES[type(part).__name__], **_fields(part)}


def message_to_data(message: Message) -> dict[str, Any]:
    """A message as a mapping."""
    return {"role": message.role, "content": [part_to_data(part) for part in message.content]}


def reply_to_data(reply: Reply) -> dict[str, Any]:
    """A reply as a mapping."""
    data: dict[str, Any] = {
        "content": [part_to_data(block) for block in reply.blocks],
        "stop_reason": reply.stop_reason,
    }
    if reply.usage is not None:
        data["usage"] = dataclasses.asdict(reply.usage)
    return data


def event_to_data(event: Event) -> dict[str, Any]:
    """An event as a mapping, one line of a stored transcript."""
    return {"event": type(event).__name__, **_fields(event)}


def _fields(value: Any) -> dict[str, Any]:
    data = {}
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if given != default or type(given) is not type(default):
            data[field.name] = _to_data(given)
    return data


def _to_data(value: Any) -> Any:
    if isinstance(value, Reply):
        return reply_to_data(value)
    if isinstance(value, Message):
        return message_to_data(value)
    if isinstance(value, Fault | Outcome | ToolRun | Usage):
        return _fields(value)
    if isinstance(value, tuple):
        return [_to_data(item) for item in value]
    return value


def message_from_data(data: Any) -> Message:
    """The message that `message_to_data` wrote."""
    return Message(data["role"], tuple(_part(part) for part in data["content"]))


def _part(data: dict[str, Any]) -> Any:
    fields = {key: value for key, value in data.items() if key != "type"}
    return _BY_NAME[data["type"]](**fields)


def _reply(data: dict[str, Any]) -> Reply:
    usage = Usage(**data["usage"]) if data.get("usage") else None
    return Reply(tuple(_part(block) for block in data["content"]), data["stop_reason"], usage)


def _fault(data: dict[str, Any]) -> Fault:
    partial = data.get("partial")
    return Fault(**{**data, "partial": _reply(partial)}) if partial else Fault(**data)


_READ: dict[str, Any] = {
    "reply": _reply,
    "fault": _fault,
    "outcome": lambda data: Outcome(**data),
    "runs": lambda data: tuple(ToolRun(**run) for run in data),
    "new": lambda data: tuple(message_from_data(message) for message in data),
    "messages": lambda data: tuple(message_from_data(message) for message in data),
    "offered": lambda data: None if data is None else tuple(data),
}


def event_from_data(data: Any) -> Event:
    """The event that `event_to_data` wrote.

    Raises:
        TranscriptError: it is no event.
    """
    try:
        kind = _EVENTS[data["event"]]
        return kind(**{k: _READ[k](v) if k in _READ else v for k, v in data.items() if k != "event"})  # type: ignore[no-any-return]
    except (KeyError, TypeError, AttributeError) as error:
        raise TranscriptError(f"this is no event of a transcript: {error!r}") from None
