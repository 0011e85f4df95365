"""What a rule judges: the requests and replies of a run, and what else is known of it.

A Case is made of a Transcript. A transcript alone leaves things open (what the code under test returned, whether a tool
really ran), so whoever watched the run adds what they saw; a rule that needs to know more says "not applicable".
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from agentsim.core.events import (
    Event,
    Fault,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Outcome,
    RunFinished,
    ToolRun,
    ToolsRan,
)
from agentsim.core.messages import Message, Reply, ToolCall, ToolResult
from agentsim.core.partial_json import NotAPrefix, complete
from agentsim.core.wires import ANTHROPIC, parse

#: What a caller got: an answer, no answer (an exception, None, nothing), or a crash of the code under test.
Got = Literal["answer", "none", "crash"]

CUT = ("max_tokens", "model_context_window_exceeded")

#: Words by which a result says that a call failed or was not run.
ERROR_WORDS = re.compile(
    r"error|fail|invalid|unknown|exception|traceback|\bcut\b|truncat|incomplete|exceed|could ?n.t|could not|cannot|can.t|"
    r"unable|missing|refus|denied|reject|not (?:run|ran|executed?|found|available|valid|allowed|a tool|offered|parse)|"
    r"n.t (?:run|ran|executed?|exist|parse|fit)|no (?:such )?tool|no such|does not|did not|abort|cancel|skipped|unsupported|"
    r"malformed|bad |wrong|unexpected|required|must |again|retry|resend|too long|unreadable|not json|no json|"
    r"[\"'](?:ok|success|succeeded)[\"']\s*:\s*false",
    re.IGNORECASE,
)


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and what it got.

    Args:
        number: counted from 1.
        thread: which conversation.
        kept: so many messages of the conversation's request before stand at its beginning.
        history: every message that the request carries.
        offered: names of the tools that it offers; None where that is not known.
        reply, fault: what it got; both None where that is not known.
        runs: the tool runs recorded after it.
        before, after: the conversation's requests before and after this one.
    """

    number: int
    thread: int
    kept: int
    history: tuple[Message, ...]
    offered: tuple[str, ...] | None
    reply: Reply | None = None
    fault: Fault | None = None
    runs: list[ToolRun] = field(default_factory=list)
    before: Exchange | None = None
    after: Exchange | None = None

    @property
    def stop(self) -> str | None:
        """The reply's stop reason; None without a reply."""
        return self.reply.stop_reason if self.reply is not None else None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The reply's calls for the client."""
        return self.reply.calls if self.reply is not None else ()

    @property
    def is_cut(self) -> bool:
        """Whether the output limit or the context window ended the reply."""
        return self.stop in CUT

    def grew(self) -> bool:
        """Whether the next request holds all of this one's messages."""
        return self.after is not None and self.after.kept >= len(self.history)

    def tail(self) -> tuple[Message, ...]:
        """What the next request holds behind this one's messages; all of it where they don't stand at its beginning."""
        if self.after is None:
            return ()
        return self.after.history[len(self.history) :] if self.grew() else self.after.history

    def behind_reply(self) -> tuple[Message, ...]:
        """What the next request holds behind the reply's calls, up to the reply after it."""
        tail = self.tail()
        ids = {call.id for call in self.calls}
        holding = [
            index
            for index, message in enumerate(tail)
            if any(type(p) is ToolCall and p.id in ids for p in message.content)
        ]
        if not holding:
            return tail
        behind: list[Message] = []
        for message in tail[holding[-1] + 1 :]:
            if message.role == "assistant":
                break
            behind.append(message)
        return tuple(behind)

    def result(self, call_id: str) -> ToolResult | None:
        """The last result for a call in the next request."""
        found = [part for part in parts(self.tail()) if type(part) is ToolResult and part.call_id == call_id]
        return found[-1] if found else None

    def starts_over(self) -> bool:
        """Whether the next request holds no reply at all, though the run had got one."""
        return self.after is not None and not any(m.role == "assistant" for m in self.after.history)


@dataclass(eq=False)
class Case:
    """A run as rules look at it.

    Args:
        events: the transcript.
        wire: of which provider the messages are; None where that is not known.
        got: what the caller of the code under test got; None: not known.
        crash: the crash in words.
        finished: whether the run is over, so that what is not there won't come.
        stopped: why the run had to be stopped from outside ("100 requests and no end"), or None.
        endless: whether the script goes on for ever.
        limit: model calls that the code under test was told to make at most; None: not known.
        schemas: JSON Schema of each tool that requests offered.
        executions: (requests sent before it, tool) for each execution that was watched; None: nobody watched.
        failing: tools that were made to fail.
        resent: numbers of the requests that the SDK's client sent again by itself.
        whole: numbers of the requests whose replies were not streamed.
        helped: numbers of the requests whose streams an SDK's helper collects.
        led: numbers of the requests that have a system prompt.
        refused: (rule, the provider's words) of requests that were refused.
    """

    events: Sequence[Event]
    wire: str | None = None
    got: Got | None = None
    crash: str | None = None
    finished: bool = False
    stopped: str | None = None
    endless: bool = False
    limit: float | None = None
    schemas: Mapping[str, Any] = field(default_factory=dict)
    executions: Sequence[tuple[int, str]] | None = None
    failing: frozenset[str] = frozenset()
    resent: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    helped: frozenset[int] = frozenset()
    led: frozenset[int] = frozenset()
    refused: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        outcome = self.outcome
        if outcome is not None:
            self.finished = True
            if self.got is None:
                self.got = "answer" if outcome.returned == "answer" else "none"

    @property
    def outcome(self) -> Outcome | None:
        """How a simulated run ended; None for others."""
        last = self.events[-1] if self.events else None
        return last.outcome if isinstance(last, RunFinished) else None

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The requests, in order."""
        return list(_exchanges(self.events))

    @cached_property
    def records_runs(self) -> bool:
        """Whether the transcript itself says which tools ran."""
        return any(type(event) is ToolsRan for event in self.events)

    @property
    def last(self) -> Exchange | None:
        """The last request; where the run was stopped, the last one that was answered."""
        answered = [each for each in self.exchanges[-2:] if self.stopped is None or each.reply or each.fault]
        return answered[-1] if answered else None

    # --- calls -------------------------------------------------------------------------------------------------------

    def is_unknown(self, exchange: Exchange, call: ToolCall) -> bool:
        """Whether a call is of a tool that its request did not offer."""
        return exchange.offered is not None and call.name not in exchange.offered

    def is_withdrawn(self, exchange: Exchange, call: ToolCall) -> bool:
        """Whether a call is of a tool that an earlier request offered and its own did not."""
        earlier = self.exchanges[: exchange.number - 1]
        return self.is_unknown(exchange, call) and any(call.name in (each.offered or ()) for each in earlier)

    def is_unfit(self, call: ToolCall) -> bool:
        """Whether a call's arguments are an object that does not fit the tool's schema."""
        value, broken = parse(call.arguments)
        schema = self.schemas.get(call.name)
        if broken or not isinstance(value, dict) or not isinstance(schema, Mapping):
            return False
        return unfit(schema, value)

    def is_mended(self, exchange: Exchange, call: ToolCall) -> bool:
        """Whether an agent can't know that a call's arguments are unreadable, because what it is handed fits.

        In Claude's replies that come whole they are {}; the stream helpers of its SDKs close what is open.
        """
        if self.wire != ANTHROPIC or not parse(call.arguments)[1]:
            return False
        value: Any = None
        if exchange.number in self.whole:
            value = {}
        elif exchange.number in self.helped:
            with contextlib.suppress(NotAPrefix):
                value = complete(call.arguments, strings=False)
        schema = self.schemas.get(call.name)
        return isinstance(value, dict) and not (isinstance(schema, Mapping) and unfit(schema, value))

    def is_plain(self, exchange: Exchange, call: ToolCall) -> bool:
        """Whether nothing is odd about a call: its tool should have run."""
        odd = exchange.is_cut or exchange.stop in ("refusal", "pause_turn") or is_unreadable(call)
        return not (odd or self.is_unknown(exchange, call) or self.is_unfit(call) or call.name in self.failing)

    @cached_property
    def _good(self) -> dict[str, list[str]]:
        """What each tool gives when nothing is odd about its call."""
        found: dict[str, list[str]] = {}
        for exchange in self.exchanges:
            for call in exchange.calls:
                result = exchange.result(call.id) if self.is_plain(exchange, call) else None
                if result is not None and not result.is_error:
                    found.setdefault(call.name, []).append(text_of(result.output))
        return found

    def says_error(self, name: str, result: ToolResult) -> bool | None:
        """Whether a result tells the model that its call failed or was not run; None where that can't be told."""
        if result.is_error:
            return True
        text = text_of(result.output)
        if result.output is None or not text.strip():
            return None
        usual = {word.lower() for good in self._good.get(name, ()) for word in ERROR_WORDS.findall(good)}
        return bool({word.lower() for word in ERROR_WORDS.findall(text)} - usual)

    def ran(self, exchange: Exchange, call: ToolCall) -> bool | None:
        """Whether a call's tool ran; None where that can't be told."""
        if self.records_runs:
            return any(run.call_id == call.id for run in exchange.runs)
        watched = self._watched(exchange, call)
        if watched is not None:
            return watched
        result = exchange.result(call.id)
        if result is None:
            return None
        error = self.says_error(call.name, result)
        return None if error is None else not error

    def watches(self, name: str) -> bool:
        """Whether executions of a tool are seen: somebody watches, and saw it once where it should have run."""
        return self.executions is not None and any(tool == name for _, tool in self.executions)

    def executed(self, exchange: Exchange, name: str | None = None) -> int:
        """How often a tool (or any) was seen to run between a request and the next one."""
        return sum(n == exchange.number and name in (None, tool) for n, tool in self.executions or ())

    def _watched(self, exchange: Exchange, call: ToolCall) -> bool | None:
        if not self.watches(call.name):
            return None
        allowed = sum(other.name == call.name and self.is_plain(exchange, other) for other in exchange.calls)
        return self.executed(exchange, call.name) > allowed


def _exchanges(events: Iterable[Event]) -> Iterator[Exchange]:
    threads: dict[int, Exchange] = {}
    current: Exchange | None = None
    made: list[Exchange] = []
    for event in events:
        if type(event) is ModelRequested:
            before = threads.get(event.thread)
            history = (*(before.history if before else ())[: event.kept], *event.new)
            offered = event.offered if event.offered is not None or before is None else before.offered
            current = Exchange(len(made) + 1, event.thread, event.kept, history, offered, before=before)
            if before is not None:
                before.after = current
            threads[event.thread] = current
            made.append(current)
        elif current is None:
            continue
        elif type(event) is ModelReplied:
            current.reply = event.reply
        elif type(event) is ModelFailed:
            current.fault = event.fault
        elif type(event) is ToolsRan:
            current.runs += event.runs
    return iter(made)


def parts(messages: Iterable[Message]) -> Iterator[Any]:
    """All parts of messages."""
    for message in messages:
        yield from message.content


def is_unreadable(call: ToolCall) -> bool:
    """Whether a call's arguments are no JSON object."""
    value, broken = parse(call.arguments)
    return broken or not isinstance(value, dict)


def text_of(value: Any) -> str:
    """A result's output as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def unfit(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether an input plainly breaks a tool's schema: a required key is missing, a type is wrong, a key is not allowed."""
    required = schema.get("required")
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    if isinstance(required, list) and any(key not in value for key in required):
        return True
    if schema.get("additionalProperties") is False and any(key not in properties for key in value):
        return True
    return any(_wrong_type(properties.get(key), item) for key, item in value.items())


def _wrong_type(schema: Any, value: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    wanted = _TYPES.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        return False
    return not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean")
