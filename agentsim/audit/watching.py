"""Watching an agent's tools in process: how often their functions run, and making them fail.

Functions are found by the names of the tools that a request offers: by their own name, or as the value under that name in a
table. They are watched by their code, so it does not matter through which reference the agent calls them.
"""

from __future__ import annotations

import gc
import inspect
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

MESSAGE = "this tool fails, because the audit makes it fail"


class Watch:
    """Counts the executions of an agent's tools.

    Args:
        folder: only functions of files below it are the agent's own.
        fail: whether the tools are made to fail.
    Attributes:
        seen: (requests sent before it, tool) for each execution.
        failing: tools that were made to fail.
    """

    def __init__(self, folder: str, *, fail: bool = False) -> None:
        self.folder = folder
        self.fail = fail
        self.seen: list[tuple[int, str]] = []
        self.failing: set[str] = set()
        self.requests = 0
        self._codes: dict[CodeType, str] = {}
        self._starts: dict[CodeType, int] = {}
        self._names: set[str] = set()
        self._replaced: list[tuple[FunctionType, CodeType]] = []

    def start(self) -> None:
        """Watch this thread and those that begin from now on."""
        sys.setprofile(self._profile)
        threading.setprofile(self._profile)

    def stop(self) -> None:
        """Watch no more, and give the tools their own code back."""
        sys.setprofile(None)
        threading.setprofile(None)
        for function, code in self._replaced:
            function.__code__ = code
        self._replaced.clear()

    def request(self, offered: Collection[str]) -> None:
        """A request goes out that offers these tools."""
        self.requests += 1
        new = set(offered) - self._names
        if new:
            self._names |= new
            if self.fail:
                gc.unfreeze()  # what is frozen would not be found
            for name, function in list(self._functions(new)):
                self._codes[function.__code__] = name
                if self.fail:
                    self._make_fail(name, function)

    def _functions(self, names: set[str]) -> Iterator[tuple[str, FunctionType]]:
        """The agent's functions that carry these names, and those that lie under them in a table."""
        for each in gc.get_objects() if self.fail else self._spaces():
            if type(each) is FunctionType:
                if each.__name__ in names and self._is_own(each.__code__):
                    yield each.__name__, each
            elif type(each) is dict:
                for name in names:
                    function = each.get(name)
                    if type(function) is FunctionType and self._is_own(function.__code__):
                        yield name, function

    def _spaces(self) -> Iterator[Any]:
        """The namespaces of the agent's modules, and the tables in them; functions made in a run are known by name."""
        for module in list(sys.modules.values()):
            if str(getattr(module, "__file__", None) or "").startswith(self.folder):
                space = vars(module)
                yield space
                yield from [value for value in space.values() if type(value) is dict]

    def _is_own(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self.folder) and "site-packages" not in code.co_filename

    def _make_fail(self, name: str, function: FunctionType) -> None:
        if any(each is function for each, _ in self._replaced):
            return
        code = _failing_code(function)
        self._replaced.append((function, function.__code__))
        function.__code__ = code
        self._codes[code] = name
        self.failing.add(name)

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = self._codes.get(code)
        if name is None:
            if code.co_name not in self._names or not self._is_own(code):
                return
            name = self._codes.setdefault(code, code.co_name)  # made after the request, in the agent's own run
        # A coroutine is entered again each time that it is resumed; only the first entry is an execution.
        if self._starts.setdefault(code, frame.f_lasti) == frame.f_lasti:
            self.seen.append((self.requests, name))


def _failing_code(function: FunctionType) -> CodeType:
    """Code that raises, with as many free variables as a function has, so that it can take the place of its code."""
    free = [f"free{i}" for i in range(len(function.__code__.co_freevars))]
    is_async = inspect.iscoroutinefunction(function)
    lines = [
        f"def outer({', '.join(free)}):",
        f"    {'async ' if is_async else ''}def {_identifier(function.__name__)}(*args, **named):",
        f"        if args is None: return ({''.join(name + ', ' for name in free)})",
        f"        raise RuntimeError({MESSAGE!r})",
        f"    return {_identifier(function.__name__)}",
    ]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)  # the text is made here, of names that are identifiers
    made: Callable[..., Any] = space["outer"](*free)
    code: CodeType = made.__code__
    return code.replace(co_filename=function.__code__.co_filename)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "tool"
