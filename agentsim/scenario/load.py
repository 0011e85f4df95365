"""Reading scenarios: from a file, a string, or values that are already parsed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from agentsim.errors import UsageError, kind
from agentsim.scenario.document import BROKEN, Node, Report, Unreadable, tree_of
from agentsim.scenario.model import Scenario
from agentsim.scenario.spelling import SCENARIO
from agentsim.scenario.text import parse, read_text, text_of


def load(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file.

    Args:
        path: of a YAML 1.2 or JSON file, UTF-8; JSON is what ends in `.json`, or begins with a brace and is JSON.
    Returns:
        What it means.
    Raises:
        ScenarioError: with every mistake of the file, each with its line.
        UsageError: this is no path.
    Example:
        >>> scenario = agentsim.load("scenarios/refund.yaml")
        >>> scenario.name, list(scenario.tools)
        ('refund with a pause', ['lookup_order', 'refund', 'search'])
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(
            f"load: expected a file's path, but {kind(path)} came; agentsim.loads takes YAML or JSON text, or a mapping"
        )
    file = os.fspath(path)
    report = Report(file, os.path.splitext(os.path.basename(file))[0], file)
    text = read_text(path, report)
    report.raise_any()
    return _read(parse(text or "", report, json=file.lower().endswith(".json")), report)


def load_bytes(data: bytes, file: str) -> Scenario:
    """Read a scenario that came from a pipe.

    Args:
        data: as it came.
        file: how problems name it.
    Raises:
        ScenarioError: with every mistake.
    """
    report = Report(file)
    text = text_of(data, report)
    report.raise_any()
    return _read(parse(text or "", report), report)


def load_data(path: str | os.PathLike[str]) -> Any:
    """The plain values of a YAML or JSON file of any content, read as strictly as a scenario.

    Args:
        path: of the file.
    Returns:
        Dicts, lists and scalars.
    Raises:
        ScenarioError: with every mistake of its syntax.
    """
    return load_tree(path).plain()


def load_tree(path: str | os.PathLike[str]) -> Node:
    """As `load_data`, with the lines of all values."""
    report = Report(os.fspath(path))
    text = read_text(path, report)
    report.raise_any()
    root = parse(text or "", report, json=report.file.lower().endswith(".json"))
    report.raise_any()
    return root


def loads(text: str | Mapping[str, Any], name: str = "scenario") -> Scenario:
    """Read a scenario from a string, or from a mapping that is already parsed.

    Args:
        text: YAML 1.2 or JSON; or a mapping of JSON values.
        name: of the scenario, where the text states none; problems name it as their file.
    Returns:
        What it means.
    Raises:
        ScenarioError: with every mistake, each with its line (a mapping has none, only the place in it).
        UsageError: this is neither a text nor a mapping.
    Example:
        >>> agentsim.loads("agentsim: 1\\npromt: Hi\\nreplies: [{text: Hello.}]")
        Traceback (most recent call last):
        agentsim.errors.ScenarioError: scenario:2: promt: unknown key 'promt'; did you mean 'prompt'?
    """
    if isinstance(text, Mapping):
        return from_data(text, name)
    if not isinstance(text, str):
        raise UsageError(
            f"loads: expected YAML or JSON text, or a mapping, but {kind(text)} came; agentsim.load(path) reads a file"
        )
    report = _report(name)
    return _read(parse(text, report), report)


def from_data(data: Mapping[str, Any], name: str = "scenario") -> Scenario:
    """Read a scenario from a mapping of JSON values; as `loads`, whose problems then have places but no lines."""
    report = _report(name)
    try:
        root = tree_of(dict(data), report)
    except Unreadable:
        root = Node(BROKEN)
    return _read(root, report)


def known(scenario: Any, what: str) -> Scenario:
    """The scenario that a function was given, if it is one.

    Args:
        scenario: whatever the caller gave.
        what: the function's name, for the message.
    Raises:
        UsageError: it is none.
    """
    if isinstance(scenario, Scenario):
        return scenario
    raise UsageError(
        f"{what}: expected a Scenario, but {kind(scenario)} came; agentsim.load(path) reads a file, "
        "agentsim.loads(text) a text or a mapping"
    )


def _report(name: str) -> Report:
    return Report("" if name == "scenario" else name, name)


def _read(root: Node, report: Report) -> Scenario:
    scenario = SCENARIO.read(root, (), report)
    report.raise_any()
    assert isinstance(scenario, Scenario), "a broken value without a problem"
    return scenario
