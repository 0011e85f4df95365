"""Generated files are what the code says, and the site holds every page."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from jsonschema_rs import validator_for

import agentsim
from agentsim.cli import COMMANDS
from agentsim.judge.rules import all_rules
from agentsim.scenario.schema import json_schema
from agentsim.scenario.validate import files_of
from agentsim.styles import all_styles
from tests.docs.pages import DOCS, ROOT, Session, blocks_of
from tools.reference.files import SCHEMA, built, kept, navigation

WRITE = "run: python -m tools.reference"


@pytest.fixture(scope="module")
def pages():
    return built()


@pytest.mark.parametrize("path", ["docs/claims.md", "docs/explanation/budgets.md", "docs/llms.txt", SCHEMA])
def test_a_generated_file_is_what_the_code_says(path):
    assert (ROOT / path).read_text("utf-8") == kept()[path], WRITE


def test_the_reference_has_every_command_rule_style_and_public_name(pages):
    everything = {
        "cli": COMMANDS,
        "rules": all_rules(),
        "styles": all_styles(),
        "api": [f"agentsim.{name}" for name in agentsim.__all__ if name not in ("__version__", "strategies")],
    }
    for page, names in everything.items():
        headings = re.findall(r"^##+ (.+)$", pages[f"docs/reference/{page}.md"], re.MULTILINE)
        assert set(names) - set(headings) == set()


def test_the_reference_has_every_key_of_the_scenario_file(pages):
    text = pages["docs/reference/scenario.md"]
    schema = json_schema()
    for part in (schema, *schema["$defs"].values()):
        for key in part.get("properties", {}):
            assert f"| `{key}` |" in text


def test_the_test_of_the_pytest_page_passes(pages, tmp_path):
    session = Session(tmp_path / "reader")
    for block in blocks_of(pages["docs/reference/pytest.md"]):
        session.play(block)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page(pages):
    listed = {page for _, entries in navigation() for _, page in entries}
    there = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} | {
        path.removeprefix("docs/") for path in pages
    }
    assert listed == there, "the navigation is in zensical.toml"


def test_the_schema_of_the_repository_takes_every_story():
    valid = validator_for(json.loads((ROOT / SCHEMA).read_text("utf-8")))
    for file in files_of([ROOT / "scenarios"]):
        valid.validate(agentsim_data(file))


def agentsim_data(file):
    from agentsim.scenario.load import load_data

    return load_data(file)


def test_the_pre_commit_hook_is_the_command_and_takes_scenario_files():
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["id"] in (DOCS / "install.md").read_text("utf-8")
    assert hook["entry"].split()[0] == "agentsim"
    assert hook["entry"].split()[1] in COMMANDS
    files = re.compile(hook["files"])
    assert all(map(files.search, ["scenarios/a.yaml", "tests/scenarios/deep/b.yml", "x/refund.scenario.yaml"]))
    assert not any(map(files.search, ["pyproject.toml", "docker-compose.yaml", "my_scenarios.yaml"]))
