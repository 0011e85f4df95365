"""The page on chaos: its scenario ends as it says, its tables are what the clients were seen to do. Its blocks are run with those of all pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentsim
from tests.http.chaos_seen import JAVASCRIPT, SEEN

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "chaos.md"
TEXT = PAGE.read_text("utf-8")


def table(seen: dict[str, str]) -> str:
    head = "| file | Claude | Claude, streamed | Chat | Chat, streamed |\n|---|---|---|---|---|\n"
    rows = []
    for name, row in seen.items():
        cells = [cell.strip().replace(".", "") for cell in row.split("|")]
        rows.append(f"| `{name}` | {' | '.join(cells + ['cannot say it'] * (4 - len(cells)))} |\n")
    return head + "".join(rows)


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
def test_the_scenario_is_one_and_runs(text: str) -> None:
    scenario = agentsim.loads(text)
    assert [agentsim.run(scenario, stream=stream).ended for stream in (False, True)] == ["answer", "broken_stream"]


@pytest.mark.parametrize("seen", [SEEN, JAVASCRIPT], ids=["python", "javascript"])
def test_the_table_is_what_was_seen(seen: dict[str, str]) -> None:
    assert table(seen) in TEXT, f"put this behind <!-- table -->:\n{table(seen)}"


def test_every_file_is_one_of_the_folder() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| \d", TEXT, re.MULTILINE)) == set(SEEN) == set(JAVASCRIPT)
