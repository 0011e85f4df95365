"""Checking scenario files: what `agentsim validate` and the pre-commit hook do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from agentsim.errors import Problem, ScenarioError
from agentsim.scenario.load import load

ENDINGS = (".yaml", ".yml", ".json")


def problems_of(paths: Iterable[str | os.PathLike[str]]) -> list[Problem]:
    """Every problem of some scenario files.

    Args:
        paths: files; or folders, of which every .yaml, .yml and .json file below is taken, in order of names.
    Returns:
        The problems in order of files, then lines; a path that does not exist, or a folder without scenarios, is one too.
    """
    return [problem for path in paths for problem in _of_path(os.fspath(path))]


def files_of(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that `problems_of` looks at."""
    return [
        file for path in (os.fspath(p) for p in paths) for file in (_below(path) if os.path.isdir(path) else [path])
    ]


def _of_path(path: str) -> Iterator[Problem]:
    files = files_of([path])
    if not files:
        yield Problem(f"there is no scenario file ({', '.join(ENDINGS)}) in this folder", file=path)
    for file in files:
        yield from _of_file(file)


def _of_file(path: str) -> tuple[Problem, ...]:
    try:
        load(path)
    except ScenarioError as error:
        return error.problems
    return ()


def _below(folder: str) -> Iterator[str]:
    """The scenario files below a folder, in order of names; hidden folders and files are left out."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(ENDINGS) and not name.startswith("."):
                yield os.path.join(place, name)
