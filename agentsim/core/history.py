"""Requests as the provider sees them: adjacent messages of one role are one, and each can be told in short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentsim.core.events import Event, ModelRequested
from agentsim.core.messages import (
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


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: how many (joined) messages it kept of the request before, and the new ones."""

    kept: int
    new: tuple[Message, ...]

    def short(self) -> dict[str, object]:
        """As the contract's `requests` show it."""
        return {"kept": self.kept, "new": [short(message) for message in self.new]}


def short_part(part: Part) -> str:
    """A block in short: its kind, and what pairs it with others."""
    kind = type(part)
    if kind is Text:
        return "text"
    if kind is ToolCall:
        return f"tool_use({part.name})"  # type: ignore[union-attr]
    if kind is ToolResult:
        return f"tool_result({part.call_id})" + ("!" if part.is_error else "")  # type: ignore[union-attr]
    if kind is ServerCall:
        return f"server_tool_use({part.name})"  # type: ignore[union-attr]
    if kind is ServerResult:
        return f"server_tool_result({part.name or part.call_id})"  # type: ignore[union-attr]
    if kind is Opaque:
        return part.kind  # type: ignore[union-attr]
    return {Thinking: "thinking", RedactedThinking: "redacted_thinking", Refusal: "refusal"}[kind]


def short(message: Message) -> str:
    """A message in short: `user:text`, `assistant:text+tool_use(lookup)`, `user:tool_result(call_1)!`."""
    return f"{message.role}:" + "+".join(map(short_part, message.content))


class Joined:
    """The history of successive requests with adjacent messages of one role joined, kept up to date request by request."""

    def __init__(self) -> None:
        self.raw: list[Message] = []
        #: the joined messages, and where each begins in `raw`.
        self.messages: list[Message] = []
        self._starts: list[int] = []

    def request(self, kept: int, new: Iterable[Message]) -> Sent:
        """Take the next request (in messages as they were appended) and say it in joined messages."""
        new = list(new)
        if not new and kept == len(self.raw):
            return Sent(len(self.messages), ())
        before = len(self.messages)
        changed = self._cut(kept)
        for message in new:
            changed = min(changed, self._append(message))
        changed = min(changed, before, len(self.messages))
        return Sent(changed, tuple(self.messages[changed:]))

    def _cut(self, kept: int) -> int:
        """Drop all but the first `kept` raw messages; returns how many joined ones are as they were."""
        del self.raw[kept:]
        while self._starts and self._starts[-1] >= kept:
            self._starts.pop()
            self.messages.pop()
        if not self._starts:
            return 0
        whole = join(self.raw[self._starts[-1] :])[0]
        if whole == self.messages[-1]:
            return len(self.messages)
        self.messages[-1] = whole
        return len(self.messages) - 1

    def _append(self, message: Message) -> int:
        """Append one raw message; returns the joined one that it changed or became."""
        self.raw.append(message)
        if self.messages and self.messages[-1].role == message.role:
            last = self.messages[-1]
            self.messages[-1] = Message(last.role, last.content + message.content)
            return len(self.messages) - 1
        self._starts.append(len(self.raw) - 1)
        self.messages.append(message)
        return len(self.messages) - 1


def join(messages: Sequence[Message]) -> list[Message]:
    """Adjacent messages of one role as one."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = Message(message.role, joined[-1].content + message.content)
        else:
            joined.append(message)
    return joined


def sent_requests(events: Iterable[Event]) -> Iterator[Sent]:
    """Each request of a run in joined messages, against the request before it, whichever conversation that was of."""
    threads: dict[int, Joined] = {}
    before: Joined | None = None
    for event in events:
        if type(event) is not ModelRequested:
            continue
        joined = threads.setdefault(event.thread, Joined())
        if joined is before or before is None:
            yield joined.request(event.kept, event.new)
        else:
            joined.request(event.kept, event.new)
            kept = _common(before.messages, joined.messages)
            yield Sent(kept, tuple(joined.messages[kept:]))
        before = joined


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages two histories begin with alike."""
    alike = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        alike += 1
    return alike
