"""What the real API would have rejected of what a loop sent: the wire's strictness over a transcript's requests."""

from __future__ import annotations

from typing import Any

from agentsim.core.events import ModelReplied, ModelRequested
from agentsim.core.messages import Message
from agentsim.core.transcript import Transcript
from agentsim.wire.strict import complaints

#: Up to so many messages every request is judged as a whole; of longer ones, what came last.
WHOLE = 80


def refused_requests(transcript: Transcript, wire: str) -> list[dict[str, Any]]:
    """Each request that would be refused, with the rule it breaks first.

    Args:
        transcript: of a whole run.
        wire: whose rules hold.
    Returns:
        `[{"request": 3, "rule": "every_call_is_answered"}, …]`, requests counted from 1.
    """
    refused: list[dict[str, Any]] = []
    threads: dict[int, list[Message]] = {}
    number, paused = 0, False
    for event in transcript:
        if type(event) is ModelReplied:
            paused = event.reply.stop_reason in ("pause_turn", "compaction")
        elif type(event) is ModelRequested:
            number += 1
            history = threads.setdefault(event.thread, [])
            history[event.kept :] = event.new
            found = _complaints(history, wire, len(event.new), paused)
            if found:
                refused.append({"request": number, "rule": found[0][0]})
    return refused


def _complaints(history: list[Message], wire: str, new: int, paused: bool) -> list[tuple[str, str]]:
    if len(history) <= WHOLE:
        return complaints(history, wire, resumes=paused)
    recent = history[-max(WHOLE, new + 2) :]
    return complaints(recent, wire, None, len(recent) - new, resumes=paused)
