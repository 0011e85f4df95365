"""A reply's calls in llm's chains: the hooks around them, what Python makes of their arguments, and their results.

Measured on llm 0.36. `Conversation` answers them one after the other. `AsyncConversation` makes a task of each that has a function, which all end
before an error leaves; the others are answered before any task begins.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Run
from agentsim.core.scripted import Function, Raised
from agentsim.core.wires import SeenCall


@dataclass(frozen=True, slots=True)
class Options:
    """Args: before, after: the hooks; paused: names of tools that pause."""

    before: Function | None = None
    after: Function | None = None
    paused: tuple[str, ...] = ()


class Leaves(Exception):
    """An error that leaves the chain. `ended`: the contract's word; None: the last reply's fate."""

    def __init__(self, type_: str, message: str, ended: str | None) -> None:
        super().__init__(message)
        self.type, self.message, self.ended = type_, message, ended


class Chain:
    """One prompt's chain.

    Args:
        run: its run.
        parallel: a reply's calls run at once.

    `said`: how many messages the conversation would know of if it threw now.
    """

    def __init__(self, run: Run, *, parallel: bool) -> None:
        options: Options = run.options or Options()
        self.run, self.parallel, self.paused = run, parallel, options.paused
        self.said = len(run.history) - bool(run.setup.prompts)
        self.hooks = {"before": options.before, "after": options.after}
        self.started = run.memory.setdefault("hooks", {name: hook.start() for name, hook in self.hooks.items() if hook})

    def hook(self, name: str) -> None:
        """Call `before_call` or `after_call`.

        Raises:
            Leaves: it raises, or it is async and nobody awaits it.
        """
        hook = self.hooks[name]
        if hook is not None and hook.is_async and not self.parallel:
            where = f"Asynchronous '{name}_call' callback provided to a synchronous tool execution context."
            advice = "Please use an async chain/response or a synchronous callback."
            raise Leaves("TypeError", f"{where} {advice}", "tool_error")
        try:
            self.started.get(name, lambda: None)()
        except Raised as error:
            type_ = "Exception" if error.type == "Error" else error.type
            raise Leaves(type_, error.message, "handed_back" if type_ == "PauseChain" else "tool_error") from None


def in_turn(chain: Chain, calls: Sequence[SeenCall]) -> Generator[Action, Event, list[ToolResult]]:
    """Answer the calls one after the other; an error that leaves the chain keeps those behind it from running."""
    results: list[ToolResult] = []
    ran = False
    for call in calls:
        result = cancelled(chain, call) or without_tool(chain, call)
        if result is None:
            result, due = bound(chain, call)
            if due is not None:
                (done,) = yield from used(chain, [due], same_round=ran)
                ran, result = True, rendered(done)
            chain.hook("after")
        assert result is not None
        results.append(result)
    return results


def at_once(chain: Chain, calls: Sequence[SeenCall]) -> Generator[Action, Event, list[ToolResult]]:
    """Answer the calls side by side, those without a tool first; errors leave the chain when all have ended, hooks' before pauses."""
    results: list[ToolResult | None] = [None] * len(calls)
    failures: dict[int, Leaves] = {}
    pauses: dict[int, Leaves] = {}
    tasks: list[int] = []
    for at, call in enumerate(calls):
        if has_tool(chain.run, call):
            tasks.append(at)
            continue
        try:
            results[at] = cancelled(chain, call) or without_tool(chain, call)
        except Leaves as error:
            failures[at] = error
            break
    due: dict[int, ToRun] = {}
    ended = []
    for at in tasks:
        try:
            results[at] = cancelled(chain, calls[at])
            if results[at] is None:
                results[at], run = bound(chain, calls[at])
                due |= {} if run is None else {at: run}
                ended.append(at)
        except Leaves as error:
            (pauses if error.type == "PauseChain" else failures)[at] = error
    runs = yield from used(chain, list(due.values()))
    for at, done in zip(due, runs, strict=True):
        results[at] = rendered(done)
    for at in ended:
        try:
            chain.hook("after")
        except Leaves as error:
            (pauses if error.type == "PauseChain" else failures)[at] = error
    for wrong in (failures, pauses):
        if wrong:
            raise wrong[min(wrong)]
    return [result for result in results if result is not None]


def has_tool(run: Run, call: SeenCall) -> bool:
    """Whether a function stands behind the call's name."""
    return call.name in run.tools and not run.tools[call.name].client


def cancelled(chain: Chain, call: SeenCall) -> ToolResult | None:
    """What `before_call` answers in the tool's place; it is called for unknown tools too."""
    try:
        chain.hook("before")
    except Leaves as error:
        if error.type == "CancelToolCall":
            return ToolResult(call.id, f"Cancelled: {error.message}")
        raise
    return None


def without_tool(chain: Chain, call: SeenCall) -> ToolResult | None:
    """The result of a call that no function stands behind; None where one does."""
    if has_tool(chain.run, call):
        return None
    if call.name not in chain.run.tools:
        return ToolResult(call.id, f'Error: tool "{call.name}" does not exist')
    if not chain.parallel:
        raise Leaves("ValueError", f"No implementation available for tool: {call.name}", None)
    return ToolResult(call.id, f'Error: tool "{call.name}" has no implementation')


def bound(chain: Chain, call: SeenCall) -> tuple[ToolResult | None, ToRun | None]:
    """The call's error result, or what its function is called with: whatever Python's `dict` makes a dictionary of; no value is checked.

    Raises:
        Leaves: the tool pauses the chain.
    """
    schema = chain.run.tools[call.name].schema
    try:
        given = dict(call.arguments if call.raw else {})
    except (TypeError, ValueError) as error:
        return ToolResult(call.id, f"Error: {error}"), None
    if problem := misfit(schema, given):
        return ToolResult(call.id, f"Error: {problem}"), None
    if call.name in chain.paused:
        raise Leaves("PauseChain", "paused", "handed_back")
    return None, ToRun(call.id, call.name, given)


def misfit(schema: Mapping[str, Any], given: Mapping[Any, Any]) -> str | None:
    """What Python says of keywords that the function does not take, or lacks."""
    if not all(isinstance(key, str) for key in given):
        return "keywords must be strings"
    missing = [key for key in schema.get("required", ()) if key not in given]
    if missing:
        return f"missing a required argument: {missing[0]!r}"
    unexpected = [key for key in given if key not in schema.get("properties", {})]
    return f"got an unexpected keyword argument {unexpected[0]!r}" if unexpected else None


def used(
    chain: Chain, due: Sequence[ToRun], *, same_round: bool = False
) -> Generator[Action, Event, tuple[ToolRun, ...]]:
    """Run tools."""
    runs = yield from chain.run.use(due, same_round=same_round)
    if chain.run.aborted:
        raise Leaves("KeyboardInterrupt", "", "aborted")
    return runs


def rendered(done: ToolRun) -> ToolResult:
    """A run's result: texts as they are, all else as JSON. That it failed is said in its text alone."""
    if done.is_error:
        return ToolResult(done.call_id, f"Error: {done.output}")
    return ToolResult(done.call_id, done.output if isinstance(done.output, str) else json.dumps(done.output))
