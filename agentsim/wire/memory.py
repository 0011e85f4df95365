"""What a provider keeps between requests: threads, stored responses, conversations. Plain data, one per session.

Histories are tuples that share their messages, and only the latest turns are kept, so a long session stays small.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from agentsim.core.messages import Block, Message, Reply, Thinking
from agentsim.wire.base import Json, ModelRequest

#: Stored turns; a thread or response older than that is not found any more, as at the providers after a while.
KEPT = 2048


@dataclass(slots=True)
class Turn:
    """One answered request.

    Args:
        asked: the request.
        history: the conversation up to and with the reply.
        reply: what was said.
        make: makes the provider's own object of it, where that can be asked for later.
        continued: a later request has continued it.
    """

    asked: ModelRequest
    history: tuple[Message, ...]
    reply: Reply
    make: Callable[[], Json] | None = None
    continued: bool = False
    _response: Json | None = None

    @property
    def response(self) -> Json | None:
        """The provider's own object; made when it is first asked for."""
        if self._response is None and self.make is not None:
            self._response = self.make()
        return self._response

    @property
    def output(self) -> list[Json]:
        """Its output items."""
        return list((self.response or {}).get("output", ()))


@dataclass(slots=True)
class Conversation:
    """A stored conversation of the Responses API."""

    id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    items: list[Json] = field(default_factory=list)


class Memory:
    """Everything that is stored under an id.

    Attributes:
        turns: reply id -> turn.
        conversations: by id.
        thoughts: signature -> thinking that was sent with it.
        followers: id of a reasoning item -> id of the item behind it, and back (`reasons`).
        pauses: what the latest paused replies said, to know them when they come back.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.turns: OrderedDict[str, Turn] = OrderedDict()
        self.conversations: dict[str, Conversation] = {}
        self.thoughts: dict[str, str] = {}
        self.followers: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.pauses: deque[tuple[Block, ...]] = deque(maxlen=64)
        self._kept = kept

    def saw(self, reply: Reply) -> None:
        """Remember of a reply what matters for the requests after it."""
        for block in reply.blocks:
            if isinstance(block, Thinking) and block.signature:
                self.thoughts[block.signature] = block.thinking
        if reply.stop_reason in ("pause_turn", "compaction"):
            self.pauses.append(reply.blocks)

    def resumes(self, history: Sequence[Message]) -> bool:
        """Whether the history ends in a paused reply that is sent back unchanged."""
        if not history or history[-1].role != "assistant":
            return False
        end = history[-1].content
        return any(end[len(end) - len(blocks) :] == blocks for blocks in self.pauses)

    def keep(self, reply_id: str, turn: Turn) -> None:
        """Store a turn."""
        self.turns[reply_id] = turn
        while len(self.turns) > self._kept:
            self.turns.popitem(last=False)

    def item(self, item_id: str) -> Json | None:
        """A stored output item."""
        for turn in reversed(self.turns.values()):
            for item in turn.output:
                if item.get("id") == item_id:
                    return item
        return None

    def saw_reasoning(self, output: list[Json]) -> None:
        """Remember which item follows which reasoning item, stored or not."""
        for item, after in pairwise(output):
            if item["type"] == "reasoning":
                self.followers[item["id"]] = after["id"]
                self.reasons[after["id"]] = item["id"]

    def conversation(self, conversation_id: str | None = None, metadata: Any = None) -> Conversation:
        """A new conversation; ids are counted unless one is given."""
        made = Conversation(conversation_id or f"conv_{len(self.conversations) + 1}", metadata or {})
        self.conversations[made.id] = made
        return made
