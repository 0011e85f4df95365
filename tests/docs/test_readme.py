"""The README tells the truth: its code runs, its scenario plays, its commands exist, its table is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings

import agentsim
from agentsim.cli import COMMANDS
from agentsim.judge.expect import unmet
from tests.zoo import careful
from tests.zoo.tools import CLAUDE_TOOLS, LoopError

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


PROGRAMS = [code for code in blocks("python") if not code.startswith("@")]
TESTS = [code for code in blocks("python") if code.startswith("@")]


def few(**given_settings: Any) -> Any:
    """As `settings`, with fewer examples: the same ones each time."""
    return settings(max_examples=25, derandomize=True, database=None, **given_settings)


def test_the_tests_that_it_shows_are_tests():
    found: dict[str, Any] = {"agentsim": agentsim, "anthropic": anthropic, "pytest": pytest}
    found |= {
        "given": given,
        "settings": few,
        "TOOLS": CLAUDE_TOOLS,
        "my_agent": careful.claude,
        "Unfinished": LoopError,
    }
    for code in TESTS:
        exec(compile(code, "<README>", "exec"), found)
    assert found["test_a_cut_refund_is_not_run"].pytestmark[0].args == ("cut_refund.yaml",)
    found["test_any_script"]()  # an agent that is careful and says by an exception that it has no answer passes


@pytest.mark.parametrize("code", PROGRAMS, ids=lambda code: code.strip().splitlines()[0])
def test_the_python_code_runs(code, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("text", blocks("yaml"), ids=lambda text: text.splitlines()[1])
def test_the_scenario_plays_as_it_expects(text):
    assert not unmet(agentsim.run(agentsim.loads(text)))


def test_every_command_of_the_table_exists():
    named = set(re.findall(r"^\| `agentsim (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_the_table_of_the_first_screen_is_what_compare_prints():
    printed = " ".join(str(agentsim.compare(agentsim.load(ROOT / "scenarios" / "paused_search.yaml"))).split())
    rows = [line for line in blocks("text")[0].splitlines() if "/" in line]
    assert rows
    for row in rows:
        shown = " ".join(row.split()).removesuffix("'").split("…")[0]
        assert shown in printed


def test_both_commands_at_the_top_are_one_line_each():
    commands = blocks("console")[:2]
    assert all(len(command.strip().splitlines()) == 1 for command in commands)
    assert "agentsim compare scenarios/" in commands[0]
    assert "pytest" in commands[1]
