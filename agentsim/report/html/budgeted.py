"""The page of `agentsim budget`: which share of recorded runs finishes under which limit, style by style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentsim.judge.budget import Need
from agentsim.report.budgets import Budgets
from agentsim.report.html.charts import Scale, StepsChart, percent, steps_chart
from agentsim.report.html.page import render

#: The shares for which the table tells a limit, besides the one that was asked for.
PERCENTILES = (50, 90, 95, 99, 100)


@dataclass(frozen=True, slots=True)
class Curve:
    """Styles whose runs finish under the same limits.

    Args:
        styles: (name, unit, knob, default) of each.
        steps: (limit, how many runs finish under it, the same as a share).
        never: how many runs no limit lets finish.
    """

    styles: tuple[tuple[str, str, str, str], ...]
    chart: StepsChart
    steps: tuple[tuple[int, int, str], ...]
    never: int


@dataclass(frozen=True, slots=True)
class Row:
    """A style's row: a limit for each percentile, and what the default cuts."""

    need: Need
    default: str
    limits: tuple[str, ...]
    cut: str
    never: str


def page(found: Budgets) -> str:
    """The page of budgets.

    Args:
        found: as `agentsim.budget` returns it.
    """
    percentiles = sorted({*PERCENTILES, found.percentile})
    scale = Scale(max((n for need in found.needs for n in need.least if n is not None), default=4))
    return render(
        "budget.html",
        title="Limits that let runs finish",
        found=found,
        percentiles=[f"{each:g}" for each in percentiles],
        wanted=f"{found.percentile:g}",
        rows=[_row(need, percentiles) for need in found.needs],
        curves=_curves(found.needs, scale),
        formulas=[(need.style.name, need.formula) for need in found.needs if need.formula],
        is_log=scale.is_log,
    )


def _row(need: Need, percentiles: Sequence[float]) -> Row:
    limits = (need.least_for(each) for each in percentiles)
    return Row(
        need,
        _limit(need.style.default),
        tuple("none" if limit is None else str(limit) for limit in limits),
        f"{need.cut} ({percent(need.cut, need.runs)})" if need.cut else "",
        str(need.least.get(None, 0) or ""),
    )


def _limit(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _curves(needs: Sequence[Need], scale: Scale) -> list[Curve]:
    """Styles that need the same limits share a chart: most differ only in what they call them."""
    groups: dict[tuple[tuple[int | None, int], ...], list[Need]] = {}
    for need in needs:
        key = tuple(sorted(need.least.items(), key=lambda item: (item[0] is None, item[0] or 0)))
        groups.setdefault(key, []).append(need)
    return [_curve(group, scale) for group in groups.values()]


def _curve(group: Sequence[Need], scale: Scale) -> Curve:
    least = group[0].least
    defaults: dict[float, str] = {}
    for need in group:
        if need.style.default is not None and need.style.default <= scale.most:
            defaults[need.style.default] = f"{need.style.default:g}"
    styles = tuple((n.style.name, n.style.unit, n.style.knob, _limit(n.style.default)) for n in group)
    return Curve(styles, steps_chart(least, scale, defaults), _steps(least), least.get(None, 0))


def _steps(least: Mapping[int | None, int]) -> tuple[tuple[int, int, str], ...]:
    runs, done, steps = sum(least.values()), 0, []
    for limit, count in sorted((n, count) for n, count in least.items() if n is not None):
        done += count
        steps.append((limit, done, percent(done, runs)))
    return tuple(steps)
