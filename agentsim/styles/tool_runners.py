"""Anthropic's tool runners: `client.beta.messages.toolRunner` (TypeScript) and `tool_runner` (Python).

Measured on @anthropic-ai/sdk 1.14.0 and anthropic 2.14.0:

    i = 0
    loop:
      max_iterations set and i >= max_iterations: end              # TypeScript: 0 counts as unset
      reply = create(…), HTTP retries inside;  i += 1
      tool_use               -> run its calls, append ONE user message with all results; no call -> end
      pause_turn, compaction -> run nothing, send the history back as it is
      anything else          -> end; calls in it are not run
    return the last reply                                          # never an error for a cap, a cut or a refusal
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.scripted import check_keys
from agentsim.core.style import Style
from agentsim.core.wires import Seen, SeenCall

RETRY = Retry(retries=2)

#: The SDKs' error classes by status; the others are APIStatusError (Python) or APIError (TypeScript).
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


def loop(run: Run, python: bool) -> Generator[Action, Event, Outcome]:
    """One run of the tool runner."""
    while run.limit is None or run.count < run.limit:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen)
        run.count += 1
        run.reply_with(seen)
        if seen.stop in ("pause_turn", "compaction"):
            continue
        if seen.stop != "tool_use" or not seen.calls:
            return _end(run, seen)
        settled = yield from run.settle(
            seen.calls, lambda call: _refuse(run, call, python), lambda done: _render(done, python), sequential=python
        )
        run.answer_with(settled.results)
    return _at_limit(run)


def _end(run: Run, seen: Seen) -> Outcome:
    done = seen.stop in ("end_turn", "stop_sequence")
    return run.returned(seen.text, seen.stop, done=done, dropped=bool(seen.calls))


def _at_limit(run: Run) -> Outcome:
    """The last reply is returned, quietly; without any reply both SDKs complain."""
    if run.last is not None:
        return run.returned(run.last.text, run.last.stop, done=False, ended="limit")
    return run.threw("AnthropicError", "ToolRunner concluded without a message from the server", "limit")


def failed(run: Run, failure: Failed) -> Outcome:
    """The client's own error."""
    fault = failure.fault
    if failure.aborted:
        return run.threw("APIUserAbortError", "Request was aborted.", "aborted")
    if fault.status is None:
        return run.threw("APIConnectionError", "Connection error.", "http_error")
    name = ERRORS.get(fault.status, "InternalServerError" if fault.status >= 500 else "APIStatusError")
    return run.threw(name, f"Error code: {fault.status} - {fault.message}", fault_ending(fault))


def _refuse(run: Run, call: SeenCall, python: bool) -> ToolResult | None:
    problem = run.problem(call)
    if problem is None:
        return None
    if problem == "unknown":
        text = f"Error: Tool '{call.name}' not found"
    elif python:
        text = f"ValueError('Invalid arguments for function {call.name}')"
    else:
        text = f"Error: {problem}"
    return ToolResult(call.id, text, is_error=True)


def _render(done: ToolRun, python: bool) -> ToolResult:
    if done.raised:
        text = f"Exception({done.output!r})" if python else f"Error: {done.output}"
        return ToolResult(done.call_id, text, is_error=True)
    output = done.output if isinstance(done.output, str) else json.dumps(done.output)
    return ToolResult(done.call_id, output, is_error=done.is_error)


def loop_js(run: Run) -> Generator[Action, Event, Outcome]:
    """TypeScript: calls of a reply run at once; 0 is no limit."""
    return (yield from loop(run, python=False))


def loop_python(run: Run) -> Generator[Action, Event, Outcome]:
    """Python: calls run one after the other; a limit of 0 makes no call and fails its own assertion."""
    if run.limit is not None and run.limit <= 0:
        return run.threw("AssertionError", "", "limit")
    return (yield from loop(run, python=True))


def configure(tree: Mapping[str, Any], eager: str) -> Options:
    """The option tree of one language; `eager` is how it spells eager runs."""
    check_keys(tree, "", (eager, "thread"))
    for key, value in tree.items():
        if not isinstance(value, bool):
            raise ValueError(f"{key}: expected true or false, but {value!r} came")
    return Options(bool(tree.get(eager, False)), bool(tree.get("thread", True)))


STYLES = (
    Style(
        name="anthropic-js/toolRunner",
        sdk="@anthropic-ai/sdk 1.14.0",
        unit="iteration",
        knob="max_iterations",
        default=None,
        loop=loop_js,
        checks="before each call",
        at_limit='returns the last reply, whose stop_reason is "tool_use"',
        signal="stop_reason in {end_turn, stop_sequence}",
        read_limit=lambda value: value or None,
        configure=lambda tree: configure(tree, "runToolsEagerly"),
        options={"runToolsEagerly": "a call runs when the next block starts", "thread": "false sends the whole history"},
    ),
    Style(
        name="anthropic/tool_runner",
        sdk="anthropic 2.14.0",
        unit="iteration",
        knob="max_iterations",
        default=None,
        loop=loop_python,
        checks="before each call",
        at_limit='returns the last reply, whose stop_reason is "tool_use"',
        signal="stop_reason in {end_turn, stop_sequence}",
        configure=lambda tree: configure(tree, "run_tools_eagerly"),
        options={"run_tools_eagerly": "a call runs when the next block starts", "thread": "false sends the whole history"},
    ),
)
