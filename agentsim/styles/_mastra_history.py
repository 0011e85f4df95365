"""Mastra's message list: all replies since the prompt are one assistant message, which is cut into requests anew each time.

Measured on @mastra/core 1.71.0 (MessageMerger): a text that the message already holds is not added again, a tool invocation is there
once for each call id and is updated in place, and whatever stands behind an invocation begins a new message of the request.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import (
    Message,
    Part,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.core.run import Run
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES


@dataclass(slots=True)
class Invocation:
    """A tool call in the message list.

    Args:
        id, name: of the call; the name is the last update's.
        arguments: raw JSON text as it is sent back; the first that are not empty.
        output: the result's text; None: none yet, and the call is left out of requests.
        is_error: whether it is sent as an error.
        server: it ran at the provider, but goes back as the client's.
    """

    id: str
    name: str
    arguments: str
    output: str | None = None
    is_error: bool = False
    server: bool = False


class _StepStart:
    """A step's beginning in the message."""


STEP = _StepStart()
Entry = Part | Invocation | _StepStart


class History:
    """What is said since the prompt, behind what was said before it.

    The message's steps before the last one are cut once and kept, so that a long run costs no more at its end.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        run.rewrite(0, answered_only(run.history))
        self.base = len(run.history)
        self._closed: list[Message] = []
        self._behind: list[Message] = []
        self._begin([])

    def _begin(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._ids: dict[str, Invocation] = {}
        self._keys: Counter[Any] = Counter()
        self._uncut()

    def _uncut(self) -> None:
        """Nothing that was cut holds any longer."""
        self._done, self._cut_to, self._written = list(self._closed), 0, 0

    def add(self, parts: Sequence[Part | Invocation]) -> None:
        """Merge a reply into the message. An invocation whose id is there stays where it is, and others are put around it."""
        if any(isinstance(part, Invocation) and part.id in self._ids for part in parts):
            self._insert(parts)
            self._uncut()
            return
        if self._entries and self._entries[-1] is not STEP and not self._behind:
            self._done += self._cut(self._entries[self._cut_to :])
            self._cut_to = len(self._entries)
            self._entries.append(STEP)
        for part in parts:
            if self._is_new(part, parts):
                self._put(len(self._entries), part)

    def _put(self, place: int, part: Part | Invocation) -> None:
        self._entries.insert(place, part)
        self._keys[self._key(part)] += 1
        if isinstance(part, Invocation):
            self._ids[part.id] = part

    def _insert(self, parts: Sequence[Part | Invocation]) -> None:
        left, drift = 0, 0
        known = dict(self._ids)
        for at, part in enumerate(parts):
            if isinstance(part, Invocation) and part.id in known:
                left, drift = self._entries.index(known[part.id]), at
                continue
            place = left + at - drift
            if self._is_new(part, parts) and part not in self._entries[place:]:
                self._put(place, part)

    def _is_new(self, part: Part | Invocation, parts: Sequence[Part | Invocation]) -> bool:
        """Whether the message holds it less often than the reply does; on Responses each text is an item of its own."""
        key = self._key(part)
        return key is None or self._keys[key] < [self._key(other) for other in parts].count(key)

    def _key(self, entry: Entry) -> Any:
        if self._run.wire == RESPONSES:
            return None
        if isinstance(entry, Thinking):
            return ("thinking", entry.thinking, entry.signature)
        return ("text", entry.text) if isinstance(entry, Text) else None

    def say(self, text: str, *, closing: bool = False) -> None:
        """Feedback, as a message of the assistant's behind the replies, which lose their unanswered server calls by it.

        Later replies still go into the message before it, and without a step of their own; `closing`, and where no reply came yet: into a new one.
        """
        self._behind.append(Message("assistant", (Text(text),)))
        self._uncut()
        if closing or not self._entries:
            self._closed += [*self._cut(self._entries), *self._behind]
            self._behind = []
            self._begin([])

    def end(self) -> None:
        """The run is over: what a further prompt's request has of it knows no steps any more."""
        self._entries = [entry for entry in self._entries if entry is not STEP]
        self._uncut()
        self.write()

    def answer(self, call_id: str, name: str, arguments: str, output: str, is_error: bool) -> None:
        """Write a call's result into its invocation."""
        entry = self._ids.get(call_id)
        if entry is None:
            return
        entry.name, entry.output, entry.is_error = name, output, is_error
        if entry.arguments in ("", "{}"):
            entry.arguments = arguments

    def write(self) -> None:
        """Make the next request of it."""
        run, from_ = self._run, self.base + self._written
        wanted = [*self._done[self._written :], *self._cut(self._entries[self._cut_to :]), *self._behind]
        run.rewrite(from_, wanted)
        self._written = len(self._done)

    def hide(self) -> None:
        """A further prompt's request has nothing of this run."""
        self._run.rewrite(self.base)
        self._uncut()

    def forget(self) -> None:
        """Nothing of this run is kept."""
        self._closed, self._behind = [], []
        self._begin([])
        self.write()

    def _cut(self, entries: Sequence[Entry]) -> list[Message]:
        """Entries in the request's messages: the results of calls come before what is behind them."""
        messages: list[Message] = []
        content, results = list[Part](), list[Part]()
        # An empty text is sent where its message has nothing else, once something stands behind that.
        alone = bool(self._behind) and all(entry is STEP or entry == Text("") for entry in entries)

        def flush() -> None:
            told = tuple(part for part in content if part != Text(""))
            if self._run.wire == CHAT:
                told = _one_text(told)
            if told or (content and alone):
                messages.append(Message("assistant", told or (Text(""),)))
            if results:
                messages.append(Message("user", tuple(results)))
            content.clear()
            results.clear()

        for entry in answered_by_server(entries) if self._behind else entries:
            if isinstance(entry, _StepStart):
                flush()
            elif isinstance(entry, Invocation):
                if entry.output is None:
                    continue
                content.append(ToolCall(entry.id, entry.name, entry.arguments))
                results.append(ToolResult(entry.id, entry.output, entry.is_error))
                if entry.server and self._run.wire == ANTHROPIC:
                    flush()
            else:
                if results:
                    flush()
                content.append(entry)
        flush()
        return messages


def _one_text(parts: Sequence[Part]) -> tuple[Part, ...]:
    """A message of Chat Completions has one text, whatever replies it came from, and its calls behind it."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    return (*([Text(text)] if text else []), *(part for part in parts if not isinstance(part, Text)))


def answered_by_server(entries: Sequence[Entry]) -> list[Entry]:
    """Entries without the provider's calls that have no result: only the last message may wait for one."""
    done = {entry.call_id for entry in entries if isinstance(entry, ServerResult)}
    return [entry for entry in entries if not isinstance(entry, ServerCall) or entry.id in done]


def answered_only(history: Sequence[Message]) -> list[Message]:
    """The history without calls that the message behind them does not answer: they are left out of every request."""
    kept: list[Message] = []
    for message, behind in zip(history, [*history[1:], None], strict=True):
        done = {part.call_id for part in (behind.content if behind else ()) if isinstance(part, ToolResult)}
        parts = tuple(part for part in message.content if not isinstance(part, ToolCall) or part.id in done)
        if parts:
            kept.append(Message(message.role, parts))
    return kept


def said(blocks: Sequence[Part], wire: str, streamed: bool) -> list[Part]:
    """A reply's blocks as the message list takes them: empty texts are dropped, a refusal is text, Chat's calls come last.

    A Responses reply that is not streamed keeps an empty text, as a place between other parts.
    """
    parts: list[Part] = [Text(b.text) if isinstance(b, Refusal) else b for b in blocks]
    if wire == RESPONSES and not streamed:
        return [b for b in parts if not isinstance(b, ServerResult)]
    parts = [b for b in parts if not (isinstance(b, Text) and not b.text)]
    if wire == RESPONSES:
        return [b for b in parts if not isinstance(b, ServerResult)]
    if wire != CHAT:
        return parts
    return list(_one_text(parts))


def as_client(parts: Sequence[Part], results: Sequence[ServerResult]) -> list[Part | Invocation]:
    """Server tools of a stream that nobody declared: those with a result go back as the client's calls."""
    done = {result.call_id: result for result in results}
    found: list[Part | Invocation] = []
    for part in parts:
        if isinstance(part, ServerCall) and part.id in done:
            content = done[part.id].content
            found.append(Invocation(part.id, part.name, part.arguments, _text(content), server=True))
        elif not (isinstance(part, ServerResult) and part.call_id in done):
            found.append(part)
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
