"""The stories under scenarios/: each is valid, says what it is about, and is what the reference loop makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentsim
from agentsim.judge.expect import unmet
from agentsim.scenario.load import load
from agentsim.scenario.validate import problems_of

FOLDER = Path(__file__).parents[2] / "scenarios"
STORIES = sorted(FOLDER.glob("*.yaml"))


def test_every_scenario_file_is_valid() -> None:
    assert [str(problem) for problem in problems_of([FOLDER])] == []


def test_there_are_stories_enough_and_no_two_share_a_name() -> None:
    names = [load(path).name for path in STORIES]
    assert len(names) > 25
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_says_first_what_bites(path: Path) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    assert path.stem == "refund" or first.startswith("# ")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_reference_loop_makes_of_a_story_what_it_expects(path: Path) -> None:
    assert unmet(agentsim.run(load(path), style="reference")) == []
