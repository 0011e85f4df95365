"""What a provider saw and said, request by request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Message, Reply
from agentsim.core.value import value
from agentsim.wire.base import Offer, read_json


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that the real API would have rejected, and was.

    Args:
        request: its number, counted from 1.
        rule: the name of the rule that it breaks.
        message: the provider's words.
    """

    request: int
    rule: str
    message: str


@value
class SentRequest:
    """One request as it came, and what it got.

    Args:
        number: counted from 1.
        method, url, headers: as sent; header names in lower case.
        content: the body's bytes.
        wire: which provider it is meant for.
        messages: the whole conversation in neutral words, threads resolved; empty where it could not be read.
        offered: names of the tools in it; None where a stored thread's stand.
        offers: the tools themselves.
        agent: whose script answered; None is the main one's.
        reply, fault: what it got; both None where it was refused.
        system: the system prompt in it; None where there is none.
    """

    number: int
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes = field(repr=False)
    wire: str = ""
    messages: tuple[Message, ...] = field(default=(), repr=False)
    offered: tuple[str, ...] | None = None
    offers: tuple[Offer, ...] | None = field(default=None, repr=False)
    agent: str | None = None
    reply: Reply | None = None
    fault: Fault | None = None
    system: str | None = None
    _read: list[Any] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def body(self) -> Any:
        """The body as JSON; None where it is none. It is read when it is first asked for."""
        if not self._read:
            try:
                self._read.append(read_json(self.content))
            except ValueError:
                self._read.append(None)
        return self._read[0]
