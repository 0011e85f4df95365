"""The errors of the official Python clients, which most Python SDKs let through: anthropic's and openai's.

Facts: anthropic 0.125 to 2.14 and openai 2.54 to 3.57 send a request again twice on 408, 409, 429, from 500 on, and where a connection ends
before the headers; a stream that has begun is never asked for again.
"""

from __future__ import annotations

from agentsim.core.events import Fault
from agentsim.core.run import Failed, Retry, fault_ending
from agentsim.core.wires import ANTHROPIC

#: Both clients' retries.
RETRY = Retry(2)

_SHARED = {
    400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
    409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError",
}  # fmt: skip

#: Error classes by status; from 500 on InternalServerError, else APIStatusError.
ANTHROPIC_ERRORS = _SHARED | {
    413: "RequestTooLargeError", 503: "ServiceUnavailableError", 504: "DeadlineExceededError", 529: "OverloadedError",
}  # fmt: skip
OPENAI_ERRORS = _SHARED


def client_error(wire: str, fault: Fault, *, openai: int = 2) -> tuple[str, str]:
    """Class and message of what the client raises.

    Args:
        wire: which client it is.
        fault: why there is no reply.
        openai: the openai package's major version: from 3 on a stream that is reset is a connection error.
    """
    if fault.in_stream:
        if openai > 2 and wire != ANTHROPIC and fault.disconnect == "reset":
            return "APIConnectionError", "Connection error."
        return _broken_off(wire, fault)
    if fault.status is None:
        return "APIConnectionError", "Connection error."
    known = ANTHROPIC_ERRORS if wire == ANTHROPIC else OPENAI_ERRORS
    name = known.get(fault.status, "InternalServerError" if fault.status >= 500 else "APIStatusError")
    return name, f"Error code: {fault.status} - {fault.message}"


def _broken_off(wire: str, fault: Fault) -> tuple[str, str]:
    """A stream that failed after it began."""
    if fault.disconnect == "reset":
        return "ReadError", ""
    if fault.disconnect == "end":
        return "RemoteProtocolError", "peer closed connection without sending complete message body"
    if wire == ANTHROPIC:
        return "APIStatusError", fault.message
    return "APIError", fault.message


def ending(failure: Failed) -> str:
    """The contract's `ended` of a run that such an error ended."""
    return "aborted" if failure.aborted else fault_ending(failure.fault)
