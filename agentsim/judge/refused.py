"""What the real API would have rejected of what a loop sent: the wire's strictness over a transcript's requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsim.core.events import ModelReplied, ModelRequested
from agentsim.core.messages import Message, Text, ToolCall, ToolResult
from agentsim.core.transcript import Transcript
from agentsim.wire.strict import LEGAL_ID, complaints

#: Up to so many messages a request that is not plainly fine is judged as a whole; of longer ones, what came last.
WHOLE = 80


class _Thread:
    """One conversation, judged request by request: what is plainly fine is not looked at twice."""

    def __init__(self, wire: str) -> None:
        self.wire = wire
        self.history: list[Message] = []
        self.ids: set[str] = set()
        self.fine = True

    def request(self, kept: int, new: Sequence[Message], paused: bool) -> str | None:
        """The rule that this request breaks first; None where the API would take it."""
        grows = kept == len(self.history)
        self.history[kept:] = new
        if self.fine and grows and self._plainly_fine(new):
            return None
        found = _complaints(self.history, self.wire, len(new), paused)
        self.fine = not found and grows and not paused
        return found[0][0] if found else None

    def _plainly_fine(self, new: Sequence[Message]) -> bool:
        """A first prompt, nothing new, or a reply with calls and exactly their results behind it."""
        if not new:
            return self.history[-1].role == "user" if self.history else False
        if len(new) == 1:
            return len(self.history) == 1 and new[0].role == "user" and _is_text(new[0])
        if len(new) != 2 or new[0].role != "assistant" or new[1].role != "user":
            return False
        calls = []
        for block in new[0].content:
            if type(block) is ToolCall and block.id not in self.ids and LEGAL_ID.fullmatch(block.id):
                calls.append(block.id)
                self.ids.add(block.id)
            elif type(block) is not Text or not block.text.strip():
                return False
        answers = [part.call_id for part in new[1].content if type(part) is ToolResult]
        return bool(calls) and answers == calls and len(answers) == len(new[1].content)


def _is_text(message: Message) -> bool:
    return len(message.content) == 1 and type(message.content[0]) is Text and bool(message.content[0].text.strip())


def refused_requests(transcript: Transcript, wire: str) -> list[dict[str, Any]]:
    """Each request that would be refused, with the rule it breaks first.

    Args:
        transcript: of a whole run.
        wire: whose rules hold.
    Returns:
        `[{"request": 3, "rule": "every_call_is_answered"}, …]`, requests counted from 1.
    """
    refused: list[dict[str, Any]] = []
    threads: dict[int, _Thread] = {}
    number, paused = 0, False
    for event in transcript:
        if type(event) is ModelReplied:
            paused = event.reply.stop_reason in ("pause_turn", "compaction")
        elif type(event) is ModelRequested:
            number += 1
            thread = threads.setdefault(event.thread, _Thread(wire))
            rule = thread.request(event.kept, event.new, paused)
            if rule is not None:
                refused.append({"request": number, "rule": rule})
    return refused


def _complaints(history: list[Message], wire: str, new: int, paused: bool) -> list[tuple[str, str]]:
    if len(history) <= WHOLE:
        return complaints(history, wire, resumes=paused)
    recent = history[-max(WHOLE, new + 2) :]
    return complaints(recent, wire, None, len(recent) - new, resumes=paused)
