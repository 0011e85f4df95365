"""A recorded conversation as a scenario that plays back to the same transcript.

Playing back means: the reference loop, given the scenario, asks for the recorded replies in order and runs the recorded calls with
the recorded results. So this module has to know where that loop ends a run: what the log shows behind it is the next prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentsim.core.events import Fault, ModelFailed, ModelReplied, ModelRequested, RunStarted, ToolRun
from agentsim.core.messages import Block, Message, Reply, Text, ToolCall, ToolResult
from agentsim.core.run import Retry
from agentsim.core.tools import Approval, ToolOutcome, ToolSpec
from agentsim.core.wires import parse
from agentsim.scenario.inputs import input_check, schema_problem
from agentsim.scenario.model import Abort, Entry, Scenario, ScriptedFault, ScriptedReply
from agentsim.scenario.runs import rendered
from agentsim.store.guess import guessed_schema
from agentsim.store.recording import Conversation, Recording, Tally, tally

#: Stands where a log does not hold what was said.
NOT_RECORDED = "(not recorded)"
CONTINUED = "(continued)"

_RETRY = Retry(retries=2)
_CUT = ("max_tokens", "model_context_window_exceeded")


@dataclass(slots=True)
class _Use:
    """One call with what became of it."""

    call: ToolCall
    answer: ToolRun | ToolResult | None
    cut: bool
    last: bool

    @property
    def input(self) -> Any:
        return parse(self.call.arguments)[0]


def scenarios_of(recording: Recording, name: str) -> list[Scenario]:
    """A scenario for each conversation that has a reply or a failed request.

    Args:
        name: of the first; the others get a number or their conversation's name behind it.
    """
    with_replies = [
        c for c in recording.conversations if any(isinstance(e, ModelReplied | ModelFailed) for e in c.events)
    ]
    names = _names(name, with_replies)
    return [_Maker(conversation, title).scenario() for conversation, title in zip(with_replies, names, strict=True)]


def _names(name: str, conversations: Sequence[Conversation]) -> list[str]:
    if len(conversations) < 2:
        return [name] * len(conversations)
    return [f"{name} {number}" + (f" ({c.name})" if c.name else "") for number, c in enumerate(conversations, 1)]


@dataclass(slots=True)
class _Maker:
    """Makes one scenario."""

    conversation: Conversation
    name: str
    tools: dict[str, ToolSpec] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)
    messages: tuple[Message, ...] = ()
    script: list[Entry] = field(default_factory=list)

    def scenario(self) -> Scenario:
        uses = _uses(self.conversation)
        self.tools = _tools(self.conversation, uses)
        self._walk()
        prompts = tuple(self.prompts)
        if not prompts and not self.messages:
            prompts = (NOT_RECORDED,)
        return Scenario(
            self.name,
            prompts,
            self.conversation.system,
            self.messages,
            self.tools,
            tuple(self.script),
            abort=self._abort(uses),
        )

    def _abort(self, uses: Sequence[_Use]) -> Abort | None:
        """Calls of the last reply that were never answered, of a tool that else was: somebody gave up there."""
        if not self.conversation.records_results:
            return None
        left = [use for use in uses if use.last and use.answer is None and not use.cut]
        stopped = any(use.call.name in self.tools and not self.tools[use.call.name].client for use in left)
        return Abort(before_reply=len(self.script) + 1) if stopped else None

    def _walk(self) -> None:
        ended: bool | None = None  # None: nothing has run yet
        asked_again, failures, number = False, 0, 0
        for event in self.conversation.events:
            if isinstance(event, RunStarted):
                self.messages = event.messages
            elif isinstance(event, ModelRequested):
                if ended is None or ended:
                    self._begin(event, number, first=ended is None)
                    asked_again, failures = False, 0
                ended = False
                number += 1
            elif isinstance(event, ModelFailed):
                failures += 1
                self.script.append(ScriptedFault(event.fault))
                ended = not _sent_again(event.fault, failures)
            elif isinstance(event, ModelReplied):
                failures = 0
                reply = _playable(event.reply)
                self.script.append(ScriptedReply(reply))
                empty = not reply.blocks and reply.stop_reason == "end_turn" and not asked_again
                asked_again = asked_again or empty
                ended = not empty and self._ends(reply)

    def _begin(self, event: ModelRequested, number: int, *, first: bool) -> None:
        """A run begins: what the user says now is its prompt."""
        fresh = event.new[len(self.messages) :] if first else event.new
        spoken = self.conversation.prompts.get(number)
        text = spoken if spoken is not None else _last_words(fresh)
        if text:
            if first and not self.messages and _more_than_text(fresh) and not self._more_prompts():
                self.messages = tuple(fresh)
            else:
                self.prompts.append(text)
        elif not first:
            again = self.script and isinstance(self.script[-1], ScriptedFault) and self.prompts
            self.prompts.append(self.prompts[-1] if again else CONTINUED)
        elif fresh and fresh[-1].role == "user":
            self.messages += tuple(fresh)
        if first and not text and self._more_prompts():
            self.prompts.append(CONTINUED)

    def _more_prompts(self) -> bool:
        """Whether any reply but the last one ends a run."""
        replies = [e.reply for e in self.conversation.events if isinstance(e, ModelReplied)]
        return any(map(self._ends, replies[:-1]))

    def _ends(self, reply: Reply) -> bool:
        """Whether the reference loop ends its run on this reply."""
        stop = reply.stop_reason
        if stop in ("refusal", "model_context_window_exceeded"):
            return True
        if not reply.calls:
            return stop not in ("pause_turn", "compaction")
        handed = [call for call in reply.calls if call.name in self.tools and self.tools[call.name].client]
        return stop != "max_tokens" and any(isinstance(parse(call.arguments)[0], dict) for call in handed)


def _sent_again(fault: Fault, failures: int) -> bool:
    if fault.in_stream:
        return failures <= 2
    return _RETRY.again(fault, failures)


def _playable(reply: Reply) -> Reply:
    """The reply with ids that tell its calls apart; where the recorded ones don't, they are counted when it is played."""
    ids = [call.id for call in reply.calls]
    if len(set(ids)) == len(ids):
        return reply
    blocks: list[Block] = [replace(b, id="") if isinstance(b, ToolCall) else b for b in reply.blocks]
    return replace(reply, blocks=tuple(blocks))


def _last_words(messages: Sequence[Message]) -> str:
    """The user's texts behind the last assistant message."""
    words: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        words[:0] = [part.text for part in message.content if isinstance(part, Text)]
    return "\n".join(words)


def _more_than_text(messages: Sequence[Message]) -> bool:
    return any(not isinstance(part, Text) for message in messages for part in message.content)


# -- tools --------------------------------------------------------------------------------------------------------------


def _uses(conversation: Conversation) -> list[_Use]:
    counts: Tally = tally(conversation.events)
    answers = iter(counts.answers)
    replies = [event.reply for event in conversation.events if isinstance(event, ModelReplied)]
    return [
        _Use(call, next(answers), reply.stop_reason in _CUT, reply is replies[-1])
        for reply in replies
        for call in reply.calls
    ]


def _tools(conversation: Conversation, uses: Sequence[_Use]) -> dict[str, ToolSpec]:
    tools = {}
    by_name: dict[str, list[_Use]] = {}
    for use in uses:
        by_name.setdefault(use.call.name, []).append(use)
    for name, declared in conversation.declared.items():
        mine = [] if declared.server else by_name.pop(name, [])
        schema = declared.schema if declared.schema is not None and not _too_tight(declared.schema, mine) else None
        tools[name] = _spec(name, declared.description, schema, mine, conversation, server=declared.server)
    for name, mine in by_name.items():
        if conversation.declared and all(use.answer is not None and use.answer.is_error for use in mine):
            continue  # a tool that was not offered, and the client said so
        if name:
            tools[name] = _spec(name, "", None, mine, conversation)
    return tools


def _too_tight(schema: Mapping[str, Any], uses: Sequence[_Use]) -> bool:
    """Whether a recorded input that did run does not fit, or the schema is none that a validator takes."""
    if schema.get("type") != "object" or schema_problem(schema) is not None:
        return True
    check = input_check(schema)
    return any(
        isinstance(use.input, dict) and check(use.input) is not None
        for use in uses
        if use.answer is not None and not use.answer.is_error
    )


def _spec(
    name: str,
    description: str,
    schema: Mapping[str, Any] | None,
    uses: Sequence[_Use],
    conversation: Conversation,
    *,
    server: bool = False,
) -> ToolSpec:
    if schema is None:
        inputs = [use.input for use in uses if isinstance(use.input, dict)]
        schema = guessed_schema(inputs)
        if (
            uses and not inputs
        ):  # only broken calls: they had something in them, and `{}` is what some clients make of it
            schema["minProperties"] = 1
    check = input_check(schema)
    ran = [use for use in uses if isinstance(use.input, dict) and not use.cut and check(use.input) is None]
    outcomes = tuple(_outcome(use.answer) for use in ran if use.answer is not None)
    if len(set(map(repr, outcomes))) == 1:
        outcomes = outcomes[:1]
    asked = any(use.call.id in conversation.pending for use in uses)
    unanswered = bool(ran) and not outcomes and not asked and conversation.records_results
    return ToolSpec(
        name,
        description,
        schema,
        outcomes or (ToolOutcome("returns", ""),),
        approval=Approval() if asked else None,
        client=unanswered,
        server=server,
        verbatim=any(_would_change(use) for use in ran),
        problem=check,
    )


def _would_change(use: _Use) -> bool:
    """Whether a recorded result has `{key}` in it, which a scenario would replace."""
    if use.answer is None:
        return False
    outcome = _outcome(use.answer)
    return rendered(outcome, use.input) != outcome


def _outcome(answer: ToolRun | ToolResult) -> ToolOutcome:
    value = _joined(answer.output)
    if not answer.is_error:
        return ToolOutcome("returns", value)
    return ToolOutcome("fails", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _joined(output: Any) -> Any:
    """Several text blocks as one text; anything else as it is."""
    if isinstance(output, list) and output and all(_is_text(block) for block in output):
        return "\n".join(block["text"] for block in output)
    return output


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
