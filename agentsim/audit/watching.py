"""Watching an agent's tools in process: how often their functions run, and making them fail.

Functions are found by the names of the tools that a request offers (see finding.py). They are watched by their code, so it does
not matter through which reference the agent calls them.
"""

from __future__ import annotations

import gc
import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection
from types import CodeType, FrameType, FunctionType
from typing import Any

from agentsim.audit.finding import Own, everywhere, near

MESSAGE = "this tool fails, because the audit makes it fail"


class Watch:
    """Counts the executions of an agent's tools.

    Args:
        folder: only functions of files below it are the agent's own.
        fail: whether the tools are made to fail.
    Attributes:
        failing: tools that were made to fail.
    """

    def __init__(self, folder: str, *, fail: bool = False) -> None:
        self.own = Own(folder)
        self.fail = fail
        self.failing: set[str] = set()
        self.requests = 0
        self._entered: list[tuple[int, str, CodeType]] = []
        #: Code -> the tool that it is; None: of several tools, as a decorator's wrapper is, so that it can't be told which runs.
        self._codes: dict[CodeType, str | None] = {}
        self._starts: dict[CodeType, int] = {}
        self._names: set[str] = set()
        self._replaced: list[tuple[FunctionType, CodeType]] = []

    @property
    def seen(self) -> list[tuple[int, str]]:
        """(requests sent before it, tool) for each execution.

        A tool may be several functions, one around the other; each of them is entered once in an execution.
        """
        most: dict[tuple[int, str], int] = {}
        for (number, name, _), times in Counter(self._entered).items():
            most[number, name] = max(times, most.get((number, name), 0))
        return [key for key, times in most.items() for _ in range(times)]

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
            found = everywhere(new, self.own) if self.fail else near(new, self.own, sys._getframe(1))
            for name, function in list(found):
                code = function.__code__
                self._codes[code] = name if self._codes.get(code, name) == name else None
                if self.fail:
                    self._make_fail(name, function)

    def _make_fail(self, name: str, function: FunctionType) -> None:
        if any(each is function for each, _ in self._replaced):
            return
        code = _failing_code(function, len(self._replaced) + 1)
        self._replaced.append((function, function.__code__))
        function.__code__ = code
        self._codes[code] = name
        self.failing.add(name)

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = self._codes.get(code, "")
        if name == "":
            if code.co_name not in self._names or not self.own.code(code):
                return
            name = self._codes.setdefault(code, code.co_name)  # made after the request, in the agent's own run
        if name is None:
            return
        # A coroutine is entered again each time that it is resumed; only the first entry is an execution.
        if self._starts.setdefault(code, frame.f_lasti) == frame.f_lasti and not _is_within(frame, code):
            self._entered.append((self.requests, name, code))


def _is_within(frame: FrameType, code: CodeType) -> bool:
    """Whether a call is one that the function made of itself: a tool that goes down a tree runs once."""
    caller = frame.f_back
    while caller is not None:
        if caller.f_code is code:
            return True
        caller = caller.f_back
    return False


def _failing_code(function: FunctionType, number: int) -> CodeType:
    """Code that raises, in the place of a function's: with its parameters, which agents read, and as many free variables.

    Args:
        number: makes it differ from that of every other function; codes that look alike are the same to Python.
    """
    free = [f"free{i}" for i in range(len(function.__code__.co_freevars))]
    is_async = inspect.iscoroutinefunction(function)
    lines = [
        f"def outer({', '.join(free)}):",
        f"    {'async ' if is_async else ''}def {_identifier(function.__name__)}({_parameters(function.__code__)}):",
        f"        raise RuntimeError({MESSAGE!r})",
        f"        return ({''.join(name + ', ' for name in free)})",
        f"    return {_identifier(function.__name__)}",
    ]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)  # the text is made here, of names that are identifiers
    made: Callable[..., Any] = space["outer"](*free)
    code: CodeType = made.__code__
    return code.replace(co_filename=function.__code__.co_filename, co_firstlineno=number)


def _parameters(code: CodeType) -> str:
    """A code's parameters as they are written, without defaults: those are the function's and stay."""
    names = list(code.co_varnames)
    taken, keyword = code.co_argcount, code.co_kwonlyargcount
    written = names[:taken]
    if code.co_posonlyargcount:
        written.insert(code.co_posonlyargcount, "/")
    rest = names[taken + keyword :]
    if code.co_flags & inspect.CO_VARARGS:
        written.append(f"*{rest.pop(0)}")
    elif keyword:
        written.append("*")
    written += names[taken : taken + keyword]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        written.append(f"**{rest.pop(0)}")
    return ", ".join(written)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "tool"
