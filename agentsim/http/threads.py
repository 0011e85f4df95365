"""Conversations of one session, told apart by what they carry: which request goes on where another left off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import Message
from agentsim.wire.base import ModelRequest

#: So many conversations are told apart at once; the oldest is forgotten.
MOST = 32


@dataclass(slots=True)
class Thread:
    """One conversation.

    Args:
        number: 0 is the main agent's first.
        agent: whose it is.
        asked: its last request, None before the first.
        history: what that request carried, stored messages included.
        judged: how many of those messages were found in order.
    """

    number: int
    agent: str | None = None
    asked: ModelRequest | None = None
    history: tuple[Message, ...] = ()
    judged: int = 0


def common(old: Sequence[Message], new: Sequence[Message]) -> int:
    """How many messages two histories share at their beginning."""
    most = min(len(old), len(new))
    for index in range(most):
        if old[index] is not new[index] and old[index] != new[index]:
            return index
    return most


class Threads:
    """All conversations of a session."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []
        self._made = 0

    def like(self, items: Any) -> ModelRequest | None:
        """The latest request that begins as these items do: most of it need not be read again."""
        if not isinstance(items, list) or not items:
            return None
        for thread in reversed(self._threads):
            asked = thread.asked
            if asked is not None and asked.items and asked.items[0] == items[0]:
                return asked
        return None

    def find(self, history: tuple[Message, ...], agent: str | None) -> Thread:
        """The conversation that this history goes on; the main agent's requests that share nothing start it over."""
        found, longest = None, 0
        for thread in self._threads:
            shared = common(thread.history, history) if thread.agent == agent else 0
            if shared > longest:
                found, longest = thread, shared
        if found is None and agent is None:
            found = next((thread for thread in self._threads if thread.agent is None), None)
        if found is None:
            found = Thread(self._made, agent)
            self._made += 1
            self._threads.append(found)
            if len(self._threads) > MOST:
                del self._threads[0]
        return found

    def fit(self, history: tuple[Message, ...]) -> int:
        """How much of a history some conversation has seen; 0 where it is none's continuation."""
        return max((common(t.history, history) for t in self._threads if len(t.history) < len(history)), default=0)
