"""Finding the functions that are an agent's tools, by the tools' names.

A function is a tool's where it has its name, where it lies under it in a table, or where an object of the agent's own that has it as
its `name` holds it. In a table, or an object, it may be bound, have arguments filled in, or stand beside a schema.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Collection, Iterable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

#: So far from a variable tools are looked for: agent -> registry -> tool.
DEPTH = 3
#: So many things are looked at, at most, from one frame: agents hold histories, too.
MOST = 2_000

Found = Iterator[tuple[str, FunctionType]]


class Own:
    """What is the agent's own: code of files below its folder.

    Args:
        folder: the folder of its module.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        #: By identity, since a metaclass may make its types unhashable; the type is held so that its identity stays its own.
        self._types: dict[int, tuple[type, bool]] = {}

    def code(self, code: CodeType) -> bool:
        """Whether a code is."""
        return code.co_filename.startswith(self.folder) and "site-packages" not in code.co_filename

    def thing(self, value: Any) -> bool:
        """Whether a value is an instance of a class of its own."""
        kind = type(value)
        known = self._types.get(id(kind))
        if known is None:
            file = str(getattr(sys.modules.get(str(kind.__module__)), "__file__", None) or "")
            known = self._types[id(kind)] = kind, file.startswith(self.folder) and "site-packages" not in file
        return known[1]


def everywhere(names: Collection[str], own: Own) -> Found:
    """The functions of these tools, wherever they are in this process."""
    for each in gc.get_objects():
        if type(each) is FunctionType:
            if each.__name__ in names and own.code(each.__code__):
                yield each.__name__, each
        elif type(each) is dict or own.thing(each):
            yield from _in(each, names, own)


def near(names: Collection[str], own: Own, frame: FrameType | None) -> Found:
    """The functions of these tools in the agent's modules and in what its running functions hold.

    That is much less than everything, and enough to watch: a function of a tool's name is known by it when it runs.

    Args:
        frame: from which the running functions are looked for, outwards.
    """
    for module in list(sys.modules.values()):
        file = str(getattr(module, "__file__", None) or "")
        if file.startswith(own.folder):
            space = vars(module)
            yield from _in(space, names, own)
            yield from _below(space.values(), names, own)
    while frame is not None:
        if own.code(frame.f_code):
            yield from _below(list(frame.f_locals.values()), names, own)
        frame = frame.f_back


def _below(values: Iterable[Any], names: Collection[str], own: Own) -> Found:
    """What tables and objects of the agent's own hold, some steps deep."""
    level, seen, left = list(values), set[int](), MOST
    for _ in range(DEPTH):
        deeper: list[Any] = []
        for each in level[:left]:
            if id(each) in seen:
                continue
            seen.add(id(each))
            if type(each) is dict or own.thing(each):
                yield from _in(each, names, own)
                deeper += _held(each).values()
            elif type(each) in (list, tuple):
                deeper += each
        left = max(0, left - len(level))
        level = deeper


def _held(value: Any) -> dict[Any, Any]:
    """A table, or an object's attributes."""
    return value if type(value) is dict else getattr(value, "__dict__", None) or {}


def _in(value: Any, names: Collection[str], own: Own) -> Found:
    """The functions of these tools that a table or an object holds."""
    held = _held(value)
    for name in names:
        if name in held:
            yield from _single(name, held[name], own)
    called = held.get("name")
    if type(called) is str and called in names:
        yield from _single(called, held, own)


def _single(name: str, value: Any, own: Own) -> Found:
    """The one function of the agent's own that a table's entry comes to; with several it can't be told which is the tool."""
    if type(value) is dict:
        values = list(value.values())
    elif type(value) in (list, tuple):
        values = list(value)
    elif own.thing(value):
        values = [*_held(value).values(), vars(type(value)).get("__call__")]
    else:
        values = [value]
    found = {id(made): made for each in values if (made := _function(each)) is not None and own.code(made.__code__)}
    if len(found) == 1:
        yield from ((name, made) for made in found.values())


def _function(value: Any) -> FunctionType | None:
    """The function behind a bound method or a partial; None where a value is none."""
    while True:
        if isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, MethodType | staticmethod | classmethod):
            value = value.__func__
        else:
            return value if type(value) is FunctionType else None
