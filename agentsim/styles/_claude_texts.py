"""The CLI's own words for errors, as both versions say them."""

from __future__ import annotations

import re

from agentsim.core.events import Fault
from agentsim.core.messages import ServerCall, ServerResult
from agentsim.core.wires import Seen

PROMPT_TOO_LONG = "Prompt is too long"
LOST = "API Error: {} mid-response. The response above may be incomplete."
FULL = "API Error: The model has reached its context window limit."
CUT = (
    "API Error: Claude's response exceeded the 128000 output token maximum. To configure this behavior, set the "
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
)
UNPARSED = "The model's tool call could not be parsed (retry also failed)."
_FLAGGED = (
    "API Error: Opus 5.5's safeguards flagged this message (https://www.anthropic.com/legal/aup). This sometimes happens with "
    "safe, normal conversations. Claude Code can't respond to this message with Opus 5.5.\n\nTry rephrasing the request in a "
    "new session or change your model.\n\nLearn more: https://support.claude.com/en/articles/8106465\n\nRequest ID: req_1\n\n"
    "Message ID: msg_{}"
)
_ALONE = (
    " · the request is ~{} tokens (limit {}) but this conversation is only ~N tokens — the rest is system prompt, tool "
    "definitions, and attachment content. A single-exchange conversation cannot be compacted; reduce attached files/tools or "
    "start with less context."
)
_GATEWAY = "If it persists, check your inference gateway (HOST)."
_OVERLOADED = (
    "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment. "
    + _GATEWAY
)
_MODEL = (
    "There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it."
)
_TOO_LARGE = (
    "Request too large (max 32MB). Accumulated images and attachments in the conversation pushed the request over the limit. "
    "Remove older images or compact the conversation."
)


def flagged(reply: int) -> str:
    """Of the reply of this number the safety classifiers say no. Ids are counted."""
    return _FLAGGED.format(reply)


def lost(fault: Fault) -> str:
    """A reply broke off."""
    return LOST.format("Connection lost" if fault.disconnect else "Server error")


def too_long(fault: Fault, *, alone: bool) -> str:
    """The prompt is too long. Args: alone: there is nothing to compact."""
    sizes = re.search(r"(\d+) tokens > (\d+)", fault.message)
    return PROMPT_TOO_LONG + (_ALONE.format(*sizes.groups()) if alone and sizes else "")


def api_error(fault: Fault) -> str:
    """A request got no reply."""
    status = fault.status
    if status in (401, 403):
        return f"Failed to authenticate. API Error: {status} {fault.message}"
    if status == 404:
        return _MODEL
    if status == 413:
        return _TOO_LARGE
    if status == 429:
        return f"API Error: Request rejected (429) · {fault.message}"
    if status == 529 or (fault.in_stream and fault.type == "overloaded_error"):
        return _OVERLOADED
    if status is None or fault.disconnect is not None:
        return "API Error: Unable to connect to API (ECONNRESET)"
    if status >= 500:
        again = "This is a server-side issue, usually temporary — try again in a moment."
        return f"API Error: {status} {fault.message}. {again} {_GATEWAY}"
    return f"API Error: {status} {fault.message}"


def no_result(seen: Seen) -> str:
    """A reply that the SDK can't take for an end: what it found last."""
    stop = seen.stop or "null"
    if not seen.reply.blocks:
        kind, last = ("user", "n/a") if seen.stop else ("assistant", "none")
    else:
        block = seen.reply.blocks[-1]
        kind, last = "assistant", "server_tool_use" if isinstance(block, ServerCall) else type(block).__name__.lower()
        if isinstance(block, ServerResult):
            last = f"{block.name}_tool_result"
    return f"[ede_diagnostic] result_type={kind} last_content_type={last} stop_reason={stop}"
