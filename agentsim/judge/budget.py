"""Budgets: the least limit in each style that lets runs finish, and what each SDK's default would have cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.style import Style
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Need:
    """What one style needs for a set of runs.

    Args:
        style: the style.
        least: one least limit a run, None for a run that no limit lets finish.
        cut: how many runs the SDK's own default would have ended at its limit.
        percentile: what share of the runs (0 to 100) the answer is for.
    """

    style: Style
    least: tuple[int | None, ...]
    cut: int
    percentile: float

    @property
    def limit(self) -> int | None:
        """The least limit that lets the wanted share of the runs finish; None where there is none."""
        known = sorted(n for n in self.least if n is not None)
        wanted = max(1, math.ceil(len(self.least) * self.percentile / 100))
        return known[wanted - 1] if wanted <= len(known) else None

    def to_dict(self) -> dict[str, Any]:
        """What `budget --format json` prints for a style."""
        return {
            "style": self.style.name,
            "sdk": self.style.sdk,
            "unit": self.style.unit,
            "knob": self.style.knob,
            "least_limit": self.limit,
            "percentile": self.percentile,
            "runs": len(self.least),
            "unbounded": sum(n is None for n in self.least),
            "default": self.style.default,
            "default_cuts": self.cut,
        }


def budget(
    scenarios: Sequence[Scenario],
    styles: Iterable[Style],
    *,
    percentile: float = 100,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Need]:
    """What each style needs.

    Args:
        scenarios: the runs.
        styles: whose limits are asked for.
        percentile: the share of the runs (0 to 100) that has to finish.
        options: option trees by style name.
    """
    needs = []
    for style in styles:
        plays = [prepare(scenario, style, options=(options or {}).get(style.name)) for scenario in scenarios]
        least = tuple(play.least_limit() for play in plays)
        cut = sum(play.result(DEFAULT).ended == "limit" for play in plays)
        needs.append(Need(style, least, cut, percentile))
    return needs
