"""What the commands print fits where it goes: narrow terminals, pipes, other encodings, and what strangers wrote."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

import agentsim
from agentsim.core.events import Aborted, Fault, ModelFailed, ModelRequested, TimedOut, ToolRun
from agentsim.core.transcript import Transcript
from agentsim.report.columns import Column, Listing, as_text, fitting
from agentsim.report.plain import line, plain
from agentsim.report.transcript import transcript_lines

ROOT = Path(__file__).parents[2]
WIDTHS = (20, 40, 60, 80, 100, 120, 200)


def on_terminal(printed: Any, width: int) -> list[str]:
    """The lines of a value on a terminal of this width."""
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=True, color_system=None, legacy_windows=False).print(printed)
    return [text.rstrip() for text in out.getvalue().splitlines()]


@pytest.fixture(scope="module")
def comparison() -> agentsim.Table:
    return agentsim.compare(agentsim.load(ROOT / "scenarios" / "paused_search.yaml"))


@pytest.fixture(scope="module")
def budgets() -> Any:
    return agentsim.budget(agentsim.load(ROOT / "scenarios" / "refund.yaml"))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_fits_and_always_tells_how_each_ended_and_who_is_misled(comparison, width):
    lines = on_terminal(comparison, width)
    assert max(map(cell_len, lines)) <= width
    words = " ".join(lines).replace(" ", "")
    for row in comparison:
        assert row.style.name.replace(" ", "") in words or width < 110
        assert row.ended in words
    assert words.count("SILENT") == sum(row.silent for row in comparison)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_budget_fits_and_always_tells_limit_and_cut(budgets, width):
    lines = on_terminal(budgets, width)
    assert max(map(cell_len, lines)) <= width
    assert "".join(lines).replace(" ", "").count("1of1") == sum(need.cut for need in budgets.needs)


def test_a_pipe_gets_every_column_and_no_spaces_at_the_ends(comparison):
    text = str(comparison)
    assert "no room for" not in text
    assert not [each for each in text.splitlines() if each != each.rstrip()]
    assert all(row.style.name in text for row in comparison)


def test_the_least_telling_columns_go_first_and_are_named():
    columns = [Column("style", ("a",)), Column("knob", ("k" * 30,), rank=2), Column("unit", ("u" * 10,), rank=1)]
    kept = fitting(columns, 25)
    assert kept is not None
    assert [column.header for column in kept] == ["style", "unit"]
    assert "no room for: knob" in as_text(Listing(columns), 25)
    assert fitting([Column("style", ("a" * 30,))], 25) is None


def test_wide_characters_take_two_places():
    text = as_text(Listing([Column("style", ("한국어",)), Column("end", ("x",))]), 80)
    assert [cell_len(each) for each in text.splitlines() if "x" in each] == [10]


def test_a_title_is_no_markup_and_no_emoji_code():
    run = agentsim.compare(
        agentsim.loads("agentsim: 1\nname: '[bold]x[/bold] :smile:'\nprompt: go\nreplies: [{text: a}]\n")
    )
    assert str(run).startswith("[bold]x[/bold] :smile:\n")


# --- what strangers wrote --------------------------------------------------------------------------------------------

NASTY = "a\x1b[31m\x9b\u202e\nforged: line\ud800"


def scenario_file(folder: Path) -> str:
    name = NASTY.replace("\ud800", "")
    script = {
        "agentsim": 1,
        "name": name,
        "prompt": name,
        "tools": {name: {"description": name, "returns": name}},
        "replies": [{"content": [{"tool_use": {"name": name, "raw": name}}, {"text": name}]}, {"text": name}],
    }
    (folder / "nasty.json").write_text(json.dumps(script), "utf-8")
    return str(folder / "nasty.json")


def run(*arguments: str, **environment: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments], capture_output=True, check=False, cwd=ROOT,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize(
    "command", [("show",), ("run",), ("run", "--requests", "full"), ("compare", "--style", "reference")]
)
def test_nothing_steers_the_terminal_or_forges_a_line(command, tmp_path):
    text = run(command[0], scenario_file(tmp_path), *command[1:]).decode("utf-8")
    assert not set(text) & {"\x1b", "\x9b", "\u202e"}
    assert not [each for each in text.splitlines() if each.startswith("forged")]


@pytest.mark.parametrize("command", ["show", "run", "compare", "budget"])
def test_an_encoding_that_lacks_characters_ends_no_command(command, tmp_path):
    (tmp_path / "a.yaml").write_text("agentsim: 1\nname: 한국어 👍\nprompt: größe\nreplies: [{text: … ok}]\n", "utf-8")
    for encoding in ("ascii", "latin-1"):
        text = run(command, str(tmp_path / "a.yaml"), PYTHONIOENCODING=encoding).decode(encoding)
        assert "\\ud55c" in text or command == "budget"
        assert "\u2500" not in text


def test_json_is_json_in_every_encoding(tmp_path):
    (tmp_path / "a.yaml").write_text("agentsim: 1\nname: größe 👍\nprompt: go\nreplies: [{text: ok}]\n", "utf-8")
    for encoding in ("ascii", "latin-1", "utf-8"):
        text = run("run", str(tmp_path / "a.yaml"), "--format", "json", PYTHONIOENCODING=encoding).decode(encoding)
        assert json.loads(text)["scenario"] == "größe 👍"


def test_colours_are_only_where_they_are_wanted(tmp_path):
    assert b"\x1b" not in run("compare", "scenarios/refund.yaml", "--style", "reference")
    assert b"\x1b" not in run("compare", "scenarios/refund.yaml", "--style", "reference", NO_COLOR="1", TERM="xterm")


def test_plain_text_is_left_as_it_is():
    for text in ("", "a b", "tab\tand\nline", "größe 한국어 👩‍👧 e\u0301"):
        assert plain(text) == text
    assert line("a\tb\nc\r") == "a\u2409b\u240ac\u240d"


def test_a_transcript_tells_time_outs_and_what_ran_before_the_caller_gave_up():
    ran = (ToolRun("call_1", "look", {}, "found"), ToolRun("call_2", "slow", {}, timed_out=True))
    events = [
        ModelRequested(0, ()),
        ModelFailed(Fault(529, "overloaded_error", "x\ny")),
        TimedOut(ran),
        Aborted(ran[:1]),
    ]
    assert list(transcript_lines(Transcript(events))) == [
        "request 1: keeps 0, new: nothing",
        "fault: 529 overloaded_error: x\u240ay",
        'tool look({}) returns "found"',
        "tool slow({}) is given up: it took too long",
        "the time is up",
        'tool look({}) returns "found"',
        "the caller gives up",
    ]
