"""Styles with one rule flipped: each condition in a style's code, turned round.

A flip replaces the code of one function in place, so whoever holds the function runs the wrong one until it is taken back.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import agentsim.styles

FOLDER = Path(agentsim.styles.__file__).parent
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CONDITIONS = (ast.If, ast.IfExp, ast.While)


@dataclass(frozen=True)
class Flip:
    """One condition that is turned round.

    Args:
        module: its file's stem.
        function: qualified name of the outermost function around it.
        lines: of the condition.
        text: the condition as it is written.
        number: which of the module's conditions it is.
    """

    module: str
    function: str
    lines: range
    text: str
    number: int

    def __str__(self) -> str:
        return f"{self.module}.{self.function}: {self.text}"


def _conditions(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Every condition below a function, and that function's qualified name."""
    for node in tree.body:
        yield from _below(node, "")


def _below(node: ast.AST, owner: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            yield from _below(inner, f"{owner}{node.name}.")
    elif isinstance(node, _DEFINITIONS):
        for inner in ast.walk(node):
            if isinstance(inner, _CONDITIONS):
                yield f"{owner}{node.name}", inner  # type: ignore[attr-defined]


def flips(module: str) -> list[Flip]:
    """Every flip of a module, in order of its lines."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text("utf-8"))
    return [
        Flip(module, function, _lines(node.test), ast.unparse(node.test), number)
        for number, (function, node) in enumerate(_conditions(tree))
    ]


def _lines(test: ast.expr) -> range:
    return range(test.lineno, (test.end_lineno or test.lineno) + 1)


def functions(module: str) -> dict[str, FunctionType]:
    """The functions and methods that a module defines, by qualified name, as they are before any decorator."""
    found: dict[str, FunctionType] = {}
    loaded = importlib.import_module(f"agentsim.styles.{module}")
    for value in [*vars(loaded).values()]:
        _collect(value, loaded, found)
    return found


def _collect(value: Any, module: ModuleType, found: dict[str, FunctionType]) -> None:
    if isinstance(value, staticmethod | classmethod | property):
        value = value.fget if isinstance(value, property) else value.__func__
    value = inspect.unwrap(value) if callable(value) and not inspect.isclass(value) else value
    if getattr(value, "__module__", None) != module.__name__:
        return
    if inspect.isclass(value):
        for inner in [*vars(value).values()]:
            _collect(getattr(inner, "func", inner), module, found)  # cached_property keeps its function so
    elif isinstance(value, FunctionType):
        found[value.__qualname__] = value


@contextlib.contextmanager
def flipped(flip: Flip) -> Iterator[None]:
    """The style with this condition turned round, as long as the block lasts."""
    function = functions(flip.module)[flip.function]
    before, function.__code__ = function.__code__, _code(flip)
    try:
        yield
    finally:
        function.__code__ = before


def _code(flip: Flip) -> CodeType:
    path = FOLDER / f"{flip.module}.py"
    tree = ast.parse(path.read_text("utf-8"))
    _, node = list(_conditions(tree))[flip.number]
    node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    whole = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
    return next(code for code in _codes(whole) if code.co_qualname == flip.function)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
