"""Budgets as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentsim.judge.budget import Need
from agentsim.judge.fleet import Fleet

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_WIDE = 160


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

    def __rich__(self) -> RichTable:
        return table(self.needs, self.percentile)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=_WIDE, color_system=None, highlight=False, force_terminal=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())


def table(needs: list[Need], percentile: float) -> RichTable:
    """The table of `agentsim budget`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    runs = needs[0].runs if needs else 0
    share = "every run" if percentile == 100 else f"{percentile:g} % of the runs"
    made = Table(
        title=f"The least limit that lets {share} finish ({runs} run{'' if runs == 1 else 's'})",
        title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold",
    )  # fmt: skip
    for header, justify in (
        ("style", "left"), ("least limit", "right"), ("unit", "left"), ("knob", "left"), ("default", "right"), ("the default cuts", "left"),
    ):  # fmt: skip
        made.add_column(header, justify=justify, no_wrap=header != "knob")  # type: ignore[arg-type]
    for need in needs:
        cells = [
            need.style.name,
            "none" if need.limit is None else str(need.limit),
            need.style.unit,
            need.style.knob,
            "none" if need.style.default is None else f"{need.style.default:g}",
            f"{need.cut} of {runs}" if need.cut else "",
        ]
        made.add_row(*map(Text, cells))
    return made
