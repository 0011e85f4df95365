"""Mastra's options as a tree, read into one frozen value. What each does was measured; see tests/styles/test_mastra_options.py."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import Function, call_of, check_keys, function, is_function, nearest

FIELDS = ("steps", "totalTokens")
WORKERS = 10

OPTIONS = {
    "stopWhen": "a condition or a list: a function (steps, totalTokens) or {hasToolCall: name}; without maxSteps it replaces the 5",
    "defaultOptions": "{maxSteps}: the agent's; the call's wins",
    "onIterationComplete": "function returning null or {continue, feedback}",
    "isTaskComplete": "{scorers: [functions returning 0 or 1], strategy: all or any}, asked on natural ends",
    "requireToolApproval": "true: every call suspends before any tool runs",
    "approveToolCall": "{maxSteps}: of each resumed run, which begins anew with 5 otherwise",
    "toolCallConcurrency": "an integer, or {limit, strategy: available or called}; default 10",
    "modelSettings": "{timeout: {totalMs, stepMs, firstChunkMs}, maxRetries}: of the call",
    "maxRetries": "retries of a request, the agent's, which wins over the call's; 0",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step, as conditions see it."""

    calls: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """A stop condition: the tool that the last step called, or the user's own function."""

    name: str | None = None
    function: Function | None = None

    def start(self) -> Callable[[Sequence[Step]], Any]:
        """The condition for one run: it is given the steps so far."""
        if self.function is None:
            return lambda steps: self.name in steps[-1].calls
        own = self.function.start()
        return lambda steps: own(steps=len(steps), totalTokens=sum(step.tokens for step in steps))

    @property
    def fires(self) -> bool:
        """Whether it surely stops a run that would not stop by itself."""
        own = self.function
        if own is None:
            return False
        if own.field is None:
            return truthy(own.values[-1])
        return own.test == "at_least" or (own.test == "is" and own.number >= 1 and own.number == int(own.number))


def truthy(value: Any) -> bool:
    """Whether JavaScript takes a JSON value for true: empty objects and lists are."""
    return isinstance(value, Mapping | list | tuple) or bool(value)


@dataclass(frozen=True, slots=True)
class Options:
    """What the loop reads.

    Args:
        stop_when: conditions; None: none were given.
        max_steps: the agent's; `resumed_steps`: those of resumed runs.
        on_iteration: the user's function; `prolongs`: it says `continue: true` for ever.
        scorers: of isTaskComplete; `any_scorer`: one that passes is enough.
        approve_all: every call needs an approval.
        workers: tools at once; `called_only`: approvals of tools that are not called don't make it 1.
        total, step, first_chunk: time-outs in seconds; `bad_timeout`: a bare number, which the SDK refuses.
        retries: of one request.
    """

    stop_when: tuple[Condition, ...] | None = None
    max_steps: float | None = None
    resumed_steps: float | None = None
    on_iteration: Function | None = None
    scorers: tuple[Function, ...] = ()
    any_scorer: bool = False
    approve_all: bool = False
    workers: int = WORKERS
    called_only: bool = False
    total: float | None = None
    step: float | None = None
    first_chunk: float | None = None
    bad_timeout: bool = False
    retries: int = 0

    @property
    def prolongs(self) -> bool:
        """Whether onIterationComplete restarts a finished run for ever."""
        last = self.on_iteration.values[-1] if self.on_iteration is not None else None
        return isinstance(last, Mapping) and last.get("continue") is True

    @property
    def sets_limit(self) -> bool:
        """Whether the tree replaces the knob's default."""
        return bool(self.max_steps) or self.stop_when is not None or self.prolongs

    @property
    def bounded(self) -> bool:
        """Whether something of the tree surely stops an endless run."""
        if self.max_steps:
            return self.max_steps >= 1 and self.max_steps == int(self.max_steps)
        return not self.prolongs and any(condition.fires for condition in self.stop_when or ())


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree.

    Raises:
        ValueError: an unknown word, or a value of another shape; the message names the place and the nearest word.
    """
    check_keys(tree, "", OPTIONS)
    settings = check_keys(tree.get("modelSettings", {}), "modelSettings", ("timeout", "maxRetries"))
    timeout = settings.get("timeout", {})
    bare = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    times = check_keys({} if bare else timeout, "modelSettings.timeout", ("totalMs", "stepMs", "firstChunkMs"))
    workers, strategy = _concurrency(tree.get("toolCallConcurrency"))
    scorers, any_scorer = _task(tree.get("isTaskComplete", {}))
    retries = tree.get("maxRetries", settings.get("maxRetries", 0))
    return Options(
        stop_when=_conditions(tree["stopWhen"]) if "stopWhen" in tree else None,
        max_steps=_max_steps(tree, "defaultOptions"),
        resumed_steps=_max_steps(tree, "approveToolCall"),
        on_iteration=_on_iteration(tree),
        scorers=scorers,
        any_scorer=any_scorer,
        approve_all=_true(tree, "requireToolApproval"),
        workers=workers,
        called_only=strategy == "called",
        total=_seconds(times, "totalMs"),
        step=_seconds(times, "stepMs"),
        first_chunk=_seconds(times, "firstChunkMs"),
        bad_timeout=bare,
        retries=_whole(retries, "maxRetries"),
    )


def _conditions(tree: Any) -> tuple[Condition, ...]:
    if isinstance(tree, list | tuple):
        return tuple(_condition(entry, f"stopWhen[{at}]") for at, entry in enumerate(tree))
    return (_condition(tree, "stopWhen"),)


def _condition(tree: Any, where: str) -> Condition:
    if is_function(tree, FIELDS):
        return Condition(function=function(tree, where, FIELDS))
    name, settings = call_of(tree, where, {"hasToolCall": 1, "scripted": 1, **dict.fromkeys(FIELDS, 1)})
    value = settings.get("")
    if name != "hasToolCall" or not isinstance(value, str):
        raise ValueError(f"{where}.{name}: expected a tool's name, but {value!r} came")
    return Condition(value)


def _max_steps(tree: Mapping[str, Any], name: str) -> float | None:
    value = check_keys(tree.get(name, {}), name, ("maxSteps",)).get("maxSteps")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name}.maxSteps: expected a number, but {value!r} came")
    return value


def _on_iteration(tree: Mapping[str, Any]) -> Function | None:
    if "onIterationComplete" not in tree:
        return None
    found = function(tree["onIterationComplete"], "onIterationComplete")
    for at, value in enumerate(found.values):
        if value is None or (isinstance(value, Mapping) and set(value) == {"raises"}):
            continue
        where = f"onIterationComplete.scripted[{at}]"
        said = check_keys(value, where, ("continue", "feedback"))
        if not isinstance(said.get("continue", True), bool):
            raise ValueError(f"{where}.continue: expected true or false, but {said['continue']!r} came")
        if not isinstance(said.get("feedback", ""), str):
            raise ValueError(f"{where}.feedback: expected a text, but {said['feedback']!r} came")
    return found


def _task(tree: Any) -> tuple[tuple[Function, ...], bool]:
    said = check_keys(tree, "isTaskComplete", ("scorers", "strategy"))
    scorers = said.get("scorers", ())
    if not isinstance(scorers, list | tuple):
        raise ValueError(f"isTaskComplete.scorers: expected a list of functions, but {scorers!r} came")
    strategy = _word(said.get("strategy", "all"), "isTaskComplete.strategy", ("all", "any"))
    found = tuple(function(each, f"isTaskComplete.scorers[{at}]") for at, each in enumerate(scorers))
    return found, strategy == "any"


def _concurrency(tree: Any) -> tuple[int, str]:
    """How many tools at once, 10 for 0 or less, and which tools' approvals are looked at."""
    said = (
        check_keys(tree, "toolCallConcurrency", ("limit", "strategy")) if isinstance(tree, Mapping) else {"limit": tree}
    )
    limit = said.get("limit")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise ValueError(f"toolCallConcurrency: expected an integer or {{limit, strategy}}, but {limit!r} came")
    strategy = _word(said.get("strategy", "available"), "toolCallConcurrency.strategy", ("available", "called"))
    return (limit if limit and limit > 0 else WORKERS), strategy


def _true(tree: Mapping[str, Any], name: str) -> bool:
    value = tree.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name}: expected true or false, but {value!r} came")
    return value


def _word(value: Any, where: str, known: Collection[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{where}: unknown value {value!r}{nearest(str(value), known)}")
    return value


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{where}: expected a whole number, at least 0, but {value!r} came")
    return value


def _seconds(tree: Mapping[str, Any], name: str) -> float | None:
    value = tree.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"modelSettings.timeout.{name}: expected milliseconds above 0, but {value!r} came")
    return value / 1000
