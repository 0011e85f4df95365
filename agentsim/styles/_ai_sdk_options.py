"""The AI SDK's options as a tree, read into one frozen value. What each does was measured; see tests/styles/test_ai_sdk_options.py."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.scripted import Function, call_of, check_keys, function, is_function, nearest

FIELDS = ("steps", "totalTokens")
CONDITIONS = {"isStepCount": 1, "hasToolCall": 1, "isLoopFinished": 0}
APPROVALS = ("user-approval", "approved", "denied")
CHOICES = ("auto", "none", "required")

SHARED = {
    "stopWhen": "a condition or a list: {isStepCount: n}, {hasToolCall: name}, isLoopFinished, a function (steps, totalTokens)",
    "prepareStep": "function returning toolChoice, activeTools or messages for the step",
    "toolChoice": "auto, none or required",
    "toolCallConcurrency": "how many of a step's tools run at once",
    "repairToolCall": "function returning changed fields (toolName, input) of an invalid call, or null",
    "maxRetries": "retries of one step's request; 2",
    "onStepEnd": "function called after each step",
}
CORE = SHARED | {
    "toolApproval": "{TOOL: user-approval, approved or denied}",
    "timeout.totalMs": "of the whole call: throws TimeoutError",
    "timeout.toolMs": "of each tool run: an error result, the loop goes on",
}
CALLS = {
    "generate.stopWhen": "given to agent.generate(); wins over the agent's",
    "stream.stopWhen": "given to agent.stream(); wins over the agent's",
}
AGENT = CORE | CALLS
WORKFLOW = SHARED | CALLS


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step, as conditions see it."""

    calls: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """A stop condition.

    Args:
        count: of `isStepCount`: compared with `===`.
        names: of `hasToolCall`: tools that the last step called.
        function: the user's own; none of the three is `isLoopFinished`, which never stops.
    """

    count: float | None = None
    names: tuple[str, ...] = ()
    function: Function | None = None

    def start(self) -> Callable[[Sequence[Step]], Any]:
        """The condition for one run: it is given the steps so far."""
        if self.function is not None:
            own = self.function.start()
            return lambda steps: own(steps=len(steps), totalTokens=sum(step.tokens for step in steps))
        if self.names:
            return lambda steps: any(name in steps[-1].calls for name in self.names)
        return lambda steps: self.count is not None and len(steps) == self.count

    @property
    def fires(self) -> bool:
        """Whether it surely stops a run that would not stop by itself."""
        if self.function is not None:
            own = self.function
            return own.test in ("is", "at_least") if own.field else own.is_async or bool(own.values[-1])
        return self.count is not None and self.count >= 1 and self.count == int(self.count)


@dataclass(frozen=True, slots=True)
class Options:
    """What the loops read.

    Args:
        stop_when: conditions; None: the knob's default holds.
        prepare_step, repair, on_step_end: the user's functions.
        tool_choice: sent in each step.
        approval: tool -> "user-approval", "approved" or "denied".
        concurrency: tools at once; None: all.
        retries: of one step's request.
        total, tool: time-outs in seconds.
    """

    stop_when: tuple[Condition, ...] | None = None
    prepare_step: Function | None = None
    repair: Function | None = None
    on_step_end: Function | None = None
    tool_choice: str | None = None
    approval: Mapping[str, str] = field(default_factory=dict)
    concurrency: int | None = None
    retries: int = 2
    total: float | None = None
    tool: float | None = None

    @property
    def sets_limit(self) -> bool:
        """Whether the tree says what the knob says, so that its default no longer holds."""
        return self.stop_when is not None

    @property
    def bounded(self) -> bool:
        """Whether one of the conditions surely stops an endless run."""
        return any(condition.fires for condition in self.stop_when or ())


def reader(known: Mapping[str, str], method: str = "") -> Callable[[Mapping[str, Any]], Options]:
    """`configure` of a style that takes these options; `method` is the call whose own settings win over the agent's."""
    names = list(dict.fromkeys(name.partition(".")[0] for name in known))

    def configure(tree: Mapping[str, Any]) -> Options:
        return _options(check_keys(tree, "", names), method)

    return configure


def _options(tree: Mapping[str, Any], method: str) -> Options:
    stop_when = _conditions(tree["stopWhen"], "stopWhen") if "stopWhen" in tree else None
    for name in ("generate", "stream"):
        if "stopWhen" in check_keys(tree.get(name, {}), name, ("stopWhen",)):
            own = _conditions(tree[name]["stopWhen"], f"{name}.stopWhen")
            stop_when = own if name == method else stop_when
    timeout = check_keys(tree.get("timeout", {}), "timeout", ("totalMs", "toolMs"))
    return Options(
        stop_when=stop_when,
        prepare_step=_prepare_step(tree),
        repair=_repair(tree),
        on_step_end=_function(tree, "onStepEnd"),
        tool_choice=_word(tree["toolChoice"], "toolChoice", CHOICES) if "toolChoice" in tree else None,
        approval=_approval(tree.get("toolApproval", {})),
        concurrency=_whole(tree["toolCallConcurrency"], "toolCallConcurrency", 1)
        if "toolCallConcurrency" in tree
        else None,
        retries=_whole(tree.get("maxRetries", 2), "maxRetries", 0),
        total=_seconds(timeout, "totalMs"),
        tool=_seconds(timeout, "toolMs"),
    )


def _conditions(tree: Any, where: str) -> tuple[Condition, ...]:
    if isinstance(tree, list | tuple):
        return tuple(_condition(entry, f"{where}[{at}]") for at, entry in enumerate(tree))
    return (_condition(tree, where),)


def _condition(tree: Any, where: str) -> Condition:
    if is_function(tree, FIELDS):
        return Condition(function=function(tree, where, FIELDS))
    name, settings = call_of(tree, where, {**CONDITIONS, "scripted": 1, **dict.fromkeys(FIELDS, 1)})
    value = settings.get("")
    if name == "isStepCount":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{where}.isStepCount: expected a number, but {value!r} came")
        return Condition(count=value)
    if name == "hasToolCall":
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) for n in names):
            raise ValueError(f"{where}.hasToolCall: expected a tool's name or a list of names, but {value!r} came")
        return Condition(names=tuple(names))
    return Condition()


def _function(tree: Mapping[str, Any], name: str) -> Function | None:
    return function(tree[name], name) if name in tree else None


def _returned(found: Function | None, where: str, known: Collection[str]) -> Function | None:
    """The function, if each value that it returns is null or a mapping of these keys."""
    for at, value in enumerate(found.values if found else ()):
        if value is not None and not (isinstance(value, Mapping) and set(value) == {"raises"}):
            check_keys(value, f"{where}.scripted[{at}]", known)
    return found


def _prepare_step(tree: Mapping[str, Any]) -> Function | None:
    found = _returned(_function(tree, "prepareStep"), "prepareStep", ("toolChoice", "activeTools", "messages"))
    for at, value in enumerate(found.values if found else ()):
        where = f"prepareStep.scripted[{at}]"
        if not isinstance(value, Mapping) or "raises" in value:
            continue
        if "toolChoice" in value:
            _word(value["toolChoice"], f"{where}.toolChoice", CHOICES)
        active = value.get("activeTools", [])
        if not isinstance(active, list | tuple) or not all(isinstance(name, str) for name in active):
            raise ValueError(f"{where}.activeTools: expected a list of names, but {active!r} came")
        for number, message in enumerate(value.get("messages", ())):
            at_message = f"{where}.messages[{number}]"
            said = check_keys(message, at_message, ("role", "content"))
            _word(said.get("role"), f"{at_message}.role", ("user", "assistant"))
            if not isinstance(said.get("content"), str):
                raise ValueError(f"{at_message}.content: expected a text, but {said.get('content')!r} came")
    return found


def _repair(tree: Mapping[str, Any]) -> Function | None:
    found = _returned(_function(tree, "repairToolCall"), "repairToolCall", ("toolName", "input"))
    for at, value in enumerate(found.values if found else ()):
        if isinstance(value, Mapping) and not all(
            isinstance(part, str) for key, part in value.items() if key != "raises"
        ):
            raise ValueError(f"repairToolCall.scripted[{at}]: expected texts (input is JSON text), but {value!r} came")
    return found


def _approval(tree: Any) -> dict[str, str]:
    if not isinstance(tree, Mapping):
        raise ValueError(f"toolApproval: expected {{TOOL: {', '.join(APPROVALS)}}}, but {tree!r} came")
    return {str(name): _word(value, f"toolApproval.{name}", APPROVALS) for name, value in tree.items()}


def _word(value: Any, where: str, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{where}: unknown value {value!r}{nearest(str(value), known)}")
    return value


def _whole(value: Any, where: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{where}: expected a whole number, at least {least}, but {value!r} came")
    return value


def _seconds(tree: Mapping[str, Any], name: str) -> float | None:
    value = tree.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"timeout.{name}: expected milliseconds, at least 0, but {value!r} came")
    return value / 1000
