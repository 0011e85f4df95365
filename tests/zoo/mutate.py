"""Mutation testing of the careful loops: does the catalogue catch a loop that somebody changes?

    python -m tests.zoo.mutate [claude|responses|chat] …

Each mutant is one small change of a careful loop. A mutant that behaves like the original on every scenario of the catalogue
is not counted; of the others it counts how many a loop rule catches, and the survivors are printed.

Of the Claude loop 73 of 86 are caught. What survives keeps every rule: nine change whether, how often or in what words an empty reply
is asked again, or end on it at once, which a loop is free to do; two return the text of a reply that stopped for a tool and calls none, which
no rule forbids; two misspell a key of a result that the strict provider does not miss (`content`, `is_error` beside an error's text).
"""

from __future__ import annotations

import ast
import copy
import itertools
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from agentsim.audit.inprocess import Target, _Run
from agentsim.audit.played import Options
from agentsim.judge.outcome import got_of
from agentsim.scenario.catalogue import catalogue
from tests.zoo import tools

HERE = Path(__file__).parent
LOOPS = {"claude": "Claude", "responses": "Responses", "chat": "Chat"}
OPTIONS = Options(most=30, isolate=False)
SECONDS = 10

_FLIPS: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
}  # fmt: skip


def places(tree: ast.Module, name: str) -> Iterator[tuple[ast.AST, str]]:
    """Where the loop's class can be changed, and how."""
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    for method in (node for node in found.body if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(method):
            if isinstance(node, ast.Compare | ast.BoolOp):
                yield node, "flip"
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                yield node, "drop not"
            elif isinstance(node, ast.If):
                yield node, "never"
                yield node, "always"
            elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
                yield node, "flip"
            elif (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in _documents(method)
            ):
                yield node, "other text"
            elif isinstance(node, ast.Return) and node.value is not None:
                yield node, "return nothing"
            elif isinstance(node, ast.Expr | ast.Raise) and not isinstance(getattr(node, "value", None), ast.Constant):
                yield node, "drop"


def _documents(method: ast.FunctionDef) -> set[str]:
    """Texts that do nothing: the docstring, and what is only told."""
    told = {ast.get_docstring(method, clean=False) or ""}
    for node in ast.walk(method):
        if isinstance(node, ast.Raise | ast.JoinedStr):
            told |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return told


def changed(node: Any, how: str) -> Any:
    """The node after its change."""
    new = copy.deepcopy(node)
    if how == "drop":
        return ast.copy_location(ast.Pass(), node)
    if how == "other text":
        return ast.copy_location(ast.Constant("other"), node)
    if how == "return nothing":
        new.value = ast.copy_location(ast.Constant(None), node)
        return new
    if how == "drop not":
        return new.operand
    if how in ("never", "always"):
        new.test = ast.copy_location(ast.Constant(how == "always"), node)
    elif isinstance(node, ast.Compare):
        new.ops[0] = _FLIPS[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp):
        new.op = _FLIPS[type(node.op)]()
    else:
        new.value = not node.value
    return new


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().generic_visit(node)


def mutants(wire: str) -> Iterator[tuple[str, ModuleType]]:
    """Each change in words, and the module with it."""
    path = HERE / f"{wire}.py"
    count = len(list(places(ast.parse(path.read_text("utf-8")), LOOPS[wire])))
    for index in range(count):
        tree = ast.parse(path.read_text("utf-8"))
        node, how = list(places(tree, LOOPS[wire]))[index]
        what = f"{wire}.py:{node.lineno}: {how}: {ast.unparse(node).splitlines()[0]}"  # type: ignore[attr-defined]
        module = ModuleType(f"tests.zoo.mutant_{wire}")
        module.__file__ = str(path)
        mutated = ast.fix_missing_locations(_Replace(node, changed(node, how)).visit(tree))
        exec(compile(mutated, str(path), "exec"), vars(module))
        yield what, module


def behaviour(module: ModuleType, name: str) -> tuple[list[Any], set[str]]:
    """What a loop does on each scenario, and the rules that it breaks."""
    did: list[Any] = []
    broken: set[str] = set()
    loop = getattr(module, name)
    for stem, scenario in catalogue().items():
        got: list[Any] = []

        def call(prompt: str, got: list[Any] = got) -> Any:
            try:
                answer = loop(prompt).run()
            except Exception as error:
                got.append(got_of(error))
                raise
            got.append(answer or got_of(answer))
            return answer

        tools._runs = itertools.count(1)
        run = _Run(Target(name, call, str(HERE)), scenario, OPTIONS, stem == "failing_tool")
        signal.alarm(SECONDS)
        try:
            played = run.play()
        except TimeoutError:
            broken.add("hangs")
            continue
        finally:
            signal.alarm(0)
        did.append((run.sim.transcript.events, got))
        if run.sim.refused_requests or not played.requests:
            broken.add("its requests are refused, or it sends none")  # closing the session says so
        if played.trouble is None:
            broken |= {verdict.rule for verdict in played.verdicts if verdict.failed}
        if played.broke or played.stopped:
            broken.add(played.broke or played.stopped or "")
    return did, broken


def _alarm(*_: Any) -> None:
    raise TimeoutError


def survey(wire: str) -> tuple[int, int, list[str]]:
    """(mutants that change behaviour, those that are caught, the others in words)."""
    original = ModuleType("tests.zoo.original")
    original.__file__ = str(HERE / f"{wire}.py")
    exec(compile(Path(original.__file__).read_text("utf-8"), original.__file__, "exec"), vars(original))
    usual, broken = behaviour(original, LOOPS[wire])
    assert not broken, broken
    different, caught, survivors = 0, 0, []
    for what, module in mutants(wire):
        did, broken = behaviour(module, LOOPS[wire])
        if did == usual and not broken:
            continue
        different += 1
        if broken:
            caught += 1
        else:
            survivors.append(what)
    return different, caught, survivors


def main() -> None:
    """Survey the loops named on the command line, or all."""
    signal.signal(signal.SIGALRM, _alarm)
    for wire in sys.argv[1:] or LOOPS:
        different, caught, survivors = survey(wire)
        print(f"{wire}: {caught} of {different} caught")
        print(*(f"  survives: {what}" for what in survivors), sep="\n", flush=True)


if __name__ == "__main__":
    main()
