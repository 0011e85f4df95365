"""The option tree of Semantic Kernel's agent: which function choice behavior it has, and a filter around its functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import Function, check_keys, function, nearest

OPTIONS = {
    "function_choice_behavior": "Auto (5 attempts), Required (1) or NoneInvoke (by hand), or with its own settings: "
    "{Auto: {maximum_auto_invoke_attempts: 3}}, {Auto: {auto_invoke: false}}",
    "filters.auto_function_invocation": "a function around every call that is run; {terminate: true} ends the run after its round",
}

#: Attempts of each behavior where it is not said, and where `auto_invoke` is false.
ATTEMPTS = {"Auto": 5, "Required": 1, "NoneInvoke": 0}


@dataclass(frozen=True, slots=True)
class Options:
    """What the tree comes to.

    Args:
        attempts: `maximum_auto_invoke_attempts`, where the tree says it; None: it does not.
        own_default: the attempts of the behavior that the tree names, in place of the default.
        filter: the auto function invocation filter.
    """

    attempts: int | None = None
    own_default: int | None = None
    filter: Function | None = None

    @property
    def sets_limit(self) -> bool:
        """Whether the tree says what the knob says."""
        return self.attempts is not None

    bounded = sets_limit

    @property
    def by_hand(self) -> bool:
        """Whether the tree asks for calls to be handed back."""
        asked = self.own_default if self.attempts is None else self.attempts
        return asked is not None and asked <= 0

    def limit(self, limit: float | None) -> float | None:
        """The attempts that are allowed: the knob's and the tree's, whichever are fewer."""
        given = [n for n in (limit, self.attempts) if n is not None]
        return min(given) if given else None


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as options.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", ("function_choice_behavior", "filters"))
    filters = check_keys(tree.get("filters", {}), "filters", ("auto_function_invocation",))
    scripted = filters.get("auto_function_invocation")
    attempts, own_default = None, None
    if "function_choice_behavior" in tree:
        attempts, own_default = _behavior(tree["function_choice_behavior"])
    return Options(attempts, own_default, None if scripted is None else _filter(scripted))


def _behavior(value: Any) -> tuple[int | None, int]:
    """The attempts that a behavior is given, and those that it has of its own."""
    where = "function_choice_behavior"
    name, settings = next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else (value, {})
    if not isinstance(name, str) or name not in ATTEMPTS:
        raise ValueError(f"{where}: expected a behavior, but {value!r} came{nearest(str(name), ATTEMPTS)}")
    known = (
        ("maximum_auto_invoke_attempts",) if name == "NoneInvoke" else ("auto_invoke", "maximum_auto_invoke_attempts")
    )
    settings = check_keys(settings, f"{where}.{name}", known)
    auto = settings.get("auto_invoke", True)
    if not isinstance(auto, bool):
        raise ValueError(f"{where}.{name}.auto_invoke: expected true or false, but {auto!r} came")
    own = ATTEMPTS[name] if auto else 0
    attempts = settings.get("maximum_auto_invoke_attempts")
    if "maximum_auto_invoke_attempts" in settings and (isinstance(attempts, bool) or not isinstance(attempts, int)):
        at = f"{where}.{name}.maximum_auto_invoke_attempts"
        raise ValueError(f"{at}: expected a whole number, but {attempts!r} came")
    return attempts, own


def _filter(tree: Any) -> Function:
    where = "filters.auto_function_invocation"
    made = function(tree, where)
    for value in made.values:
        if value is None or (isinstance(value, Mapping) and set(value) <= {"terminate", "raises"}):
            continue
        raise ValueError(f"{where}: expected null, {{terminate: true}} or {{raises: …}}, but {value!r} came")
    return made
