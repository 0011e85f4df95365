"""What Anthropic's two tool runners make of calls, results and errors: the languages differ, the loop does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.coerce import Unfit, lax, strip_unknown
from agentsim.core.events import Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import check_keys
from agentsim.core.wires import SeenCall
from agentsim.styles._anthropic_json import completed_js, completed_python

#: The SDKs' error classes by status; others from 500 on are InternalServerError, the rest has no class of its own.
ERRORS = {
    400: "BadRequestError", 401: "AuthenticationError", 402: "PaymentRequiredError", 403: "PermissionDeniedError",
    404: "NotFoundError", 408: "RequestTimeoutError", 409: "ConflictError", 413: "ContentTooLargeError",
    422: "UnprocessableEntityError", 429: "RateLimitError", 503: "ServiceUnavailableError", 504: "GatewayTimeoutError",
    529: "OverloadedError",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """Args: eager: `runToolsEagerly`; thread: on the provider's thread (False sends the whole history each time)."""

    eager: bool = False
    thread: bool = True


def configure(tree: Mapping[str, Any], eager: str) -> Options:
    """The option tree of one language.

    Args:
        tree: as the user wrote it.
        eager: how this language spells eager runs.
    Raises:
        ValueError: an unknown option, or one that is neither true nor false.
    """
    check_keys(tree, "", (eager, "thread"))
    for key, value in tree.items():
        if not isinstance(value, bool):
            raise ValueError(f"{key}: expected true or false, but {value!r} came")
    return Options(bool(tree.get(eager, False)), bool(tree.get("thread", True)))


@dataclass(frozen=True, slots=True)
class Language:
    """Where the two SDKs differ.

    Args:
        complete: a streamed call's arguments, completed where they were cut; raises NotAPrefix.
        problem: why a call is not run, as the text of its error result; None where it is.
        fitted: what the tool function gets of a call that fits.
        render: a run's result.
        sequential: calls of one reply run one after the other.
        json_error: class of the error for arguments that are no JSON.
        no_call_message: what it says where the limit allows no call; "" is a bare AssertionError.
        other_error: class of the statuses that have none of their own.
        error_body: how an HTTP error's message is made of status and body.
        broken: how a stream that "end"s or is "reset" ends the run: type and message.
        eager_option: its word for eager runs.
        eager_needs_stream: type and message of the complaint where replies don't stream.
        end_is_a_reply: a stream that merely ends is a reply without a stop reason.
        eager_once_an_id: eagerly, calls that share an id run once.
    """

    complete: Callable[[str], Any]
    problem: Callable[[Run, SeenCall], str | None]
    fitted: Callable[[Run, SeenCall], Any]
    render: Callable[[ToolRun], ToolResult]
    sequential: bool
    json_error: str
    no_call_message: str
    other_error: str
    error_body: Callable[[int, Mapping[str, Any]], str]
    broken: Mapping[str, tuple[str, str]]
    eager_option: str
    eager_needs_stream: tuple[str, str]
    end_is_a_reply: bool
    eager_once_an_id: bool

    def refusal(self, run: Run, call: SeenCall) -> ToolResult:
        """The error result of a call that is not run."""
        return ToolResult(call.id, self.problem(run, call), is_error=True)


def failed(run: Run, failure: Failed, language: Language) -> Outcome:
    """The client's own error."""
    fault = failure.fault
    if failure.aborted:
        return run.threw("APIUserAbortError", "Request was aborted.", "aborted")
    if fault.in_stream and fault.disconnect is not None:
        return run.threw(*language.broken[fault.disconnect], "broken_stream")
    if fault.status is None:
        return run.threw("APIConnectionError", "Connection error.", "http_error")
    name = ERRORS.get(fault.status, "InternalServerError" if fault.status >= 500 else language.other_error)
    body = {"type": "error", "error": {"type": fault.type, "message": fault.message}}
    text = language.error_body(fault.status, body)
    if fault.in_stream:
        return run.threw(name, text.removeprefix("200 ").removeprefix("Error code: 200 - "), "broken_stream")
    return run.threw(name, text, "http_error")


# -- TypeScript -------------------------------------------------------------------------------------------------------


def _js_problem(run: Run, call: SeenCall) -> str | None:
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return f"Error: Tool '{call.name}' not found"
    problem = spec.problem(strip_unknown(spec.schema, call.arguments))
    return None if problem is None else f"Error: {problem}"


def _js_fitted(run: Run, call: SeenCall) -> Any:
    return strip_unknown(run.tools[call.name].schema, call.arguments)


def _js_render(done: ToolRun) -> ToolResult:
    if done.raised:
        return ToolResult(done.call_id, f"Error: {done.output}", is_error=True)
    return ToolResult(done.call_id, done.output, is_error=done.is_error)


def _js_body(status: int, body: Mapping[str, Any]) -> str:
    return f"{status} {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}"


JS = Language(
    complete=completed_js,
    problem=_js_problem,
    fitted=_js_fitted,
    render=_js_render,
    sequential=False,
    json_error="AnthropicError",
    no_call_message="ToolRunner concluded without a message from the server",
    other_error="APIError",
    error_body=_js_body,
    broken={
        "end": ("AnthropicError", "stream ended without producing a Message with role=assistant"),
        "reset": ("AnthropicError", "terminated"),
    },
    eager_option="runToolsEagerly",
    eager_needs_stream=(
        "TypeError",
        "`runToolsEagerly: true` needs `stream: true` in the tool runner's params, because a reply that isn't streamed "
        "arrives whole.",
    ),
    end_is_a_reply=False,
    eager_once_an_id=True,
)

# -- Python -----------------------------------------------------------------------------------------------------------


def _python_problem(run: Run, call: SeenCall) -> str | None:
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return f"Error: Tool '{call.name}' not found"
    if not isinstance(call.arguments, Mapping):
        return f"TypeError('Input must be a dictionary, got {type(call.arguments).__name__}')"
    try:
        lax(spec.schema, call.arguments, extra="forbid")
    except Unfit:
        return f"ValueError('Invalid arguments for function {call.name}')"
    return None


def _python_fitted(run: Run, call: SeenCall) -> Any:
    return lax(run.tools[call.name].schema, call.arguments, extra="forbid")


def _python_render(done: ToolRun) -> ToolResult:
    """Anything but text is taken for a list of blocks: a mapping becomes its keys, a number can't be iterated over."""
    if done.raised:
        return ToolResult(done.call_id, f"Exception({done.output!r})", is_error=True)
    output = done.output
    if output is None or isinstance(output, str):
        return ToolResult(done.call_id, output, is_error=done.is_error)
    if isinstance(output, Iterable):
        return ToolResult(done.call_id, list(output), is_error=done.is_error)
    problem = f"TypeError(\"'{type(output).__name__}' object is not iterable\")"
    return ToolResult(done.call_id, problem, is_error=True)


PYTHON = Language(
    complete=completed_python,
    problem=_python_problem,
    fitted=_python_fitted,
    render=_python_render,
    sequential=True,
    json_error="ValueError",
    no_call_message="",
    other_error="APIStatusError",
    error_body=lambda status, body: f"Error code: {status} - {body!r}",
    broken={
        "end": ("APIConnectionError", "Connection error."),
        "reset": ("ReadError", "[Errno 104] Connection reset by peer"),
    },
    eager_option="run_tools_eagerly",
    eager_needs_stream=("ValueError", "`run_tools_eagerly=True` and `stream=False` are mutually exclusive"),
    end_is_a_reply=True,
    eager_once_an_id=False,
)
