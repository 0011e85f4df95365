"""Budgets over many recordings: file by file, on any executor, in memory that does not grow with their number.

A file is one task. What comes back of it is small (a least limit a run and style), and is added up as it comes, so that the answer does
not depend on the order in which workers finish.
"""

from __future__ import annotations

import os
import queue
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.style import Style
from agentsim.errors import AgentsimError, UsageError
from agentsim.judge.budget import Need, budget
from agentsim.limits import limit
from agentsim.scenario.model import Scenario
from agentsim.store.importers.claude_subagents import is_part_of_a_session
from agentsim.store.inputs import scenarios_of_file
from agentsim.styles import find

Options = Mapping[str, Mapping[str, Any]]
Path = str | os.PathLike[str]

#: So many files are handed to an executor before their results have come back.
AHEAD = 1024


@dataclass(frozen=True, slots=True)
class Part:
    """What one file needs.

    Args:
        name: of the file.
        rows: for each style the least limits with their numbers of runs, and how many runs its default would cut.
        formulas: for each style, where the file is one run.
        problem: why it could not be read; "" where it could.
    """

    name: str
    rows: tuple[tuple[dict[int | None, int], int], ...] = ()
    formulas: tuple[str, ...] = ()
    problem: str = ""


@dataclass(slots=True)
class Fleet:
    """What a set of recordings needs.

    Args:
        styles: whose limits were asked for.
        percentile: share of the runs (0 to 100) that has to finish.
        files: how many were read.
        skipped: name -> why it was not read.
    """

    styles: tuple[Style, ...]
    percentile: float = 100
    files: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    _least: list[Counter[int | None]] = field(default_factory=list)
    _cut: list[int] = field(default_factory=list)
    _formulas: tuple[str, ...] = ()

    def add(self, part: Part) -> None:
        """Add what one file needs."""
        if part.problem:
            self.skipped[part.name] = part.problem
            return
        self._least = self._least or [Counter() for _ in self.styles]
        self._cut = self._cut or [0] * len(self.styles)
        self.files += 1
        self._formulas = part.formulas
        for at, (least, cut) in enumerate(part.rows):
            self._least[at].update(least)
            self._cut[at] += cut

    @property
    def runs(self) -> int:
        """How many runs were read."""
        return sum(self._least[0].values()) if self._least else 0

    @property
    def needs(self) -> list[Need]:
        """What each style needs; nothing where no file could be read."""
        formulas = self._formulas if self.runs == 1 and self._formulas else [""] * len(self.styles)
        rows = zip(self.styles, self._least, self._cut, formulas, strict=False)
        return [Need(style, least, cut, self.percentile, formula) for style, least, cut, formula in rows]


def over(
    files: Iterable[Path | Scenario],
    styles: Sequence[Style],
    *,
    percentile: float = 100,
    options: Options | None = None,
    executor: Executor | None = None,
    told: Callable[[Part], None] = lambda part: None,
) -> Fleet:
    """What each style needs for the runs of many files.

    Args:
        files: scenarios, recordings, folders of them (hidden files left out); it is gone through as results come back.
        styles: whose limits are asked for.
        percentile: share of the runs (0 to 100) that has to finish.
        options: option trees by style name.
        executor: runs the tasks; None: this thread, one after the other. Its workers need the files under the same names.
        told: is told of each file when it is done.
    Raises:
        UsageError: an executor's worker died; an option that a style does not take.
    """
    fleet = Fleet(tuple(styles), percentile)
    names = tuple(style.name for style in styles)
    tasks = ((item, names, options) for item in _spread(files))
    for part in _here(tasks) if executor is None else _there(tasks, executor):
        fleet.add(part)
        told(part)
    fleet.skipped = dict(sorted(fleet.skipped.items()))
    return fleet


def files_in(folder: Path) -> Iterator[str]:
    """Every file of a folder and those below it, in order of names; hidden ones, and what is read with another file, left out.

    Raises:
        UsageError: there are more than the limit `import_files`.
    """
    count, most = 0, limit("import_files")
    for place, folders, names in os.walk(folder):
        if place != os.fspath(folder) and is_part_of_a_session(place):
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                count += 1
                if count > most:
                    raise UsageError(f"{folder} holds more than {most} files, which is the most that one command reads")
                yield os.path.join(place, name)


def part_of(item: str | Scenario, styles: Sequence[str], options: Options | None) -> Part:
    """One task: what one file needs. Whatever is wrong with the file is told, and nothing raised but what is wrong with the call."""
    chosen = [find(name) for name in styles]
    if isinstance(item, Scenario):
        return _part(item.name, [item], chosen, options)
    try:
        scenarios = scenarios_of_file(item)
    except AgentsimError as error:
        return Part(item, problem=str(error))
    except Exception as error:  # a log from anywhere must not end a run over thousands
        return Part(item, problem=f"{item}: {type(error).__name__}: {error}")
    return _part(item, scenarios, chosen, options)


def _part(name: str, scenarios: Sequence[Scenario], styles: Sequence[Style], options: Options | None) -> Part:
    needs = budget(scenarios, styles, options=options)
    return Part(name, tuple((dict(n.least), n.cut) for n in needs), tuple(n.formula for n in needs))


def _spread(files: Iterable[Path | Scenario]) -> Iterator[str | Scenario]:
    for item in files:
        if isinstance(item, Scenario):
            yield item
        elif os.path.isdir(item):
            yield from files_in(item)
        else:
            yield os.fspath(item)


_Task = tuple[str | Scenario, tuple[str, ...], Options | None]


def _here(tasks: Iterable[_Task]) -> Iterator[Part]:
    return (part_of(*task) for task in tasks)


def _there(tasks: Iterator[_Task], executor: Executor) -> Iterator[Part]:
    """Parts as they are done; the tasks are only gone through as far as there is room."""
    done: queue.SimpleQueue[Future[Part]] = queue.SimpleQueue()
    names: dict[Future[Part], str] = {}
    try:
        while True:
            while len(names) < AHEAD and (task := next(tasks, None)) is not None:
                future = executor.submit(part_of, *task)
                names[future] = task[0] if isinstance(task[0], str) else task[0].name
                future.add_done_callback(done.put)
            if not names:
                return
            future = done.get()
            yield _result(future, names.pop(future))
    except BrokenExecutor as error:
        raise UsageError(f"a worker process ended in the middle of its work (out of memory?): {error}") from error
    finally:
        for future in names:
            future.cancel()


def _result(future: Future[Part], name: str) -> Part:
    try:
        return future.result()
    except (AgentsimError, BrokenExecutor):
        raise
    except Exception as error:  # the executor's own: a worker of a cluster that was lost with this file
        return Part(name, problem=f"{name}: its worker failed: {type(error).__name__}: {error}")
