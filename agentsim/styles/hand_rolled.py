"""The hand-rolled loop that an article prints (TypeScript, Claude Messages), as people copy it.

Measured as printed, on @anthropic-ai/sdk 0.135.0:

    for step in 0..maxSteps-1:
      reply = create(history), the client's HTTP retries inside; append it
      pause_turn                       -> continue                    # costs a step
      end_turn, stop_sequence          -> return its text             # calls beside it are dropped
      any other than tool_use          -> throw
      run all tool_use blocks at once; append one user message with the results     # without a block: an empty message
    throw

Arguments are never checked: whatever object arrives is the tool's input. `impls[call.name]` also finds what every object
inherits, so a call of `toString` "succeeds".
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Message, ToolResult
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.style import Style
from agentsim.core.wires import SeenCall
from agentsim.styles._anthropic_claims import HAND_ROLLED_CLAIMS

RETRY = Retry(retries=2)

#: The client's error classes by status; from 500 on InternalServerError, else APIError.
ERRORS = {
    400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
    409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError",
}  # fmt: skip

#: What the names that `impls` inherits from Object.prototype throw; `toString` and `constructor` return.
INHERITED = dict.fromkeys(
    (
        "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "valueOf",
        "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
    ),
    "TypeError: Cannot convert undefined or null to object",
) | {
    "toLocaleString": "TypeError: Object.prototype.toLocaleString called on null or undefined",
    "__proto__": "TypeError: impl is not a function",
}  # fmt: skip


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the article's loop."""
    while run.limit is None or run.count < run.limit:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen)
        run.history.append(Message("assistant", seen.reply.blocks))
        if seen.stop == "pause_turn":
            run.count += 1
            continue
        if seen.stop in ("end_turn", "stop_sequence"):
            run.count += 1
            return run.returned(seen.text, dropped=bool(seen.calls))
        if seen.stop != "tool_use":
            stop = "null" if seen.stop is None else seen.stop
            message = f"Agent stopped without finishing: stop_reason={stop}"
            return run.threw("Error", message, dropped=bool(seen.calls))
        settled = yield from run.settle(seen.calls, lambda call: not_a_tool(run, call), render)
        if run.aborted:
            return failed(run, Failed(Fault(type="aborted"), 1, aborted=True))
        run.history.append(Message("user", settled.results))
        run.count += 1
    return run.threw("Error", f"Agent hit maxSteps ({run.limit:g}) without finishing", "limit")


def not_a_tool(run: Run, call: SeenCall) -> ToolResult | None:
    """The result of a name that has no implementation, be it unknown or inherited; None for one that has."""
    if call.name in run.tools and not run.tools[call.name].client:
        return None
    if call.name == "constructor":  # Object(input) is the input itself
        return ToolResult(call.id, call.arguments)
    if call.name == "toString":
        return ToolResult(call.id, "[object Undefined]")
    return ToolResult(call.id, INHERITED.get(call.name, f"Unknown tool: {call.name}"), is_error=True)


def render(done: ToolRun) -> ToolResult:
    """A tool's output as it is sent. Here an exception is a tool's only way to fail; its text is `String(err)`."""
    if done.is_error:
        return ToolResult(done.call_id, f"Error: {done.output}" if done.output else "Error", is_error=True)
    return ToolResult(done.call_id, done.output)


def failed(run: Run, failure: Failed) -> Outcome:
    """The client's own error."""
    if failure.aborted:
        return run.threw("APIUserAbortError", "Request was aborted.", "aborted")
    fault = failure.fault
    if fault.status is None:
        return run.threw("APIConnectionError", "Connection error.", "http_error")
    name = ERRORS.get(fault.status, "InternalServerError" if fault.status >= 500 else "APIError")
    return run.threw(name, f"{fault.status} {body(fault)}", fault_ending(fault))


def body(fault: Fault) -> str:
    """The error's body as JSON.stringify writes it."""
    content: dict[str, Any] = {"type": "error", "error": {"type": fault.type, "message": fault.message}}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


STYLES = (
    Style(
        name="hand-rolled/article",
        sdk="@anthropic-ai/sdk 0.135.0",
        unit="step",
        knob="maxSteps",
        default=10,
        loop=loop,
        checks="before each call",
        at_limit='throws Error "Agent hit maxSteps (n) without finishing"',
        signal="returns; everything else throws",
        streams=False,
        claims=HAND_ROLLED_CLAIMS,
    ),
)
