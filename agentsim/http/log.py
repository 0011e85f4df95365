"""What a provider saw and said, request by request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def is_helped(request: SentRequest) -> bool:
    """Whether the stream helper of one of Anthropic's SDKs may collect the reply: in Python it says so, in TypeScript it does not."""
    return "x-stainless-stream-helper" in request.headers or request.headers.get("x-stainless-lang") == "js"


def streams(request: SentRequest) -> bool:
    """Whether a request asks for a stream in its body."""
    body = request.body
    return isinstance(body, dict) and body.get("stream") is True


def led(sent: Sequence[SentRequest]) -> Iterator[int]:
    """Numbers of the requests that a system prompt leads: their own, or one that the stored history holds as a message."""
    stored = False
    for number, each in enumerate(sent, 1):
        body = each.body if isinstance(each.body, dict) else {}
        continues = bool(body.get("previous_response_id") or body.get("conversation"))
        if each.system or (continues and stored):
            yield number
        stored = (continues and stored) or bool(each.system and not body.get("instructions"))
