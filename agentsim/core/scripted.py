"""Functions of a user's own, written as data in an option tree: what they return, call by call.

`{scripted: [v1, v2, …]}` gives one value a call, the last one stays; an entry `{raises: …}` throws. `async: true` and
`seconds` say how it does so. `{FIELD: {is: n}}`, `{below: n}` and `{at_least: n}` look at a count instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.errors import nearest as nearest_of

_TESTS: dict[str, Callable[[float, float], bool]] = {
    "is": lambda count, n: count == n,
    "below": lambda count, n: count < n,
    "at_least": lambda count, n: count >= n,
}


class Raised(Exception):
    """What a scripted function threw: the SDK decides what becomes of it."""

    def __init__(self, type_: str, message: str) -> None:
        super().__init__(message)
        self.type, self.message = type_, message


@dataclass(frozen=True, slots=True)
class Function:
    """A function as data.

    Args:
        values: what it returns, call by call; empty where it looks at a count.
        is_async: it is `async`; matters where an SDK does not await it.
        seconds: virtual time of a call.
        field, test, number: the count that it looks at, and how.
    """

    values: tuple[Any, ...] = ()
    is_async: bool = False
    seconds: float = 0.0
    field: str | None = None
    test: str = "is"
    number: float = 0

    def start(self) -> Callable[..., Any]:
        """The function for one run, with a count of its own calls; it takes the fields it may look at as keywords.

        The function raises Raised where the script says so.
        """
        calls = 0

        def function(**fields: Any) -> Any:
            nonlocal calls
            if self.field is not None:
                count = fields[self.field]
                return _TESTS[self.test](count if isinstance(count, int | float) else len(count), self.number)
            value = self.values[min(calls, len(self.values) - 1)]
            calls += 1
            if isinstance(value, Mapping) and set(value) == {"raises"}:
                raise _raised(value["raises"])
            return value

        return function


def _raised(what: Any) -> Raised:
    if isinstance(what, Mapping):
        return Raised(str(what.get("type", "Error")), str(what.get("message", "")))
    return Raised("Error", str(what))


def is_function(tree: Any, fields: Collection[str] = ()) -> bool:
    """Whether a node of an option tree is a function."""
    if not isinstance(tree, Mapping):
        return False
    return "scripted" in tree or (len(tree) == 1 and next(iter(tree)) in fields)


def function(tree: Any, where: str, fields: Collection[str] = ()) -> Function:
    """A node of an option tree as a function.

    Args:
        tree: `{scripted: […]}`, or `{FIELD: {is|below|at_least: n}}`.
        where: its path, for messages.
        fields: counts that it may look at.
    Raises:
        ValueError: it is no function; says what was expected and what came.
    """
    if isinstance(tree, Mapping) and "scripted" in tree:
        return _scripted(tree, where)
    if isinstance(tree, Mapping) and len(tree) == 1:
        name, test = next(iter(tree.items()))
        if name not in fields:
            raise ValueError(f"{where}: unknown field {name!r}{nearest(str(name), [*fields, 'scripted'])}")
        if not (isinstance(test, Mapping) and len(test) == 1 and next(iter(test)) in _TESTS):
            raise ValueError(f"{where}.{name}: expected {{is: n}}, {{below: n}} or {{at_least: n}}, but {test!r} came")
        how, number = next(iter(test.items()))
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ValueError(f"{where}.{name}.{how}: expected a number, but {number!r} came")
        return Function(field=str(name), test=how, number=number)
    raise ValueError(f"{where}: expected a function as {{scripted: [values]}}, but {tree!r} came")


def _scripted(tree: Mapping[str, Any], where: str) -> Function:
    unknown = set(tree) - {"scripted", "async", "seconds"}
    if unknown:
        word = sorted(map(str, unknown))[0]
        raise ValueError(f"{where}: unknown key {word!r}{nearest(word, ['scripted', 'async', 'seconds'])}")
    values = tree["scripted"]
    if not isinstance(values, list | tuple) or not values:
        raise ValueError(f"{where}.scripted: expected a list of at least one value, but {values!r} came")
    seconds = tree.get("seconds", 0.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        raise ValueError(f"{where}.seconds: expected seconds, at least 0, but {seconds!r} came")
    return Function(tuple(values), bool(tree.get("async", False)), float(seconds))


def nearest(word: str, known: Collection[str]) -> str:
    """A hint that names the nearest known word and lists all."""
    near = nearest_of(word, known)
    hint = f"; did you mean {near!r}?" if near else ""
    return f"{hint} (known: {', '.join(known)})" if known else f"{hint} (there are none)"


def call_of(tree: Any, where: str, known: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """A constructor or call in an option tree: `{name: {settings}}`, `{name: value}` or the bare name.

    Args:
        tree: the node.
        where: its path, for messages.
        known: the names that may stand here.
    Returns:
        The name and its settings; a single value is given as {"": value}.
    Raises:
        ValueError: another name or shape.
    """
    settings: Any
    if isinstance(tree, str):
        name, settings = tree, {}
    elif isinstance(tree, Mapping) and len(tree) == 1:
        name, settings = next(iter(tree.items()))
    else:
        raise ValueError(f"{where}: expected a name or one {{name: settings}}, but {tree!r} came")
    if name not in known:
        raise ValueError(f"{where}: unknown name {name!r}{nearest(str(name), list(known))}")
    return name, settings if isinstance(settings, Mapping) else {"": settings}


def check_keys(tree: Any, where: str, known: Collection[str]) -> Mapping[str, Any]:
    """The tree, if it is a mapping of known keys.

    Raises:
        ValueError: it is none, or has an unknown key; names the nearest.
    """
    if not isinstance(tree, Mapping):
        raise ValueError(f"{where or 'options'}: expected a mapping, but {tree!r} came")
    for key in tree:
        if key not in known:
            at = f"{where}: " if where else ""
            raise ValueError(f"{at}unknown option {key!r}{nearest(str(key), known)}")
    return tree
