"""A provider that plays a recording to today's agent, and only to requests that the recording holds.

Of each recorded conversation the next request is what is expected; several (subagents) may go on side by side. Anything else is a
mistake, told with the nearest recorded request and the first difference.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Message, Reply, ToolCall
from agentsim.errors import AgentsimError, ScriptError, ScriptExhausted, TranscriptError
from agentsim.http.provider import Provider, Settings
from agentsim.scenario.model import Scenario, ScriptedFault, ScriptedReply
from agentsim.scenario.play import Played, Player
from agentsim.store.recording import Recording, scenarios
from agentsim.store.replaying import Asked, Expected, Step, Track, difference, likeness
from agentsim.wire.base import HttpRequest, HttpResponse, ModelRequest


class _Rest(Player):
    """What is left of a recording."""

    expected: Expected

    @property
    def unused(self) -> int:
        """Recorded replies that were not asked for."""
        return sum(track.unused for track in self.expected.tracks)


class Replayer(Provider):
    """Plays one recording.

    Args:
        recording: from an importer.
        lenient: False: each request has to be the recorded one; True: dates, ids and long numbers may differ; regular
            expressions: what they match may differ as well.
        settings, prefix: as Provider's.
    Attributes:
        expected: what the recording expects, and how far it got.
    Raises:
        TranscriptError: the recording holds no reply.
    """

    def __init__(
        self,
        recording: Recording,
        lenient: bool | str | Iterable[str] = False,
        settings: Settings | None = None,
        prefix: str = "",
    ) -> None:
        found = scenarios(recording)
        if not found:
            raise TranscriptError(f"this {recording.format} holds no reply of a model to play")
        scenario = Scenario("the recording", found[0].prompts, found[0].system, found[0].messages, found[0].tools)
        super().__init__(scenario, settings, prefix)
        self.expected = Expected.of(recording, lenient)
        self.player = _Rest(scenario)
        self.player.expected = self.expected

    @property
    def finished(self) -> bool:
        """Whether every recorded request was asked."""
        return all(track.next is None or track.next.answer is None for track in self.expected.tracks)

    @property
    def failed(self) -> bool:
        """Whether anything but the recorded was asked."""
        return bool(self.errors or self.refused)

    @property
    def missing(self) -> str:
        """What was not asked for, in words; "" where all was."""
        left = [(track, track.next) for track in self.expected.tracks if track.unused and track.next is not None]
        return "; ".join(f"{_named(track, step)} was never asked" for track, step in left)

    def _next(self, asked: ModelRequest, history: tuple[Message, ...], agent: str | None) -> Played:
        offered = None if asked.offers is None else [offer.name for offer in asked.offers if not offer.server]
        system = None if asked.system is None and asked.parent else asked.system or ""
        came = self.expected.read(history, system, offered, asked.wire)
        waiting = [(track, step) for track in self.expected.tracks if (step := track.next) is not None]
        for track, step in waiting:
            if step.answer is not None and difference(step.asked, came) is None:
                track.at += 1
                return _played(step.answer)
        raise self._refusal(came, waiting)

    def _refusal(self, came: Asked, waiting: list[tuple[Track, Step]]) -> AgentsimError:
        which = f"request {self.replies + 1}"
        every = [(track, step) for track in self.expected.tracks for step in track.steps]
        # Of several that are equally near the one that is expected next is named.
        track, step = max(every, key=lambda each: (likeness(each[1].asked, came), each in waiting))
        what = difference(step.asked, came)
        near = f"the nearest is {_named(track, step)}" + (f", which differs in {what}" if what else ", asked before")
        if step is track.next and what is None:
            near = f"{_named(track, step)} is this one, but the recording ends before its answer"
        if not any(step.answer is not None for _, step in waiting):
            return ScriptExhausted(f"{which}: the recording ends before it; {near}")
        names = " or ".join(_named(track, step) for track, step in waiting)
        return ScriptError(f"{which} is not what the recording has next ({names}); {near}")


class Replays:
    """An Endpoint that plays a recording again and again: who asks its first request when all was asked begins anew."""

    def __init__(self, recording: Recording, lenient: Any, settings: Settings, *, again: bool = True) -> None:
        self._recording, self._lenient, self._settings, self._again = recording, lenient, settings, again
        self._count = 0
        self._lock = threading.Lock()
        self.now = self._begun()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        with self._lock:
            if self._again and self.now.finished:
                self.now = self._begun()
        return self.now(request)

    def _begun(self) -> Replayer:
        self._count += 1
        return Replayer(self._recording, self._lenient, self._settings, f"{self._count}x")


def _played(answer: Reply | Fault) -> Played:
    if isinstance(answer, Fault):
        return Played(ScriptedFault(answer), None, answer)
    ids = [call.id for call in answer.calls]
    if len(set(ids)) < len(ids) or not all(ids):  # a provider tells its calls apart, also where a log does not
        numbered = (f"{call or 'call'}_{n}" for n, call in enumerate(ids, 1))
        blocks = tuple(replace(b, id=next(numbered)) if isinstance(b, ToolCall) else b for b in answer.blocks)
        answer = replace(answer, blocks=blocks)
    return Played(ScriptedReply(answer), answer)


def _named(track: Track, step: Step) -> str:
    return f"recorded request {step.number}" + (f" of {track.name}" if track.name else "")
