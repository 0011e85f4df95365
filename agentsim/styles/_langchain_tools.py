"""LangChain's tools node: which calls reach their tool, what comes back, and what wrapToolCall middlewares make of it.

each call of the reply, side by side:
  wrappers, outermost first, around:
    unknown tool, input that does not fit: an error message
    the tool runs: its output
  an exception that no wrapper caught: a message (JavaScript without any wrapper), else it leaves the run
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax, strip_unknown
from agentsim.core.events import Event, ToolRun
from agentsim.core.run import Run
from agentsim.core.wires import SeenCall
from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_messages import Said, content_of, tool

#: How many tools Python's thread pool runs at once on two cores (it is cores + 4).
PYTHON_WORKERS = 6


@dataclass(frozen=True, slots=True)
class Thrown:
    """What a tool or a wrapper threw. `invocation`: JavaScript's error for input that does not fit the tool's schema."""

    type: str
    message: str
    invocation: bool = False


Attempt = Said | Thrown
#: One call on its way through the wrappers: yields the call that it wants run, is sent what came of it.
Chain = Generator[SeenCall, Attempt, Attempt]
Inner = Callable[[SeenCall], Chain]
Wrapper = Callable[[SeenCall, Inner], Chain]


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one tools node.

    Args:
        python, prebuilt: which one.
    """

    python: bool
    prebuilt: bool

    def unknown(self, name: str, known: Sequence[str]) -> str:
        """The answer to a call of a tool that there is not."""
        if self.prebuilt and not self.python:
            return f'Error: Tool "{name}" not found.\n Please fix your mistakes.'
        return f"Error: {name} is not a valid tool, try one of [{', '.join(known)}]."

    def unfit(self, call: SeenCall, problem: str) -> str:
        """The answer to arguments that do not fit the schema."""
        if self.python:
            return (
                f"Error invoking tool '{call.name}' with kwargs {call.arguments} with error:\n {problem}\n"
                " Please fix the error and try again."
            )
        wrong = f"Error: Received tool input did not match expected schema\n\n✖ {problem}"
        if self.prebuilt:
            return f"{wrong}\n Please fix your mistakes."
        kwargs = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
        return f"Error invoking tool '{call.name}' with kwargs {kwargs} with error: {wrong}\n Please fix the error and try again."

    def thrown(self, message: str) -> str:
        """What JavaScript's node makes of an exception."""
        shown = f"Error: {message}" if message or self.prebuilt else "Error"
        return f"{shown}\n Please fix your mistakes."


def run_calls(
    run: Run, calls: Sequence[SeenCall], texts: Texts, wrappers: Sequence[Wrapper], workers: int | None, tasks: bool
) -> Generator[Action, Event, list[Said]]:
    """Answer every call.

    Args:
        calls: in order of the reply.
        wrappers: wrapToolCall hooks, outermost first.
        workers: how many tools run at once; None: all.
        tasks: each call is a task of its own, and JavaScript gathers the errors of several.
    Returns:
        A tool message for each call, in order.
    Raises:
        Leaves: an exception that nobody turned into a message; the other calls' tools have run.
    """
    chains = [_wrapped(wrappers, call) for call in calls]
    answers: dict[int, Attempt] = {}
    turn: list[tuple[int, Attempt | None]] = [(i, None) for i in range(len(calls))]
    while turn:
        due = []
        for i, attempt in turn:
            try:
                due.append((i, chains[i].send(attempt)))  # type: ignore[arg-type]
            except StopIteration as end:
                answers[i] = end.value
        attempts = yield from _attempts(run, [call for _, call in due], texts, workers)
        turn = [(i, attempt) for (i, _), attempt in zip(due, attempts, strict=True)]
    ends = [_settled(run, call, answers[i], texts, bool(wrappers)) for i, call in enumerate(calls)]
    errors = [end for end in ends if isinstance(end, Leaves)]
    if len(errors) > 1 and tasks and not texts.python:
        text = f"Multiple errors occurred during superstep {run.count + 1:g}."
        raise Leaves(
            "AggregateError", f'{text} See the "errors" field of this exception for more details.', "tool_error"
        )
    if errors:
        raise errors[0]
    return [end for end in ends if isinstance(end, Said)]


def _wrapped(wrappers: Sequence[Wrapper], call: SeenCall) -> Chain:
    """The call on its way through the wrappers to the tool."""
    if not wrappers:
        return (yield call)
    return (yield from wrappers[0](call, lambda inner: _wrapped(wrappers[1:], inner)))


def _attempts(
    run: Run, calls: Sequence[SeenCall], texts: Texts, workers: int | None
) -> Generator[Action, Event, list[Attempt]]:
    """One attempt of each call, side by side."""
    inputs = [_input(run, call, texts) for call in calls]
    due = [given for given in inputs if isinstance(given, ToRun)]
    runs = iter((yield from run.use(due, workers=workers)))
    if run.aborted:
        raise Leaves("CancelledError" if texts.python else "AbortError", "Aborted", "aborted")
    return [
        _output(run, call, next(runs), texts) if isinstance(given, ToRun) else given
        for call, given in zip(calls, inputs, strict=True)
    ]


def _input(run: Run, call: SeenCall, texts: Texts) -> ToRun | Attempt:
    """What the tool function receives, or what comes in place of running it."""
    spec = run.tools.get(call.name)
    if spec is None:
        text = texts.unknown(call.name, list(run.tools))
        return tool(run, call, text, failed=True, python=texts.python)
    if texts.python:
        try:
            return ToRun(call.id, call.name, lax(spec.schema, call.arguments))
        except Unfit:
            text = texts.unfit(call, _pydantic(spec.schema, call.arguments))
            return tool(run, call, text, failed=True, python=True)
    problem = spec.problem(call.arguments)
    if problem is None:
        return ToRun(call.id, call.name, strip_unknown(spec.schema, call.arguments))
    wrong = _zod(spec.schema, call.arguments) or problem
    return Thrown("Error", texts.unfit(call, wrong), invocation=True)


def _zod(schema: Mapping[str, Any], value: Any) -> str:
    """zod's list of wrong types; "" where something else is wrong."""
    if not isinstance(value, Mapping):
        return f"Invalid input: expected object, received {_zod_type(value)}"
    wrong = []
    for key, part in schema.get("properties", {}).items():
        wanted, came = part.get("type"), _zod_type(value[key]) if key in value else "undefined"
        fits = came == wanted or (wanted == "integer" and came == "number")
        if wanted is not None and not fits and (key in value or key in schema.get("required", ())):
            wrong.append(f"Invalid input: expected {_ZOD_NUMBER.get(wanted, wanted)}, received {came}\n  → at {key}")
    return "\n✖ ".join(wrong)


_ZOD_NUMBER = {"integer": "number"}
_ZOD_TYPES = ((bool, "boolean"), (str, "string"), (int | float, "number"), (list, "array"), (Mapping, "object"))


def _zod_type(value: Any) -> str:
    return next((name for kind, name in _ZOD_TYPES if isinstance(value, kind)), "null")


_PYDANTIC = {
    "string": "Input should be a valid string", "number": "Input should be a valid number",
    "integer": "Input should be a valid integer", "boolean": "Input should be a valid boolean",
    "array": "Input should be a valid list", "object": "Input should be a valid dictionary",
}  # fmt: skip


def _pydantic(schema: Mapping[str, Any], value: Any) -> str:
    """pydantic's list of what is wrong, a line each."""
    wrong = []
    required = set(schema.get("required", ()))
    for key, part in schema.get("properties", {}).items():
        if isinstance(value, Mapping) and key not in value:
            wrong += [f"{key}: Field required"] if key in required else []
            continue
        try:
            lax({"properties": {key: part}, "required": [key] if key in required else []}, value)
        except Unfit:
            wrong.append(f"{key}: {_PYDANTIC.get(part.get('type', ''), 'Input should be valid')}")
    return "\n ".join(wrong) or "Input should be a valid dictionary"


def _output(run: Run, call: SeenCall, done: ToolRun, texts: Texts) -> Attempt:
    """What a run of the tool gave."""
    if done.raised:
        return Thrown("Exception" if texts.python else "Error", str(done.output))
    return tool(run, call, content_of(done.output, texts.python), failed=done.is_error, python=texts.python)


def _settled(run: Run, call: SeenCall, end: Attempt, texts: Texts, wrapped: bool) -> Said | Leaves:
    """The call's message; an exception that nobody caught leaves the run."""
    if isinstance(end, Said):
        return end
    if texts.python or (wrapped and not end.invocation):
        return Leaves(end.type, end.message, "tool_error")
    text = end.message if end.invocation else texts.thrown(end.message)
    return tool(run, call, text, failed=True, python=texts.python)
