"""Every scenario of the repository under every style, as text that a reviewer reads: styles that behave alike are grouped."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

import agentsim
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.report.transcript import transcript_lines
from agentsim.scenario.model import Scenario
from agentsim.styles import select

STORIES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


class TextFile(SingleFileSnapshotExtension):
    """One readable file a story."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    def serialize(self, data: str, **_: object) -> str:
        return data


def told(scenario: Scenario) -> str:
    """The story under every style at its default limit."""
    groups: dict[str, list[str]] = {}
    for style in select([]):
        result = prepare(scenario, style).result(DEFAULT)
        lines = list(transcript_lines(result.transcript))
        if len(lines) > 60:
            lines = [*lines[:24], f"… {len(lines) - 36} more lines", *lines[-12:]]
        silent = ", SILENT" if result.silent else ""
        lines.append(f"ended: {result.ended}, returned: {result.returned}{silent}")
        lines += [f"refused: request {r['request']}, {r['rule']}" for r in result.refused_requests[:5]]
        groups.setdefault("\n".join(lines), []).append(style.name)
    parts = [f"{scenario.name}\n"]
    parts += [f"== {', '.join(names)}\n\n{text}\n" for text, names in groups.items()]
    return "\n".join(parts)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_is_told_as_it_was(path, snapshot):
    assert told(agentsim.load(path)) == snapshot(extension_class=TextFile)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_meets_its_own_expectations(path):
    from agentsim.judge.expect import unmet

    scenario = agentsim.load(path)
    names = [name for name, settings in scenario.styles.items() if settings.expect is not None]
    for name in names or ["reference"]:
        assert not unmet(agentsim.run(scenario, name))
