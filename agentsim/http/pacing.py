"""Real time: when each piece of a stream is sent, where a scenario's seconds are to be waited for."""

from __future__ import annotations

from dataclasses import replace

from agentsim.scenario.model import Pace
from agentsim.wire.base import HttpResponse


def paced(response: HttpResponse, pace: Pace) -> HttpResponse:
    """The response with its delays: before the first piece, before each piece, and before what follows the last."""
    if not (pace.first or pace.per_chunk or pace.tail) or not response.chunks:
        return response
    delays = [0.0] * len(response.chunks)
    if not response.streams:
        delays[0] = pace.first + pace.per_chunk + pace.tail
        return replace(response, delays=tuple(delays))
    pieces = response.pieces or (0,)
    delays[pieces[0]] += pace.first
    for index in response.pieces:
        delays[index] += pace.per_chunk
    delays[min(pieces[-1] + 1, len(delays) - 1)] += pace.tail
    return replace(response, delays=tuple(delays))
