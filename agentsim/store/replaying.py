"""What a recording expects of today's agent: each recorded request, and how another one differs from it.

Two requests are the same where the model is told the same: system prompt, texts, calls with their arguments, results. Ids of calls
are told by the place of the call, since some clients rewrite them; thinking and provider's blocks are left out, since most logs do
not have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.events import Fault, ModelFailed, ModelReplied, ModelRequested, RunStarted
from agentsim.core.messages import Message, Refusal, Reply, ServerCall, Text, ToolCall, ToolResult
from agentsim.core.wires import ANTHROPIC, parse
from agentsim.errors import UsageError
from agentsim.store.recording import Conversation, Recording
from agentsim.store.secrets import Secrets

#: What prompts carry that is another one every day, and what stands for it.
_PASSING = (
    (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d\b)?", "<date>"),
    (r"\b\d{1,4}[./]\d{1,2}[./]\d{2,4}\b", "<date>"),
    (r"(?i)\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s+)?"
     r"(?:\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?)?"
     r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
     r"|nov(?:ember)?|dec(?:ember)?)\.?\s+\d{1,4}(?:st|nd|rd|th)?(?:,?\s+\d{4})?\b", "<date>"),
    (r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", "<date>"),
    (r"(?i)\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s*[ap]\.?m\b\.?)?", "<time>"),
    (r"\b[A-Za-z]+[_-](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{8,}\b", "<id>"),
    (r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b", "<id>"),
    (r"\b\d{6,}\b", "<number>"),
    (r"\s+", " "),
)  # fmt: skip
_CUT = 60
#: So many texts are remembered as they are compared.
_KEPT = 20_000
#: Stands for arguments that are no JSON: what clients send back of such a call is as they like.
UNREADABLE = "(unreadable)"


class Lenience:
    """What counts as the same text.

    Args:
        lenient: False: only the same characters; True: dates, times, ids, long numbers and the width of white space may differ;
            regular expressions: what they match may differ, and all of that too.
    Raises:
        UsageError: an expression is none.
    """

    def __init__(self, lenient: bool | str | Iterable[str] = False) -> None:
        self._secrets = Secrets()  # a recording holds none, so today's are not compared either
        self._rules: list[tuple[re.Pattern[str], str]] = []
        self._known: dict[str, str] = {}
        self.on = bool(lenient)
        if not self.on:
            return
        own = [lenient] if isinstance(lenient, str) else [] if isinstance(lenient, bool) else list(lenient)
        try:
            self._rules = [(re.compile(pattern), "<any>") for pattern in own]
        except re.error as error:
            raise UsageError(f"lenient: {error.pattern!r} is no regular expression: {error}") from None
        self._rules += [(re.compile(pattern), stands_for) for pattern, stands_for in _PASSING]

    def text(self, text: str) -> str:
        """The text as it is compared."""
        known = self._known.get(text)
        if known is None:  # a history comes with every request, and most of it is as before
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[text] = self._plain(text)
        return known

    def _plain(self, text: str) -> str:
        text = self._secrets.hidden(text)
        for pattern, stands_for in self._rules:
            text = pattern.sub(stands_for, text)
        return text.strip() if self.on else text

    def value(self, value: Any) -> Any:
        """A JSON value as it is compared."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return {key: self.value(item) for key, item in value.items()} if isinstance(value, dict) else value


#: A part of a message as it is compared: what it is called, and what it says.
Said = tuple[str, str]
Line = tuple[str, tuple[Said, ...]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it is compared.

    Args:
        lines: role and parts of each message.
        system: None: not recorded, or a stored thread's stands.
        offered: names of the tools; None: as `system`.
    """

    lines: tuple[Line, ...]
    system: str | None = None
    offered: frozenset[str] | None = None


@dataclass(slots=True)
class Step:
    """One recorded request with its answer.

    Args:
        number: in its conversation, from 1.
        asked: the request.
        answer: what it got; None where the recording ends with the request.
    """

    number: int
    asked: Asked
    answer: Reply | Fault | None


@dataclass(slots=True)
class Track:
    """One recorded conversation and how far it is replayed."""

    name: str
    steps: list[Step]
    at: int = 0

    @property
    def next(self) -> Step | None:
        """What is expected next; None at its end."""
        return self.steps[self.at] if self.at < len(self.steps) else None

    @property
    def unused(self) -> int:
        """Replies that were not asked for."""
        return sum(isinstance(step.answer, Reply) for step in self.steps[self.at :])


@dataclass(slots=True)
class Expected:
    """All that a recording expects.

    Args:
        tracks: its conversations.
        lenience: how texts are compared.
        shows_errors: whether it tells error results from others.
    """

    tracks: list[Track]
    lenience: Lenience
    shows_errors: bool = False

    @classmethod
    def of(cls, recording: Recording, lenient: bool | str | Iterable[str] = False) -> Expected:
        """What a recording expects, with nothing replayed yet."""
        lenience = Lenience(lenient)
        events = [event for c in recording.conversations for event in c.events if isinstance(event, ModelRequested)]
        errors = any(isinstance(p, ToolResult) and p.is_error for e in events for m in e.new for p in m.content)
        found = cls([], lenience, errors)
        for number, conversation in enumerate(recording.conversations, 1):
            steps = list(found._steps(conversation))
            if any(step.answer is not None for step in steps):
                name = conversation.name or (f"conversation {number}" if len(recording.conversations) > 1 else "")
                found.tracks.append(Track(name, steps))
        return found

    def read(
        self, messages: Sequence[Message], system: str | None, offered: Iterable[str] | None, wire: str = ANTHROPIC
    ) -> Asked:
        """A request as it is compared.

        Args:
            messages: the whole conversation.
            system: of the request; None where a stored thread's stands.
            offered: names of the client's tools; None likewise.
            wire: which one it came on; only Claude's says that a result is an error.
        """
        errors = self.shows_errors and wire == ANTHROPIC
        lines = tuple(self._lines(messages, errors))
        names = None if offered is None else frozenset(offered)
        return Asked(lines, None if system is None else self.lenience.text(system), names)

    def _steps(self, conversation: Conversation) -> Iterator[Step]:
        history: list[Message] = []
        asked: Asked | None = None
        number = 0
        tools = frozenset(name for name, tool in conversation.declared.items() if not tool.server) or None
        for event in conversation.events:
            if isinstance(event, RunStarted):
                history = []
            elif isinstance(event, ModelRequested):
                if asked is not None:
                    yield Step(number, asked, None)
                history[event.kept :] = event.new
                asked = self.read(history, conversation.system, tools)
                number += 1
            elif isinstance(event, ModelReplied | ModelFailed) and asked is not None:
                yield Step(number, asked, event.reply if isinstance(event, ModelReplied) else event.fault)
                asked = None

    def _lines(self, messages: Sequence[Message], errors: bool) -> list[Line]:
        """Role and parts of each message; what holds nothing to compare is left out, and stands between no others."""
        places: dict[str, str] = {}
        lines: list[Line] = []
        for message in messages:
            parts = list(self._parts(message, errors, places))
            if lines and lines[-1][0] == message.role:
                parts = [*lines.pop()[1], *parts]
            if parts:
                lines.append((message.role, _joined(parts)))
        return lines

    def _parts(self, message: Message, errors: bool, places: dict[str, str]) -> Iterator[Said]:
        """What a message says; `places`: what calls are called by their ids, so far."""
        for part in message.content:
            if isinstance(part, ToolCall):
                places[part.id] = f"call {len(places) + 1}"
                yield f"call of {part.name}", self._arguments(part.arguments)
            elif isinstance(part, ToolResult):
                mark = " (an error)" if errors and part.is_error else ""
                whose = places.get(part.call_id, f"call {part.call_id}")
                yield f"result of {whose}{mark}", self.lenience.text(_output(part.output))
            elif isinstance(part, ServerCall):
                yield f"provider's call of {part.name}", ""
            elif isinstance(part, Text | Refusal) and part.text:
                yield "text", self.lenience.text(part.text)

    def _arguments(self, arguments: str) -> str:
        value, broken = parse(arguments)
        if broken:
            return UNREADABLE
        return json.dumps(self.lenience.value(value), ensure_ascii=False, sort_keys=True)


def _joined(parts: Sequence[Said]) -> tuple[Said, ...]:
    """The parts, with texts that follow each other as one: clients cut them as they like."""
    joined: list[Said] = []
    for name, text in parts:
        if name == "text" and joined and joined[-1][0] == "text":
            joined[-1] = name, f"{joined[-1][1]}\n{text}"
        else:
            joined.append((name, text))
    return tuple(joined)


def difference(expected: Asked, came: Asked) -> str | None:
    """The first difference between a recorded request and another, in words; None where they are the same."""
    for number, (one, other) in enumerate(zip(expected.lines, came.lines, strict=False), 1):
        if one != other and not _alike(one, other):
            return f"message {number}: {_line_difference(one, other)}"
    if len(expected.lines) != len(came.lines):
        longer, word = (expected, "is missing") if len(expected.lines) > len(came.lines) else (came, "is new")
        at = min(len(expected.lines), len(came.lines))
        return f"message {at + 1} {word}: {_shown(longer.lines[at])}"
    if expected.system is not None and came.system is not None and expected.system != came.system:
        return f"the system prompt: {_text_difference(expected.system, came.system)}"
    if expected.offered is not None and came.offered is not None and (extra := came.offered - expected.offered):
        return f"the tools: {', '.join(sorted(extra))} was not offered then"
    return None


def _alike(expected: Line, came: Line) -> bool:
    """Whether two messages that are not equal differ only in arguments that nobody can read."""
    return (
        expected[0] == came[0]
        and [name for name, _ in expected[1]] == [name for name, _ in came[1]]
        and all(one in (other, UNREADABLE) for (_, one), (_, other) in zip(expected[1], came[1], strict=True))
    )


def likeness(expected: Asked, came: Asked) -> float:
    """How near two requests are: messages alike from the beginning, then how much of the next one is."""
    alike = 0
    for one, other in zip(expected.lines, came.lines, strict=False):
        if one != other and not _alike(one, other):
            return alike + _share(one, other)
        alike += 1
    return alike - 0.01 * abs(len(expected.lines) - len(came.lines)) + 0.5


def _share(one: Line, other: Line) -> float:
    import difflib

    if one[0] != other[0]:
        return 0.0
    texts = ["\n".join(f"{name} {text}" for name, text in line[1])[:400] for line in (one, other)]
    return float(difflib.SequenceMatcher(None, texts[0], texts[1]).ratio()) * 0.9


def _line_difference(one: Line, other: Line) -> str:
    if one[0] != other[0]:
        return f"expected {_shown(one)}, came {_shown(other)}"
    for (name, text), (other_name, other_text) in zip(one[1], other[1], strict=False):
        if name != other_name:
            return f"expected {name} {_short(text)}, came {other_name} {_short(other_text)}"
        if text != other_text and text != UNREADABLE:
            return f"{name}: {_text_difference(text, other_text)}"
    if len(one[1]) > len(other[1]):
        name, text = one[1][len(other[1])]
        return f"{name} {_short(text)} is missing"
    name, text = other[1][len(one[1])]
    return f"{name} {_short(text)} is new"


def _text_difference(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, at - 20) if len(one) > _CUT or len(other) > _CUT else 0
    where = f" (from character {at + 1} on)" if at else ""
    return f"expected {_short(one[start:], start)}, came {_short(other[start:], start)}{where}"


def _short(text: str, start: int = 0) -> str:
    return ("…" if start else "") + (repr(text) if len(text) <= _CUT else f"{text[:_CUT]!r}…")


def _shown(line: Line) -> str:
    role, parts = line
    return f"{role}: " + ", ".join(name if name != "text" else _short(text) for name, text in parts[:3])


def _output(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list) and output and all(isinstance(b, Mapping) and b.get("type") == "text" for b in output):
        return "\n".join(str(block.get("text", "")) for block in output)
    return json.dumps(output, ensure_ascii=False, sort_keys=True, default=str)
