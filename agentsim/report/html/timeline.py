"""A transcript as a timeline: a row for each round of request, reply and runs, a lane for each who acts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.events import (
    Aborted,
    Event,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    OutOfScript,
    RunFinished,
    RunStarted,
    TimedOut,
    ToolRun,
    ToolsRan,
    Unbounded,
    Waited,
)
from agentsim.core.fate import HONEST_ENDINGS
from agentsim.core.history import Joined, short
from agentsim.core.messages import Message, Reply, Text
from agentsim.report.html.charts import Spans, spans
from agentsim.report.html.pieces import Piece, of_part, of_value, piece
from agentsim.report.transcript import fault_text, many

#: So many models get a lane of their own, the others share the last.
MODELS = 5

#: What a stop reason tells at a glance: the reply is whole, or not.
_TONES = {"end_turn": "good", "stop_sequence": "good", "tool_use": "", "pause_turn": "warn", "compaction": "warn"}


@dataclass(frozen=True, slots=True)
class Card:
    """One thing that happened.

    Args:
        lane: number of its lane, from 1.
        who: the lane's name, or the agent's where several share a lane.
        title: what it is.
        badge: how it went, in a word. `tone`: good, warn, bad or "".
        notes: what else is to be said, in short.
        pieces: what was said.
        folded: what is only shown on demand. `fold`: what it is called.
    """

    lane: int
    who: str
    title: str
    badge: str = ""
    tone: str = ""
    notes: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    folded: tuple[Piece, ...] = ()
    fold: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole transcript.

    Args:
        lanes: their names.
        rows: cards that stand side by side.
        time: what took how long, where anything took time.
    """

    lanes: tuple[str, ...]
    rows: tuple[tuple[Card, ...], ...]
    time: Spans | None = None


def timeline(events: Iterable[Event]) -> Timeline:
    """The timeline of a transcript."""
    events = tuple(events)
    agents = list(dict.fromkeys(_agent(e) for e in events if isinstance(e, ModelRequested))) or [""]
    drawn = _Drawing(agents, any(isinstance(e, ToolsRan | Aborted | TimedOut) and e.runs for e in events))
    for event in events:
        drawn.take(event)
    return Timeline(drawn.lanes, tuple(map(tuple, drawn.rows)), spans(drawn.lanes, drawn.times))


def _agent(event: ModelRequested) -> str:
    return event.agent or (f"thread {event.thread + 1}" if event.thread else "")


class _Drawing:
    """The rows so far, and what has been said already."""

    def __init__(self, agents: Sequence[str], has_runs: bool) -> None:
        many_agents = len(agents) > 1
        own = agents if len(agents) <= MODELS else agents[: MODELS - 1]
        names = [f"model of {agent or 'the main agent'}" if many_agents else "model" for agent in own]
        others = ["model of other agents"] if len(own) < len(agents) else []
        self.lanes = ("loop", *names, *others, *(["tools"] if has_runs else []))
        self._models = {agent: 2 + min(at, MODELS - 1) for at, agent in enumerate(agents)}
        self._named = dict(zip(own, names, strict=True))
        self.rows: list[list[Card]] = []
        self.times: list[tuple[int, float, float]] = []
        self._threads: dict[int, Joined] = {}
        self._said: set[str] = set()
        self._number = 0
        self._clock = 0.0
        self._agent = agents[0]

    def take(self, event: Event) -> None:
        """Draw one event."""
        if isinstance(event, ModelRequested):
            self._request(event)
        elif isinstance(event, ModelReplied):
            self._beside(self._reply(event.reply, self._took(self._lane, event.seconds)))
        elif isinstance(event, ModelFailed):
            self._fault(event)
        elif isinstance(event, ToolsRan):
            self._runs(event.runs, event.seconds)
        elif isinstance(event, Aborted | TimedOut):
            self._given_up(event)
        elif isinstance(event, RunStarted):
            self._started(event)
        elif isinstance(event, RunFinished):
            self._alone(self._finished(event))
        elif isinstance(event, Waited):
            self._clock += event.seconds
        elif isinstance(event, OutOfScript):
            self._alone("out of script", "the script has no further reply", "warn")
        elif isinstance(event, Unbounded):
            self._alone("unbounded", "nothing would ever stop this run; given up", "warn")

    # -- lanes and rows ---------------------------------------------------------------------------------------------

    @property
    def _lane(self) -> int:
        return self._models[self._agent]

    def _card(self, lane: int, title: str, **what: Any) -> Card:
        is_shared = lane == self._lane and self._agent not in self._named
        return Card(lane, f"model of {self._agent}" if is_shared else self.lanes[lane - 1], title, **what)

    def _alone(self, what: Card | str, badge: str = "", tone: str = "") -> None:
        self.rows.append([self._card(1, what, badge=badge, tone=tone) if isinstance(what, str) else what])

    def _beside(self, card: Card) -> None:
        """In the row of the last request, or in a row of its own where that is none or is past this lane."""
        row = self.rows[-1] if self.rows else []
        if row and row[0].title.startswith("request") and all(c.lane < card.lane or c.who == card.who for c in row):
            row.append(card)
        else:
            self.rows.append([card])

    def _took(self, lane: int, seconds: float) -> tuple[str, ...]:
        if not seconds:
            return ()
        self.times.append((lane, self._clock, self._clock + seconds))
        self._clock += seconds
        return (f"{seconds:g} s",)

    # -- events -----------------------------------------------------------------------------------------------------

    def _started(self, event: RunStarted) -> None:
        history = self._unsaid(event.messages)
        pieces = () if event.prompt is None else (piece("text", "prompt", event.prompt),)
        fold = f"{many(len(event.messages), 'message')} of history"
        if pieces or history:
            self._alone(self._card(1, "start", pieces=pieces, folded=history, fold=fold))
        self._said.update(_key(of_part(Text(each.text))) for each in pieces)

    def _request(self, event: ModelRequested) -> None:
        self._number += 1
        self._agent = _agent(event)
        sent = self._threads.setdefault(event.thread, Joined()).request(event.kept, event.new)
        notes = (f"keeps {many(sent.kept, 'message')}", f"new: {', '.join(map(short, sent.new)) or 'nothing'}")
        unsaid = self._unsaid(sent.new)
        results = tuple(each for each in unsaid if each.kind == "result")  # of tools that ran where nobody saw it
        others = tuple(each for each in unsaid if each.kind != "result")
        fold = "what else is new in it" if results else "what is new in it"
        title = f"request {self._number}"
        self._alone(self._card(1, title, notes=notes, pieces=results, folded=others, fold=fold))

    def _unsaid(self, messages: Sequence[Message]) -> tuple[Piece, ...]:
        """The parts of a request that no card before has shown as they are: what the SDK made itself."""
        found = []
        for message in messages:
            for part in message.content:
                key = _key(of_part(part))
                if key not in self._said:
                    self._said.add(key)
                    found.append(of_part(part, message.role))
        return tuple(found)

    def _reply(self, reply: Reply, notes: tuple[str, ...]) -> Card:
        self._said.update(_key(of_part(block)) for block in reply.blocks)
        return reply_card(reply, self._lane, self._card(self._lane, "").who, "reply", notes)

    def _fault(self, event: ModelFailed) -> None:
        notes = self._took(self._lane, event.seconds)
        partial = tuple(map(of_part, event.fault.partial.blocks)) if event.fault.partial is not None else ()
        what = (piece("error", "what came", fault_text(event.fault)),)
        self._beside(
            self._card(
                self._lane, "fault", badge=str(event.fault.status or event.fault.disconnect or "no reply"), tone="bad",
                notes=notes, pieces=what, folded=partial, fold="the reply that was on its way",
            )
        )  # fmt: skip

    def _runs(self, runs: Sequence[ToolRun], seconds: float) -> None:
        lane = len(self.lanes)
        for run in runs:
            notes = (f"{run.seconds:g} s",) if run.seconds else ()
            if run.seconds:
                self.times.append((lane, self._clock, self._clock + run.seconds))
            self._beside(self._run(run, lane, notes))
        self._clock += seconds

    def _run(self, run: ToolRun, lane: int, notes: tuple[str, ...]) -> Card:
        word, tone = ("raises", "bad") if run.raised else ("fails", "bad") if run.is_error else ("returns", "good")
        if run.timed_out:
            word, tone = "timed out", "bad"
        got = of_value("call", f"input of {run.call_id}", run.input)
        gave = of_value("result", f"result of {run.call_id}", run.output)
        self._said.add(_key(gave))
        pieces = (got,) if run.timed_out else (got, gave)
        return self._card(lane, run.name, badge=word, tone=tone, notes=notes, pieces=pieces)

    def _given_up(self, event: Aborted | TimedOut) -> None:
        self._runs(event.runs, event.seconds)
        words = ("aborted", "the caller gives up") if isinstance(event, Aborted) else ("timed out", "the time is up")
        self._alone(words[0], words[1], "warn")

    def _finished(self, event: RunFinished) -> Card:
        outcome = event.outcome
        is_silent = outcome.returned == "answer" and outcome.ended not in HONEST_ENDINGS
        tone = "bad" if is_silent else {"answer": "good", "stopped": "warn"}.get(outcome.returned, "error")
        if outcome.error_type is not None:
            pieces = (piece("error", f"throws {outcome.error_type}", outcome.error_message or ""),)
        else:
            pieces = (piece("text", outcome.finish_reason or "no finish reason", outcome.final_text or ""),)
        notes = (f"returned: {outcome.returned}", *(("the caller is misled",) if is_silent else ()))
        return self._card(1, "end", badge=outcome.ended, tone=tone, notes=notes, pieces=pieces)


def reply_card(reply: Reply, lane: int, who: str, title: str, notes: tuple[str, ...]) -> Card:
    """A reply of a model."""
    pieces = tuple(map(of_part, reply.blocks)) or (piece("other", "reply", "(no content)"),)
    if reply.usage is not None:
        notes = (*notes, f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out")
    tone = _TONES.get(reply.stop_reason or "", "bad" if reply.stop_reason else "")
    return Card(lane, who, title, reply.stop_reason or "no stop reason", tone, notes, pieces)


def _key(shown: Piece) -> str:
    """What makes a part of a request the same as something that was shown before."""
    return f"{shown.kind}\0{shown.label}\0{shown.length}\0{shown.text}"
