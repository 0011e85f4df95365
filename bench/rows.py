"""Rows of the table: what was measured, of whom, and what is stored of it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

STORED = Path(__file__).resolve().parent / "ratios.json"

#: A row has regressed where its ratio is above the stored one by more than this.
SLACK = 0.10

UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0, "MiB": 1.0, "KiB": 1.0, "/s": 1.0}


@dataclass(slots=True)
class Row:
    """One line of the table.

    Args:
        what: was measured.
        unit: of the values as they are shown.
        values: of each side, agentsim's first.
        ratios: agentsim's share of each other side: below 1 agentsim is ahead.
        floors: sides that do less (constant bytes, nothing judged): shown, but nobody to be ahead of.
        steady: whether a neighbour leaves the ratio alone, so that it can be held against the stored one.
    """

    what: str
    unit: str
    values: dict[str, float]
    ratios: dict[str, float] = field(default_factory=dict)
    floors: frozenset[str] = frozenset()
    steady: bool = True

    @property
    def behind(self) -> list[str]:
        """The peers that are ahead of agentsim."""
        return [name for name, ratio in self.ratios.items() if ratio > 1 and name not in self.floors]

    def better(self, again: Row) -> Row:
        """The same row with the better ratio of two measurements."""
        ratios = {name: min(ratio, again.ratios[name]) for name, ratio in self.ratios.items()}
        return replace(self, ratios=ratios)


@dataclass(slots=True)
class Aim:
    """A figure of agentsim's own that is held against an aim instead of a peer."""

    what: str
    unit: str
    value: float
    aim: float


def row_of(
    what: str,
    unit: str,
    rounds: Mapping[str, Sequence[float]],
    *,
    floors: Iterable[str] = (),
    steady: bool = True,
    more_is_better: bool = False,
) -> Row:
    """A row of what each side took, round by round: values are the best round, ratios the median of the rounds' own.

    Args:
        more_is_better: requests a second; the ratio then is the peer's share of agentsim's, so that below 1 is always good.
    """
    best = max if more_is_better else min
    ours, *others = rounds
    ratios = {}
    for name in others:
        pairs = zip(rounds[ours], rounds[name], strict=True)
        ratios[name] = statistics.median(b / a if more_is_better else a / b for a, b in pairs)
    return Row(what, unit, {name: best(each) for name, each in rounds.items()}, ratios, frozenset(floors), steady)


def told(value: float, unit: str) -> str:
    """A value as the table shows it."""
    shown = value * UNITS[unit]
    return f"{shown:,.0f}" if shown >= 100 else f"{shown:.1f}" if shown >= 10 else f"{shown:.2f}"


def table(rows: Sequence[Row]) -> str:
    """A Markdown table of rows with the same sides."""
    sides = list(dict.fromkeys(name for row in rows for name in row.values))
    lines = [f"| | unit | {' | '.join(sides)} |", "|---|---|" + "---|" * len(sides)]
    for row in rows:
        cells = []
        for name in sides:
            if name not in row.values:
                cells.append("")
                continue
            value = told(row.values[name], row.unit)
            ratio = row.ratios.get(name)
            cells.append(f"**{value}**" if ratio is None else f"{value} ({share(ratio)})")
        lines.append(f"| {row.what} | {row.unit} | {' | '.join(cells)} |")
    return "\n".join(lines)


def share(ratio: float) -> str:
    """How many times agentsim's figure the other side's is."""
    times = 1 / ratio if ratio > 0 else float("inf")
    return f"{times:,.0f}×" if times >= 10 else f"{times:.2f}×"


def aims_table(aims: Sequence[Aim]) -> str:
    """agentsim's own figures against their aims."""
    lines = ["| what | measured | aim | share of the aim |", "|---|---|---|---|"]
    for each in aims:
        if not each.aim:
            lines.append(f"| {each.what} | {told(each.value, each.unit)} {each.unit} | | |")
            continue
        share = f"{each.value / each.aim:.0%}"
        lines.append(
            f"| {each.what} | {told(each.value, each.unit)} {each.unit} | {told(each.aim, each.unit)} {each.unit} | {share} |"
        )
    return "\n".join(lines)


def stored() -> dict[str, dict[str, float]]:
    """The stored ratios: row -> side -> ratio."""
    if not STORED.exists():
        return {}
    found: dict[str, dict[str, float]] = json.loads(STORED.read_text("utf-8"))["ratios"]
    return found


def store(rows: Sequence[Row], versions: Mapping[str, str]) -> None:
    """Write the ratios of these rows; those of rows that were not measured stay."""
    ratios = stored() | {row.what: {name: round(ratio, 4) for name, ratio in row.ratios.items()} for row in rows}
    text = json.dumps({"versions": dict(sorted(versions.items())), "ratios": ratios}, indent=1, ensure_ascii=False)
    STORED.write_text(text + "\n", "utf-8")


def regressions(rows: Sequence[Row]) -> list[str]:
    """A sentence for each row that is more than a tenth worse than the stored one."""
    before = stored()
    found = []
    for row in rows:
        for name, ratio in row.ratios.items() if row.steady else ():
            old = before.get(row.what, {}).get(name)
            if old is not None and ratio > old * (1 + SLACK):
                found.append(f"{row.what}: {ratio:.3f} of {name}'s, stored is {old:.3f} (+{ratio / old - 1:.0%})")
    return found
