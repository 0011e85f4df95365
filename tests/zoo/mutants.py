"""Small changes of a class, each made on its syntax tree and in memory."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_FLIPS: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
}  # fmt: skip


@dataclass(slots=True)
class Mutant:
    """One change: what it is, in words, and the file with it."""

    what: str
    tree: ast.Module
    path: Path

    def module(self, real: ModuleType) -> ModuleType:
        """The module with the change; the clients are those of the real one, since making them takes longest."""
        module = ModuleType(f"{real.__name__}_changed")
        module.__file__ = str(self.path)
        clients = {name: value for name, value in vars(real).items() if name.endswith("CLIENT")}
        vars(module).update(clients)
        self.tree.body = [node for node in self.tree.body if not _makes_client(node)]
        exec(compile(ast.fix_missing_locations(self.tree), str(self.path), "exec"), vars(module))
        return module


def _makes_client(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.endswith("CLIENT")
    )


def mutants(path: Path, name: str) -> Iterator[Mutant]:
    """The changes of a class in a file, its own methods only."""
    text = path.read_text("utf-8")
    for index in range(len(list(_places(ast.parse(text), name)))):
        tree = ast.parse(text)
        node, how, part = list(_places(tree, name))[index]
        shown = ast.unparse(node if part is None else part).splitlines()[0]
        method = next(m for m in _methods(tree, name) if any(each is node for each in ast.walk(m)))
        new = _changed(node, how, part)
        yield Mutant(f"{name}.{method.name}: {how}: {shown}", _Replace(node, new).visit(tree), path)


def _methods(tree: ast.Module, name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return (node for node in found.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _places(tree: ast.Module, name: str) -> Iterator[tuple[Any, str, Any]]:
    """(node, how it can be changed, the part of it that is meant) of a class."""
    for method in _methods(tree, name):
        told = {id(each) for each in _told(method)}
        for node in ast.walk(method):
            for how, part in _changes(node):
                if not (isinstance(node, ast.Constant) and id(node) in told):
                    yield node, how, part


def _told(method: ast.AST) -> list[ast.AST]:
    """Texts that do nothing: docstrings, what an exception says, annotations."""
    told: list[ast.AST] = []
    for node in ast.walk(method):
        if isinstance(node, ast.Raise | ast.JoinedStr):
            told += ast.walk(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told.append(node.value)
        elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            told += ast.walk(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            told += ast.walk(node.returns)
    return told


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    match node:
        case ast.Compare() | ast.BoolOp():
            yield "turn round", None
        case ast.UnaryOp(op=ast.Not()):
            yield "drop not", None
        case ast.If():
            yield from [("never", node.test), ("always", node.test)]
        case ast.Constant(value=bool()):
            yield "turn round", None
        case ast.Constant(value=int()):
            yield "one more", None
        case ast.Constant(value=str()):
            # Another wording is no other behaviour; to say nothing is.
            yield ("say nothing" if " " in node.value else "other word"), None
        case ast.Return(value=ast.expr()):
            yield "return nothing", None
        case ast.Raise():
            yield "drop", None
        case ast.Expr() if not isinstance(node.value, ast.Constant):
            yield "drop", None
        case ast.AugAssign(target=ast.Attribute()) | ast.Assign(targets=[ast.Attribute()]):
            yield "drop", None
        case ast.Dict() if len(node.keys) > 1:
            yield from (
                ("without", value if key is None else key) for key, value in zip(node.keys, node.values, strict=True)
            )
        case ast.List() if len(node.elts) > 1:
            yield from (("without", each) for each in node.elts)
        case ast.Call():
            yield from (("none for", arg) for arg in node.args if not isinstance(arg, ast.Starred | ast.Constant))
        case ast.ListComp():
            yield "the first only", None
            if node.generators[0].ifs:
                yield "all of them", None


def _changed(node: Any, how: str, part: Any) -> Any:
    """The node after its change."""
    match how:
        case "drop":
            return ast.copy_location(ast.Pass(), node)
        case "other word" | "say nothing":
            return ast.copy_location(ast.Constant("other" if how == "other word" else ""), node)
        case "drop not":
            return node.operand
        case "without":
            return _without(node, part)
        case "none for":
            args = [ast.copy_location(ast.Constant(None), arg) if arg is part else arg for arg in node.args]
            return ast.copy_location(ast.Call(node.func, args, node.keywords), node)
        case "the first only":
            return ast.copy_location(ast.Subscript(node, ast.Slice(upper=ast.Constant(1)), ast.Load()), node)
    new = copy.copy(node)
    match how:
        case "return nothing":
            new.value = ast.copy_location(ast.Constant(None), node)
        case "never" | "always":
            new.test = ast.copy_location(ast.Constant(how == "always"), node)
        case "one more":
            new.value = node.value + 1
        case "all of them":
            new.generators = [ast.comprehension(node.generators[0].target, node.generators[0].iter, [], 0)]
        case _ if isinstance(node, ast.Compare):
            new.ops = [_FLIPS[type(node.ops[0])](), *node.ops[1:]]
        case _ if isinstance(node, ast.BoolOp):
            new.op = _FLIPS[type(node.op)]()
        case _:
            new.value = not node.value
    return new


def _without(node: Any, part: Any) -> Any:
    if isinstance(node, ast.List):
        return ast.copy_location(ast.List([each for each in node.elts if each is not part], node.ctx), node)
    kept = [(k, v) for k, v in zip(node.keys, node.values, strict=True) if part is not (v if k is None else k)]
    return ast.copy_location(ast.Dict([k for k, _ in kept], [v for _, v in kept]), node)


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().generic_visit(node)
