"""Each example is a project of its own: its README is followed in a copy of it, and the pages show the same files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentsim.scenario.validate import problems_of
from tests.docs.pages import DOCS, ROOT, blocks_of, environment_of, follow, prepared

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
PLAIN = [path for path in EXAMPLES if environment_of((path / "README.md").read_text("utf-8")) == "plain"]
REAL = [path for path in EXAMPLES if path not in PLAIN]
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", "node_modules", ".pytest_cache", ".hypothesis")


def played(example: Path, folder: Path) -> None:
    copy = folder / "examples" / example.name
    shutil.copytree(example, copy, ignore=LEFT_BEHIND)
    follow(example / "README.md", copy)


@pytest.mark.parametrize("example", PLAIN, ids=lambda path: path.name)
def test_an_example_does_what_its_readme_says(example: Path, tmp_path: Path) -> None:
    played(example, tmp_path)


@pytest.mark.sdk
@pytest.mark.parametrize("example", REAL, ids=lambda path: path.name)
def test_an_example_on_an_sdk_does_what_its_readme_says(example: Path, tmp_path: Path) -> None:
    prepared(environment_of((example / "README.md").read_text("utf-8")))
    played(example, tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_page_of_an_example_shows_its_files(example: Path) -> None:
    page = (DOCS / "how-to" / f"{example.name}.md").read_text("utf-8")
    shown = {block.title: block.text for block in blocks_of(page) if block.title and (example / block.title).exists()}
    assert {"scenarios/refund.yaml", "scenarios/cut_refund.yaml"} < set(shown)
    assert {title: (example / title).read_text("utf-8") for title in shown} == shown


def test_the_tutorial_ends_with_the_example() -> None:
    agents = [block.text for block in blocks_of((DOCS / "tutorial.md").read_text("utf-8")) if block.title == "agent.py"]
    assert agents[-1] == (ROOT / "examples" / "anthropic" / "agent.py").read_text("utf-8")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_scenarios_of_an_example_are_valid(example: Path) -> None:
    assert problems_of([example / "scenarios"]) == []


def test_the_package_of_the_javascript_example_is_what_it_is_tried_with() -> None:
    manifest = json.loads((ROOT / "examples" / "ai-sdk" / "package.json").read_text("utf-8"))["dependencies"]
    tried = json.loads((ROOT / "tests" / "sdk" / "ai_sdk" / "package.json").read_text("utf-8"))["dependencies"]
    assert manifest.items() <= tried.items()
