"""Haystack's Agent over its Chat Completions generator, streamed or not.

Measured on haystack-ai 3.4.1 (openai 3.57.0):

    step = 0
    while step < max_agent_steps (default 100):
      reply = model call; calls whose arguments are no JSON are left out of it
      no call, and cut or filtered, or with text: step += 1, return       # exit_reason "length", "content_filter", "text"
      run the calls, four at once; every error becomes a result (those of unknown tools come first)
      step += 1
      an exit condition names a tool that ran, and none that it names failed: return      # exit_reason: the tool's name
    return                                                                # exit_reason "max_agent_steps"

A reply with neither calls nor text (a refusal's words are not read) is an empty message, and the model is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Block, Message, Text, ToolCall, ToolResult
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.scripted import check_keys
from agentsim.core.style import Refused, Style
from agentsim.core.wires import CHAT, Seen, SeenCall
from agentsim.styles._python_clients import client_error, ending

#: The generator gives the client more retries than the client's own two.
RETRY = Retry(5)
OPTIONS = {
    "exit_conditions": "names of tools whose call ends the run; a text always does",
    "raise_on_tool_invocation_failure": "true: a failing or unknown tool throws",
    "tool_concurrency_limit": "calls of a reply that run at once, 4",
}


@dataclass(frozen=True, slots=True)
class Options:
    """Args: exit_conditions: as given; raising: raise_on_tool_invocation_failure; workers: tool_concurrency_limit."""

    exit_conditions: tuple[str, ...] = ("text",)
    raising: bool = False
    workers: int = 4


class Leaves(Exception):
    """An error that leaves the run. `ended`: the contract's word."""

    def __init__(self, type_: str, message: str, ended: str) -> None:
        super().__init__(message)
        self.type, self.message, self.ended = type_, message, ended


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of a prompt."""
    options: Options = run.options or Options()
    begun = len(run.history) - bool(run.setup.prompts)
    try:
        if options.workers < 1:
            raise Leaves("ValueError", "tool_concurrency_limit must be greater than or equal to 1.", "tool_error")
        return (yield from steps(run, options))
    except Leaves as error:
        run.rewrite(begun)  # the caller has no result, and with it no messages
        return run.threw(error.type, error.message, error.ended)


def steps(run: Run, options: Options) -> Generator[Action, Event, Outcome]:
    """The loop: see the module."""
    while run.limit is None or run.count < run.limit:
        seen = yield from call_model(run)
        calls = [call for call in seen.calls if not (call.broken and call.raw)]
        run.history.append(Message("assistant", tuple(written(seen, calls))))
        reason = None if calls else exit_reason(seen)
        if reason is not None or not run.tools:
            run.count += 1
            return returned(run, reason or "text", text_of(seen), bad_call=bool(seen.calls))
        wrong = yield from run_calls(run, calls, options)
        run.count += 1
        name = condition_met(calls, wrong, options)
        if name is not None:
            return returned(run, name, None, "stop_condition")
    return returned(run, "max_agent_steps", last_text(run), "limit")


def call_model(run: Run) -> Generator[Action, Event, Seen]:
    """The reply. A stream that merely ends is one."""
    seen = yield from run.call(RETRY)
    if not isinstance(seen, Failed):
        return seen
    if seen.fault.in_stream and seen.fault.disconnect == "end":
        return run.partly(seen.fault)[0]
    name, message = client_error(CHAT, seen.fault, openai=3)
    raise Leaves("KeyboardInterrupt" if seen.aborted else name, "" if seen.aborted else message, ending(seen))


def exit_reason(seen: Seen) -> str | None:
    """Why a reply without calls ends the run; None where the model is asked again."""
    if seen.word in ("length", "content_filter"):
        return seen.word
    return "text" if seen.text else None


def written(seen: Seen, calls: Sequence[SeenCall]) -> list[Block]:
    """The reply in the next requests: its text, and the calls that could be read. A refusal's words are lost."""
    told: list[Block] = [Text(seen.text)] if seen.text or not calls else []
    return [*told, *(ToolCall(call.id, call.name, json.dumps(arguments_of(call))) for call in calls)]


def text_of(seen: Seen) -> str | None:
    """The message's text; one that is empty is None, but for a reply in one piece that has an empty one."""
    if seen.text:
        return seen.text
    return "" if seen.has_text and seen.refusal is None and not seen.streamed else None


def arguments_of(call: SeenCall) -> Any:
    """The arguments; none at all are an empty object."""
    return call.arguments if call.raw else {}


def last_text(run: Run) -> str | None:
    """The last message's text: of a reply that was asked again, of results none, of a prompt that was never sent itself."""
    last = run.history[-1] if run.history else None
    if last is None:
        return None
    if last.role == "assistant" and run.last is not None:
        return text_of(run.last)
    return "".join(part.text for part in last.content if isinstance(part, Text)) or None


def run_calls(run: Run, calls: Sequence[SeenCall], options: Options) -> Generator[Action, Event, set[str]]:
    """Run the calls and append their results, those of unknown tools first; the names of the tools that failed."""
    unknown: list[ToolResult] = []
    due: list[ToRun] = []
    refused: dict[int, ToolResult] = {}
    known = [call for call in calls if call.name in run.tools and not run.tools[call.name].client]
    for call in calls:
        if call not in known:
            text = f"Tool '{call.name}' not found. Available tools: {', '.join(run.tools)}"
            if options.raising:
                raise Leaves("ToolNotFoundException", text, "bad_call")
            unknown.append(ToolResult(call.id, text))
    for at, call in enumerate(known):
        arguments = plain(call)
        problem = misfit(run, call.name, arguments)
        if problem is None:
            due.append(ToRun(call.id, call.name, arguments))
        else:
            refused[at] = ToolResult(call.id, failed(call.name, arguments, problem), True)
    runs = iter((yield from run.use(due, workers=options.workers)))
    if run.aborted:
        raise Leaves("KeyboardInterrupt", "", "aborted")
    results = [refused[at] if at in refused else rendered(next(runs)) for at in range(len(known))]
    wrong = next((result for result in results if result.is_error), None)
    if options.raising and wrong is not None:
        raise Leaves("ToolInvocationError", wrong.output, "tool_error")
    run.answer_with([ToolResult(one.call_id, one.output) for one in [*unknown, *results]])
    failing = {call.name for call, result in zip(known, results, strict=True) if result.is_error}
    return failing | {call.name for call in calls if call not in known}


def plain(call: SeenCall) -> dict[str, Any]:
    """The arguments as keywords.

    Raises:
        Leaves: they are no object, which the agent does not expect.
    """
    value = arguments_of(call)
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        text = "cannot convert dictionary update sequence element #0 to a sequence"
        raise Leaves("TypeError", text, "bad_call")
    raise Leaves("AttributeError", f"'{type(value).__name__}' object has no attribute 'copy'", "bad_call")


def misfit(run: Run, name: str, arguments: Mapping[str, Any]) -> str | None:
    """What Python says of keywords that the function does not take, or lacks; values are never looked at."""
    schema = run.tools[name].schema
    unexpected = [key for key in arguments if key not in schema.get("properties", {})]
    missing = [key for key in schema.get("required", ()) if key not in arguments]
    if missing:
        return f"missing a required keyword-only argument: {missing[0]!r}"
    return f"got an unexpected keyword argument {unexpected[0]!r}" if unexpected else None


def failed(name: str, arguments: Mapping[str, Any], problem: Any) -> str:
    """What the model reads of a tool that failed."""
    return f"Failed to invoke Tool `{name}` with parameters {dict(arguments)}. Error: {problem}"


def rendered(done: ToolRun) -> ToolResult:
    """A run's result: texts as they are, all else as JSON."""
    if done.is_error:
        return ToolResult(done.call_id, failed(done.name, done.input, done.output), True)
    text = done.output if isinstance(done.output, str) else json.dumps(done.output, ensure_ascii=False)
    return ToolResult(done.call_id, text)


def condition_met(calls: Sequence[SeenCall], wrong: set[str], options: Options) -> str | None:
    """The tool that ends the run: the first one named, unless one that is named failed. `wrong`: names of those that did."""
    if options.exit_conditions == ("text",):
        return None
    named = [call.name for call in calls if call.name in options.exit_conditions]
    return named[0] if named and not wrong & set(named) else None


def returned(run: Run, reason: str, text: str | None, ended: str | None = None, *, bad_call: bool = False) -> Outcome:
    """The run's outcome. `reason`: its exit_reason."""
    done = reason == "text"
    return run.returned(text, reason, done=done, ended=ended, reported=int(run.count), bad_call=bad_call)


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as options.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", tuple(OPTIONS))
    conditions = tree.get("exit_conditions", ["text"])
    if not isinstance(conditions, list) or not all(isinstance(name, str) for name in conditions):
        raise ValueError(f"exit_conditions: expected a list of names, but {conditions!r} came")
    raising = tree.get("raise_on_tool_invocation_failure", False)
    if not isinstance(raising, bool):
        raise ValueError(f"raise_on_tool_invocation_failure: expected true or false, but {raising!r} came")
    workers = tree.get("tool_concurrency_limit", 4)
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise ValueError(f"tool_concurrency_limit: expected a whole number, but {workers!r} came")
    return Options(tuple(conditions), raising, workers)


def read_limit(value: Any) -> float | Refused | None:
    """Any number is one, also a broken one; 0 and below allow no step."""
    if isinstance(value, int | float):
        return value
    return Refused("TypeError", f"'<' not supported between instances of 'int' and '{type(value).__name__}'")


STYLES = (
    Style(
        name="haystack/Agent.run",
        sdk="haystack-ai 3.4.1",
        unit="step",
        knob="max_agent_steps",
        default=100,
        loop=loop,
        checks="before each call",
        at_limit='returns, exit_reason "max_agent_steps"; the last message is the tool results',
        signal='exit_reason == "text"',
        wires=(CHAT,),
        streams=None,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
    ),
)
