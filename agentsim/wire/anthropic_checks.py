"""What the Claude API refuses about a request by itself, in its own words. Histories are `strict`'s subject.

Texts: public issues, and the sentences of the pydantic models that the API's field errors come from. The API's wording
for fields that version 2026-10-21 took away is not known; the one of any other unknown field is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from agentsim.core.messages import Message, RedactedThinking, Thinking, ToolCall, ToolResult
from agentsim.wire.base import Complaint, Json

NEW_VERSION = "2026-10-21"
THREADS_BETA = "message-threads-2026-08-12"

# fmt: off
_FIELDS = frozenset({
    "cache_control", "container", "diagnostics", "inference_geo", "max_tokens", "messages", "metadata", "model",
    "output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking", "tool_choice", "tools",
})
_BETA_FIELDS = frozenset({
    "billing_policy", "compaction", "context_management", "fallback_credit_token", "fallbacks", "mcp_servers",
    "output_format", "thread",
})
# fmt: on
_OLD_FIELDS = frozenset({"temperature", "top_p", "top_k"})
_EXTRA = "Extra inputs are not permitted"


def is_new(headers: Mapping[str, str]) -> bool:
    """Whether the request speaks the version of October 2026."""
    return headers.get("anthropic-version", "") >= NEW_VERSION


@lru_cache(maxsize=256)
def model_version(model: str) -> float:
    """A Claude model's version as a number, 4.5 for `claude-sonnet-4-5-20250929`; large for a name that tells none."""
    found = re.match(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[-.](\d)(?!\d))?", model)
    return float(f"{found[1]}.{found[2] or 0}") if found else 99.0


def takes_prefill(model: str) -> bool:
    """Whether the model continues a final assistant message: none does since Claude 4.6."""
    return model_version(model) < 4.6


def headers(request_headers: Mapping[str, str]) -> Iterator[Complaint]:
    """A key in either spelling, and a version."""
    if not request_headers.get("x-api-key") and not request_headers.get("authorization"):
        yield Complaint("has_credentials", "x-api-key header is required", 401, "authentication_error")
    if not request_headers.get("anthropic-version"):
        yield Complaint("has_version", "anthropic-version: header is required")


def structure(body: Any, fresh: int = 0) -> Iterator[Complaint]:
    """What would make the request unreadable; messages before `fresh` were looked at before."""
    if not isinstance(body, dict):
        yield _wrong("", "Input should be a valid dictionary")
        return
    messages = body.get("messages", [])
    if not isinstance(messages, list):
        yield _wrong("messages", "Input should be a valid list")
        return
    for index in range(fresh, len(messages)):
        yield from _message(f"messages.{index}", messages[index])
    tools = body.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        yield _wrong("tools", "Input should be a valid list")
    thread = body.get("thread")
    if thread is not None and not isinstance(thread, dict):
        yield _wrong("thread", "Input should be a valid dictionary")


def _message(where: str, message: Any) -> Iterator[Complaint]:
    if not isinstance(message, dict):
        yield _wrong(where, "Input should be a valid dictionary")
    elif message.get("role") not in ("user", "assistant", "system"):
        yield _wrong(f"{where}.role", "Input should be 'user', 'assistant' or 'system'")
    elif "content" not in message:
        yield Complaint("has_required_fields", f"{where}.content: Field required")
    elif isinstance(message["content"], list):
        for part, block in enumerate(message["content"]):
            if not isinstance(block, dict):
                yield _wrong(f"{where}.content.{part}", "Input should be a valid dictionary")
    elif not isinstance(message["content"], str):
        yield _wrong(f"{where}.content", "Input should be a valid list")


def _wrong(where: str, what: str) -> Complaint:
    return Complaint("has_legal_types", f"{where}: {what}" if where else what)


def fields(body: Json, request_headers: Mapping[str, str], *, counts: bool = False) -> Iterator[Complaint]:
    """Fields that are missing, unknown or of a wrong type. `counts`: a request to count tokens needs no max_tokens."""
    required = ("model", "messages") if counts else ("model", "max_tokens", "messages")
    for name in required:
        if name not in body:
            yield Complaint("has_required_fields", f"{name}: Field required")
    known = _FIELDS | (_BETA_FIELDS if request_headers.get("anthropic-beta") else frozenset())
    for name in body:
        if name in _OLD_FIELDS:
            if is_new(request_headers):
                yield Complaint("no_removed_fields", f"{name}: {_EXTRA}")
        elif name not in known:
            yield Complaint("no_unknown_fields", f"{name}: {_EXTRA}")
    yield from _types(body)
    if not body.get("messages") and "messages" in body and not _continues(body):
        yield Complaint("has_messages", "messages: at least one message is required")


def _types(body: Json) -> Iterator[Complaint]:
    limit = body.get("max_tokens", 0)
    if type(limit) is not int:
        yield _wrong("max_tokens", "Input should be a valid integer")
    elif limit < 0:
        yield _wrong("max_tokens", "Input should be greater than or equal to 0")
    if not isinstance(body.get("model", ""), str):
        yield _wrong("model", "Input should be a valid string")
    if not isinstance(body.get("stream", False), bool):
        yield _wrong("stream", "Input should be a valid boolean")
    if not isinstance(body.get("system", ""), str | list):
        yield _wrong("system", "Input should be a valid string")
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if type(budget) is not int:
            yield Complaint("has_required_fields", "thinking.enabled.budget_tokens: Field required")
        elif budget < 1024:
            yield _wrong("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024")
        elif type(limit) is int and "max_tokens" in body and limit <= budget:
            yield Complaint("has_legal_types", "`max_tokens` must be greater than `thinking.budget_tokens`.")


def _continues(body: Json) -> bool:
    thread = body.get("thread")
    return isinstance(thread, dict) and thread.get("type") == "continue"


def blocks(body: Json, request_headers: Mapping[str, str], fresh: int = 0) -> Iterator[Complaint]:
    """Fields of tools, and of blocks from message `fresh` on."""
    for index, message in enumerate(body.get("messages", [])[fresh:], fresh):
        content = message["content"] if isinstance(message["content"], list) else []
        for part, block in enumerate(content):
            yield from _block(f"messages.{index}.content.{part}", block)
            if is_new(request_headers):
                yield from _new_version(f"messages.{index}.content.{part}", message["role"], block)
    for index, tool in enumerate(body.get("tools") or []):
        if tool.get("type") in (None, "custom"):
            for name in ("name", "input_schema"):
                if name not in tool:
                    yield Complaint("has_required_fields", f"tools.{index}.custom.{name}: Field required")


_BLOCK_FIELDS = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "server_tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}

#: Fields of the block that agents write themselves; the others come back as the API sent them, with whatever it adds.
_RESULT_FIELDS = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def _block(where: str, block: Json) -> Iterator[Complaint]:
    kind = block.get("type")
    if not isinstance(kind, str):
        yield Complaint("has_required_fields", f"{where}.type: Field required")
        return
    for name in _BLOCK_FIELDS.get(kind, ()):
        if name not in block:
            yield Complaint("has_required_fields", f"{where}.{kind}.{name}: Field required")
    if kind in ("tool_use", "server_tool_use") and not isinstance(block.get("input", {}), dict):
        yield _wrong(f"{where}.{kind}.input", "Input should be a valid dictionary")
    if kind == "tool_result":
        for name in sorted(block.keys() - _RESULT_FIELDS):
            yield Complaint("no_unknown_fields", f"{where}.tool_result.{name}: {_EXTRA}")
    if kind == "text" and not isinstance(block.get("text", ""), str):
        yield _wrong(f"{where}.text.text", "Input should be a valid string")


def _new_version(where: str, role: str, block: Json) -> Iterator[Complaint]:
    """What version 2026-10-21 took away besides the sampling parameters."""
    if role == "assistant" and block.get("type") == "document":
        yield Complaint("no_removed_fields", f"{where}: `document` blocks are not supported in assistant messages")
    if role == "user" and block.get("type") == "text" and block.get("citations"):
        yield Complaint("no_removed_fields", f"{where}.text.citations: {_EXTRA}")


def threads(body: Json, request_headers: Mapping[str, str]) -> Iterator[Complaint]:
    """A continued thread brings its own system prompt and tools."""
    thread = body.get("thread")
    if thread is None:
        return
    if THREADS_BETA not in request_headers.get("anthropic-beta", ""):
        yield Complaint("no_unknown_fields", f"thread: {_EXTRA}")
    if thread.get("type") not in ("create", "continue"):
        yield _wrong("thread.type", "Input should be 'create' or 'continue'")
    elif thread["type"] == "continue":
        if not isinstance(thread.get("previous_message_id"), str):
            yield Complaint("has_required_fields", "thread.continue.previous_message_id: Field required")
        for name in ("system", "tools"):
            if body.get(name):
                yield Complaint("threads_keep_their_tools", f"{name}: {_EXTRA} when `thread.type` is `continue`")


def thinking(
    body: Json, history: tuple[Message, ...], thoughts: Mapping[str, str], resumes: bool
) -> Iterator[Complaint]:
    """Thinking comes first where it is enabled, not at all where it is disabled, and back as it was."""
    index = next((i for i in reversed(range(len(history))) if history[i].role == "assistant"), None)
    if index is None:
        return
    mode = (body.get("thinking") or {}).get("type")
    content = history[index].content
    where = f"messages.{index}.content"
    is_thought = [isinstance(part, Thinking | RedactedThinking) for part in content]
    is_old = model_version(str(body.get("model"))) < 4.6
    if mode == "enabled" and is_old and content and not is_thought[0] and _open_tool_round(history, index):
        kind = "tool_use" if isinstance(content[0], ToolCall) else "text"
        yield Complaint("thinking_comes_first", f"{where}.0.type: {_FIRST.format(kind)}")
    if mode == "disabled" and index == len(history) - 1 and any(is_thought) and not resumes:
        yield Complaint("no_thinking_when_disabled", f"{where}.{is_thought.index(True)}: {_DISABLED}")
    for part, block in enumerate(content):
        if isinstance(block, Thinking) and thoughts.get(block.signature, block.thinking) != block.thinking:
            yield Complaint("thinking_is_unchanged", f"{where}.{part}: {_CHANGED}")


def _open_tool_round(history: tuple[Message, ...], index: int) -> bool:
    """Whether the message at `index` holds calls that the last message answers."""
    answers = index + 1 < len(history) and any(isinstance(part, ToolResult) for part in history[index + 1].content)
    return answers and any(isinstance(part, ToolCall) for part in history[index].content)


_FIRST = (
    "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` message "
    "must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend "
    "you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our "
    "documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
_DISABLED = (
    "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. "
    "To use thinking blocks, enable `thinking` in your request."
)
_CHANGED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
