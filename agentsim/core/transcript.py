"""A transcript: the events of one run, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

from agentsim.core.events import (
    Aborted,
    Event,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Outcome,
    RunFinished,
    TimedOut,
    ToolRun,
    ToolsRan,
)
from agentsim.core.messages import Reply


class Transcript(Sequence[Event]):
    """A sequence of events, with the numbers that can be read off it.

    Args:
        events: in the order in which they happened.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: tuple[Event, ...] = tuple(events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Transcript: ...
    def __getitem__(self, index: int | slice) -> Event | Transcript:
        return Transcript(self.events[index]) if isinstance(index, slice) else self.events[index]

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __eq__(self, other: object) -> bool:
        # What is no transcript may know better how to compare itself with one: a snapshot does.
        return self.events == other.events if isinstance(other, Transcript) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.events)

    def __repr__(self) -> str:
        return f"<Transcript of {len(self)} events, {self.model_calls} model calls>"

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        """Every reply, in order."""
        return tuple(e.reply for e in self.events if type(e) is ModelReplied)

    @property
    def model_calls(self) -> int:
        """Requests that got a reply."""
        return len(self.replies)

    @cached_property
    def model_requests(self) -> int:
        """Requests, failed attempts included."""
        return sum(type(e) is ModelRequested for e in self.events)

    @cached_property
    def failures(self) -> int:
        """Requests that failed."""
        return sum(type(e) is ModelFailed for e in self.events)

    @cached_property
    def tool_runs(self) -> tuple[ToolRun, ...]:
        """Every execution of a tool, in order of start; those that the caller gave up on too."""
        return tuple(run for e in self.events if isinstance(e, ToolsRan | Aborted | TimedOut) for run in e.runs)

    @cached_property
    def tool_rounds(self) -> int:
        """Replies with at least one run; one that broke off is one too, where an SDK took it for whole.

        A paused reply's calls may run together with those of the reply that resumes it: these are two.
        """
        rounds, counted, paused = 0, False, False
        replies: list[set[str]] = []
        for event in self.events:
            if isinstance(event, ModelReplied):
                counted = False
                replies = replies if paused else []
                replies.append({call.id for call in event.reply.calls})
                paused = event.reply.stop_reason == "pause_turn"
            elif isinstance(event, ModelFailed):
                counted = False
            elif isinstance(event, ToolsRan | Aborted | TimedOut) and event.runs and not counted:
                ran = {run.call_id for run in event.runs}
                rounds, counted = rounds + max(1, sum(bool(ids & ran) for ids in replies)), True
                replies.clear()
        return rounds

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; None where the events stop before that."""
        last = self.events[-1] if self.events else None
        return last.outcome if type(last) is RunFinished else None
