"""A model call of Strands: paused turns resumed, throttled requests sent again, and the message that it comes to."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault
from agentsim.core.messages import Block, Message, Text, Thinking, ToolCall, Usage
from agentsim.core.run import Failed, Run
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall, parse
from agentsim.styles._python_clients import RETRY
from agentsim.styles._strands_options import Options

#: Resumes of one paused turn.
RESUMES = 10
BLANK = "[blank text]"
_CHAT_STOPS = {"tool_calls": "tool_use", "length": "max_tokens", "content_filter": "content_filtered"}


@dataclass(slots=True)
class Turn:
    """What a model call came to.

    Args:
        blocks: of the message, as it is sent back.
        calls: with arguments that were read; what can't be read is {}.
        text: the texts joined, as the caller gets them.
        stop: the stop reason in Strands' words.
        total_tokens, output_tokens: of all requests of the call.
        problem: class and message of an error that ends the run.
        broken: a stream merely ended, which Strands takes for the end of the reply.
    """

    blocks: tuple[Block, ...] = ()
    calls: tuple[SeenCall, ...] = ()
    text: str = ""
    stop: str | None = None
    total_tokens: int = 0
    output_tokens: int = 0
    problem: tuple[str, str] | None = None
    broken: bool = False


def call_model(run: Run, options: Options) -> Generator[Action, Event, Turn | Failed]:
    """Call the model until it has answered: resumes and retries are all one call, and none is a cycle."""
    begin, attempts = len(run.history), 1
    parts: list[Seen] = []
    while True:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed) and seen.fault.in_stream and seen.fault.disconnect == "end":
            parts.append(run.partly(seen.fault, finished=run.wire == ANTHROPIC)[0])
            run.rewrite(begin)
            turn = joined(parts)
            turn.broken = True
            return turn
        if isinstance(seen, Failed):
            run.rewrite(begin)
            if throttled(seen.fault) and attempts < options.attempts:
                attempts, parts = attempts + 1, []
                continue
            return seen
        parts.append(seen)
        if seen.stop != "pause_turn":
            run.rewrite(begin)
            return joined(parts)
        if len(parts) > RESUMES:
            turn = joined(parts)
            turn.problem = "RuntimeError", f"server-side tool turn did not complete after {RESUMES} continuations"
            return turn
        run.history.append(Message("assistant", seen.reply.blocks))


def throttled(fault: Fault) -> bool:
    """Whether Strands itself tries again, after the client has given up."""
    return fault.status == 429


def joined(parts: Sequence[Seen]) -> Turn:
    """The replies of a turn as one message: server tools' blocks and empty texts are left out."""
    blocks: list[Block] = []
    calls: list[SeenCall] = []
    for seen in parts:
        for block in held(seen):
            blocks.append(block)
            if isinstance(block, ToolCall):
                calls.append(SeenCall(block.id, block.name, block.arguments, parse(block.arguments)[0]))
    usages = [seen.reply.usage or Usage() for seen in parts]
    output = sum(usage.output_tokens for usage in usages)
    cached = sum(usage.cache_read_input_tokens + usage.cache_creation_input_tokens for usage in usages)
    return Turn(
        normalized(blocks),
        tuple(calls),
        "".join(block.text for block in blocks if isinstance(block, Text)),
        stop_of(parts[-1], bool(calls)),
        sum(usage.input_tokens for usage in usages) + output + cached,
        output,
    )


def held(seen: Seen) -> list[Block]:
    """The blocks that Strands keeps of a reply. OpenAI's models give the text first and know no refusal.

    On Chat Completions a text block only ends with the finish reason: without one, a text that no call follows is lost.
    """
    if seen.wire != ANTHROPIC:
        ends = seen.wire != CHAT or seen.word is not None or bool(seen.calls)
        text: list[Block] = [Text(seen.text)] if seen.text and ends else []
        calls = {(call.id if seen.wire == RESPONSES else at): call for at, call in enumerate(seen.calls)}
        return [*text, *(ToolCall(call.id, call.name, arguments(call.raw)) for call in calls.values())]
    kept: list[Block] = []
    for block in seen.reply.blocks:
        if isinstance(block, ToolCall):
            kept.append(ToolCall(block.id, block.name, arguments(block.arguments)))
        elif (isinstance(block, Text) and block.text) or (isinstance(block, Thinking) and block.signature):
            kept.append(block)
    return kept


def arguments(raw: str) -> str:
    """A call's arguments as JSON; what is no JSON becomes {}."""
    value, broken = parse(raw)
    return "{}" if broken else json.dumps(value, ensure_ascii=False)


def normalized(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """An assistant message as it is sent: blank texts go, or are replaced where there is no call."""
    if any(isinstance(block, ToolCall) for block in blocks):
        return tuple(block for block in blocks if not (isinstance(block, Text) and not block.text.strip()))
    shown = [Text(BLANK) if isinstance(block, Text) and not block.text.strip() else block for block in blocks]
    return tuple(shown) or (Text(BLANK),)


def without_calls(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The message of a reply that the output limit cut: every call becomes a text."""
    text = "The selected tool {}'s tool use was incomplete due to maximum token limits being reached."
    return tuple(Text(text.format(block.name)) if isinstance(block, ToolCall) else block for block in blocks)


def stop_of(seen: Seen, calls: bool) -> str | None:
    """The stop reason; `end_turn` beside calls is taken for tool_use, a missing one for end_turn."""
    if seen.wire == ANTHROPIC:
        return "tool_use" if seen.stop == "end_turn" and calls else seen.stop or "end_turn"
    stop = "end_turn"
    if seen.wire == CHAT:
        stop = _CHAT_STOPS.get(seen.word or "", "end_turn")
    elif seen.word == "max_output_tokens":
        stop = "max_tokens"
    return "tool_use" if stop == "end_turn" and calls else stop
