"""LangChain's agents on LangGraph, JavaScript and Python: the budget is counted in super-steps.

Measured on langchain 1.5.14 with @langchain/langgraph 1.7.3 (JavaScript) and langchain 1.5.2 with langgraph 1.2.24 (Python). LangGraph:

    step = 1
    loop:
      no node is due: return                               # the natural end
      run the nodes that are due; step += 1
      step > limit: raise GraphRecursionError              # BEFORE it is asked whether anything is left to do

and the graph of create_agent / createAgent, where the reply's stop reason is never read:

    model -> no tool calls: exit
          -> tools, all calls of the reply in one super-step -> model

So a run of r round trips takes S = 2r + 1 super-steps and needs a limit of S + 1: at S everything has run, and it still throws.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax, strip_unknown
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.partial_json import NotAPrefix, complete
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.style import Refused, Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall

SDK_JS = "langchain 1.5.14, @langchain/langgraph 1.7.3"
SDK_PY = "langchain 1.5.2, langgraph 1.2.24"
SORRY = "Sorry, need more steps to process this request."


@dataclass(frozen=True, slots=True)
class Graph:
    """Where the entry points differ.

    Args:
        python: the language.
        prebuilt: the older react agent; only Python's replaces a reply by "Sorry, need more steps …".
    """

    python: bool
    prebuilt: bool

    @property
    def retry(self) -> Retry:
        """A model call's HTTP requests: LangChain JS retries itself, and not on 409."""
        return Retry(2) if self.python else Retry(6, frozenset({408, 429}))


class Over(Exception):
    """The super-step budget is used up."""


def step(run: Run) -> None:
    """A super-step is done; LangGraph looks at the limit before it asks whether anything is left to do."""
    run.count += 1
    if run.limit is not None and run.count + 1 > run.limit:
        raise Over


def agent(run: Run, graph: Graph) -> Generator[Action, Event, Outcome]:
    """One invocation of the graph."""
    try:
        return (yield from _agent(run, graph))
    except Over:
        key = "`recursion_limit`" if graph.python else '"recursionLimit"'
        text = (
            f"Recursion limit of {run.limit:g} reached without hitting a stop condition. You can increase the limit by "
            f"setting the {key} config key."
        )
        return run.threw("GraphRecursionError", text, "limit", reported=int(run.count))


def _agent(run: Run, graph: Graph) -> Generator[Action, Event, Outcome]:
    while True:
        seen = yield from run.call(graph.retry)
        if isinstance(seen, Failed):
            return failed(run, seen, graph)
        calls, invalid = readable(seen)
        if graph.prebuilt and graph.python and calls and run.limit is not None and run.limit - run.count - 1 < 2:
            step(run)
            return run.returned(SORRY, None, ended="limit", reported=int(run.count))
        step(run)
        if not calls:
            bad = bool(invalid)
            return run.returned(
                seen.text, finish_reason(seen, graph), bad_call=bad, dropped=bad, reported=int(run.count)
            )
        send_back(run, seen, calls, invalid, graph)
        outcome = yield from tools_node(run, seen, calls, invalid, graph)
        if outcome is not None:
            return outcome
        step(run)


# -- what the model said --------------------------------------------------------------------------------------------


def readable(seen: Seen) -> tuple[list[SeenCall], list[SeenCall]]:
    """The reply's tool calls and its invalid ones. Streamed, arguments are partial JSON that is repaired."""
    calls, invalid = [], []
    for call in seen.calls:
        value = arguments(call, seen)
        if value is None:
            invalid.append(call)
        else:
            calls.append(SeenCall(call.id, call.name, call.raw, value))
    return calls, invalid


def arguments(call: SeenCall, seen: Seen) -> Any:
    """The arguments as LangChain reads them; None where it can't."""
    if not seen.streamed:
        return None if call.broken else call.arguments
    if not call.raw.strip():
        return {}
    try:
        value = complete(call.raw, strings=True)
    except NotAPrefix:
        return None
    return value if isinstance(value, dict) else None


def finish_reason(seen: Seen, graph: Graph) -> str | None:
    """What the last message's response_metadata shows; JavaScript shows none for a streamed Chat reply."""
    if seen.wire == CHAT and seen.streamed and not graph.python:
        return None
    return seen.word


def send_back(run: Run, seen: Seen, calls: list[SeenCall], invalid: list[SeenCall], graph: Graph) -> None:
    """The reply goes into the history; JavaScript on Chat Completions forgets the calls that it could not read."""
    kept = {id(call) for call in seen.calls}
    if not graph.python and seen.wire == CHAT:
        unread = {call.id for call in invalid}
        kept = {id(call) for call in seen.calls if call.id not in unread}
    arrived = iter(seen.calls)
    blocks = []
    for block in seen.reply.blocks:
        if not isinstance(block, ToolCall):
            blocks.append(block)
            continue
        call = next(arrived)
        if id(call) in kept:
            blocks.append(ToolCall(block.id, block.name, call.raw))
    run.history.append(Message("assistant", tuple(blocks)))


# -- the tools node -------------------------------------------------------------------------------------------------


def tools_node(
    run: Run, seen: Seen, calls: list[SeenCall], invalid: list[SeenCall], graph: Graph
) -> Generator[Action, Event, Outcome | None]:
    """Every call of the reply at once, in one super-step; in Python an exception leaves the run."""
    inputs = {id(call): tool_input(run, call, graph) for call in calls}
    due = [call for call in calls if not isinstance(inputs[id(call)], ToolResult)]
    runs = yield from run.use([ToRun(call.id, call.name, inputs[id(call)]) for call in due])
    done = iter(runs)
    results = [r if isinstance(r := inputs[id(call)], ToolResult) else render(run, next(done), graph) for call in calls]
    raised = next((run_ for run_ in runs if run_.raised), None)
    if raised is not None and graph.python:
        return run.threw("Exception", str(raised.output), "tool_error", reported=int(run.count))
    unread = []
    if graph.python and not graph.prebuilt:
        unread = [ToolResult(call.id, f"Error: {call.name} got arguments that are no valid JSON.") for call in invalid]
    run.answer_with([*unread, *results])
    return None


def tool_input(run: Run, call: SeenCall, graph: Graph) -> Any:
    """What the tool function receives, or the result that is sent in its place."""
    spec = run.tools.get(call.name)
    if spec is None:
        names = ", ".join(run.tools)
        return error(run, call, f"Error: {call.name} is not a valid tool, try one of [{names}].", graph)
    if graph.python:
        try:
            return lax(spec.schema, call.arguments)
        except Unfit as unfit:
            problem: str | None = str(unfit)
    else:
        problem = spec.problem(call.arguments)
        if problem is None:
            return strip_unknown(spec.schema, call.arguments)
    kwargs = json.dumps(call.arguments, ensure_ascii=False)
    return error(run, call, f"Error invoking tool '{call.name}' with kwargs {kwargs} with error: {problem}", graph)


def error(run: Run, call: SeenCall, text: str, graph: Graph) -> ToolResult:
    """An error message; only Python marks it on Claude's wire."""
    return ToolResult(call.id, text, is_error=graph.python and run.wire == ANTHROPIC)


def render(run: Run, done: ToolRun, graph: Graph) -> ToolResult:
    """A tool's output as a message."""
    if done.raised:
        return ToolResult(done.call_id, f"Error: {done.output}\n Please fix your mistakes.")
    output = done.output if isinstance(done.output, str) else json.dumps(done.output, ensure_ascii=False)
    return ToolResult(done.call_id, output, is_error=done.is_error and graph.python and run.wire == ANTHROPIC)


# -- failures -------------------------------------------------------------------------------------------------------

_PYTHON_ERRORS = {
    ANTHROPIC: {
        400: "AnthropicInvalidRequestError", 401: "AnthropicAuthenticationError", 404: "AnthropicModelNotFoundError",
        529: "AnthropicOverloadedError",
    },
    "": {400: "OpenAIInvalidRequestError"},
}  # fmt: skip


def failed(run: Run, failure: Failed, graph: Graph) -> Outcome:
    """The client's error leaves the run; JavaScript's is a plain Error."""
    fault = failure.fault
    if failure.aborted:
        return run.threw("AbortError" if not graph.python else "CancelledError", "Aborted", "aborted")
    if not graph.python:
        return run.threw("Error", f"{fault.status} {fault.message}", fault_ending(fault))
    names = _PYTHON_ERRORS.get(run.wire, _PYTHON_ERRORS[""])
    name = names.get(fault.status or 0, "AnthropicAPIError" if run.wire == ANTHROPIC else "OpenAIAPIError")
    return run.threw(name, f"Error code: {fault.status} - {fault.message}", fault_ending(fault))


# -- styles ---------------------------------------------------------------------------------------------------------


def limit_js(value: Any) -> float | Refused | None:
    """recursionLimit must be at least 1."""
    return Refused("Error", 'Passed "recursionLimit" must be at least 1.') if value < 1 else value


def limit_python(value: Any) -> float | Refused | None:
    """recursion_limit must be at least 1."""
    return Refused("ValueError", "recursion_limit must be at least 1") if value < 1 else value


def _style(name: str, graph: Graph, default: float) -> Style:
    def loop(run: Run) -> Generator[Action, Event, Outcome]:
        return agent(run, graph)

    sorry = ' (an even limit: returns "Sorry, need more steps …")' if graph.prebuilt and graph.python else ""
    return Style(
        name=name,
        sdk=SDK_PY if graph.python else SDK_JS,
        unit="super-step",
        knob="recursion_limit" if graph.python else "recursionLimit",
        default=default,
        loop=loop,
        checks="after every super-step, before it is asked whether anything is left to do",
        at_limit=f"throws GraphRecursionError, even when the answer is there{sorry}",
        signal="",
        wires=(ANTHROPIC, CHAT, RESPONSES),
        streams=None,
        read_limit=limit_python if graph.python else limit_js,
    )


STYLES = (
    _style("langchain-js/createAgent", Graph(python=False, prebuilt=False), 25),
    _style("langchain-js/createReactAgent", Graph(python=False, prebuilt=True), 25),
    _style("langchain/create_agent", Graph(python=True, prebuilt=False), 9_999),
    _style("langchain/create_react_agent", Graph(python=True, prebuilt=True), 10_007),
)
