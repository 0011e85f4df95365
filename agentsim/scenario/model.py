"""What a scenario means, after its sugar is gone. `spelling` and `load` turn files into these values.

Standard-library dataclasses, so that a run pays nothing for the file format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentsim.core.events import Fault
from agentsim.core.messages import Message, Reply
from agentsim.core.tools import Approval, Decision, ToolOutcome, ToolSpec

__all__ = [
    "FOREVER",
    "INSTANT",
    "UNREADABLE",
    "Abort",
    "Agent",
    "AnyCall",
    "Approval",
    "Chaos",
    "Decision",
    "Entry",
    "Expectation",
    "Malformed",
    "OutputBlock",
    "Pace",
    "Price",
    "Scenario",
    "ScriptedFault",
    "ScriptedReply",
    "Stall",
    "StyleSettings",
    "TextMatch",
    "ToolOutcome",
    "ToolSpec",
    "When",
]

FOREVER = -1


@dataclass(frozen=True, slots=True)
class Pace:
    """Virtual time of a reply: until its first piece, for each piece, and between the last block and the end."""

    first: float = 0.0
    per_chunk: float = 0.0
    tail: float = 0.0


#: Everything arrives at once: what most replies have, and one value, so that it can be told by identity.
INSTANT = Pace()


@dataclass(frozen=True, slots=True)
class When:
    """A condition on the request that a reply may answer. `where`: "last_tool_result" or "prompt"."""

    where: Literal["last_tool_result", "prompt"]
    how: Literal["contains", "matches"]
    pattern: str


@dataclass(frozen=True, slots=True)
class TextMatch:
    """`contains` a text, or `matches` a regular expression (searched, not anchored)."""

    how: Literal["contains", "matches"]
    pattern: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the request that a reply answers has to hold (`request:`).

    Args:
        offers: tool names that it must offer.
        answers: None: not asked; else call id -> condition on its result (None: any result); `no_answers`: it holds none.
        resumes: the paused message unchanged and last, or its thread continued.
        text: conditions on the request's text.
    """

    offers: tuple[str, ...] = ()
    answers: Mapping[str, TextMatch | None] | None = None
    no_answers: bool = False
    resumes: bool = False
    text: tuple[TextMatch, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyCall:
    """`tool_use: {"*": {…}}`: a call of a tool that the request offers, arguments made from its schema.

    Args:
        id: None gets a counted one.
        overrides: arguments that are kept as they are.
        cut_after: only so many code points of the argument text arrive, or, negative, all but so many; None: all.
        raw: the argument text as it is, in place of one that fits the schema.
    """

    id: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    cut_after: int | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class OutputBlock:
    """Structured output: a call of the SDK's output tool where it has one, else `value` as JSON text."""

    value: Any


@dataclass(frozen=True, slots=True)
class Stall:
    """Silence on the way: `seconds` of it before the headers, or behind so many events of a stream."""

    seconds: float
    after_events: int | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A body that is not the provider's: a text of some kind; `body` None: its own JSON, cut in the middle."""

    body: str | None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Chaos:
    """What happens to an answer on its way.

    Args:
        gzip: it is compressed.
        chunk_bytes: it arrives in pieces of so many bytes, wherever they fall.
        stall: silence on the way.
        malformed: something else stands in place of its body.
        content_length: added to what the headers say of the body's length.
        events: (what is done, to which event of the stream, counted from 1), in order.
        truncate_after_events: the stream breaks after so many events.
        how: in which way it does.
        unended: a stream ends, properly, without the events by which the provider says that it is whole.
    """

    gzip: bool = False
    chunk_bytes: int | None = None
    stall: Stall | None = None
    malformed: Malformed | None = None
    content_length: int = 0
    events: tuple[tuple[Literal["repeat", "swap", "drop", "restart"], int], ...] = ()
    truncate_after_events: int | None = None
    how: Literal["end", "reset", "stall"] = "end"
    unended: bool = False

    @property
    def seconds(self) -> float:
        """How much later the answer comes."""
        return self.stall.seconds if self.stall is not None else 0.0

    def seen(self, fault: Fault | None, streamed: bool) -> Fault | None:
        """What a client sees instead of a reply, or of `fault`: None where the reply arrives as it is.

        A stream's events can only be changed where there is a stream. An HTTP error keeps its status, whatever its body is.
        """
        is_error = fault is not None and not fault.in_stream
        streamed = streamed and not is_error
        if self.malformed is not None:
            return fault if is_error else _unreadable(f"the body is no reply ({self.malformed.content_type})")
        if self.content_length:
            return _unreadable("the body is not as long as its headers say")
        if streamed and self.truncate_after_events is not None:
            text = f"the stream breaks after {self.truncate_after_events} events"
            return Fault(200, UNREADABLE, text, after_characters=0, disconnect=self.how)
        if streamed and self.unended:
            return _unreadable("the stream ends without the events that say so")
        if streamed and self.events:
            return _unreadable(f"the stream's events are not in order ({', '.join(how for how, _ in self.events)})")
        return fault


#: The type of a fault that no provider sent: the client can't make sense of what came.
UNREADABLE = "unreadable_answer"


def _unreadable(message: str) -> Fault:
    return Fault(200, UNREADABLE, message, after_characters=0)


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One entry of a script that is a reply.

    Args:
        reply: blocks as written. A ToolCall whose id is "" gets a counted one when it is played (`call_1`), a ServerCall
            likewise (`srvtoolu_1`); a ServerResult with call_id "" answers the server call before it.
        pace: virtual latencies.
        characters_per_chunk: of the stream, None: whole blocks in a few chunks.
        repeat: how often it is played in all; FOREVER for the last.
        handoff: agents that it hands over to.
        extras: (position, AnyCall | OutputBlock) in order: blocks that only the request or the SDK can fill. The position is
            the one in the finished reply: inserting them one after the other puts each where it belongs.
        chaos: what happens to it on its way.
        line: where it stands in the file, 1-based; 0 unknown.
    """

    reply: Reply
    pace: Pace = INSTANT
    characters_per_chunk: int | None = None
    repeat: int = 1
    when: When | None = None
    request: Expectation | None = None
    handoff: tuple[str, ...] = ()
    extras: tuple[tuple[int, AnyCall | OutputBlock], ...] = ()
    chaos: Chaos | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """One entry of a script that is a fault. `extras` belong to its partial reply."""

    fault: Fault
    pace: Pace = INSTANT
    characters_per_chunk: int | None = None
    repeat: int = 1
    when: When | None = None
    request: Expectation | None = None
    extras: tuple[tuple[int, AnyCall | OutputBlock], ...] = ()
    chaos: Chaos | None = None
    line: int = field(default=0, compare=False)


Entry = ScriptedReply | ScriptedFault


def seen_instead(entry: Entry, fault: Fault | None, streamed: bool) -> Fault | None:
    """What a client sees in place of an entry's reply; None where the reply arrives.

    Args:
        entry: what answers.
        fault: its fault with every id given, if it has one.
        streamed: whether the client asked for a stream; who did not gets the whole reply where only a stream breaks.
    """
    if fault is not None and fault.in_stream and not streamed and fault.partial is not None:
        fault = None
    return fault if entry.chaos is None else entry.chaos.seen(fault, streamed)


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent with a script of its own. `tools` are those that it declares itself."""

    name: str
    system: str | None = None
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    script: tuple[Entry, ...] = ()
    limit: float | None = None
    background: bool = True
    handoffs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Abort:
    """The caller gives up: before request n is sent, or while the named tool runs."""

    before_reply: int | None = None
    during: str | None = None


@dataclass(frozen=True, slots=True)
class StyleSettings:
    """What `styles:` says of one style, or of every entry point of an SDK.

    Args:
        limit: "default" is the SDK's default; None is "none".
        options: the option tree.
        expect: what a run in this style has to show.
        line, options_line: where the name and the options stand in the file; 0 where there is none.
    """

    limit: Any = "default"
    options: Mapping[str, Any] = field(default_factory=dict)
    expect: Mapping[str, Any] | None = None
    line: int = field(default=0, compare=False)
    options_line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario. The main agent's tools, script and handoffs stand at its top.

    Args:
        name, system, messages, tools, handoffs, agent, agents, approvals, output, price, abort, styles, expect: as in the file.
        prompts: one for each run on the thread.
        script: replies and faults, in order; further agents have scripts of their own.
        unused_replies_allowed: whether replies that are never asked for are no failure of a test.
        path: of the file that it was read from.
    """

    name: str
    prompts: tuple[str, ...] = ()
    system: str | None = None
    messages: tuple[Message, ...] = ()
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    script: tuple[Entry, ...] = ()
    handoffs: tuple[str, ...] = ()
    agent: str | None = None
    agents: Mapping[str, Agent] = field(default_factory=dict)
    approvals: tuple[tuple[Decision, ...], ...] = ()
    output: Mapping[str, Any] | None = None
    price: Price | None = None
    abort: Abort | None = None
    styles: Mapping[str, StyleSettings] = field(default_factory=dict)
    expect: Mapping[str, Any] | None = None
    unused_replies_allowed: bool = False
    path: str | None = field(default=None, compare=False)

    def settings(self, style: str) -> StyleSettings | None:
        """What `styles:` says of a style: under its own name, else under its SDK's, which speaks of all entry points."""
        found = self.styles.get(style)
        return found if found is not None or "@" in style else self.styles.get(style.partition("/")[0])
