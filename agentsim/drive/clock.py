"""Virtual time: when a reply's pieces arrive, and when tools start and end under an SDK's concurrency."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from agentsim.core.messages import Block, Refusal, Reply, ServerCall, Text, Thinking, ToolCall
from agentsim.scenario.model import Pace


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a reply arrives, in seconds from its request.

    Args:
        seconds: its end.
        calls: when each client call's block is whole.
    """

    seconds: float
    calls: tuple[float, ...] = ()

    def later(self, seconds: float) -> Arrival:
        """The same, so much later."""
        return Arrival(self.seconds + seconds, tuple([at + seconds for at in self.calls])) if seconds else self


def _characters(block: Block) -> int:
    kind = type(block)
    if kind is Text or kind is Refusal:
        return len(block.text)  # type: ignore[union-attr]
    if kind is ToolCall or kind is ServerCall:
        return len(block.arguments)  # type: ignore[union-attr]
    return len(block.thinking) if kind is Thinking else 0  # type: ignore[union-attr]


def chunks_of(block: Block, characters_per_chunk: int | None) -> int:
    """How many pieces a block arrives in: one, or one for every so many characters."""
    return max(1, -(-_characters(block) // characters_per_chunk)) if characters_per_chunk else 1


def arrival(reply: Reply, pace: Pace, characters_per_chunk: int | None) -> Arrival:
    """When the reply's calls and its end arrive.

    Args:
        reply: what arrives, block after block.
        pace: seconds until the first piece, for each piece, and from the last block to the end.
        characters_per_chunk: of the stream; None: a block is one piece.
    """
    if not (pace.first or pace.per_chunk or pace.tail):
        return Arrival(0.0, (0.0,) * sum(type(b) is ToolCall for b in reply.blocks))
    at, calls = pace.first, []
    for block in reply.blocks:
        at += pace.per_chunk * chunks_of(block, characters_per_chunk)
        if type(block) is ToolCall:
            calls.append(at)
    return Arrival(at + pace.tail, tuple(calls))


def schedule(
    seconds: Sequence[float],
    batches: Sequence[int] = (),
    workers: int | None = None,
    ready: Sequence[float] | None = None,
) -> list[tuple[float, float]]:
    """Start and end of each run of a round.

    Args:
        seconds: how long each run takes, in order of start.
        batches: sizes of batches that follow each other; empty: one of all.
        workers: how many of a batch run at once; None: all.
        ready: not before this time; None: all at 0.
    Returns:
        (start, end) for each run, on the clock of `ready`.
    """
    times: list[tuple[float, float]] = []
    floor, first = 0.0, 0
    for size in batches or (len(seconds),):
        free = [floor] * min(workers or size, size)
        for i in range(first, first + size):
            begin = max(heapq.heappop(free), ready[i] if ready else 0.0)
            times.append((begin, begin + seconds[i]))
            heapq.heappush(free, begin + seconds[i])
        first += size
        floor = max((end for _, end in times), default=0.0)
    return times
