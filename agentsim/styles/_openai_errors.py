"""Errors of the OpenAI clients, as both Agents SDKs let them through."""

from __future__ import annotations

from agentsim.core.events import Fault, Outcome
from agentsim.core.run import Failed, Retry
from agentsim.core.wires import RESPONSES
from agentsim.styles._openai_talk import Talk

#: The client's retries, of every turn anew.
RETRY = Retry(2)

#: Error classes by status; from 500 on InternalServerError, others have no class of their own.
ERRORS = {
    400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
    409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError",
}  # fmt: skip


def client_error(talk: Talk, failure: Failed) -> Outcome:
    """The client's own error ends the run; it shows no number but the turn."""
    run, fault, reported = talk.run, failure.fault, talk.shown_of_client_error()
    if failure.aborted:
        name, text = ("CancelledError", "") if talk.python else ("APIUserAbortError", "Request was aborted.")
        return run.threw(name, text, "aborted", reported=reported)
    if fault.in_stream:
        return run.threw(*broken_off(talk, fault), "broken_stream", reported=reported)
    if fault.status is None:
        return run.threw("APIConnectionError", "Connection error.", "http_error", reported=reported)
    other = "APIStatusError" if talk.python else "APIError"
    name = ERRORS.get(fault.status, "InternalServerError" if fault.status >= 500 else other)
    message = f"Error code: {fault.status} - {fault.message}" if talk.python else f"{fault.status} {fault.message}"
    return run.threw(name, message, "http_error", reported=reported)


def aborted(talk: Talk) -> Outcome:
    """The caller gave up while tools ran. JavaScript's stream just ends, without a final output."""
    run, reported = talk.run, talk.shown_of_client_error()
    if talk.python:
        return run.threw("CancelledError", "", "aborted", reported=reported)
    if run.streamed:
        return run.returned(None, ended="aborted", reported=reported)
    return run.threw("AbortError", "This operation was aborted", "aborted", reported=reported)


def broken_off(talk: Talk, fault: Fault) -> tuple[str, str]:
    """Type and message of the error for a stream that broke off. One that merely ends is no error on Chat Completions."""
    if fault.disconnect == "reset":
        return ("APIConnectionError", "Connection error.") if talk.python else ("TypeError", "terminated")
    if fault.disconnect == "end":
        return "ModelBehaviorError", "Model did not produce a final response!"
    if talk.python and talk.run.wire == RESPONSES:
        code = f"code={fault.type}; message={fault.message}."
        return "ModelBehaviorError", f"Responses stream ended with terminal event `error`. {code}"
    return "APIError", fault.message
