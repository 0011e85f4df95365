"""A reply as google-adk has it, by model and by whether it streams: what it keeps, and the reason that it shows."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agentsim.core.messages import Block, RedactedThinking, ServerCall, ServerResult, Text, Thinking, ToolCall
from agentsim.core.wires import ANTHROPIC, Seen, SeenCall, parse

MALFORMED = "MALFORMED_FUNCTION_CALL"
CUT = "MAX_TOKENS"
NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
_CLAUDE = {
    "end_turn": "STOP", "stop_sequence": "STOP", "tool_use": "STOP", "pause_turn": "STOP", "max_tokens": CUT,
    "refusal": "SAFETY",
}  # fmt: skip
_CHAT = {"stop": "STOP", "tool_calls": "STOP", "length": CUT, "content_filter": "SAFETY"}


@dataclass(frozen=True, slots=True)
class Response:
    """What a model call came to.

    Args:
        blocks: as they are sent back.
        calls: those that can be run.
        finish: the finish reason, None where there is none.
        error: the error code, if it has one.
        problem: class and message of what leaves the run instead.
        dropped: calls of the reply were left out.
    """

    blocks: tuple[Block, ...] = ()
    calls: tuple[SeenCall, ...] = ()
    finish: str | None = None
    error: str | None = None
    problem: tuple[str, str] | None = None
    dropped: bool = False

    @property
    def text(self) -> str | None:
        """The texts joined; None where there is none."""
        texts = [block.text for block in self.blocks if isinstance(block, Text)]
        return "".join(texts) if texts else None


def response_of(seen: Seen) -> Response:
    """The reply as its model gives it to the flow."""
    response = _claude(seen) if seen.wire == ANTHROPIC else _lite_llm(seen)
    if response.problem or response.error or response.finish != "STOP" or response.calls:
        return response
    if (response.text or "").strip() or (seen.streamed and not response.blocks):
        return response
    return Response(response.blocks, (), response.finish, NO_CONTENT, dropped=response.dropped)


def _claude(seen: Seen) -> Response:
    """google-adk's own model of Claude."""
    blocks: list[Block] = []
    calls: list[SeenCall] = []
    arrived = iter(seen.calls)
    for block in seen.reply.blocks:
        if isinstance(block, ToolCall):
            call = next(arrived)
            value, broken = parse(call.raw) if call.raw else ({}, False)
            if broken:
                return Response(problem=("ValueError", "malformed JSON in the arguments of a tool call"))
            value = {} if value is None else value
            if not isinstance(value, dict):
                return Response(problem=("ValidationError", "args: Input should be a valid dictionary"))
            calls.append(SeenCall(call.id, call.name, call.raw, value))
            blocks.append(ToolCall(call.id, call.name, json.dumps(value, ensure_ascii=False)))
        elif isinstance(block, Text | Thinking | RedactedThinking):
            blocks.append(block)
        elif isinstance(block, ServerCall | ServerResult) and not seen.streamed:
            return Response(problem=("NotImplementedError", "Unsupported content block type"))
    finish = None if seen.stop is None else _CLAUDE.get(seen.stop, "FINISH_REASON_UNSPECIFIED")
    return Response(tuple(blocks), tuple(calls), finish)


def _lite_llm(seen: Seen) -> Response:
    """LiteLlm: a call whose arguments are no JSON object is left out; of a stream, where one is no JSON, everything is.

    A stream without a finish reason has broken off for it.
    """
    if seen.streamed and seen.word is None:
        return Response(problem=("MidStreamFallbackError", "the stream ended without a finish reason"))
    finish = _CHAT.get(seen.word or "stop", "STOP")
    bad = MALFORMED if finish == "STOP" else finish
    parsed = [(call, *(parse(call.raw) if call.raw else ({}, False))) for call in seen.calls]
    if seen.streamed and any(broken for _, _, broken in parsed):
        error = CUT if finish == CUT else MALFORMED
        return Response((), (), error, error, dropped=True)
    words = any(isinstance(block, Text) for block in seen.reply.blocks) and seen.text
    blocks: list[Block] = [Text(seen.text)] if words else []
    calls: list[SeenCall] = []
    for call, value, _ in parsed:
        if isinstance(value, dict):
            calls.append(SeenCall(call.id, call.name, call.raw, value))
            blocks.append(ToolCall(call.id, call.name, json.dumps(value, ensure_ascii=False)))
    if len(calls) < len(parsed):
        return Response(tuple(blocks), tuple(calls), bad, bad, dropped=True)
    return Response(tuple(blocks), tuple(calls), finish, None if finish == "STOP" else finish)
