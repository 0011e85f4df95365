"""TanStack AI's options as a tree, read into one frozen value. What each does was measured; see tests/styles/test_tanstack_options.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import Function, Raised, call_of, check_keys, function, is_function, nearest

FIELDS = ("iterationCount", "messages", "toolCallCount", "lastTurnToolCallCount")
STRATEGIES = {"maxIterations": 1, "untilFinishReason": 1, "combineStrategies": 1}
HOOKS = ("onShouldContinue", "onBeforeToolCall", "onAfterToolCall", "toolCallBudget")
#: What each decision of onBeforeToolCall carries.
DECISIONS = {"skip": "result", "transformArgs": "args", "abort": "reason"}

OPTIONS = {
    "agentLoopStrategy": "{maxIterations: n}, {untilFinishReason: [reasons]}, {combineStrategies: [strategies]} or a function"
    f" ({', '.join(FIELDS)})",
    "middleware": "list of {onShouldContinue, onBeforeToolCall, onAfterToolCall: function} and {toolCallBudget: {maxPerTurn, max}}",
    "tools": "{NAME: client}: made with .client(fn), which is run on the server all the same",
    "stream": "true (events), or false: one promise for the text of all turns",
}


@dataclass(frozen=True, slots=True)
class State:
    """What a strategy sees.

    Args:
        iteration_count: model turns so far, at least 1.
        finish_reason: the last turn's.
        messages: how many there are: each tool result is one.
        tool_call_count: calls with ids not seen before in this run; `last_turn`: calls of the last turn.
    """

    iteration_count: int
    finish_reason: str | None
    messages: int
    tool_call_count: int
    last_turn: int

    def fields(self) -> dict[str, Any]:
        """The counts that a function may look at."""
        return dict(
            zip(FIELDS, (self.iteration_count, self.messages, self.tool_call_count, self.last_turn), strict=True)
        )


#: A strategy in a run: None to go on, else what stopped it, in the contract's words.
Asked = Callable[[State], str | None]


@dataclass(frozen=True, slots=True)
class Strategy:
    """An agent loop strategy; exactly one of the fields is set.

    Args:
        most: of `maxIterations`.
        reasons: of `untilFinishReason`.
        parts: of `combineStrategies`.
        function: the user's own.
    """

    most: float | None = None
    reasons: tuple[str, ...] | None = None
    parts: tuple[Strategy, ...] | None = None
    function: Function | None = None

    def start(self) -> Asked:
        """The strategy for one call of chat().

        Raises (when it is asked): Raised, where the user's function throws; an async one's rejection goes nowhere.
        """
        if self.parts is not None:
            asked = [part.start() for part in self.parts]
            return lambda state: next((no for ask in asked if (no := ask(state))), None)
        if self.function is not None:
            return _asked(self.function)
        if self.reasons is not None:
            reasons = self.reasons
            return lambda state: "stop_condition" if state.finish_reason in reasons else None
        most = self.most if self.most is not None else float("inf")
        return lambda state: None if state.iteration_count < most else "limit"

    @property
    def fires(self) -> bool:
        """Whether it surely stops a run that would not stop by itself."""
        if self.parts is not None:
            return any(part.fires for part in self.parts)
        if self.reasons is not None:
            return "tool_calls" in self.reasons
        if self.function is None:
            return self.most is not None
        own = self.function
        if is_promise(own):
            return False
        return own.field != "lastTurnToolCallCount" if own.field else not truthy(own.values[-1])


def is_promise(function: Function) -> bool:
    """Whether it returns a promise: JavaScript has no other way to take its time."""
    return function.is_async or function.seconds > 0


def _asked(own: Function) -> Asked:
    call, promise = own.start(), is_promise(own)

    def ask(state: State) -> str | None:
        try:
            said = call(**state.fields())
        except Raised:
            if not promise:
                raise
            return None
        return None if promise or truthy(said) else "stop_condition"  # a promise is truthy, and never awaited

    return ask


def truthy(value: Any) -> bool:
    """Whether JavaScript takes a JSON value for true: empty objects and lists are."""
    return isinstance(value, Mapping | list | tuple) or bool(value)


@dataclass(frozen=True, slots=True)
class Middleware:
    """One middleware. `per_turn`, `most`: of the documentation's tool-call budget."""

    should_continue: Function | None = None
    before: Function | None = None
    after: Function | None = None
    per_turn: float | None = None
    most: float | None = None

    @property
    def fires(self) -> bool:
        """Whether it surely stops an endless run."""
        return self.most is not None or (
            self.should_continue is not None and self.should_continue.values[-1:] == (False,)
        )


@dataclass(frozen=True, slots=True)
class Options:
    """What the loop reads.

    Args:
        strategy: None: the knob's default holds.
        middleware: in order.
        client_functions: tools made with `.client(fn)`.
        stream: read as a stream; False: one promise for the whole text.
    """

    strategy: Strategy | None = None
    middleware: tuple[Middleware, ...] = ()
    client_functions: frozenset[str] = frozenset()
    stream: bool = True

    @property
    def sets_limit(self) -> bool:
        """Whether the tree says what the knob says, so that its default no longer holds."""
        return self.strategy is not None

    @property
    def bounded(self) -> bool:
        """Whether something of the tree surely stops an endless run."""
        return (self.strategy is not None and self.strategy.fires) or any(each.fires for each in self.middleware)


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree.

    Raises:
        ValueError: an unknown word, or a value of another shape; the message names the place and the nearest word.
    """
    check_keys(tree, "", OPTIONS)
    stream = tree.get("stream", True)
    if not isinstance(stream, bool):
        raise ValueError(f"stream: expected true or false, but {stream!r} came")
    return Options(
        _strategy(tree["agentLoopStrategy"], "agentLoopStrategy") if "agentLoopStrategy" in tree else None,
        tuple(_middleware(each, f"middleware[{at}]") for at, each in enumerate(_list(tree, "middleware"))),
        _client_functions(tree.get("tools", {})),
        stream,
    )


def _list(tree: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = tree.get(name, ())
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name}: expected a list, but {value!r} came")
    return value


def _strategy(tree: Any, where: str) -> Strategy:
    if is_function(tree, FIELDS):
        return Strategy(function=function(tree, where, FIELDS))
    name, settings = call_of(tree, where, {**STRATEGIES, "scripted": 1, **dict.fromkeys(FIELDS, 1)})
    value = settings.get("")
    if name == "maxIterations":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{where}.maxIterations: expected a number, but {value!r} came")
        return Strategy(most=value)
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}.{name}: expected a list, but {value!r} came")
    if name == "combineStrategies":
        parts = (_strategy(part, f"{where}.combineStrategies[{at}]") for at, part in enumerate(value))
        return Strategy(parts=tuple(parts))
    if not all(isinstance(reason, str) for reason in value):
        raise ValueError(f"{where}.untilFinishReason: expected finish reasons, but {value!r} came")
    return Strategy(reasons=tuple(value))


def _middleware(tree: Any, where: str) -> Middleware:
    check_keys(tree, where, HOOKS)
    budget = check_keys(tree.get("toolCallBudget", {}), f"{where}.toolCallBudget", ("maxPerTurn", "max"))
    for name, value in budget.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{where}.toolCallBudget.{name}: expected a number, but {value!r} came")
    return Middleware(
        _hook(tree, "onShouldContinue", where),
        _hook(tree, "onBeforeToolCall", where, DECISIONS),
        _hook(tree, "onAfterToolCall", where, {"replaceResult": "result"}),
        budget.get("maxPerTurn"),
        budget.get("max"),
    )


def _hook(
    tree: Mapping[str, Any], name: str, where: str, decisions: Mapping[str, str] | None = None
) -> Function | None:
    if name not in tree:
        return None
    found = function(tree[name], f"{where}.{name}")
    for at, value in enumerate(found.values):
        place = f"{where}.{name}.scripted[{at}]"
        if isinstance(value, Mapping) and "raises" in value:
            continue
        if decisions is None:
            if value is not None and not isinstance(value, bool):
                raise ValueError(f"{place}: expected true, false or null, but {value!r} came")
        elif value is not None:
            _decision(value, place, decisions)
    return found


def _decision(value: Any, where: str, decisions: Mapping[str, str]) -> None:
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in decisions:
        raise ValueError(
            f"{where}: expected null or {{type: …}}, but {value!r} came{nearest(str(kind), list(decisions))}"
        )
    check_keys(value, where, ("type", decisions[str(kind)]))


def _client_functions(tree: Any) -> frozenset[str]:
    if not isinstance(tree, Mapping):
        raise ValueError(f"tools: expected {{NAME: client}}, but {tree!r} came")
    for name, value in tree.items():
        if value != "client":
            raise ValueError(f"tools.{name}: expected client, but {value!r} came")
    return frozenset(map(str, tree))
