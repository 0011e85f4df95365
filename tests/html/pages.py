"""One page of each kind, made of the repository's scenarios; `python -m tests.html.pages FOLDER` writes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import agentsim
from agentsim.audit import Report, Row
from agentsim.audit.page import page as audit_page
from agentsim.judge.rules import chosen
from agentsim.report.html import budgeted, compared, shown, tested
from agentsim.report.html.tested import PlayedTest
from agentsim.report.table import Table
from agentsim.store.inputs import read_input

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def scenario(name: str) -> agentsim.Scenario:
    """A scenario of the repository under the name by which its users would call it."""
    return agentsim.load(SCENARIOS / f"{name}.yaml")


def comparison() -> str:
    chosen = {"paused_search": (), "slow_tools": ("ai-sdk", "openai"), "endless_lookups": ("langchain", "reference")}
    rows = [row for name, styles in chosen.items() for row in agentsim.compare(scenario(name), limit=10, styles=styles)]
    return compared.page(Table(rows))


def budget() -> str:
    scenarios = [scenario(name) for name in ("three_rounds", "endless_lookups", "refund", "cut_text")]
    return budgeted.page(agentsim.budget(scenarios, percentile=75, styles=["langchain", "ai-sdk", "reference"]))


def run() -> str:
    return shown.run_page(agentsim.run(scenario("subagent"), "claude-agent-sdk/query"))


def faults() -> str:
    return shown.run_page(agentsim.run(scenario("overloaded"), "ai-sdk/generateText"))


def file() -> str:
    return shown.page(read_input(str(SCENARIOS / "handed_over.yaml")), "handed_over.yaml")


def recording() -> str:
    path = Path(__file__).parents[1] / "store" / "fixtures" / "claude-code" / "session.jsonl"
    return shown.page(read_input(str(path)), path.name)


def audit() -> str:
    rules = chosen(["pause_is_resumed_unchanged", "limit_is_kept", "refusal_is_no_answer"])
    paused = agentsim.run(scenario("paused_search"), "ai-sdk/generateText").transcript
    rows = (
        Row("pause_is_resumed_unchanged", "failed", "pause", "reply 1 paused", ("request 1",), paused),
        Row("limit_is_kept", "passed", "endless_calls"),
        Row("refusal_is_no_answer", "not_applicable", "refusal", "the target asked for no tool"),
    )
    return audit_page(Report("my_agent:run", rows, tuple(rules)))


def session() -> str:
    refund = agentsim.run(scenario("refund")).transcript
    cut = agentsim.run(scenario("cut_refund")).transcript
    return tested.page(
        [
            PlayedTest("test_a.py::test_refund", "passed", "refund", refund),
            PlayedTest(
                "test_a.py::test_cut", "failed", "cut refund", cut, ("no reply fits request 2",), "1 rule broken"
            ),
        ]
    )


PAGES: dict[str, Callable[[], str]] = {
    make.__name__: make for make in (comparison, budget, run, faults, file, recording, audit, session)
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (Path(sys.argv[1]) / f"{name}.html").write_text(make(), "utf-8")
