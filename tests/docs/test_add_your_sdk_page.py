"""The page that says how an SDK is added: what it shows is a part of the files that it speaks of, and its commands exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import agentsim
from agentsim.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-your-sdk.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|agentsim|docs)/[\w./-]+)`", PAGE)))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


COMMAND_LINES = [line for block in blocks("console") for line in block.splitlines()]


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0].strip())
def test_code_is_a_part_of_a_file_that_the_page_names(code):
    assert any(code in (ROOT / name).read_text("utf-8") for name in NAMED if name.endswith(".py"))


def test_json_is_a_part_of_the_sdk_s_files():
    entries, case = map(json.loads, blocks("json"))
    folder = ROOT / "tests" / "sdk" / "haystack"
    assert entries == json.loads((folder / "entries.json").read_text("utf-8"))
    assert case in json.loads((folder / "extra_cases.json").read_text("utf-8"))["cases"]


@pytest.mark.parametrize("name", NAMED)
def test_every_file_that_it_names_exists(name):
    assert (ROOT / name).exists()


def test_its_commands_exist():
    for line in COMMAND_LINES:
        words = line.split()
        if words[0] == "agentsim":
            assert words[1] in COMMANDS
        for word in words:
            if word.startswith(("tests/", "scenarios/")) and not line.startswith("mkdir"):
                assert (ROOT / word).exists(), line
    shown = (ROOT / "tests" / "sdk" / "measure.py").read_text("utf-8")
    flags = {word for line in COMMAND_LINES if "measure.py" in line for word in line.split() if word.startswith("--")}
    assert flags
    assert all(f'"{flag}"' in shown for flag in flags)


def test_the_packages_that_it_installs_are_the_pinned_ones():
    wanted = next(word for line in COMMAND_LINES for word in line.split() if "==" in word)
    assert wanted in (ROOT / "tests" / "sdk" / "haystack" / "requirements.txt").read_text("utf-8").split()


def test_the_table_is_what_compare_prints():
    scenario = agentsim.load(ROOT / "scenarios" / "endless_lookups.yaml")
    printed = " ".join(str(agentsim.compare(scenario, limit=3, styles=["haystack"])).split())
    for row in blocks("text")[0].splitlines():
        assert " ".join(row.split()) in printed
