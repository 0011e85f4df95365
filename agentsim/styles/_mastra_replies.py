"""What Mastra reads in a provider's reply: finish reasons, errors, and what is left of a stream that broke off.

Measured on @ai-sdk/anthropic 3.0.140 and @ai-sdk/openai 3.0.141 (Responses and Chat Completions) below @mastra/core 1.71.0.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.core.events import Fault
from agentsim.core.messages import Reply, ServerCall, Thinking, ToolCall
from agentsim.core.run import Run
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall, see
from agentsim.styles._ai_sdk_wire import CHAT_FINISH, FINISH  # the same provider packages


def finish_reason(seen: Seen) -> str:
    """The finish reason of a whole reply. Responses has none on the wire: calls make it `tool-calls`."""
    if seen.wire == ANTHROPIC:
        return FINISH.get(seen.stop or "", "other")
    if seen.wire == RESPONSES:
        if seen.cut:
            return "length"
        if seen.calls:
            return "tool-calls"
        return "content-filter" if seen.refusal is not None else "stop"
    if seen.refusal and seen.word == "stop":
        return "content-filter"
    return CHAT_FINISH.get(seen.word or "", "other")


def unfinished(run: Run, fault: Fault) -> str | None:
    """The finish reason of a stream that broke off; Claude's provider has none where it merely ended."""
    if fault.disconnect != "end":
        return "error"
    return None if run.wire == ANTHROPIC else "other"


def refused(run: Run, seen: Seen, finish: str | None) -> tuple[str, str] | None:
    """Name and message of the error that a reply is, where it is one."""
    if run.wire == CHAT and run.streamed and any(not call.name for call in seen.calls):
        return "AI_InvalidResponseDataError", "Expected 'function.name' to be a string."
    if finish != "other" or has_content(seen):
        return None
    word = f' (provider reported "{seen.word}")' if seen.word and seen.stop else ""
    return "Error", f'Agent stream finished with finishReason "other"{word} without producing any output'


def has_content(seen: Seen) -> bool:
    """Whether anything of a reply was seen."""
    blocks = seen.reply.blocks
    thought = any(isinstance(b, Thinking) and b.thinking for b in blocks)
    return bool(seen.text or seen.refusal or thought or any(isinstance(b, ToolCall | ServerCall) for b in blocks))


def whole_blocks(run: Run, fault: Fault) -> Seen:
    """What the loop goes on with after a stream broke off: calls that were whole; Chat hands on a half one, or none after an error."""
    seen, is_open = run.partly(fault)
    blocks = seen.reply.blocks
    if run.wire == CHAT and fault.disconnect != "end":
        blocks = tuple(b for b in blocks if not isinstance(b, ToolCall))
    elif is_open and run.wire != CHAT and isinstance(blocks[-1], ToolCall | ServerCall):
        blocks = blocks[:-1]
    return seen if blocks == seen.reply.blocks else see(Reply(blocks, None), seen.wire, seen.streamed)


def with_own_ids(seen: Seen) -> Sequence[SeenCall]:
    """The reply's calls; a stream of Chat Completions gives the second one of an id another."""
    if seen.wire != CHAT or not seen.streamed:
        return seen.calls
    ids: set[str] = set()
    calls: list[SeenCall] = []
    for call in seen.calls:
        own = call.id if call.id not in ids else f"minted_{len(calls)}_{call.id}"
        ids.add(own)
        calls.append(SeenCall(own, call.name, call.raw, call.arguments, call.broken))
    return calls


def broke_off(run: Run, fault: Fault) -> tuple[str, str]:
    """Name and message of a stream's error event or reset."""
    if fault.disconnect is not None:
        return "AI_APICallError", "Failed to process successful response"
    at_once = run.wire == CHAT and not fault.after_characters
    return ("AI_APICallError" if at_once else "Error"), fault.message
