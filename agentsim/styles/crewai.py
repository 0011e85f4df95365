"""crewai: Crew.kickoff (one agent, one task) and Agent.kickoff. Failures start the task from scratch.

Measured on crewai 1.15.30, native clients (anthropic 2.14.0, openai 2.54.0):

    Crew: up to 1 + max_retry_limit (2) attempts, over all kickoffs of the agent; Agent.kickoff: one
      iterations = 0
      loop:
        iterations >= max_iter (25): one more call without tools, after "Now it's time you MUST give your absolute best final
          answer"; its text is the answer, whatever it is; no text: ValueError (next attempt); calls: Crew raises ValidationError,
          Agent.kickoff returns their repr
        reply = model call                                   # throttled (429): 3 times around the client's 3 requests
        no calls: a text is the answer; no text: ValueError (next attempt)
        run the calls at once; errors become results
          the 5th call with the same tool, arguments and result of this attempt: ToolExecutionFailedError, no further attempt
        iterations += 1

A text beside calls is lost. Stop reasons are never read. max_iter of 0 or less ends in RecursionError before any request: the flow
beneath allows each of its methods max_iter * 10 calls.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import partial
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Refused, Style
from agentsim.core.wires import ANTHROPIC, CHAT, Seen, SeenCall
from agentsim.styles._crewai_options import OPTIONS, Options, configure
from agentsim.styles._crewai_texts import FORCED, REPEATED, answer_in, representation
from agentsim.styles._python_clients import RETRY, client_error, ending

#: Attempts of a throttled model call, each with the client's own retries.
THROTTLED_ATTEMPTS = 3
#: Equal calls with equal results, after which the agent is taken to make no progress.
SAME_CALLS = 5
WORKERS = 8


class Leaves(Exception):
    """An error that leaves the attempt. `final`: no further attempt is made."""

    def __init__(self, type_: str, message: str, ended: str | None = None, *, final: bool = False) -> None:
        super().__init__(message)
        self.type, self.message, self.ended, self.final = type_, message, ended, final


def loop(run: Run, crew: bool) -> Generator[Action, Event, Outcome]:
    """One kickoff, which knows nothing of those before it."""
    if run.setup.prompts:
        run.rewrite(0, run.history[-1:])
    begin = len(run.history)
    options: Options = run.options or Options()
    while True:
        try:
            return (yield from attempt(run, crew))
        except Leaves as error:
            failures = run.memory["failures"] = run.memory.get("failures", 0) + (not error.final)
            if error.final or not crew or failures > options.max_retry_limit:
                return run.threw(error.type, error.message, error.ended)
            run.rewrite(begin)
            run.count = 0


def attempt(run: Run, crew: bool) -> Generator[Action, Event, Outcome]:
    """The loop from the task to an answer."""
    same: dict[str, int] = {}
    while run.limit is None or run.count < run.limit:
        seen = yield from ask(run)
        if not seen.calls:
            return run.returned(text_of(seen))
        direct = yield from answer(run, seen, same)
        if direct is not None:
            return run.returned(direct, ended="tool_result")
        run.count += 1
    run.say(FORCED)
    run.offered = ()
    try:
        seen = yield from ask(run)
    finally:
        run.offered = None
    if not seen.calls:
        return run.returned(answer_in(text_of(seen)), ended="limit")
    if crew:
        raise Leaves("ValidationError", "1 validation error for TaskOutput\nraw", "limit", final=True)
    return run.returned(representation(seen), ended="limit")


def text_of(seen: Seen) -> str:
    """The reply's text; none at all is an error."""
    if not seen.text:
        raise Leaves("ValueError", "Invalid response from LLM call - None or empty.", None)
    return seen.text


def ask(run: Run) -> Generator[Action, Event, Seen]:
    """Call the model; a throttled call is made again around the client's own retries."""
    for left in reversed(range(THROTTLED_ATTEMPTS)):
        seen = yield from run.call(RETRY)
        if not isinstance(seen, Failed):
            return seen
        if seen.aborted:
            raise Leaves("CancelledError", "", "aborted", final=True)
        if not (left and throttled(seen.fault)):
            raise Leaves(*named(run.wire, seen.fault), ending(seen))
    raise AssertionError("the last attempt returns or raises")


def throttled(fault: Fault) -> bool:
    """Whether an error is taken for a rate limit: by its status, or by its words."""
    words = ("rate limit", "rate-limit", "too many requests", "throttled", "resource exhausted")
    return fault.status == 429 or any(word in fault.message.lower() for word in words)


def named(wire: str, fault: Fault) -> tuple[str, str]:
    """The client's error; two of OpenAI's get another name."""
    type_, message = client_error(wire, fault)
    if wire == CHAT and type_ == "NotFoundError":
        return "ValueError", message
    if wire == CHAT and type_ == "APIConnectionError":
        return "ConnectionError", f"Failed to connect to OpenAI API: {message}"
    return type_, message


def answer(run: Run, seen: Seen, same: dict[str, int]) -> Generator[Action, Event, str | None]:
    """Run a reply's calls and keep their results; the output of a result_as_answer tool that did not fail."""
    run.history.append(Message("assistant", tuple(ToolCall(call.id, call.name, call.raw) for call in seen.calls)))
    specs = [run.tools.get(call.name) for call in seen.calls]
    if len(seen.calls) > 1 and not any(spec is not None and spec.return_direct for spec in specs):
        results = yield from together(run, seen.calls, same)
        run.answer_with([ToolResult(call.id, text) for call, (text, _) in zip(seen.calls, results, strict=True)])
        return None
    results_so_far: list[ToolResult] = []
    for call, spec in zip(seen.calls, specs, strict=True):
        ((text, failed),) = yield from together(run, (call,), same, same_round=bool(results_so_far))
        results_so_far.append(ToolResult(call.id, text))
        if spec is not None and spec.return_direct and not failed:
            run.answer_with(results_so_far)
            return text
    run.answer_with(results_so_far)
    return None


def together(
    run: Run, calls: tuple[SeenCall, ...], same: dict[str, int], *, same_round: bool = False
) -> Generator[Action, Event, list[tuple[str, bool]]]:
    """Run calls side by side: each one's result, and whether it failed."""
    results: dict[int, tuple[str, bool]] = {}
    due: list[tuple[int, ToRun]] = []
    for at, call in enumerate(calls):
        problem = refused(run, call)
        if problem is None:
            due.append((at, ToRun(call.id, call.name, lax(run.tools[call.name].schema, call.arguments or {}))))
        else:
            results[at] = (problem, True)
    runs = yield from run.use([one for _, one in due], workers=WORKERS, same_round=same_round)
    if run.aborted:
        raise Leaves("CancelledError", "", "aborted", final=True)
    for (at, _), done in zip(due, runs, strict=True):
        results[at] = (f"Error executing tool: {done.output}" if done.raised else str(done.output), done.is_error)
    for at, call in enumerate(calls):
        if not call.broken:
            count(call, results[at][0], same)
    return [results[at] for at in range(len(calls))]


def refused(run: Run, call: SeenCall) -> str | None:
    """The result of a call that is not run."""
    if call.broken:
        return f"Error: Failed to parse tool arguments as JSON: {_json_error(call.raw)}. " + (
            f"Please provide valid JSON arguments for the '{call.name}' tool."
        )
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return "Tool not found"
    try:
        lax(spec.schema, call.arguments or {})
    except Unfit as error:
        return f"Error executing tool: Tool '{call.name}' arguments validation failed: {error}"
    return None


def _json_error(raw: str) -> str:
    try:
        json.loads(raw)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def count(call: SeenCall, result: str, same: dict[str, int]) -> None:
    """Stop an attempt that makes the same call with the same result again and again."""
    key = json.dumps([call.name, call.arguments or {}, result], sort_keys=True, default=str)
    same[key] = same.get(key, 0) + 1
    if same[key] >= SAME_CALLS:
        raise Leaves("ToolExecutionFailedError", REPEATED.format(call.name, SAME_CALLS), "tool_error", final=True)


def read_limit(given: Any) -> float | Refused | None:
    """max_iter is a whole number; the flow beneath dies of one below 1."""
    if isinstance(given, float) and given != int(given):
        return Refused(
            "ValidationError", f"1 validation error for Agent\nmax_iter\n  Input should be a valid integer, {given}"
        )
    if given < 1:
        return Refused("RecursionError", f"Method 'check_todos_available' has been called {int(given) * 10} times")
    return given  # type: ignore[no-any-return]


def _style(name: str, crew: bool) -> Style:
    return Style(
        name=name,
        sdk="crewai 1.15.30",
        unit="iteration",
        knob="max_iter",
        default=25,
        loop=partial(loop, crew=crew),
        checks="before each call",
        at_limit="the text of one more call without tools is the answer; "
        + ("calls in it raise ValidationError" if crew else "of calls in it the repr"),
        wires=(CHAT, ANTHROPIC),
        streams=False,
        read_limit=read_limit,
        options=OPTIONS if crew else {},
        configure=configure if crew else None,
    )


STYLES = (_style("crewai/Crew.kickoff", crew=True), _style("crewai/Agent.kickoff", crew=False))
