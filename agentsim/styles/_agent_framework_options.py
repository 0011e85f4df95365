"""The option tree of Agent Framework's agent: the settings of its function invocation loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from agentsim.core.scripted import check_keys

WHERE = "function_invocation_configuration"
_WORDS = {
    "max_iterations": "model calls with tools; what the knob says",
    "max_function_calls": "single calls of a run, looked at after each batch; the next reply is the last",
    "max_duration_seconds": "seconds of a run, looked at after each batch; the next reply is the last",
    "max_consecutive_errors_per_request": "batches in a row with an error, 3; the next reply is the last",
    "terminate_on_unknown_calls": "true: an unknown tool throws, none of its batch runs",
    "include_detailed_errors": "true: the model reads what went wrong",
    "allow_concurrent_invocation": "false: the calls of a batch run one after the other",
    "enabled": "false: calls are handed back",
}
OPTIONS = {f"{WHERE}.{name}": word for name, word in _WORDS.items()}


@dataclass(frozen=True, slots=True)
class Options:
    """The settings; `refused`: what the client's constructor says of them, where it refuses one."""

    max_iterations: int | None = None
    max_function_calls: int | None = None
    max_duration_seconds: float | None = None
    max_consecutive_errors_per_request: int = 3
    terminate_on_unknown_calls: bool = False
    include_detailed_errors: bool = False
    allow_concurrent_invocation: bool = True
    enabled: bool = True

    @property
    def sets_limit(self) -> bool:
        """Whether the tree says what the knob says."""
        return self.max_iterations is not None

    @property
    def bounded(self) -> bool:
        """Whether anything but the knob ends a run."""
        return self.sets_limit or self.max_function_calls is not None or not self.enabled

    @property
    def refused(self) -> str | None:
        """What the client's constructor throws; None where it takes them."""
        if self.max_iterations is not None and self.max_iterations < 1:
            return "max_iterations must be at least 1."
        if self.max_function_calls is not None and self.max_function_calls < 1:
            return "max_function_calls must be at least 1 or None."
        if self.max_duration_seconds is not None and self.max_duration_seconds <= 0:
            return "max_duration_seconds must be greater than 0 or None."
        if self.max_consecutive_errors_per_request < 0:
            return "max_consecutive_errors_per_request must be 0 or more."
        return None

    def limit(self, limit: float | None) -> float | None:
        """The iterations that are allowed: the knob's and the tree's, whichever are fewer."""
        given = [n for n in (limit, self.max_iterations) if n is not None]
        return min(given) if given else None


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as options.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", (WHERE,))
    settings = check_keys(tree.get(WHERE, {}), WHERE, tuple(_WORDS))
    for name, given in settings.items():
        _check(name, given)
    return Options(**settings)


def _check(name: str, given: Any) -> None:
    default = next(field.default for field in fields(Options) if field.name == name)
    if isinstance(default, bool):
        if not isinstance(given, bool):
            raise ValueError(f"{WHERE}.{name}: expected true or false, but {given!r} came")
        return
    may_be_none = name in ("max_function_calls", "max_duration_seconds")
    if given is None and may_be_none:
        return
    kinds = (int, float) if name == "max_duration_seconds" else (int,)
    if isinstance(given, bool) or not isinstance(given, kinds):
        expected = "a number" if float in kinds else "a whole number"
        raise ValueError(f"{WHERE}.{name}: expected {expected}{' or null' if may_be_none else ''}, but {given!r} came")
