"""The option trees of smolagents' agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import check_keys

_BOTH = {
    "run.max_steps": "of one call of run; 0 and null leave the agent's",
    "retry": "false: a throttled request is not tried again but by the client",
}
_CALLING = {
    "final_answer": "true: the script's text answers arrive as calls of the tool final_answer",
    "max_tool_threads": "how many calls of a reply run at once",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What the tree comes to.

    Args:
        max_steps: of the call of run; None: the agent's.
        attempts: of a throttled request, each with the client's own retries inside.
        final_answer: text answers arrive as calls.
        workers: calls of a reply that run at once; None: all.
    """

    max_steps: int | None = None
    attempts: int = 3
    final_answer: bool = False
    workers: int | None = None


def options_of(coding: bool) -> dict[str, str]:
    """The options of one of the agents, with a word about each."""
    return dict(_BOTH) if coding else _BOTH | _CALLING


def configure(tree: Mapping[str, Any], coding: bool) -> Options:
    """The tree as the user wrote it.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", ("run", "retry") if coding else ("run", "retry", "final_answer", "max_tool_threads"))
    run = check_keys(tree.get("run", {}), "run", ("max_steps",))
    for key in ("retry", "final_answer"):
        if not isinstance(tree.get(key, False), bool):
            raise ValueError(f"{key}: expected true or false, but {tree[key]!r} came")
    steps, threads = run.get("max_steps"), tree.get("max_tool_threads")
    for where, value, least in (("run.max_steps", steps, None), ("max_tool_threads", threads, 1)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            wanted = "a whole number" if least is None else f"a whole number, at least {least}"
            raise ValueError(f"{where}: expected {wanted}, but {value!r} came")
    attempts = 3 if tree.get("retry", True) else 1
    return Options(steps or None, attempts, bool(tree.get("final_answer", False)), threads)
