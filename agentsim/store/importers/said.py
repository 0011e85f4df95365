"""What one answer of a provider said, whole or streamed, whatever of it a recorder kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Block, Refusal, Reply, Text, Thinking, Usage
from agentsim.store.building import stop_reason
from agentsim.store.importers import chat_messages, responses_items
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, reply_blocks, text_of, usage

ANTHROPIC, RESPONSES, CHAT = "messages", "responses", "chat"


@dataclass(slots=True)
class Said:
    """A reply or an error.

    Args:
        blocks, raw, usage: of the reply; `raw` is the stop reason in the wire's words.
        id: of the reply.
        fault: an error in its place; its `partial` holds what had arrived.
        waiting: the reply is not done yet (a background job): a later answer under the same id replaces it.
    """

    blocks: list[Block] = field(default_factory=list)
    raw: str | None = None
    usage: Usage | None = None
    id: str | None = None
    fault: Fault | None = None
    waiting: bool = False

    @property
    def reply(self) -> Reply:
        """As a reply."""
        return Reply(tuple(self.blocks), stop_reason(self.raw, self.blocks), self.usage)

    def broken(self, kind: str, message: str, disconnect: str | None = None) -> Said:
        """What had arrived when a stream broke."""
        partial = self.reply
        arrived = sum(len(getattr(b, "arguments", getattr(b, "text", ""))) for b in partial.blocks)
        self.fault = Fault(200, kind, message, None, arrived, disconnect, partial)
        return self


def wire_of_body(body: Any) -> str | None:
    """Whose answer a body is; None for an error and for anything else."""
    if not isinstance(body, dict):
        return None
    if body.get("object") == "response" or (isinstance(body.get("output"), list) and "status" in body):
        return RESPONSES
    if isinstance(body.get("choices"), list):
        return CHAT
    if body.get("type") == "message" and isinstance(body.get("content"), list):
        return ANTHROPIC
    return None


def said(body: dict[str, Any], wire: str) -> Said:
    """A whole answer's body."""
    return {ANTHROPIC: _claude, RESPONSES: _responses, CHAT: _chat}[wire](body)


def error_of(body: Any, status: int | None, retry_after: float | None = None) -> Fault:
    """An error's body as a fault, however the gateway lays it out."""
    error = as_dict(body).get("error", body)
    if isinstance(error, list) and error:
        error = as_dict(error[0]).get("error", error[0])
    if isinstance(error, dict):
        kind = text_of(error.get("type")) or text_of(error.get("code")) or "api_error"
        message = text_of(error.get("message")) or text_of(error.get("detail")) or json.dumps(error, default=str)[:500]
    else:
        kind, message = "api_error", str(error if error is not None else "")[:500]
    return Fault(status, kind, message, retry_after)


#: HTTP statuses of errors whose type alone is recorded.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


def failed(message: str, kind: str = "api_error") -> Said:
    """A request that failed, as logs tell it that keep no status."""
    return Said(fault=Fault(_STATUSES.get(kind, 500), kind, message[:500]))


def _claude(body: dict[str, Any]) -> Said:
    blocks = list(reply_blocks(claude_parts(body.get("content"))))
    category = text_of(as_dict(body.get("stop_details")).get("category"))
    if category is not None and body.get("stop_reason") == "refusal":
        words = blocks.pop().text if blocks and isinstance(blocks[-1], Text) else ""  # type: ignore[union-attr]
        blocks.append(Refusal(words, category))
    return Said(blocks, text_of(body.get("stop_reason")), usage(body.get("usage")), text_of(body.get("id")))


def _responses(body: dict[str, Any]) -> Said:
    blocks = responses_items.output_blocks(as_list(body.get("output")))
    status, raw = text_of(body.get("status")), text_of(body.get("status"))
    reason = text_of(as_dict(body.get("incomplete_details")).get("reason"))
    if status == "incomplete" and reason:
        raw = f"incomplete:{reason}"
    answer = Said(
        blocks, raw, usage(body.get("usage")), text_of(body.get("id")), waiting=status in ("queued", "in_progress")
    )
    if status == "failed":
        error = error_of(body, 200)
        answer.broken(error.type, error.message)
    return answer


def _chat(body: dict[str, Any]) -> Said:
    choice = as_dict(as_list(body.get("choices"))[0]) if as_list(body.get("choices")) else {}
    message = as_dict(choice.get("message"))
    blocks = chat_messages.reply_blocks(message)
    if message.get("content") == "" and not message.get("refusal"):  # an empty text is not the same as none (null)
        blocks.insert(sum(isinstance(block, Thinking) for block in blocks), Text(""))
    raw = text_of(choice.get("finish_reason"))
    answer = Said(blocks, raw, usage(body.get("usage")), text_of(body.get("id")) or None)
    if raw == "content_filter" and not any(isinstance(block, Refusal) for block in blocks):
        answer.blocks = [Refusal(b.text) if isinstance(b, Text) else b for b in blocks]
    return answer
