"""The geometry of the charts, and what each says in words: templates draw it as inline SVG, screen readers read the words.

Numbers are strings of two decimals, so that the same values give the same bytes everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby


def number(value: float) -> str:
    """A coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a kind, which the style sheet colours."""

    x: str
    y: str
    width: str
    height: str
    kind: str = ""
    title: str = ""


# -- shares of a whole ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a whole: its name, how many, and its box in a bar of width BAR."""

    name: str
    count: int
    box: Box


BAR, THICK = 480, 14


def shares(counts: Mapping[str, tuple[str, int]]) -> tuple[Share, ...]:
    """A bar in parts.

    Args:
        counts: kind -> (name, how many), in the order in which they are drawn.
    """
    whole = sum(count for _, count in counts.values()) or 1
    found, at = [], 0
    for kind, (name, count) in counts.items():
        if count:
            box = Box(number(BAR * at / whole), "0", number(BAR * count / whole), str(THICK), kind, f"{name}: {count}")
            found.append(Share(name, count, box))
        at += count
    return tuple(found)


# -- model calls against the limit ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one limit: model calls, and what the caller was told (answer, stopped, error or silent)."""

    limit: int
    calls: int
    kind: str


@dataclass(frozen=True, slots=True)
class CallsChart:
    """Model calls at each limit, as bars.

    Args:
        used, least: where the marks of the limit that was used and of the least that is enough stand; None: not on the chart.
        says: the chart in words.
    """

    bars: tuple[Box, ...]
    used: str | None
    least: str | None
    says: str


WIDTH, HEIGHT = 180, 40


def calls_chart(tried: Sequence[Tried], most_calls: int, used: float | None, least: int | None) -> CallsChart:
    """Bars of one style.

    Args:
        tried: by limit, ascending.
        most_calls: what is as high as the chart: the same for all charts of a page, so that they can be compared.
        used, least: limits to mark.
    """
    step = WIDTH / len(tried)
    bars = []
    for at, each in enumerate(tried):
        height = max(HEIGHT * each.calls / max(1, most_calls), 1)
        left, top = number(at * step + 0.5), number(HEIGHT - height)
        bars.append(Box(left, top, number(step - 1), number(height), each.kind))
    return CallsChart(tuple(bars), _mark(tried, used, step), _mark(tried, least, step), _in_words(tried))


def _mark(tried: Sequence[Tried], limit: float | None, step: float) -> str | None:
    """The middle of a limit's bar."""
    if limit is None or not tried[0].limit <= limit <= tried[-1].limit:
        return None
    at = max(index for index, each in enumerate(tried) if each.limit <= limit)
    return number((at + 0.5) * step)


_WORDS = {"answer": "answer", "stopped": "stopped", "error": "error", "silent": "unfinished, told as an answer"}


def _in_words(tried: Sequence[Tried]) -> str:
    """Runs of limits that do the same, told together."""
    told = []
    for (calls, kind), group in groupby(tried, key=lambda each: (each.calls, each.kind)):
        limits = [each.limit for each in group]
        where = f"{limits[0]}" if len(limits) == 1 else f"{limits[0]} to {limits[-1]}"
        told.append(f"limit {where}: {calls} call{'' if calls == 1 else 's'}, {_WORDS[kind]}")
    return "; ".join(told)


# -- shares of runs that finish, against the limit ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """A label on an axis and where it stands."""

    at: str
    label: str


@dataclass(frozen=True, slots=True)
class StepsChart:
    """A line that rises in steps from 0 to at most 100 %.

    Args:
        path: of the line; `area`: the same, closed at the bottom.
        marks: limits to mark, each with a label.
        ticks: of the limits' axis.
        says: the chart in words.
    """

    path: str
    area: str
    marks: tuple[Tick, ...]
    ticks: tuple[Tick, ...]
    says: str


PLOT_WIDTH, PLOT_HEIGHT = 300, 110


class Scale:
    """Where a limit stands: evenly up to a few dozen, by its logarithm where limits go further."""

    def __init__(self, most: int) -> None:
        self.most = max(most, 4)
        self.is_log = self.most > 40

    def at(self, limit: float) -> float:
        """The place of a limit, 0 to PLOT_WIDTH; what is larger than the axis stands at its end."""
        value = min(max(limit, 0 if not self.is_log else 1), self.most)
        share = math.log(value) / math.log(self.most) if self.is_log else value / self.most
        return PLOT_WIDTH * share

    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers along the axis."""
        if self.is_log:
            limits = [n * 10**power for power in range(7) for n in (1, 2, 5) if n * 10**power <= self.most]
        else:
            step = next(n for n in (1, 2, 5, 10) if self.most / n <= 8)
            limits = list(range(0, self.most + 1, step))
        return tuple(Tick(number(self.at(limit)), str(limit)) for limit in limits)


def steps_chart(least: Mapping[int | None, int], scale: Scale, marks: Mapping[float, str]) -> StepsChart:
    """The share of runs that finish under each limit.

    Args:
        least: least limit -> how many runs need it; None: no limit lets them finish.
        scale: of the limits' axis.
        marks: limit -> label.
    """
    runs = sum(least.values()) or 1
    left, bottom = scale.at(0), PLOT_HEIGHT
    path, said, done = f"M{number(left)} {bottom}", [], 0
    for limit, count in sorted((n, count) for n, count in least.items() if n is not None):
        done += count
        path += f"H{number(scale.at(limit))}V{number(PLOT_HEIGHT * (1 - done / runs))}"
        said.append(f"{limit}: {percent(done, runs)}")
    path += f"H{PLOT_WIDTH}"
    if len(said) > 12:
        said = [*said[:: math.ceil(len(said) / 12)], said[-1]]
    words = "; ".join(dict.fromkeys(said)) or "no limit lets a run finish"
    placed = tuple(Tick(number(scale.at(limit)), label) for limit, label in sorted(marks.items()))
    area = f"{path}V{bottom}H{number(left)}Z"
    return StepsChart(path, area, placed, scale.ticks(), f"share of runs that finish, by limit: {words}")


def percent(part: int, whole: int) -> str:
    """A share; a small one is not told as nothing, nor a large one as everything."""
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.1:
        return "< 0.1 %"
    if 99.9 < share < 100:
        return "> 99.9 %"
    return f"{share:.1f}".removesuffix(".0") + " %"


# -- what took how long ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spans:
    """Boxes on lanes along virtual time.

    Args:
        lanes: (name, where its text stands).
        height: of the chart.
        end: its whole time in seconds.
        says: the chart in words.
    """

    lanes: tuple[tuple[str, str], ...]
    boxes: tuple[Box, ...]
    height: str
    end: str
    says: str


SPANS_WIDTH, LANE = 600, 18


def spans(lanes: Sequence[str], times: Sequence[tuple[int, float, float]]) -> Spans | None:
    """What took how long.

    Args:
        lanes: their names.
        times: (number of the lane from 1, from, to) in seconds.
    Returns:
        None where nothing took time.
    """
    end = max((to for _, _, to in times), default=0.0)
    if not end:
        return None
    used = sorted({lane for lane, _, _ in times})
    places = {lane: at * LANE for at, lane in enumerate(used)}
    boxes = []
    for lane, start, to in times:
        width = max(SPANS_WIDTH * (to - start) / end, 1)
        title = f"{lanes[lane - 1]}: {start:g} s to {to:g} s"
        kind = "tools" if lanes[lane - 1] == "tools" else "model"
        boxes.append(
            Box(
                number(SPANS_WIDTH * start / end),
                number(places[lane] + 3),
                number(width),
                number(LANE - 6),
                kind,
                title,
            )
        )
    named = tuple((lanes[lane - 1], number(places[lane] + LANE / 2)) for lane in used)
    said = [f"{lanes[lane - 1]} {sum(to - start for of, start, to in times if of == lane):g} s" for lane in used]
    words = f"{end:g} virtual seconds in all: {', '.join(said)}"
    return Spans(named, tuple(boxes), number(LANE * len(used)), f"{end:g}", words)
