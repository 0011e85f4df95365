"""What a loop wants next. Drivers carry actions out and answer each with an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentsim.core.events import Outcome
from agentsim.core.messages import Message


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send a request: the first `kept` messages of the request before, then `new`.

    Args:
        kept: messages kept of the request before.
        new: messages that follow them.
        after: seconds to wait first (a provider's `retry_after`).
        agent: whose script answers; None is the main one.
        offered: names of the tools in the request; None: all of that agent's.
    """

    kept: int
    new: tuple[Message, ...]
    after: float = 0.0
    agent: str | None = None
    offered: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ToRun:
    """A call that is to be run, with the input that the tool function gets (a JSON value)."""

    call_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run tools and say how they ran, in order.

    Args:
        calls: in the order in which they start.
        batches: sizes of the batches that follow each other; a batch's calls run side by side. Empty: one batch of all.
        workers: how many of a batch run at once; None: all.
        eager: calls start as soon as their block is whole, before the reply ends.
        agent: whose tools; None is the main one's.
    """

    calls: tuple[ToRun, ...]
    batches: tuple[int, ...] = ()
    workers: int | None = None
    eager: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over."""

    outcome: Outcome


Action = CallModel | RunTools | Finish
