"""A model call of pydantic-ai: paused turns resumed inside it, and the response that it comes to."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import (
    Block,
    Message,
    RedactedThinking,
    Refusal,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from agentsim.core.run import Failed, Run
from agentsim.core.wires import ANTHROPIC, CHAT, Seen, SeenCall, parse
from agentsim.styles._python_clients import RETRY

#: Resumes of one paused turn.
RESUMES = 10
_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_call", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "content_filter", "compaction": "stop",
}  # fmt: skip
_CHAT = {"stop": "stop", "length": "length", "tool_calls": "tool_call", "content_filter": "content_filter"}
#: The SDK's error classes by status; other statuses below 500 are ModelHTTPError, above ModelServerError.
ERRORS = {
    400: "ModelRequestRejectedError", 401: "ModelAuthenticationError", 402: "ModelQuotaExceededError",
    403: "ModelAuthenticationError", 404: "ModelNotFoundError", 422: "ModelRequestRejectedError",
    429: "ModelRateLimitError", 503: "ModelUnavailableError", 529: "ModelOverloadedError",
}  # fmt: skip


@dataclass(slots=True)
class Response:
    """What a model call came to.

    Args:
        blocks: of the message, as it is sent back.
        text: the texts joined.
        calls: in order; `broken` ones have arguments that are no JSON.
        finish: why it stopped, in pydantic-ai's words.
        usage: of all requests of the call.
        suspended: it was paused more often than is resumed.
        broken: its stream merely ended, which is taken for the end of the reply.
        is_result: its text was taken for the run's result while it came in.
    """

    blocks: tuple[Block, ...]
    text: str
    calls: tuple[SeenCall, ...]
    finish: str | None
    usage: Usage
    suspended: bool = False
    broken: bool = False
    is_result: bool = False

    @property
    def cut_call(self) -> bool:
        """Whether the output limit cut its last part, a call whose arguments can't be read. Of a result nobody asks that."""
        last = self.blocks[-1] if self.blocks and not self.is_result else None
        return self.finish == "length" and isinstance(last, ToolCall) and not isinstance(parse(last.arguments)[0], dict)


def call_model(
    run: Run, passed: Callable[[Usage], Outcome | None]
) -> Generator[Action, Event, Response | Failed | Outcome]:
    """Call the model until it has answered; a resume is no request of its own.

    Args:
        passed: how the run ends where the tokens of the parts so far pass a limit, which is looked at before each resume.
    """
    begin = len(run.history)
    parts: list[Seen] = []
    while True:
        seen = yield from run.call(RETRY)
        run.rewrite(begin)
        if isinstance(seen, Failed):
            if not seen.fault.in_stream or seen.fault.disconnect != "end":
                return seen
            parts.append(run.partly(seen.fault)[0])
            response = joined(parts)
            response.broken, response.finish = True, None
            return response
        parts.append(seen)
        response = joined(parts)
        if seen.stop != "pause_turn":
            return response
        if outcome := passed(response.usage):
            return outcome
        if len(parts) > RESUMES:
            response.suspended = True
            return response
        if response.blocks:
            run.history.append(Message("assistant", response.blocks))


def joined(parts: Sequence[Seen]) -> Response:
    """The replies of a turn as one response."""
    kept = [seen for seen in parts if not filtered(seen)]
    blocks = [block for seen in kept for block in held(seen)]
    calls = [call for seen in kept for call in seen.calls]
    usages = [seen.reply.usage or Usage() for seen in parts]
    usage = Usage(
        sum(one.input_tokens + one.cache_read_input_tokens + one.cache_creation_input_tokens for one in usages),
        sum(one.output_tokens for one in usages),
    )
    text = "".join(block.text for block in blocks if isinstance(block, Text))
    return Response(tuple(blocks), text, tuple(calls), finish_of(parts[-1]), usage)


def filtered(seen: Seen) -> bool:
    """Whether nothing of it is left: beside a refusal, the texts and calls of an OpenAI reply that came in one piece are dropped."""
    return seen.wire != ANTHROPIC and not seen.streamed and bool(seen.refusal)


def held(seen: Seen) -> list[Block]:
    """The parts that pydantic-ai keeps: no empty texts, and no calls of server tools that were not configured."""
    refused = seen.refusal is not None and not any(isinstance(block, Refusal) for block in seen.reply.blocks)
    words = seen.wire != CHAT and not refused
    first: list[Block] = [Text(seen.text)] if seen.wire == CHAT and seen.text else []
    others = (ToolCall, Thinking, RedactedThinking, ServerResult)
    blocks = seen.reply.blocks
    return first + [b for b in blocks if isinstance(b, others) or (words and isinstance(b, Text) and b.text)]


def finish_of(seen: Seen) -> str | None:
    """Why the reply stopped."""
    if seen.refusal:
        return "content_filter"
    if seen.wire == ANTHROPIC:
        return _FINISH.get(seen.stop or "")
    if seen.wire == CHAT:
        return _CHAT.get(seen.word or "")
    return "length" if seen.word == "max_output_tokens" else "stop"


def error_of(fault: Fault) -> tuple[str, str]:
    """Class and message of the SDK's own error."""
    if fault.status is None or fault.disconnect is not None:
        return "ModelConnectionError", "Connection error."
    name = ERRORS.get(fault.status, "ModelServerError" if fault.status >= 500 else "ModelHTTPError")
    if fault.in_stream:
        name = "ModelOverloadedError" if "overloaded" in fault.type else "ModelAPIError"
    return name, f"status_code: {fault.status}, body: {fault.message}"


def arguments(call: SeenCall) -> Any:
    """The arguments as the tool's validator gets them; none at all are an empty object."""
    return {} if not call.raw.strip() else call.arguments
