"""Budgets: the least limit in each style that lets runs finish, and what each SDK's default would have cut."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import Reply, Text, ToolCall
from agentsim.core.style import Style
from agentsim.core.tools import ToolOutcome, ToolSpec
from agentsim.judge.simulate import DEFAULT, Play, prepare
from agentsim.scenario.model import Scenario, ScriptedReply


@dataclass(frozen=True, slots=True)
class Need:
    """What one style needs for a set of runs.

    Args:
        style: the style.
        least: least limit (None: no limit lets the run finish) -> number of runs; so it stays small however many runs there are.
        cut: how many runs the SDK's own default would have ended at its limit.
        percentile: what share of the runs (0 to 100) the answer is for.
        formula: the arithmetic of it, where it is one run's.
    """

    style: Style
    least: Mapping[int | None, int]
    cut: int
    percentile: float
    formula: str = ""

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(self.least.values())

    @property
    def limit(self) -> int | None:
        """The least limit that lets the wanted share of the runs finish; None where there is none."""
        return self.least_for(self.percentile)

    def least_for(self, percentile: float) -> int | None:
        """The least limit that lets so many percent of the runs finish; None where there is none."""
        wanted = max(1, math.ceil(self.runs * percentile / 100))
        for limit, count in sorted((n, count) for n, count in self.least.items() if n is not None):
            wanted -= count
            if wanted <= 0:
                return limit
        return None

    def to_dict(self) -> dict[str, Any]:
        """What `budget --format json` prints for a style."""
        return {
            "style": self.style.name,
            "sdk": self.style.sdk,
            "unit": self.style.unit,
            "knob": self.style.knob,
            "least_limit": self.limit,
            "percentile": self.percentile,
            "runs": self.runs,
            "unbounded": self.least.get(None, 0),
            "default": self.style.default,
            "default_cuts": self.cut,
            "formula": self.formula,
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
        least = Counter(play.least_limit() for play in plays)
        cut = sum(play.result(DEFAULT).ended == "limit" for play in plays)
        needs.append(Need(style, least, cut, percentile, _formula(plays, style)))
    return needs


def _formula(plays: Sequence[Play], style: Style) -> str:
    """The style's own arithmetic for one run; nothing for several, which need different limits."""
    if len(plays) != 1 or style.formula is None:
        return ""
    free, _ = plays[0].transcript(None)
    return style.formula(plays[0].options, free.tool_rounds)


def rounds(number: int) -> Scenario:
    """A run of so many tool rounds and an answer, which is what caps are compared by.

    Args:
        number: of tool rounds, 0 or more.
    """
    look = ToolSpec("lookup", outcomes=(ToolOutcome("returns", "found"),))
    script = (ScriptedReply(Reply((ToolCall("", "lookup"),), "tool_use"), repeat=number),) if number else ()
    answer = ScriptedReply(Reply((Text("done"),), "end_turn"))
    return Scenario(f"{number} tool rounds and an answer", ("go",), tools={"lookup": look}, script=(*script, answer))
