"""The option trees of the Claude Agent SDK, JavaScript and Python: one meaning, two spellings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import Function, check_keys, function

RETRIES = 10
_HOOKS = ("PreToolUse", "Stop")
_DECISIONS = ("allow", "deny")
_BEHAVIOURS = ("allow", "deny")
_SPECIFIC = ("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput")


@dataclass(frozen=True, slots=True)
class Words:
    """How a language spells the options. `input` and `goes_on`: fields of what functions return, in every spelling it takes."""

    budget: str
    allowed: str
    disallowed: str
    can_use: str
    input: tuple[str, ...]
    goes_on: tuple[str, ...]

    def names(self) -> dict[str, str]:
        """Every option with a word about it."""
        return {
            self.budget: "USD above 0, looked at after each reply; needs `price` and `usage`",
            self.allowed: "names of the tools that need no permission; default here: all",
            self.disallowed: "names of tools that are never run",
            self.can_use: "a function that allows or denies a call of a tool that is not allowed",
            "hooks.PreToolUse": "[{matcher, hooks}]: functions that allow, deny or change a call, or stop the run after it",
            "hooks.Stop": "[{hooks}]: functions that may keep the run from ending",
            "env.CLAUDE_CODE_MAX_RETRIES": "how often a failed request is sent again, as text; default 10",
            "env.ENABLE_TOOL_SEARCH": '"true": tools are behind ToolSearch; "false" (default here): all are offered',
        }


JS = Words("maxBudgetUsd", "allowedTools", "disallowedTools", "canUseTool", ("updatedInput",), ("continue",))
PYTHON = Words(
    "max_budget_usd", "allowed_tools", "disallowed_tools", "can_use_tool", ("updatedInput", "updated_input"),
    ("continue", "continue_"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that is asked about calls of the tools that `matcher` names; None: of all."""

    function: Function
    matcher: str | None = None

    def concerns(self, tool: str) -> bool:
        """Whether a call of the tool is shown to it."""
        if self.matcher in (None, "", "*"):
            return True
        return re.fullmatch(self.matcher or "", tool) is not None


@dataclass(frozen=True, slots=True)
class Options:
    """What the tree comes to.

    Args:
        budget: USD; None: none. The CLI refuses 0 and less.
        allowed: tools that need no permission; None: all.
        disallowed: tools that are never run.
        can_use: asked where a tool is not allowed.
        before_tool, at_stop: the hooks, in order.
        retries: of one request.
        tool_search: tools are behind `ToolSearch`.
    """

    budget: float | None = None
    allowed: frozenset[str] | None = None
    disallowed: frozenset[str] = frozenset()
    can_use: Function | None = None
    before_tool: tuple[Hook, ...] = ()
    at_stop: tuple[Hook, ...] = ()
    retries: int = RETRIES
    tool_search: bool = False

    @property
    def costs_bound(self) -> bool:
        """Whether a run whose replies cost anything is bounded."""
        return self.budget is not None


def configure(tree: Mapping[str, Any], words: Words) -> Options:
    """The tree of one language.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", (words.budget, words.allowed, words.disallowed, words.can_use, "hooks", "env"))
    allowed = _names(tree, words.allowed)
    hooks = check_keys(tree.get("hooks", {}), "hooks", _HOOKS)
    env = check_keys(tree.get("env", {}), "env", ("CLAUDE_CODE_MAX_RETRIES", "ENABLE_TOOL_SEARCH"))
    return Options(
        _budget(tree, words),
        None if allowed is None else frozenset(allowed),
        frozenset(_names(tree, words.disallowed) or ()),
        _can_use(tree, words),
        _hooks(hooks, "PreToolUse", words),
        _hooks(hooks, "Stop", words),
        _retries(env),
        _tool_search(env),
    )


def _budget(tree: Mapping[str, Any], words: Words) -> float | None:
    value = tree.get(words.budget)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{words.budget}: expected USD as a number, but {value!r} came")
    return value


def _names(tree: Mapping[str, Any], option: str) -> list[str] | None:
    names = tree.get(option)
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{option}: expected a list of tool names, but {names!r} came")
    return list(names)


def _can_use(tree: Mapping[str, Any], words: Words) -> Function | None:
    if tree.get(words.can_use) is None:
        return None
    asked = function(tree[words.can_use], words.can_use)
    for entry in _results(asked):
        where = f"{words.can_use}.scripted"
        check_keys(entry, where, ("behavior", *words.input, "message", "interrupt"))
        _one_of(entry.get("behavior"), f"{where}: behavior", _BEHAVIOURS)
    return asked


def _hooks(tree: Mapping[str, Any], event: str, words: Words) -> tuple[Hook, ...]:
    where, found = f"hooks.{event}", list[Hook]()
    for at, group in enumerate(_list(tree.get(event, []), where)):
        check_keys(group, f"{where}[{at}]", ("matcher", "hooks"))
        matcher = group.get("matcher")
        _pattern(matcher, f"{where}[{at}].matcher")
        for index, written in enumerate(_list(group.get("hooks", []), f"{where}[{at}].hooks")):
            place = f"{where}[{at}].hooks[{index}]"
            hook = function(written, place)
            for entry in _results(hook):
                _returned(entry, f"{place}.scripted", event, words)
            found.append(Hook(hook, matcher))
    return tuple(found)


def _returned(entry: Any, where: str, event: str, words: Words) -> None:
    """What a hook may return; null and {} say nothing."""
    if entry is None:
        return
    if event == "Stop":
        check_keys(entry, where, ("decision", "reason"))
        if "decision" in entry:
            _one_of(entry["decision"], f"{where}: decision", ("block",))
        return
    check_keys(entry, where, ("hookSpecificOutput", *words.goes_on, "stopReason"))
    specific = check_keys(entry.get("hookSpecificOutput", {}), f"{where}.hookSpecificOutput", _SPECIFIC)
    if "permissionDecision" in specific:
        _one_of(specific["permissionDecision"], f"{where}.hookSpecificOutput: permissionDecision", _DECISIONS)


def _results(written: Function) -> list[Any]:
    """What the function returns, without what it throws."""
    return [entry for entry in written.values if not (isinstance(entry, Mapping) and set(entry) == {"raises"})]


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: expected a list, but {value!r} came")
    return list(value)


def _pattern(value: Any, where: str) -> None:
    if value is None:
        return
    try:
        re.compile("" if value == "*" else value)
    except (re.error, TypeError):
        raise ValueError(f"{where}: expected a tool's name or a pattern, but {value!r} came") from None


def _one_of(value: Any, where: str, known: Collection[str]) -> None:
    if value not in known:
        raise ValueError(f"{where}: expected {' or '.join(known)}, but {value!r} came")


def _retries(env: Mapping[str, Any]) -> int:
    value = env.get("CLAUDE_CODE_MAX_RETRIES")
    if value is None:
        return RETRIES
    if not isinstance(value, str) or not value.isdecimal():
        raise ValueError(f"env.CLAUDE_CODE_MAX_RETRIES: expected a whole number as text, but {value!r} came")
    return int(value)


def _tool_search(env: Mapping[str, Any]) -> bool:
    value = env.get("ENABLE_TOOL_SEARCH", "false")
    _one_of(value, "env.ENABLE_TOOL_SEARCH", ("true", "false"))
    return bool(value == "true")
