"""The option tree of Strands' Agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import check_keys, nearest

OPTIONS = {
    "limits.turns": "cycles of one call of the agent; the knob itself",
    "limits.total_tokens": "input and output tokens of one call of the agent, looked at before each cycle",
    "limits.output_tokens": "output tokens of one call of the agent, looked at before each cycle",
    "retry_strategy.max_attempts": "attempts of a throttled model call, each with the client's own retries inside; 6",
    "tool_executor": "ConcurrentToolExecutor (default) or SequentialToolExecutor",
}
CAPS = ("turns", "output_tokens", "total_tokens")
EXECUTORS = ("ConcurrentToolExecutor", "SequentialToolExecutor")


@dataclass(frozen=True, slots=True)
class Options:
    """What the tree comes to.

    Args:
        turns, total_tokens, output_tokens: caps; None: none.
        refused: class and message of the error for a cap that is no positive whole number.
        attempts: of a throttled model call.
        sequential: tools run one after the other.
    """

    turns: int | None = None
    total_tokens: int | None = None
    output_tokens: int | None = None
    refused: tuple[str, str] | None = None
    attempts: int = 6
    sequential: bool = False

    @property
    def bounded(self) -> bool:
        """Whether a cap of the options can end a run."""
        return any(cap is not None for cap in (self.turns, self.total_tokens, self.output_tokens))


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as the user wrote it.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", ("limits", "retry_strategy", "tool_executor"))
    limits = check_keys(tree.get("limits", {}), "limits", CAPS)
    retry = check_keys(tree.get("retry_strategy", {}), "retry_strategy", ("max_attempts",))
    attempts = retry.get("max_attempts", 6)
    if isinstance(attempts, bool) or not isinstance(attempts, int):
        raise ValueError(f"retry_strategy.max_attempts: expected a whole number, but {attempts!r} came")
    executor = tree.get("tool_executor", EXECUTORS[0])
    if executor not in EXECUTORS:
        raise ValueError(f"tool_executor: unknown name {executor!r}{nearest(str(executor), EXECUTORS)}")
    return Options(
        limits.get("turns"),
        limits.get("total_tokens"),
        limits.get("output_tokens"),
        _refused(limits),
        attempts,
        executor == EXECUTORS[1],
    )


def _refused(limits: Mapping[str, Any]) -> tuple[str, str] | None:
    """Strands' own complaint about a cap."""
    for key, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            return "TypeError", f"limits[{key!r}] must be a positive int, got {value!r}"
    return None
