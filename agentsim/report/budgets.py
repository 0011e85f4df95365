"""Budgets as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from agentsim.judge.budget import Need
from agentsim.judge.fleet import Fleet
from agentsim.report.columns import UNLIMITED, Column, as_text, parts

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions


class Budgets:
    """What each style needs, for people and for programs.

    Args:
        fleet: what was worked out.
    Attributes:
        needs: one a style.
        runs, files: how many were read.
        skipped: name -> why it was not read.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.needs: list[Need] = fleet.needs
        self.percentile = fleet.percentile
        self.runs, self.files = fleet.runs, fleet.files
        self.skipped: dict[str, str] = fleet.skipped

    def __getitem__(self, style: str) -> Need:
        """What a style needs, by its name."""
        for need in self.needs:
            if need.style.name == style:
                return need
        raise KeyError(style)

    def __iter__(self) -> Iterator[Need]:
        return iter(self.needs)

    def __len__(self) -> int:
        return len(self.needs)

    def to_dicts(self) -> list[dict[str, Any]]:
        """What `budget --format json` prints."""
        return [need.to_dict() for need in self.needs]

    def to_html(self) -> str:
        """A page of its own, with charts; needs `agentsim[html]`."""
        from agentsim.report.html.budgeted import page

        return page(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        share = "every run ends" if self.percentile == 100 else f"{self.percentile:g} % of the runs end"
        title = f"The least limit with which {share} as without one ({self.runs} run{'' if self.runs == 1 else 's'})"
        yield from parts(title, _columns(self.needs, self.runs), options.max_width)

    def __str__(self) -> str:
        return as_text(self, UNLIMITED)


def _columns(needs: list[Need], runs: int) -> list[Column]:
    def column(header: str, text: Callable[[Need], str], rank: int = 0, *, right: bool = False) -> Column:
        return Column(header, tuple(map(text, needs)), right, rank)

    return [
        column("style", lambda need: need.style.name),
        column("least limit", lambda need: _limit(need.limit), right=True),
        column("unit", lambda need: need.style.unit, 1),
        column("knob", lambda need: need.style.knob, 2),
        column("default", lambda need: _limit(need.style.default), right=True),
        column("the default cuts", lambda need: f"{need.cut} of {runs}" if need.cut else ""),
    ]


def _limit(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
