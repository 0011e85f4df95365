"""Making a Conversation out of a log, message by message, in the order in which they were written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentsim.core.events import Event, Fault, ModelFailed, ModelReplied, ModelRequested, RunStarted, ToolRun, ToolsRan
from agentsim.core.messages import STOP_REASONS, Block, Message, Part, Refusal, Reply, Text, ToolCall, ToolResult, Usage
from agentsim.core.transcript import Transcript
from agentsim.core.wires import parse
from agentsim.store.recording import Conversation, Declared, Origin

#: Words of other wires and SDKs, in the Claude API's. "completed", "stop" and the like say the same with calls and without:
#: which of the two it was shows in the blocks.
WORDS: Mapping[str, str] = {
    "stop": "end_turn",
    "completed": "end_turn",
    "complete": "end_turn",
    "eos": "end_turn",
    "tool_calls": "tool_use",
    "tool-calls": "tool_use",
    "tool_call": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "max_output_tokens": "max_tokens",
    "incomplete:max_output_tokens": "max_tokens",
    "model_length": "model_context_window_exceeded",
    "content_filter": "refusal",
    "content-filter": "refusal",
    "incomplete:content_filter": "refusal",
}


def stop_reason(raw: str | None, blocks: Iterable[Block]) -> str | None:
    """The canonical stop reason of a reply.

    Args:
        raw: as recorded; None or "" where nothing is: then it is inferred, `tool_use` where there are client calls, else
            `end_turn`. So is the half that "completed" leaves open.
        blocks: of the reply.
    """
    blocks = tuple(blocks)
    calls = any(type(block) is ToolCall for block in blocks)
    if not raw:
        return "tool_use" if calls else "end_turn"
    if raw in STOP_REASONS:
        return raw
    word = WORDS.get(raw, raw)
    if raw in ("completed", "complete", "eos") and calls:
        return "tool_use"
    if word == "end_turn" and any(type(block) is Refusal for block in blocks):
        return "refusal"  # OpenAI's wires say so by the part alone
    return word


class ConversationBuilder:
    """One conversation in the making.

    Args:
        name: what the file calls it.
        messages: history before its first request that holds no reply of its own.
        shared: that history is another conversation's.
        records_results: whether the format records what tools gave at all.
    """

    def __init__(
        self, name: str = "", *, messages: Sequence[Message] = (), shared: bool = False, records_results: bool = True
    ) -> None:
        self.name, self.shared, self.records_results = name, shared, records_results
        self.parent: str | None = None
        self.system: str | None = None
        self.declared: dict[str, Declared] = {}
        self.pending: set[str] = set()
        #: the messages so far, replies and results included.
        self.history: list[Message] = list(messages)
        self.origins: list[Origin] = []
        self._started = RunStarted(None, tuple(messages))
        self._events: list[Event] = []
        self._prompts: dict[int, str] = {}
        self._replies: dict[str, int] = {}
        self._calls: dict[str, list[ToolCall]] = {}
        self._sent = self._requests = 0
        self._waiting: list[Part] = []
        self._typed: list[str] = []
        self._plain = True

    # -- the user's side ----------------------------------------------------------------------------------------

    def say(self, *parts: Part, typed: bool = True) -> None:
        """Add parts to the user message that the next request carries.

        Args:
            typed: whether a person typed them; the harness's own additions are no prompt where there is another.
        """
        self._waiting += parts
        for part in parts:
            if type(part) is Text:
                if typed:
                    self._typed.append(part.text)
                else:
                    self._plain = False

    def result(self, call_id: str, output: Any, is_error: bool = False) -> None:
        """Add a tool's result."""
        self._waiting.append(ToolResult(call_id, output, is_error))

    def forget(self) -> None:
        """Drop what the user's next message holds so far."""
        self._waiting, self._typed, self._plain = [], [], True

    def rewrite(self, kept: int, new: Sequence[Message] = ()) -> None:
        """The client keeps the first `kept` messages of the history and puts `new` behind them."""
        self._flush()
        self.history[kept:] = new
        self._sent = min(self._sent, kept)

    def insert(self, message: Message) -> None:
        """A message of the history that no request of the recording asked for."""
        self._flush()
        self.history.append(message)

    def sent_back(self, message: Message, ids: Mapping[str, str]) -> None:
        """The client sends the last reply back like this; `ids`: those that it gave the reply's calls -> the reply's own."""
        if self._waiting or not self.history or self.history[-1].role != "assistant":
            return
        parts = [
            replace(p, id=ids[p.id]) if isinstance(p, ToolCall) and ids.get(p.id, p.id) != p.id else p
            for p in message.content
        ]
        self.history[-1] = Message("assistant", tuple(parts))

    @property
    def waiting(self) -> tuple[Part, ...]:
        """What the next request will add."""
        return tuple(self._waiting)

    # -- the model's side ---------------------------------------------------------------------------------------

    def request(self, agent: str | None = None) -> None:
        """A request goes out with everything so far. `reply` and `fail` do it themselves where it did not."""
        self._flush()
        if self._typed and not self._plain:
            self._prompts[self._requests] = "\n".join(self._typed)
        self._typed, self._plain = [], True
        self._events.append(ModelRequested(self._sent, tuple(self.history[self._sent :]), agent))
        self._sent = len(self.history)
        self._requests += 1

    def reply(
        self,
        blocks: Sequence[Block],
        raw: str | None,
        place: int,
        *,
        usage: Usage | None = None,
        key: str | None = None,
        stop: str | None = None,
        split: bool = False,
    ) -> None:
        """The model answers.

        Args:
            blocks: the reply's content.
            raw: the recorded stop reason.
            place: counts through the file.
            key: the reply's id, by which it can be amended.
            stop: the canonical stop reason, where it does not follow from `raw` and the blocks.
            split: the file has it in one piece with the reply before.
        """
        if not self._events or type(self._events[-1]) is not ModelRequested:
            self.request()
        reply = Reply(tuple(blocks), stop or stop_reason(raw, blocks), usage)
        if key is not None:
            self._replies[key] = len(self._events)
        self._events.append(ModelReplied(reply))
        self.origins.append(Origin(raw, place, split))
        self._append_reply(reply)

    def knows(self, key: str) -> bool:
        """Whether a reply of that id was taken."""
        return key in self._replies

    def amend(self, key: str, blocks: Sequence[Block], raw: str | None) -> None:
        """Blocks of a reply that was taken turn up later: those that it does not hold yet are put behind the others."""
        at = self._replies[key]
        event = self._events[at]
        assert isinstance(event, ModelReplied)
        old = event.reply
        new = tuple(block for block in blocks if block not in old.blocks)
        if not new and raw is None:
            return
        number = sum(type(e) is ModelReplied for e in self._events[:at])
        raw = raw if raw is not None else self.origins[number].raw
        reply = Reply(old.blocks + new, stop_reason(raw, old.blocks + new), old.usage)
        self._events[at] = ModelReplied(reply)
        self.origins[number] = replace(self.origins[number], raw=raw)
        for call in reply.calls:
            if call in new:
                self._calls.setdefault(call.id, []).append(call)
        if old.blocks:
            self.history = [Message("assistant", reply.blocks) if m.content is old.blocks else m for m in self.history]
        elif new and event is self._events[-1]:
            self.history.append(Message("assistant", reply.blocks))

    def fail(self, fault: Fault) -> None:
        """The request fails."""
        if not self._events or type(self._events[-1]) is not ModelRequested:
            self.request()
        self._events.append(ModelFailed(fault))

    # -- the end ------------------------------------------------------------------------------------------------

    def conversation(self) -> Conversation:
        """What was built."""
        self._flush()
        return Conversation(
            Transcript([self._started, *self._events]),
            tuple(self.origins),
            self.name,
            self.system,
            self.declared,
            self._prompts,
            self.parent,
            frozenset(self.pending),
            self.shared,
            self.records_results,
        )

    @property
    def last_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the reply that came last; none once something was said after it."""
        last = self._events[-1] if self._events else None
        return last.reply.calls if isinstance(last, ModelReplied) else ()

    @property
    def empty(self) -> bool:
        """Whether no request was made."""
        return not self._events

    def _append_reply(self, reply: Reply) -> None:
        if reply.blocks:
            self.history.append(Message("assistant", reply.blocks))
        for call in reply.calls:
            self._calls.setdefault(call.id, []).append(call)

    def _flush(self) -> None:
        """The waiting parts become a user message; its results are runs that happened."""
        if not self._waiting:
            return
        runs = [run for part in self._waiting if type(part) is ToolResult and (run := self._run(part))]
        if runs:
            self._events.append(ToolsRan(tuple(runs)))
        self.history.append(Message("user", tuple(self._waiting)))
        self._waiting = []

    def _run(self, result: ToolResult) -> ToolRun | None:
        calls = self._calls.get(result.call_id)
        if not calls:
            return None
        call = calls.pop(0)
        value, broken = parse(call.arguments)
        return ToolRun(call.id, call.name, call.arguments if broken else value, result.output, result.is_error)


def arguments_text(value: Any) -> str:
    """Arguments as the model's text: a string is that text already, anything else is written as JSON."""
    if isinstance(value, str):
        return value or "{}"
    return json.dumps({} if value is None else value, default=str)
