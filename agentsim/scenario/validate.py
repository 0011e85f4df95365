"""Checking scenario files: what `agentsim validate` and the pre-commit hook do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from agentsim.errors import Problem, ScenarioError
from agentsim.scenario.load import load, load_bytes
from agentsim.scenario.model import Scenario

ENDINGS = (".yaml", ".yml", ".json")


#: What else is looked at in a scenario that could be read.
Also = Callable[[Scenario], Iterable[Problem]]


def problems_of(paths: Iterable[str | os.PathLike[str]], also: Also = lambda scenario: ()) -> list[Problem]:
    """Every problem of some scenario files.

    Args:
        paths: files (`-`: standard input); or folders, of which every .yaml, .yml and .json file below is taken, in order of names.
        also: looks for further problems in a file that is well-formed.
    Returns:
        The problems in order of files, then lines; a path that does not exist, or a folder without scenarios, is one too.
    """
    return [problem for path in paths for problem in _of_path(os.fspath(path), also)]


def files_of(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that `problems_of` looks at."""
    return [
        file for path in (os.fspath(p) for p in paths) for file in (_below(path) if os.path.isdir(path) else [path])
    ]


def _of_path(path: str, also: Also) -> Iterator[Problem]:
    files = files_of([path])
    if not files:
        yield Problem(f"there is no scenario file ({', '.join(ENDINGS)}) in this folder", file=path)
    for file in files:
        yield from _of_file(file, also)


def _of_file(path: str, also: Also) -> Iterable[Problem]:
    try:
        if path == "-":
            return also(load_bytes(sys.stdin.buffer.read() if sys.stdin else b"", "standard input"))
        return also(load(path))
    except ScenarioError as error:
        return error.problems


def _below(folder: str) -> Iterator[str]:
    """The scenario files below a folder, in order of names; hidden folders and files are left out."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(ENDINGS) and not name.startswith("."):
                yield os.path.join(place, name)
