"""What a log says happened: conversations as events, beside what only the log's own format knows.

Every importer makes the same Recording, so that `show`, `check`, `compare`, `budget` and the replay read one thing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentsim.core.events import (
    Aborted,
    Event,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    RunStarted,
    ToolRun,
    ToolsRan,
)
from agentsim.core.messages import Block, Message, Opaque, ServerCall, ToolCall, ToolResult
from agentsim.core.transcript import Transcript

if TYPE_CHECKING:
    from agentsim.scenario.model import Scenario

#: What an importer may have to infer, because some formats do not record it.
STOP_REASONS = "stop reasons"
REPLY_BOUNDARIES = "reply boundaries"


#: The rules by which they are inferred, in words.
RULES: Mapping[str, str] = {
    STOP_REASONS: "the file has no stop reasons: a reply that calls a client's tool stopped for it, any other at its end",
    REPLY_BOUNDARIES: "the file does not mark where a reply ends: what the model made between two results or messages is one",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a reply stood in its file.

    Args:
        raw: the stop reason in the file's own words; None where it records none.
        place: counts through the file, so that replies of several conversations can be told in the file's order.
        split: the file has it in one piece with the reply before, and that it is another one is inferred.
    """

    raw: str | None
    place: int
    split: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool as the recording declares it; formats without declarations have none."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] | None = None
    server: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread of requests and replies.

    Args:
        events: RunStarted, then requests, replies, failures and tool runs as they happened. Stop reasons of replies are the
            canonical ones, inferred where none was recorded.
        origins: one a reply.
        name: what the file calls it (a session, an agent), or "".
        system: its system prompt or instructions.
        declared: the tools that the recording declares.
        prompts: for a request (by its number from 0), what the person typed, where the request says more than that.
        parent: id of the tool call that this conversation is the work of (a subagent), or None.
        pending: ids of calls that wait for a person's approval.
        shared: its history is another conversation's, and counted there.
        records_results: whether the format records what tools gave; where not, a call without a result is no sign of anything.
    """

    events: Transcript
    origins: tuple[Origin, ...]
    name: str = ""
    system: str | None = None
    declared: Mapping[str, Declared] = field(default_factory=dict)
    prompts: Mapping[int, str] = field(default_factory=dict)
    parent: str | None = None
    pending: frozenset[str] = frozenset()
    shared: bool = False
    records_results: bool = True


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds.

    Args:
        format: as `recognise` names it.
        conversations: in order of their beginning.
        skipped: what was not read, in words, and how often it came.
        notes: what a reader has to know: what was inferred, left out, or looks wrong.
        inferred: STOP_REASONS, REPLY_BOUNDARIES: what the file does not record; RULES says how it is inferred.
    """

    format: str
    conversations: tuple[Conversation, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()


def by_thread(events: Iterable[Event]) -> tuple[Conversation, ...]:
    """The conversations of a session: an event belongs to the thread of the request before it."""
    threads: dict[int, list[Event]] = {}
    current = 0
    for event in events:
        if isinstance(event, ModelRequested):
            current = event.thread
        threads.setdefault(current, []).append(event)
    return tuple(
        Conversation(
            Transcript(kept), tuple(Origin(e.reply.stop_reason, 0) for e in kept if isinstance(e, ModelReplied))
        )
        for kept in threads.values()
    )


def facts(recording: Recording) -> dict[str, Any]:
    """The numbers of a recording, as `agentsim show --format json` prints them.

    Returns:
        format, conversations, model_calls, error_replies, stop_reasons (raw, one a reply in the file's order), tool_calls,
        server_calls, tool_results (of those calls, and of calls in a history that the file begins with), orphan_calls (without
        a result). Replies that a file has in one piece are one here, whatever an importer made of them.
    """
    tallies = [tally(c.events, seeded=not c.shared) for c in recording.conversations]
    origins = sorted((o for c in recording.conversations for o in c.origins if not o.split), key=lambda o: o.place)
    return {
        "format": recording.format,
        "conversations": len(recording.conversations),
        "model_calls": len(origins),
        "error_replies": sum(t.failures for t in tallies),
        "stop_reasons": [origin.raw for origin in origins],
        "tool_calls": sum(t.tool_calls for t in tallies),
        "server_calls": sum(t.server_calls for t in tallies),
        "tool_results": sum(t.tool_results for t in tallies),
        "orphan_calls": sum(t.orphan_calls for t in tallies),
    }


@dataclass(slots=True)
class Tally:
    """Counts of one transcript. `answers`: for each call in order of replies, its result, or None.

    Results are paired with calls by position: an id may stand for several calls of one conversation, and a result that comes
    again, or that answers a call which nobody recorded, is none. Calls in the history that a run begins with are no calls of
    that run, but their results are results.
    """

    model_calls: int = 0
    failures: int = 0
    tool_calls: int = 0
    server_calls: int = 0
    tool_results: int = 0
    answers: list[ToolRun | ToolResult | None] = field(default_factory=list)
    #: calls that wait, by id: their places in `answers`, None for one of the history.
    _open: dict[str, deque[int | None]] = field(default_factory=dict)
    _shown: dict[str, int] = field(default_factory=dict)

    @property
    def orphan_calls(self) -> int:
        """Calls without a result."""
        return sum(answer is None for answer in self.answers)

    def seed(self, messages: Sequence[Message], counted: bool = True) -> None:
        """Take the history that the run begins with; unless `counted`, its calls and their results are another's."""
        for part in (part for message in messages for part in message.content):
            if type(part) is ToolCall and counted:
                self._open.setdefault(part.id, deque()).append(None)
            elif type(part) is ToolResult and (not counted or self._answer(part.call_id, part)):
                self._shown[part.call_id] = self._shown.get(part.call_id, 0) + 1

    def take(self, event: Event) -> None:
        """Count one event."""
        if type(event) is ModelReplied:
            self.model_calls += 1
            self.server_calls += sum(map(_runs_at_provider, event.reply.blocks))
            for call in event.reply.calls:
                self.tool_calls += 1
                self._open.setdefault(call.id, deque()).append(len(self.answers))
                self.answers.append(None)
        elif type(event) is ModelFailed:
            self.failures += 1
        elif type(event) is ToolsRan:
            for run in event.runs:
                if self._answer(run.call_id, run):
                    self._shown[run.call_id] = self._shown.get(run.call_id, 0) + 1
        elif type(event) is ModelRequested:
            self._take_request(event.new)

    def _take_request(self, messages: Sequence[Message]) -> None:
        for message in messages:
            for part in message.content:
                if type(part) is not ToolResult:
                    continue
                if self._shown.get(part.call_id):  # the result of a run that was counted when it ran
                    self._shown[part.call_id] -= 1
                elif part.output is not None:  # a call that is handed back is answered by nothing
                    self._answer(part.call_id, part)

    def _answer(self, call_id: str, answer: ToolRun | ToolResult) -> bool:
        waiting = self._open.get(call_id)
        if not waiting:
            return False
        place = waiting.popleft()
        if place is not None:
            self.answers[place] = answer
        self.tool_results += 1
        return True


def _runs_at_provider(block: Block) -> bool:
    """Whether a block is a call that the provider runs; Claude's MCP connector has a kind of its own."""
    return type(block) is ServerCall or (type(block) is Opaque and block.kind == "mcp_tool_use")


def tally(events: Sequence[Event], *, seeded: bool = True) -> Tally:
    """The counts of a transcript. Runs whose results the caller kept to himself (he gave up first) answer nothing.

    Args:
        seeded: whether results in the history that it begins with count.
    """
    counts, events = Tally(), tuple(events)
    for index, event in enumerate(events):
        if isinstance(event, RunStarted):
            counts.seed(event.messages, seeded)
            continue
        ahead = events[index + 1 : index + 3]
        if type(event) is ToolsRan and any(type(e) is Aborted for e in ahead):
            continue
        if type(event) is ModelRequested and ahead and type(ahead[0]) is Aborted:
            continue
        counts.take(event)
    return counts


def scenarios(recording: Recording, name: str = "recording") -> list[Scenario]:
    """Scenarios that play back to the recording's conversations: prompt or messages, tools with the recorded results, replies.

    Args:
        name: of the first; a number follows where there are several.
    Returns:
        One for each conversation that has a reply or a failed request; none where there is no such conversation.
    """
    from agentsim.store.scenarios import scenarios_of  # validators are only loaded by who plays a recording

    return scenarios_of(recording, name)
