"""What OpenAI's two wires have in common: errors, headers, models, schema complaints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Usage
from agentsim.wire.anthropic import retry_headers
from agentsim.wire.base import Complaint, HttpResponse, Json, dumps, read_json

#: Of every reply: a fixed time, so that the same run gives the same bytes.
CREATED = 1_790_000_000
EVENTS = "text/event-stream; charset=utf-8"
MODELS = ("gpt-6-astra", "gpt-6-astra-mini", "gpt-5.1")

_MESSAGES = {
    429: "Rate limit reached for requests",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "That model is currently overloaded with other requests.",
    529: "Overloaded",
}
_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error", 529: "server_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


def answer_headers(kind: str, tag: str) -> tuple[tuple[str, str], ...]:
    """Headers of an answer."""
    return (
        ("content-type", kind),
        ("x-request-id", f"req_{tag}"),
        ("openai-processing-ms", "1"),
        ("openai-version", "2020-10-01"),
    )


def json_response(body: Any, tag: str, status: int = 200) -> HttpResponse:
    """A whole JSON answer."""
    return HttpResponse(status, answer_headers("application/json", tag), (dumps(body).encode(),))


def error_response(status: int, error: Json, tag: str, more: tuple[tuple[str, str], ...] = ()) -> HttpResponse:
    """An error answer."""
    body = dumps({"error": error}).encode()
    return HttpResponse(status, (*answer_headers("application/json", tag), *more), (body,))


def refusal(complaint: Complaint, tag: str) -> HttpResponse:
    """The answer to a request that is refused."""
    return error_response(complaint.status, error_of(complaint), tag)


def error_of(complaint: Complaint) -> Json:
    """OpenAI's four fields of an error."""
    return {
        "message": complaint.message,
        "type": complaint.type,
        "param": complaint.param,
        "code": complaint.code,
    }


def fault_error(fault: Fault) -> Json:
    """A scripted fault in OpenAI's words; Claude's error types are translated."""
    status = fault_status(fault)
    message = fault.message or _MESSAGES.get(status, "The server had an error while processing your request.")
    known = fault.type in _FROM_CLAUDE or not fault.type
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error") if known else fault.type
    return {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}


_FROM_CLAUDE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 503,
}


def fault_status(fault: Fault) -> int:
    """The HTTP status of a fault; one inside a stream has none, its type tells."""
    if fault.status and fault.status != 200:
        return fault.status
    return _FROM_CLAUDE.get(fault.type, 500)


def fault_response(fault: Fault, tag: str) -> HttpResponse:
    """A fault in place of a reply."""
    return error_response(fault_status(fault), fault_error(fault), tag, retry_headers(fault))


def decoded_fault(response: HttpResponse) -> Fault:
    """An error answer as a fault."""
    after = dict(response.headers).get("retry-after")
    try:
        error = read_json(response.body)["error"]
        kind, text = str(error.get("type")), str(error["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        kind, text = "server_error", response.body.decode("utf-8", "replace")
    return Fault(response.status, kind, text, float(after) if after else None)


def headers_complaints(headers: Mapping[str, str]) -> Iterator[Complaint]:
    """A key."""
    if not headers.get("authorization", "").startswith("Bearer ") and not headers.get("api-key"):
        yield Complaint("has_credentials", _NO_KEY, 401)


_NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)


def missing(name: str) -> Complaint:
    """A required parameter that is not there."""
    text = f"Missing required parameter: '{name}'."
    return Complaint("has_required_fields", text, param=name, code="missing_required_parameter")


def wrong_type(name: str, wanted: str, value: Any) -> Complaint:
    """A parameter of a wrong type."""
    text = f"Invalid type for '{name}': expected {wanted}, but got {_described(value)} instead."
    return Complaint("has_legal_types", text, param=name, code="invalid_type")


def _described(value: Any) -> str:
    if value is None:
        return "null"
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "an unknown type")


def empty_array(name: str) -> Complaint:
    """An array that must hold something."""
    text = f"Invalid '{name}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return Complaint("no_empty_array", text, param=name, code="empty_array")


def unknown(name: str) -> Complaint:
    """A parameter that the API does not know."""
    return Complaint("no_unknown_fields", f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")


def invalid_role(name: str, role: Any, roles: Collection[str]) -> Complaint:
    """A role that the API does not know here."""
    *most, last = (f"'{role}'" for role in roles)
    text = f"Invalid value: '{role}'. Supported values are: {', '.join(most)}, and {last}."
    return Complaint("has_legal_roles", text, param=name, code="invalid_value")


_INTEGERS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_tool_calls", "n", "top_logprobs")


def body_fields(body: Json, known: Collection[str], required: Collection[str]) -> Iterator[Complaint]:
    """Required and unknown parameters, and the types of those that every request has."""
    for name in required:
        if name not in body:
            yield missing(name)
    for name in body:
        if name not in known:
            yield unknown(name)
    if not isinstance(body.get("model", ""), str):
        yield wrong_type("model", "a string", body["model"])
    if not isinstance(body.get("stream", False), bool | None):
        yield wrong_type("stream", "a boolean", body["stream"])
    for name in _INTEGERS:
        if body.get(name) is not None and type(body[name]) is not int:
            yield wrong_type(name, "an integer", body[name])


def model_object(name: str) -> Json:
    """An entry of the list of models."""
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "openai"}


def models_page() -> Json:
    """The list of models."""
    return {"object": "list", "data": [model_object(name) for name in MODELS]}


def total_input(usage: Usage) -> int:
    """OpenAI counts cached tokens as input tokens, Claude beside them."""
    return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


def usage_of(total: int, cached: int, written: int, output: int) -> Usage:
    """The other way round."""
    return Usage(max(0, total - cached - written), output, cached, written)
