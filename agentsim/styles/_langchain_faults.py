"""What LangChain makes of requests that fail: who retries what, which error leaves the run, what becomes of half a stream.

Measured; the order of JavaScript's decisions is `async_caller` of @langchain/core 1.4.0:

    400-407, 409, 413: no retry
    429: words of quota or billing: no retry, RateLimitQuotaExhaustedError
         retry-after of at most 60 s: retry;  more: RateLimitCapacityError
    all else: up to 6 retries; the back-off is random, only a 429's retry-after is waited for

In Python the provider's client retries, twice, and LangChain only names its errors anew.
"""

from __future__ import annotations

import json
import re

from agentsim.core.events import Fault
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.value import value
from agentsim.core.wires import ANTHROPIC, RESPONSES

_NEVER = frozenset({400, 401, 402, 403, 404, 405, 406, 407, 409, 413})
_PATIENCE = 60
_QUOTA = re.compile(
    r"insufficient[_ -]?quota|exceeded (?:your|the current|the available).+quota|usage quota|quota (?:has been )?exhausted"
    r"|billing|credit balance|out of credits|will reset at",
    re.IGNORECASE,
)


class Leaves(Exception):
    """An error that leaves the run.

    Args:
        type_, message: class (or `name`) and words of what the caller catches.
        ended: the contract's word for why.
        kind: class of the error that was thrown inside, where LangChain names it (a retry's message).
        retryable: whether a retry middleware would try again.
        keep: what the graph had done in this super-step stays (an interrupt's does not).
    """

    def __init__(
        self, type_: str, message: str, ended: str | None, *, kind: str | None = None, retryable: bool = True
    ) -> None:
        super().__init__(message)
        self.type, self.message, self.ended = type_, message, ended
        self.kind = kind or type_
        self.retryable = retryable


@value
class CoreCaller(Retry):
    """LangChain JS retries its model calls itself."""

    retries: int = 6
    statuses: frozenset[int] = frozenset(range(400, 500)) - _NEVER

    def again(self, fault: Fault, attempts: int) -> bool:
        """Whether there is one more attempt: see the module."""
        if fault.status == 429 and (_is_quota(fault) or _too_long(fault)):
            return False
        return Retry.again(self, fault, attempts)

    def wait(self, fault: Fault) -> float:
        """A 429's retry-after; all other back-off is random."""
        return (fault.retry_after or 0.0) if fault.status == 429 else 0.0


def _is_quota(fault: Fault) -> bool:
    return bool(_QUOTA.search(f"{fault.type} {fault.message}"))


def _too_long(fault: Fault) -> bool:
    return fault.retry_after is not None and fault.retry_after > _PATIENCE


def retry_of(python: bool, retries: int | None = None) -> Retry:
    """How a model call's HTTP requests are retried. `retries`: a middleware's own number for the inner caller."""
    if python:
        return Retry(2)
    return CoreCaller() if retries is None else CoreCaller(retries)


def failure(run: Run, failed: Failed, python: bool) -> Leaves:
    """The error that a model call without a reply ends in."""
    fault = failed.fault
    if failed.aborted:
        return Leaves("CancelledError" if python else "AbortError", "Aborted", "aborted", retryable=False)
    if fault.status is None:
        return _no_connection(run, python)
    ended = fault_ending(fault)
    if fault.in_stream:
        return _broken(run, fault, python)
    if python:
        name = _python_name(run, fault)
        return Leaves(name, f"Error code: {fault.status} - {_body(run, fault, python)}", ended, retryable=_again(fault))
    name, kind = _javascript_names(run, fault)
    retryable = fault.status not in _NEVER and name != "RateLimitQuotaExhaustedError"
    return Leaves(name, _javascript_message(run, fault), ended, kind=kind, retryable=retryable)


def _no_connection(run: Run, python: bool) -> Leaves:
    if not python:
        return Leaves("Error", "Connection error.", "http_error", kind="APIConnectionError")
    name = "AnthropicConnectionError" if run.wire == ANTHROPIC else "OpenAIConnectionError"
    return Leaves(name, "Connection error.", "http_error")


def _broken(run: Run, fault: Fault, python: bool) -> Leaves:
    """A stream that fails after its head: nothing is retried, nothing runs."""
    if fault.disconnect is not None and not python:
        return Leaves("TypeError", "terminated", "broken_stream")
    if fault.disconnect is not None:
        if run.wire == ANTHROPIC:
            return Leaves("ReadError", "[Errno 104] Connection reset by peer", "broken_stream")
        return Leaves("OpenAIConnectionError", "Connection error.", "broken_stream")
    if python and run.wire == RESPONSES:
        return Leaves("ValueError", f"{fault.type}: {fault.message}", "broken_stream")
    if python:
        type_ = "APIStatusError" if run.wire == ANTHROPIC else "APIError"
        return Leaves(type_, _body(run, fault, python), "broken_stream")
    text = _body(run, fault, python) if run.wire == ANTHROPIC else fault.message
    return Leaves("Error", text, "broken_stream", kind="APIError")


def _again(fault: Fault) -> bool:
    return (fault.status or 500) >= 500 or fault.status in (408, 409, 429)


def _body(run: Run, fault: Fault, python: bool) -> str:
    """The provider's error as a client's message shows it."""
    if run.wire != ANTHROPIC:
        return fault.message
    body = {"type": "error", "error": {"type": fault.type, "message": fault.message}, "request_id": "req_1"}
    return str(body) if python else json.dumps(body, ensure_ascii=False, separators=(",", ":"))


# -- JavaScript -----------------------------------------------------------------------------------------------------

_KINDS = {
    400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
    409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError",
}  # fmt: skip
_HELP = {401: "MODEL_AUTHENTICATION", 404: "MODEL_NOT_FOUND", 429: "MODEL_RATE_LIMIT"}


def _javascript_names(run: Run, fault: Fault) -> tuple[str, str]:
    """`name` and class of the error: the clients' errors are named "Error"."""
    kind = _KINDS.get(fault.status or 0, "InternalServerError" if (fault.status or 0) >= 500 else "APIError")
    if _overflows(run, fault):
        return "ContextOverflowError", "ContextOverflowError"
    if fault.status == 429 and _is_quota(fault):
        return "RateLimitQuotaExhaustedError", kind
    if fault.status == 429 and _too_long(fault):
        return "RateLimitCapacityError", kind
    return "Error", kind


def _overflows(run: Run, fault: Fault) -> bool:
    return run.wire == ANTHROPIC and fault.status == 400 and "prompt is too long" in fault.message


def _javascript_message(run: Run, fault: Fault) -> str:
    text = f"{fault.status} {_body(run, fault, python=False)}"
    about = "tool" if run.wire == ANTHROPIC else "tool_calls"
    page = _HELP.get(fault.status or 0)
    if _overflows(run, fault):
        page = "CONTEXT_OVERFLOW"
    elif fault.status == 400 and about in fault.message:
        page = "INVALID_TOOL_RESULTS"
    if page is None:
        return text
    return f"{text}\n\nTroubleshooting URL: https://docs.langchain.com/oss/javascript/langchain/errors/{page}/\n"


# -- Python ---------------------------------------------------------------------------------------------------------

_ANTHROPIC_NAMES = {
    400: "AnthropicInvalidRequestError", 401: "AnthropicAuthenticationError", 403: "AnthropicPermissionDeniedError",
    404: "AnthropicModelNotFoundError", 408: "RequestTimeoutError", 409: "ConflictError", 413: "ContentTooLargeError",
    422: "UnprocessableEntityError", 429: "AnthropicRateLimitError", 529: "AnthropicOverloadedError",
}  # fmt: skip
_OPENAI_NAMES = {
    400: "OpenAIInvalidRequestError", 401: "OpenAIAuthenticationError", 403: "OpenAIPermissionDeniedError",
    404: "OpenAIModelNotFoundError", 409: "ConflictError", 422: "UnprocessableEntityError", 429: "OpenAIRateLimitError",
}  # fmt: skip


def _python_name(run: Run, fault: Fault) -> str:
    status = fault.status or 0
    if run.wire == ANTHROPIC:
        return _ANTHROPIC_NAMES.get(status, "AnthropicAPIError" if status >= 500 else "APIStatusError")
    return _OPENAI_NAMES.get(status, "OpenAIAPIError" if status >= 500 else "APIStatusError")
