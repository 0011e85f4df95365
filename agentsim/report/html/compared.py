"""The page of `agentsim compare`: for each scenario a table of styles with small charts, and the courses that their runs took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentsim.core.transcript import Transcript
from agentsim.judge.result import Result
from agentsim.report.html.charts import CallsChart, Share, Tried, calls_chart, shares
from agentsim.report.html.page import render
from agentsim.report.html.timeline import Timeline, timeline
from agentsim.report.table import Table, caller_text, differing, limit_text, not_as_asked, shorten, summary

#: So many limits are tried for a chart; of longer runs every n-th.
TRIED = 40

NAMES = {
    "answer": "finished, and told so",
    "stopped": "stopped, and told so",
    "error": "ended in an error",
    "silent": "unfinished, but told as an answer",
    "impossible": "can't play it",
}

#: Endings of runs that never began.
IMPOSSIBLE = ("cannot_express", "not_implemented")


@dataclass(frozen=True, slots=True)
class Row:
    """A style's row. `course`: number of the course that its run took."""

    result: Result
    kind: str
    limit: str
    count: str
    gets: str
    cost: str
    refused: str
    course: int
    chart: CallsChart | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What happened under some styles.

    Args:
        number: from 1.
        styles: whose runs went so.
        shown: what happened.
        ending: in short.
    """

    number: int
    styles: tuple[str, ...]
    shown: Timeline
    ending: str


@dataclass(frozen=True, slots=True)
class Section:
    """One scenario.

    Args:
        notes: what is silent, and what was not played as it was asked for.
        hidden: how many styles are left out, because they do what most do.
        limits: (first, last, step) of the charts' limits, or None where there is no chart.
        has: columns that say something.
    """

    name: str
    file: str
    rows: tuple[Row, ...]
    courses: tuple[Course, ...]
    tally: tuple[Share, ...]
    notes: tuple[str, ...]
    hidden: int
    limits: tuple[int, int, int] | None
    has: frozenset[str]


def page(table: Table) -> str:
    """The page of a comparison.

    Args:
        table: as `agentsim.compare` returns it.
    """
    sections = [_section(rows, table) for rows in table.by_scenario()]
    names = list(dict.fromkeys(section.name for section in sections))
    title = names[0] if len(names) == 1 else f"{len(sections)} scenarios"
    return render("compare.html", title=f"{title}: loops compared", sections=sections)


def kind_of(result: Result) -> str:
    """How a run is drawn: what its caller is told, or silent where that is not so."""
    if result.ended in IMPOSSIBLE:
        return "impossible"
    return "silent" if result.silent else result.returned


def _section(results: Sequence[Result], table: Table) -> Section:
    shown, hidden = differing(results) if table.only_differences else (list(results), 0)
    limits = _limits(shown)
    tried = [_tried(result, limits) for result in shown]
    most = max((each.calls for row in tried for each in row), default=1)
    courses = _courses(shown)
    course_of = {style: course.number for course in courses for style in course.styles}
    rows = []
    for result, row in zip(shown, tried, strict=True):
        chart = calls_chart(row, most, result.limit, result.least_limit) if row else None
        rows.append(replace(_row(result), course=course_of[result.style.name], chart=chart))
    counts = {kind: (name, sum(kind_of(r) == kind for r in results)) for kind, name in NAMES.items()}
    scenario = results[0].scenario
    step = (limits[0], limits[-1], limits[1] - limits[0]) if len(limits) > 1 else None
    has = frozenset(name for name, says in _COLUMNS.items() if any(map(says, shown)))
    return Section(
        scenario.name, scenario.path or "", tuple(rows), tuple(courses), shares(counts),
        (summary(results), *not_as_asked(results, table.wire, table.stream)), hidden,
        step if any(tried) else None, has,
    )  # fmt: skip


#: Columns that are only there where they say something.
_COLUMNS = {
    "requests": lambda r: r.model_requests != r.model_calls,
    "seconds": lambda r: bool(r.seconds),
    "cost": lambda r: r.cost_usd is not None,
    "refused": lambda r: bool(r.refused_requests),
    "unused": lambda r: bool(r.unused_replies),
}


def _row(result: Result) -> Row:
    return Row(
        result,
        kind_of(result),
        limit_text(result),
        f"{result.count:g} {result.style.unit}{'' if result.count == 1 else 's'}",
        caller_text(result),
        "" if result.cost_usd is None else f"${result.cost_usd:.4f}",
        "; ".join(f"request {each['request']}: {each['rule']}" for each in result.refused_requests),
        0,
    )


def _limits(results: Sequence[Result]) -> list[int]:
    """The limits that a section's charts show: to one past the largest that matters to a style."""
    least = [result.least_limit or 0 for result in results]
    most = max([*least, 5]) + 1
    if not any(least):  # an endless script: wherever it is stopped, it goes on
        most = 12
    return list(range(1, most + 1, math.ceil(most / TRIED)))


def _tried(result: Result, limits: Sequence[int]) -> list[Tried]:
    if result.ended in IMPOSSIBLE:
        return []
    runs = ((limit, result.at(limit)) for limit in limits)
    return [Tried(limit, run.model_calls, kind_of(run)) for limit, run in runs]


def _courses(results: Sequence[Result]) -> list[Course]:
    """The different things that happened, each with the styles that did it; what a caller gets is no part of it."""
    found: dict[Timeline, list[Result]] = {}
    for result in results:
        found.setdefault(timeline(_events(result.transcript)), []).append(result)
    return [
        Course(number, tuple(r.style.name for r in group), shown, _ending(group))
        for number, (shown, group) in enumerate(found.items(), 1)
    ]


def _events(transcript: Transcript) -> Transcript:
    """What happened up to the ending, which the table tells for each style."""
    return transcript[:-1]


def _ending(group: Sequence[Result]) -> str:
    first = group[0]
    calls = f"{first.model_calls} model call{'' if first.model_calls == 1 else 's'}"
    rounds = f"{first.tool_rounds} tool round{'' if first.tool_rounds == 1 else 's'}"
    ended = ", ".join(dict.fromkeys(f"{r.ended}, returned {r.returned}" for r in group))
    return f"{calls}, {rounds}; {shorten(ended, 160)}"
