"""The OpenAI Agents SDK, JavaScript and Python: a turn is a model call, checked before it is made.

Measured on @openai/agents 0.20.0 and openai-agents 0.24.0:

    turn = 0
    loop:
      turn += 1
      cap is not null and turn > cap: throw MaxTurnsExceeded       # before the call, after the last turn's tools ran
      reply = model(agent, history)
      reject the whole reply, before any tool runs, with ModelBehaviorError if
        - it names a tool that the agent lacks
        - two calls share an id but differ, or an id already answered comes back with other arguments
        - Responses: status incomplete; Chat: finish "length" with nothing in it
      run ALL function calls of the reply at once
      the reply had any call: continue
      refusal and no text: throw ModelRefusalError
      no text: continue                                            # JavaScript, but for Chat unstreamed
      return the text
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax, strip_unknown
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Message, ToolResult
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.style import Style
from agentsim.core.wires import CHAT, RESPONSES, Seen, SeenCall

RETRY = Retry(2)
FAILED = "An error occurred while running the tool. Please try again."
UNREADABLE = "An error occurred while parsing tool arguments. Please try again with valid JSON."
SDK_JS, SDK_PY = "@openai/agents 0.20.0", "openai-agents 0.24.0"

_ERRORS = {
    400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
    409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the entry points differ. Args: python: the language; streams: run_streamed, whose own count starts one ahead."""

    python: bool
    streams: bool = False


def agent(run: Run, entry: Entry) -> Generator[Action, Event, Outcome]:
    """One run."""
    ids: dict[str, tuple[str, str]] = {}
    while True:
        if run.limit is not None and run.count + 1 > run.limit:
            name = "MaxTurnsExceeded" if entry.python else "MaxTurnsExceededError"
            return run.threw(name, f"Max turns ({run.limit:g}) exceeded", "limit", reported=over(run, entry))
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen, entry)
        if outcome := rejected(run, seen, ids, entry):
            return outcome
        calls = fresh(seen, ids)
        yield from run_calls(run, seen, calls, entry)
        run.count += 1
        if seen.calls:
            continue
        if seen.refusal and not seen.text:
            run.count -= 1
            return run.threw(
                "ModelRefusalError", f"Model refused to produce output: {seen.refusal}", reported=int(run.count) + 1
            )
        if not seen.text and asks_again(seen, entry):
            continue
        return run.returned(seen.text, reported=int(run.count))


def over(run: Run, entry: Entry) -> int:
    """At the cap the streamed Python result's current_turn is one ahead."""
    return int(run.count) + (entry.python and entry.streams)


def asks_again(seen: Seen, entry: Entry) -> bool:
    """An empty text is asked again by JavaScript, but for an unstreamed Chat reply that has one."""
    if entry.python:
        return False
    return not (seen.wire == CHAT and not seen.streamed and seen.has_text)


def rejected(run: Run, seen: Seen, ids: dict[str, tuple[str, str]], entry: Entry) -> Outcome | None:
    """The replies that are refused as a whole, before any tool runs."""
    message = behaviour_problem(run, seen, ids, entry)
    if message is None:
        return None
    early = seen.cut
    reported = int(run.count) + (0 if early and not (entry.python and entry.streams) else 1)
    return run.threw("ModelBehaviorError", message, reported=reported, bad_call=True, dropped=True)


def behaviour_problem(run: Run, seen: Seen, ids: dict[str, tuple[str, str]], entry: Entry) -> str | None:
    """Why the reply is refused; None where it is not."""
    if seen.cut and seen.wire == RESPONSES:
        end = 'event `response.incomplete`.' if entry.python else 'state "response.incomplete".'
        return f"Responses stream ended with terminal {end}"
    if seen.cut and not (seen.text or seen.calls or seen.refusal):
        kind = "stream" if seen.streamed else "response"
        return (
            f"Chat Completions {kind} terminated with finish_reason='length' but produced no assistant text, tool call, "
            "or refusal."
        )
    for call in seen.calls:
        if call.name not in run.tools:
            return f"Tool {call.name} not found in agent {run.agent.name or 'A'}{'' if entry.python else '.'}"
    own: dict[str, tuple[str, str]] = {}
    for call in seen.calls:
        before = own.get(call.id) or ids.get(call.id)
        if before is not None and before != _identity(call):
            return "Model reused a tool call ID for a different invocation in one response. Use a unique call ID for each."
        own[call.id] = _identity(call)
    return None


def _identity(call: SeenCall) -> tuple[str, str]:
    return call.name, call.raw


def fresh(seen: Seen, ids: dict[str, tuple[str, str]]) -> list[SeenCall]:
    """The calls whose id is new: one that comes back with the same arguments is neither run nor added again."""
    new = []
    for call in seen.calls:
        if call.id not in ids:
            ids[call.id] = _identity(call)
            new.append(call)
    return new


def run_calls(run: Run, seen: Seen, calls: list[SeenCall], entry: Entry) -> Generator[Action, Event, None]:
    """Run all calls at once; results go back in call order."""
    kept = {call.id for call in calls}
    sent: list[Any] = []
    for block in seen.reply.blocks:
        call_id = getattr(block, "id", None)
        if call_id is None or call_id in kept:
            sent.append(block)
            kept.discard(call_id or "")
    if seen.calls and sent:
        run.history.append(Message("assistant", tuple(sent)))
    inputs = {call.id: tool_input(run, call, entry) for call in calls}
    due = [call for call in calls if not isinstance(inputs[call.id], ToolResult)]
    runs = iter((yield from run.use([ToRun(call.id, call.name, inputs[call.id]) for call in due])))
    run.answer_with([r if isinstance(r := inputs[call.id], ToolResult) else render(next(runs), entry) for call in calls])


def tool_input(run: Run, call: SeenCall, entry: Entry) -> Any:
    """What the tool function receives, or the fixed text that is sent in its place."""
    if call.broken:
        return ToolResult(call.id, FAILED if entry.python else UNREADABLE)
    spec = run.tools[call.name]
    if entry.python:
        try:
            return lax(spec.schema, call.arguments)
        except Unfit:
            return ToolResult(call.id, FAILED)
    if spec.problem(call.arguments) is not None:
        return ToolResult(call.id, FAILED)
    return strip_unknown(spec.schema, call.arguments)


def render(done: ToolRun, entry: Entry) -> ToolResult:
    """A tool's output as it is sent; an exception's own text is not."""
    if done.raised:
        return ToolResult(done.call_id, FAILED)
    if isinstance(done.output, str):
        return ToolResult(done.call_id, done.output)
    return ToolResult(done.call_id, str(done.output) if entry.python else json.dumps(done.output, separators=(",", ":")))


def failed(run: Run, failure: Failed, entry: Entry) -> Outcome:
    """The client's own error."""
    fault = failure.fault
    if failure.aborted:
        return run.threw("AbortError" if not entry.python else "CancelledError", "aborted", "aborted")
    if fault.status is None:
        return run.threw("APIConnectionError", "Connection error.", fault_ending(fault))
    name = _ERRORS.get(fault.status, "InternalServerError" if fault.status >= 500 else "APIStatusError")
    return run.threw(name, f"Error code: {fault.status} - {fault.message}", fault_ending(fault))


def _style(name: str, entry: Entry, streams: bool | None) -> Style:
    def loop(run: Run) -> Generator[Action, Event, Outcome]:
        return agent(run, entry)

    return Style(
        name=name,
        sdk=SDK_PY if entry.python else SDK_JS,
        unit="turn",
        knob="max_turns" if entry.python else "maxTurns",
        default=10,
        loop=loop,
        checks="before each call, after the last turn's tools ran",
        at_limit=f"throws {'MaxTurnsExceeded' if entry.python else 'MaxTurnsExceededError'}",
        signal="",
        wires=(RESPONSES, CHAT),
        streams=streams,
    )


STYLES = (
    _style("openai-agents-js/run", Entry(python=False), None),
    _style("openai-agents/Runner.run", Entry(python=True), False),
    _style("openai-agents/Runner.run_streamed", Entry(python=True, streams=True), True),
)
