"""The page of a test session: what each test that plays a scenario did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentsim.core.transcript import Transcript
from agentsim.report.html.charts import shares
from agentsim.report.html.page import render
from agentsim.report.html.timeline import Timeline, timeline

#: In the order in which they are told: what went wrong comes first.
OUTCOMES = ("failed", "passed", "xfailed", "xpassed", "skipped")


@dataclass(frozen=True, slots=True)
class PlayedTest:
    """A test that played a scenario.

    Args:
        name: its node id.
        outcome: one of OUTCOMES.
        scenario: the scenario's name.
        transcript: what happened.
        misfit: of a request that did not fit, what would have.
        message: why it failed.
    """

    name: str
    outcome: str
    scenario: str
    transcript: Transcript
    misfit: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A test on the page."""

    test: PlayedTest
    shown: Timeline


def page(tests: Iterable[PlayedTest]) -> str:
    """The page of a session. Tests stand in the order of their names, whichever worker ran them."""
    ordered = sorted(tests, key=lambda test: (OUTCOMES.index(test.outcome), test.name))
    counts = {outcome: (outcome, sum(test.outcome == outcome for test in ordered)) for outcome in OUTCOMES}
    lines = [Line(test, timeline(test.transcript)) for test in ordered]
    return render("session.html", title="Tests that played a scenario", lines=lines, tally=shares(counts))
