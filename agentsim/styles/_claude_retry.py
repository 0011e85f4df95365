"""Which requests the CLI sends again, and how."""

from __future__ import annotations

from dataclasses import dataclass

from agentsim.core.events import Fault
from agentsim.core.run import Retry
from agentsim.core.wires import arrived
from agentsim.styles._claude_talk import Talk

OVERLOADS = 2


@dataclass(slots=True)
class Tries:
    """What was tried for one reply.

    Args:
        again: requests sent again since the stream's last failure; `overloads`: of those for an overload.
        ends: streams that merely ended.
        fell_back: a request that the provider does not take was sent once more.
    """

    again: int = 0
    overloads: int = 0
    ends: int = 0
    fell_back: bool = False


def too_long(fault: Fault) -> bool:
    """Whether the provider says that the prompt is too long."""
    return fault.status == 400 and "prompt is too long" in fault.message.lower()


def whole_blocks(fault: Fault) -> bool:
    """Whether any block of the reply had arrived whole when the stream broke."""
    reply, unfinished = arrived(fault)
    return len(reply.blocks) > unfinished


class CliRetry(Retry):
    """What the CLI sends again: most errors 10 times, an overload twice, a bad request once more with a simpler `thinking`.

    A stream that breaks before its first block is whole is asked for anew: as a stream where the connection was reset, or where
    it merely ended for the first time; else in one piece. Then the count begins anew.
    """

    __slots__ = ("talk", "tries")
    talk: Talk
    tries: Tries

    def __init__(self, talk: Talk) -> None:
        super().__init__(talk.options.retries, frozenset({401, 408, 409, 429}))
        object.__setattr__(self, "talk", talk)
        object.__setattr__(self, "tries", Tries())

    def again(self, fault: Fault, attempts: int) -> bool:
        """Whether the request is sent once more."""
        tries = self.tries
        if fault.in_stream:
            return self._stream_again(fault)
        if fault.status == 400:
            return not too_long(fault) and self._simpler()
        if fault.status in (404, 422):
            first, tries.fell_back = not tries.fell_back, True
            return first
        if fault.status == 529:
            tries.overloads += 1
            if tries.overloads > OVERLOADS:
                return False
        tries.again += 1
        return super().again(fault, tries.again)

    def whole(self, fault: Fault) -> bool:
        """Whether the reply is asked for in one piece."""
        if fault.status == 404:
            return True
        return (
            fault.in_stream and fault.disconnect != "reset" and not (fault.disconnect == "end" and self.tries.ends == 1)
        )

    def _stream_again(self, fault: Fault) -> bool:
        if whole_blocks(fault):
            return False
        if fault.disconnect == "reset":
            self.tries.again += 1
            return self.tries.again <= self.retries
        self.tries.ends += fault.disconnect == "end"
        self.tries.again = 0
        self.tries.overloads = int(fault.type == "overloaded_error" and fault.disconnect is None)
        return True

    def _simpler(self) -> bool:
        """A bad request is sent with a simpler `thinking`, which stays; the newer CLI has two such steps."""
        self.talk.shared.bad_requests += 1
        return self.talk.shared.bad_requests <= (2 if self.talk.entry.python else 1)
