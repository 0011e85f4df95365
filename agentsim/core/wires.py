"""What a client of a provider's wire sees of a reply, and what a wire can't say. No SDK in here.

Facts: the providers' formats as measured (stop reasons, refusals, cut arguments). On Claude's wire a call whose
arguments are no JSON object arrives, when it is not streamed, as `{}`; streamed, the text itself arrives.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import (
    STOP_REASONS,
    Block,
    Opaque,
    RedactedThinking,
    Refusal,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
)
from agentsim.core.value import value

ANTHROPIC = "anthropic-messages"
RESPONSES = "openai-responses"
CHAT = "openai-chat"
WIRES = (ANTHROPIC, RESPONSES, CHAT)

#: Chat Completions' finish_reason of each stop reason that it can say.
CHAT_WORDS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "stop",
}


@value
class SeenCall:
    """A client call as it arrives.

    Args:
        id, name: as on the wire.
        raw: the arguments' text.
        arguments: the parsed JSON value; None where `broken`.
        broken: the text is no JSON at all.
    """

    id: str
    name: str
    raw: str
    arguments: Any
    broken: bool = False

    @property
    def is_object(self) -> bool:
        """Whether the arguments are a JSON object, as every provider promises."""
        return not self.broken and type(self.arguments) is dict


@value
class Seen:
    """A reply as a client of the wire sees it.

    Args:
        reply: what the model said, calls with the arguments that arrived.
        wire, streamed: how it came.
        text: the text blocks joined; on Claude's wire a refusal's words are text, on OpenAI's they are not.
        refusal: the refusal's words on OpenAI's wires, else None.
        calls: the client's calls.
        stop: the canonical stop reason.
        word: the wire's own: stop_reason, finish_reason, or Responses' status or reason of incompleteness.
    """

    reply: Reply
    wire: str
    streamed: bool
    text: str
    refusal: str | None
    calls: tuple[SeenCall, ...]
    stop: str | None
    word: str | None

    @property
    def has_text(self) -> bool:
        """Whether any text or refusal block arrived, be it empty."""
        return any(type(b) in (Text, Refusal) for b in self.reply.blocks)

    @property
    def cut(self) -> bool:
        """Whether the output limit or the context window ended the reply."""
        return self.stop in ("max_tokens", "model_context_window_exceeded")

    def open_server_calls(self) -> tuple[ServerCall, ...]:
        """Server calls that have no result in this reply."""
        done = {b.call_id for b in self.reply.blocks if type(b) is ServerResult}
        return tuple(b for b in self.reply.blocks if type(b) is ServerCall and b.id not in done)


_decoder = json.JSONDecoder()
_decode, _decode_tight = _decoder.decode, _decoder.raw_decode


def parse(raw: str) -> tuple[Any, bool]:
    """Arguments' text as a JSON value, and whether it is broken."""
    try:
        value, end = _decode_tight(raw)  # half of `decode` is the white space around a value, and most have none
        if end == len(raw):
            return value, False
    except (ValueError, RecursionError):
        pass
    try:
        return _decode(raw), False
    except (ValueError, RecursionError):
        return None, True


def _seen_call(call: ToolCall, wire: str, streamed: bool) -> SeenCall:
    value, broken = parse(call.arguments)
    if wire == ANTHROPIC and type(value) is not dict and not streamed:
        # A whole JSON body can't carry a broken object: the provider sends an empty one.
        return SeenCall(call.id, call.name, "{}", {}, False)
    return SeenCall(call.id, call.name, call.arguments, value, broken)


def see(reply: Reply, wire: str, streamed: bool) -> Seen:
    """The reply as a client of `wire` sees it, streamed or not.

    Args:
        reply: what the script says.
        wire: one of WIRES.
        streamed: whether the request asked for a stream.
    """
    text, refusals, calls, changed = "", None, list[SeenCall](), False
    for block in reply.blocks:
        kind = type(block)
        if kind is ToolCall:
            call = _seen_call(block, wire, streamed)  # type: ignore[arg-type]
            changed = changed or call.raw is not block.arguments  # type: ignore[union-attr]
            calls.append(call)
        elif kind is Text:
            text += block.text  # type: ignore[union-attr]
        elif kind is Refusal:
            refusals = (refusals or "") + block.text  # type: ignore[union-attr]
    refusal = None
    if wire == ANTHROPIC:
        if refusals is not None:
            text, reply = reply.text, _refusals_as_text(reply)
        if changed:
            reply = _with_arrived_arguments(reply, calls)
    else:
        refusal = refusals
        if refusal is None and text and reply.stop_reason == "refusal":
            # `text` beside a refusal's stop reason is the refusal: OpenAI has no other place for it.
            text, refusal = "", text
    return Seen(reply, wire, streamed, text, refusal, tuple(calls), reply.stop_reason, word_of(reply, wire))


def _refusals_as_text(reply: Reply) -> Reply:
    """Claude's wire says a refusal's words in a text block; a refusal without words has none."""
    blocks = tuple(
        Text(b.text) if type(b) is Refusal else b for b in reply.blocks if not (type(b) is Refusal and not b.text)
    )
    return Reply(blocks, reply.stop_reason, reply.usage)


def _with_arrived_arguments(reply: Reply, calls: Sequence[SeenCall]) -> Reply:
    """The reply with the arguments as they arrived."""
    blocks, arrived = list(reply.blocks), iter(calls)
    for i, block in enumerate(blocks):
        if type(block) is ToolCall:
            raw = next(arrived).raw
            if raw != block.arguments:
                blocks[i] = ToolCall(block.id, block.name, raw)
    return Reply(tuple(blocks), reply.stop_reason, reply.usage)


def arrived(fault: Fault) -> tuple[Reply, bool]:
    """What of `fault.partial` had arrived when the stream broke: texts and arguments up to so many characters.

    Returns:
        The reply so far, without a stop reason or usage, and whether its last block is unfinished.
    """
    left = fault.after_characters or 0
    blocks: list[Block] = []
    for block in fault.partial.blocks if fault.partial else ():
        kind = type(block)
        whole = block.arguments if kind in (ToolCall, ServerCall) else block.text if kind in (Text, Refusal) else ""  # type: ignore[union-attr]
        if whole and not left:
            break
        if len(whole) > left:
            return Reply((*blocks, _cut(block, left)), None), True
        left -= len(whole)
        blocks.append(block)
    return Reply(tuple(blocks), None), False


def _cut(block: Block, characters: int) -> Block:
    if isinstance(block, ToolCall | ServerCall):
        return type(block)(block.id, block.name, block.arguments[:characters])
    assert isinstance(block, Text | Refusal)
    return type(block)(block.text[:characters])


def word_of(reply: Reply, wire: str) -> str | None:
    """The wire's own word for why the reply stopped (Responses: status, or why it is incomplete)."""
    stop = reply.stop_reason
    if wire == ANTHROPIC:
        return stop
    if wire == RESPONSES:
        return "max_output_tokens" if stop == "max_tokens" else "completed"
    if stop is None:
        return None
    return CHAT_WORDS.get(stop, stop)


def cannot_express(reply: Reply, wire: str) -> str | None:
    """Why `wire` can't say this reply, or None where it can.

    Anthropic Messages can say everything that a scenario can. OpenAI's wires know no pause, no full context window and no
    compaction; Responses has no finish reason at all, so neither a contradiction nor a new reason can be said there. A server
    tool's call and result are one item of Responses' hosted web search.
    """
    if wire == ANTHROPIC:
        return None
    stop = reply.stop_reason
    if stop in ("pause_turn", "model_context_window_exceeded", "compaction"):
        return f"{wire} has no way to say stop_reason {stop!r}"
    for block in reply.blocks:
        if problem := _cannot_express_block(block, wire):
            return problem
    if stop == "refusal" and not any(type(b) in (Refusal, Text) and b.text for b in reply.blocks):  # type: ignore[union-attr]
        return f"{wire} has no way to say a refusal without words"
    if wire == RESPONSES:
        return _contradiction(reply)
    return None


def _cannot_express_block(block: object, wire: str) -> str | None:
    if wire == CHAT and isinstance(block, ServerCall | ServerResult):
        return f"{wire} has no server tools"
    if wire == CHAT and isinstance(block, Thinking | RedactedThinking):
        return f"{wire} has no thinking blocks"
    if isinstance(block, Opaque):
        return f"{wire} has no {block.kind!r} block"
    return None


def _contradiction(reply: Reply) -> str | None:
    stop, calls = reply.stop_reason, bool(reply.calls)
    if stop is None or stop not in STOP_REASONS:
        return f"{RESPONSES} has no finish reason, so it can't say {stop!r}"
    if stop == "tool_use" and not calls:
        return f"{RESPONSES} has no finish reason, so it can't say 'tool_use' without a call"
    if stop in ("end_turn", "stop_sequence") and calls:
        return f"{RESPONSES} has no finish reason, so it can't say {stop!r} beside a call"
    return None
