"""`agentsim validate`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from agentsim.cli.common import echo_json, format_option

if TYPE_CHECKING:
    from agentsim.errors import Problem
    from agentsim.scenario.model import Scenario


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_option
def command(paths: tuple[str, ...], format_: str) -> None:
    """Check scenario files, or every one below a folder. All problems of a file are reported together."""
    from agentsim.scenario.validate import files_of, problems_of

    problems = list(_recordings_told(problems_of(paths, _of_styles)))
    if format_ == "json":
        echo_json([{"file": p.file, "line": p.line, "path": p.path, "message": p.message} for p in problems])
    else:
        for problem in problems:
            click.echo(str(problem), err=True)
    if problems:
        raise click.exceptions.Exit(2)
    if format_ == "text":
        count = len(files_of(paths))
        click.echo(f"{count} scenario file{'' if count == 1 else 's'}, no problem")


def _of_styles(scenario: Scenario) -> Iterable[Problem]:
    """What is wrong with its `styles:`. The styles are only loaded for a file that names one: hooks run often."""
    if not scenario.styles:
        return ()
    from agentsim.judge.settings import problems_of_styles

    return problems_of_styles(scenario)


def _recordings_told(problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems; of a file that is a recording one, which says so."""
    told: dict[str, bool] = {}
    for problem in problems:
        if problem.file not in told:
            told[problem.file] = bool(kind := _recording(problem.file))
            if kind:
                text = f"this is a recording ({kind}), not a scenario; `agentsim import` makes scenarios of it"
                yield replace(problem, message=text, line=0, path="")
        if not told[problem.file]:
            yield problem


def _recording(file: str) -> str | None:
    """The format of a recording; None for anything else."""
    from agentsim.store.inputs import format_of, names_a_scenario

    return format_of(file) if os.path.isfile(file) and not names_a_scenario(file) else None
