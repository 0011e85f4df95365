"""`agentsim budget`."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from agentsim.cli.common import (
    echo_json,
    format_option,
    html_option,
    option_trees,
    options_option,
    set_option,
    show,
    show_lines,
    write_page,
)
from agentsim.errors import UsageError
from agentsim.store.places import is_stream

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from agentsim.judge.fleet import Fleet
    from agentsim.report.budgets import Budgets

#: So few files of so few bytes are read in this process.
FEW, LITTLE = 16, 4 << 20


@click.command("budget")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option("--rounds", type=click.IntRange(0, 10_000), help="Without a FILE: for so many tool rounds and an answer.")
@click.option(
    "--percentile",
    type=click.FloatRange(0, 100, min_open=True),
    default=100,
    help="Share of the runs that has to finish.",
)
@click.option("--style", "styles", multiple=True, metavar="NAME", help="A style or all of an SDK's; repeatable.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes that read files; default: one a core.")
@set_option
@options_option
@html_option
@format_option
def command(
    files: tuple[str, ...],
    rounds: int | None,
    percentile: float,
    styles: tuple[str, ...],
    jobs: int | None,
    sets: tuple[str, ...],
    options_file: str | None,
    html: str | None,
    format_: str,
) -> None:
    """The least limit in each style that lets the runs of the FILEs finish, and what each SDK's default would cut.

    FILEs may be folders, in which what can't be read is skipped and named. With --rounds it answers without a file: a translation table of
    caps.
    """
    from agentsim.report.budgets import Budgets
    from agentsim.styles import select

    chosen = select(styles)
    trees = option_trees(sets, options_file, [s.name for s in chosen] if styles else ())
    if bool(files) == (rounds is not None):
        raise click.UsageError("give FILEs, or --rounds N in place of them")
    found = Budgets(_worked_out(files, rounds, chosen, percentile, trees, jobs))
    _tell_skipped(found, files)
    if write_page(html, format_, found.to_html):
        pass
    elif format_ == "json":
        echo_json(found.to_dicts())
    else:
        show(found)
        show_lines(f"{need.style.name}: {need.formula}" for need in found.needs if need.formula)


def _worked_out(
    files: Sequence[str], rounds: int | None, styles: Any, percentile: float, options: Any, jobs: int | None
) -> Fleet:
    from agentsim.judge.budget import rounds as rounds_of
    from agentsim.judge.fleet import over

    if rounds is not None:
        return over([rounds_of(rounds)], styles, percentile=percentile, options=options)
    with _progress(files) as told, _workers(files, jobs) as executor:
        return over(files, styles, percentile=percentile, options=options, executor=executor, told=told)


@contextlib.contextmanager
def _workers(files: Sequence[str], jobs: int | None) -> Iterator[Executor | None]:
    """Processes, one a core; none where the work is done sooner than they have started."""
    count = jobs if jobs is not None else _cores()
    if count == 1 or _is_little(files) or any(map(is_stream, files)):
        yield None
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    executor = ProcessPoolExecutor(count, mp_context=context)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_little(files: Sequence[str]) -> bool:
    """Whether there are few and small files."""
    first = list(itertools.islice(_paths(files), FEW + 1))
    return len(first) <= FEW and sum(os.path.getsize(p) for p in first if os.path.isfile(p)) < LITTLE


def _paths(files: Sequence[str]) -> Iterator[str]:
    from agentsim.judge.fleet import files_in

    return (path for file in files for path in (files_in(file) if os.path.isdir(file) else [file]))


@contextlib.contextmanager
def _progress(files: Sequence[str]) -> Iterator[Callable[[Any], None]]:
    """A bar on standard error where that is a terminal and there is more than a file or two, nothing elsewhere."""
    if not sys.stderr.isatty() or _is_little(files):
        yield lambda part: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=sum(1 for _ in _paths(files)))
        yield lambda part: bar.advance(task)


def _tell_skipped(found: Budgets, files: Sequence[str]) -> None:
    """Name what was not read of folders; where nothing was, that is the answer.

    Raises:
        UsageError: no run was read, or not one of the files that were named: an answer without it would be another one.
    """
    named = [reason for name, reason in found.skipped.items() if name in files]
    if named:
        raise UsageError("\n".join(named))
    reasons = list(found.skipped.values())
    if not found.runs:
        more = f" (and {len(reasons) - 1} more files that can't be read)" if len(reasons) > 1 else ""
        raise UsageError(f"{reasons[0]}{more}" if reasons else "there is no file in these folders")
    if reasons:
        click.echo(f"{len(reasons)} file{' was' if len(reasons) == 1 else 's were'} skipped:", err=True)
        for reason in reasons:
            click.echo(f"  {reason.partition(' Supported: ')[0]}", err=True)
