"""What a command's FILE is: a scenario, or a recording that an importer reads. Told by content, never by name."""

from __future__ import annotations

import os
import re

from agentsim.errors import TranscriptError, UsageError
from agentsim.scenario.model import Scenario
from agentsim.store.recording import Recording

#: How much of a file is looked at for the key that every scenario has.
BEGINNING = 65_536
SCENARIO_KEYS = (
    re.compile(rb"""^[\s{]*["']?agentsim["']?\s*:""", re.MULTILINE),
    re.compile(rb"^(replies|prompt)\s*:", re.MULTILINE),
)


def read_input(path: str) -> Scenario | Recording:
    """The scenario or recording in a file.

    Args:
        path: of a file.
    Raises:
        UsageError: there is no such file, or it can't be opened.
        ScenarioError: it is a scenario with mistakes.
        TranscriptError: it is neither a scenario nor a recording of a known kind.
    """
    _check(path)
    if names_a_scenario(path):
        from agentsim.scenario.load import load

        return load(path)
    from agentsim.store.importers import read

    return read(path)


def scenarios_of_file(path: str) -> list[Scenario]:
    """The scenario of a file, or one for each conversation of a recording.

    Raises:
        TranscriptError: also where a recording holds no reply that could be played.
    """
    found = read_input(path)
    if isinstance(found, Scenario):
        return [found]
    from agentsim.store.recording import scenarios

    played = scenarios(found)
    if not played:
        raise TranscriptError(f"this {found.format} holds no reply of a model to play", file=path)
    return played


def names_a_scenario(path: str) -> bool:
    """Whether the file's beginning has the key that every scenario must have, or looks like a mistyped one."""
    with open(path, "rb") as file:
        beginning = file.read(BEGINNING)
    return any(pattern.search(beginning) for pattern in SCENARIO_KEYS)


def _check(path: str) -> None:
    if not os.path.exists(path):
        raise UsageError(f"there is no file {path!r}")
    if os.path.isdir(path):
        raise UsageError(f"{path!r} is a folder; name a file")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path!r} can't be read: permission denied")
