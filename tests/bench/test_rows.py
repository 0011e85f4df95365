"""The benchmark's arithmetic: ratios within each round, what counts as behind, and what counts as worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import pages, rows
from bench.__main__ import TITLES
from bench.peers import fixtures


def test_a_ratio_is_the_median_of_what_was_measured_side_by_side():
    row = rows.row_of("x", "µs", {"ours": [1e-6, 10e-6, 3e-6], "theirs": [2e-6, 20e-6, 3e-6]})
    assert row.ratios == {"theirs": 0.5}, "a slow minute slows both"
    assert row.values == {"ours": 1e-6, "theirs": 2e-6}, "a value is the best round"


def test_of_rates_more_is_better_and_a_ratio_below_one_is_good_all_the_same():
    row = rows.row_of("x", "/s", {"ours": [100.0, 200.0], "theirs": [50.0, 100.0]}, more_is_better=True)
    assert row.ratios == {"theirs": 0.5}
    assert row.values == {"ours": 200.0, "theirs": 100.0}


def test_nobody_is_behind_a_side_that_does_less():
    measured = {"ours": [2.0], "peer": [1.0], "constant bytes": [0.5]}
    assert rows.row_of("x", "s", measured, floors=("constant bytes",)).behind == ["peer"]


def test_a_tenth_worse_than_stored_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rows, "STORED", tmp_path / "ratios.json")
    rows.store([rows.Row("x", "s", {}, {"peer": 0.5})], {"python": "3"})
    rows.store([rows.Row("y", "s", {}, {"peer": 0.5})], {"python": "3"})
    assert rows.stored() == {"x": {"peer": 0.5}, "y": {"peer": 0.5}}, "rows that were not measured stay"
    assert rows.regressions([rows.Row("x", "s", {}, {"peer": 0.54, "new": 9.0})]) == []
    assert rows.regressions([rows.Row("x", "s", {}, {"peer": 0.6})]) == ["x: 0.600 of peer's, stored is 0.500 (+20%)"]
    assert rows.regressions([rows.Row("x", "s", {}, {"peer": 0.6}, steady=False)]) == []


def test_of_two_measurements_the_better_counts():
    busy, quiet = rows.Row("x", "s", {}, {"peer": 0.9}), rows.Row("x", "s", {}, {"peer": 0.5})
    assert busy.better(quiet).ratios == quiet.better(busy).ratios == {"peer": 0.5}


def test_the_table_shows_how_many_times_our_figure_a_peers_is():
    row = rows.row_of("a call", "ms", {"ours": [0.001], "peer": [0.0025]})
    assert rows.table([row]).splitlines()[-1] == "| a call | ms | **1.00** | 2.50 (2.50×) |"


def test_the_pages_have_a_place_for_each_table():
    page = pages.PAGE.read_text("utf-8")
    assert all(f"<!-- bench:{name} -->" in page for name in [*TITLES, "aims", "versions"])
    assert "<!-- bench -->" in pages.README.read_text("utf-8")


def test_every_server_is_given_the_same_answers(tmp_path: Path):
    fixtures.write(tmp_path)
    texts = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert all(isinstance(json.loads(text), dict) for text in texts)
    assert sum(fixtures.FOX in text for text in texts) == 4
