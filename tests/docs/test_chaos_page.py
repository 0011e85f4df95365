"""The page on chaos: its scenario ends as it says, its tables are what the clients were seen to do. Its blocks are run with those of all pages."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

import agentsim
from tests.cli.test_commands import agentsim as command_output
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


AGENT = """
import anthropic, os

for name, expected in (("html", "page"), ("gzip", "It is Paris, on the Seine.")):
    client = anthropic.Anthropic(api_key=f"sim-{name}")
    said = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "What is the capital of France?"}])
    assert (said.content[0].text if expected != "page" else "page") == expected
    assert expected != "page" or isinstance(said, str)
"""


@pytest.mark.parametrize("command", re.findall(r"^```console\nagentsim (serve .*)\n```", TEXT, re.MULTILINE))
def test_a_folder_is_served_to_a_command(command: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "my_agent.py").write_text(AGENT, "utf-8")
    words = command.replace("python my_agent.py", f"{sys.executable} {tmp_path / 'my_agent.py'}")
    command_output(*shlex.split(words))
