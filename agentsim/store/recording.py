"""What a log says happened: conversations as events, beside what only the log's own format knows.

Every importer makes the same Recording, so that `show`, `check`, `compare`, `budget` and the replay read one thing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentsim.core.events import Aborted, Event, ModelFailed, ModelReplied, ModelRequested, RunStarted, ToolRun, ToolsRan
from agentsim.core.messages import Message, ServerCall, ToolResult
from agentsim.core.transcript import Transcript

if TYPE_CHECKING:
    from agentsim.scenario.model import Scenario

#: What an importer may have to infer, because some formats do not record it.
STOP_REASONS = "stop reasons"
REPLY_BOUNDARIES = "reply boundaries"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a reply stood in its file.

    Args:
        raw: the stop reason in the file's own words; None where it records none.
        place: counts through the file, so that replies of several conversations can be told in the file's order.
    """

    raw: str | None
    place: int


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
    """

    events: Transcript
    origins: tuple[Origin, ...]
    name: str = ""
    system: str | None = None
    declared: Mapping[str, Declared] = field(default_factory=dict)
    prompts: Mapping[int, str] = field(default_factory=dict)
    parent: str | None = None
    pending: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds.

    Args:
        format: as `recognise` names it.
        conversations: in order of their beginning.
        skipped: what was not read, in words, and how often it came.
        notes: what a reader has to know: what was inferred, left out, or looks wrong.
        inferred: STOP_REASONS, REPLY_BOUNDARIES: what the format does not record.
    """

    format: str
    conversations: tuple[Conversation, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()


def facts(recording: Recording) -> dict[str, Any]:
    """The numbers of a recording, as `agentsim show --format json` prints them.

    Returns:
        format, conversations, model_calls, error_replies, stop_reasons (raw, one a reply in the file's order), tool_calls,
        server_calls, tool_results (of those calls), orphan_calls (without a result).
    """
    tallies = [tally(c.events) for c in recording.conversations]
    origins = sorted((o for c in recording.conversations for o in c.origins), key=lambda origin: origin.place)
    return {
        "format": recording.format,
        "conversations": len(recording.conversations),
        "model_calls": sum(t.model_calls for t in tallies),
        "error_replies": sum(t.failures for t in tallies),
        "stop_reasons": [origin.raw for origin in origins],
        "tool_calls": sum(t.tool_calls for t in tallies),
        "server_calls": sum(t.server_calls for t in tallies),
        "tool_results": sum(t.tool_results for t in tallies),
        "orphan_calls": sum(t.tool_calls - t.tool_results for t in tallies),
    }


@dataclass(slots=True)
class Tally:
    """Counts of one transcript. `answers`: for each call in order of replies, its result, or None.

    Results are paired with calls by position: an id may stand for several calls of one conversation, and a result that comes
    again, or that answers a call which nobody recorded, is none.
    """

    model_calls: int = 0
    failures: int = 0
    tool_calls: int = 0
    server_calls: int = 0
    tool_results: int = 0
    answers: list[ToolRun | ToolResult | None] = field(default_factory=list)
    _open: dict[str, deque[int]] = field(default_factory=dict)
    _shown: dict[str, int] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Count one event."""
        if type(event) is ModelReplied:
            self.model_calls += 1
            self.server_calls += sum(type(b) is ServerCall for b in event.reply.blocks)
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
                else:
                    self._answer(part.call_id, part)

    def _answer(self, call_id: str, answer: ToolRun | ToolResult) -> bool:
        waiting = self._open.get(call_id)
        if not waiting:
            return False
        self.answers[waiting.popleft()] = answer
        self.tool_results += 1
        return True


def tally(events: Sequence[Event]) -> Tally:
    """The counts of a transcript. Runs whose results the caller kept to himself (he gave up first) answer nothing."""
    counts = Tally()
    kept = [event for event in events if not isinstance(event, RunStarted)]
    for index, event in enumerate(kept):
        ahead = kept[index + 1 : index + 3]
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
