"""The page of `agentsim audit`: the report card, and the runs that broke a rule."""

from __future__ import annotations

from dataclasses import dataclass

from agentsim.audit.report import Report, Row
from agentsim.judge.rules import FAILED, NOT_APPLICABLE, PASSED, Rule
from agentsim.report.html.charts import shares
from agentsim.report.html.page import render
from agentsim.report.html.timeline import Timeline, timeline


@dataclass(frozen=True, slots=True)
class Failure:
    """A scenario in which a rule was broken, and what happened in it."""

    scenario: str
    detail: str
    shown: Timeline


@dataclass(frozen=True, slots=True)
class Line:
    """One rule of the card: in how many scenarios it was kept and broken, and why it could not be decided."""

    rule: Rule
    result: str
    kept: int
    broken: int
    why: str
    failures: tuple[Failure, ...]


def page(report: Report) -> str:
    """The page of an audit.

    Args:
        report: as `agentsim.audit.audit` returns it.
    """
    lines = [_line(rule, report) for rule in report.rules]
    counts: dict[str, tuple[str, int]] = {
        word: (word.replace("_", " "), sum(line.result == word for line in lines))
        for word in (PASSED, FAILED, NOT_APPLICABLE)
    }
    scenarios = list(dict.fromkeys(row.scenario for row in report.rows))
    results = {(row.rule, row.scenario): row.result for row in report.rows}
    return render(
        "audit.html", title=f"Audit of {report.target}", lines=lines, tally=shares(counts), scenarios=scenarios,
        results=results, marks={PASSED: "kept", FAILED: "BROKEN", NOT_APPLICABLE: ""},
    )  # fmt: skip


def _line(rule: Rule, report: Report) -> Line:
    rows = [row for row in report.rows if row.rule == rule.name]
    failures = tuple(_failure(row) for row in rows if row.result == FAILED)
    why = next((row.detail for row in rows if row.detail), "")
    kept = sum(row.result == PASSED for row in rows)
    return Line(rule, report.result(rule.name), kept, len(failures), why, failures)


def _failure(row: Row) -> Failure:
    return Failure(row.scenario, row.detail, timeline(row.run or ()))
