"""What a command's FILE is: a scenario, or a recording that an importer reads. Told by content, never by name."""

from __future__ import annotations

import os
import re

from agentsim.errors import TranscriptError, UsageError
from agentsim.scenario.model import Scenario
from agentsim.scenario.text import where_else
from agentsim.store.places import stream_at, title, unreadable
from agentsim.store.recording import Recording

#: How much of a file is looked at for the key that every scenario has.
BEGINNING = 65_536
#: What a recording is seldom called: such a file was meant to be a scenario unless it is known to be something else.
YAML = (".yaml", ".yml")
SCENARIO_KEYS = (
    re.compile(rb"""^[\s{]*["']?agentsim["']?\s*:""", re.MULTILINE),
    re.compile(rb"^(replies|prompt)\s*:", re.MULTILINE),
)


def read_input(path: str) -> Scenario | Recording:
    """The scenario or recording in a file.

    Args:
        path: of a file; `-`: standard input.
    Raises:
        UsageError: there is no such file, or it can't be opened.
        ScenarioError: it is a scenario with mistakes.
        TranscriptError: it is neither a scenario nor a recording of a known kind.
    """
    data = stream_at(path)
    if data is not None:
        return of_stream(data, title(path))
    check_readable(path)
    if names_a_scenario(path) or (path.lower().endswith(YAML) and format_of(path) is None):
        from agentsim.scenario.load import load

        return load(path)
    from agentsim.store.importers import read

    return read(path)


def of_stream(data: bytes, name: str) -> Scenario | Recording:
    """The scenario or recording that came out of a pipe; `read_input` tells what is raised.

    Args:
        data: all of it.
        name: how messages name it.
    """
    if begins_a_scenario(data):
        from agentsim.scenario.load import load_bytes

        return load_bytes(data, name)
    from agentsim.store.importers import read

    return read(data, name=name)


def format_of(path: str) -> str | None:
    """The format of a recording; None where the file is none that is known, or is broken."""
    from agentsim.store.importers import recognise

    try:
        return recognise(path)
    except TranscriptError:
        return None


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
    try:
        with open(path, "rb") as file:
            beginning = file.read(BEGINNING)
    except OSError as error:
        raise unreadable(path, error) from None
    return begins_a_scenario(beginning)


def begins_a_scenario(data: bytes) -> bool:
    """As `names_a_scenario`, of the bytes of a file."""
    return any(pattern.search(data[:BEGINNING]) for pattern in SCENARIO_KEYS)


def check_readable(path: str) -> None:
    """Find out that there is no file to read.

    Raises:
        UsageError: it is missing, a folder, or closed.
    """
    if not os.path.exists(path):
        raise UsageError(f"there is no file {path!r}{where_else(path) if path else ''}")
    if os.path.isdir(path):
        raise UsageError(f"{path!r} is a folder; name a file")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path!r} can't be read: permission denied")
