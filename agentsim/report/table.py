"""The comparison as a table that a person reads: on a terminal, in a string, in a notebook."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agentsim.judge.result import Result
from agentsim.report.columns import UNLIMITED, Column, as_text, parts

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions


class Table(Sequence[Result]):
    """Results of one or more scenarios, a row each, in file then style order.

    Args:
        rows: the results.
        only_differences: leave out what most rows agree on and say how many they are.
        wire, stream: what was asked for; a row whose style can't do it was played as the style does, which is told.
    """

    def __init__(
        self,
        rows: Iterable[Result],
        *,
        only_differences: bool = False,
        wire: str | None = None,
        stream: bool | None = None,
    ) -> None:
        self.rows = list(rows)
        self.wire, self.stream = wire, stream
        self.only_differences = only_differences

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.rows)

    def by_style(self) -> dict[str, Result]:
        """The rows by style name (of the last scenario, where there are several)."""
        return {row.style.name: row for row in self.rows}

    def to_list(self) -> list[dict[str, Any]]:
        """What `compare --format json` prints."""
        return [row.to_dict() for row in self.rows]

    def __str__(self) -> str:
        return as_text(self, UNLIMITED)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """A table for each scenario, and a line under it that says what is silent."""
        from rich.text import Text

        for rows in self.by_scenario():
            shown, hidden = differing(rows) if self.only_differences else (rows, 0)
            yield from parts(rows[0].scenario.name, _columns(shown), options.max_width)
            if hidden:
                yield Text(f"{hidden} more styles do what most do: {_ending(_commonest(rows))}")
            yield Text(LEGEND, style="dim")
            yield Text(summary(rows))
            yield from map(Text, not_as_asked(rows, self.wire, self.stream))

    def _repr_html_(self) -> str:
        from rich.console import Console

        console = Console(record=True, width=UNLIMITED, file=io.StringIO(), highlight=False)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def by_scenario(self) -> list[list[Result]]:
        """The rows of each scenario, in the order in which they were given."""
        groups: dict[int, list[Result]] = {}
        for row in self.rows:  # by the scenario itself: two may have one name
            groups.setdefault(id(row.scenario), []).append(row)
        return list(groups.values())

    def to_html(self) -> str:
        """A page of its own, with charts and transcripts; needs `agentsim[html]`."""
        from agentsim.report.html.compared import page

        return page(self)


def summary(rows: Sequence[Result]) -> str:
    """One line: how many styles would report an unfinished run as finished, and which; of several prompts the last one's."""
    silent = [row.style.name for row in rows if row.silent]
    prompts = len(rows[0].scenario.prompts) if rows else 1
    which = f" (of {prompts} prompts, each a run of its own, the last one's ending counts)" if prompts > 1 else ""
    if not silent:
        return f"silent: none of them reports an unfinished run as finished{which}"
    return f"silent: {len(silent)} of {len(rows)} report an unfinished run as finished{which}: {', '.join(silent)}"


def not_as_asked(rows: Sequence[Result], wire: str | None, stream: bool | None) -> list[str]:
    """A line for the wire, and one for streaming, that some rows were not played with because their styles can't.

    Args:
        rows: of one scenario.
        wire, stream: what was asked for; None: nothing.
    """
    played = [row for row in rows if row.ended != "cannot_express"]
    others = [row for row in rows if wire is not None and wire not in row.style.wires]
    lines = []
    if others:
        told = ", ".join(f"{row.style.name} ({row.wire})" for row in others)
        lines.append(f"not as asked: {len(others)} of {len(rows)} don't speak {wire} and are played on another: {told}")
    if stream is not None and (others := [row for row in played if row.stream is not stream]):
        told = ", ".join(row.style.name for row in others)
        how = "never call the model with streaming" if stream else "always call the model with streaming"
        lines.append(f"not as asked: {len(others)} of {len(rows)} {how}: {told}")
    return lines


def differing(rows: Sequence[Result]) -> tuple[list[Result], int]:
    """The rows that don't do what most do, and how many do."""
    common = _signature(_commonest(rows))
    kept = [row for row in rows if _signature(row) != common]
    return kept, len(rows) - len(kept)


def _commonest(rows: Sequence[Result]) -> Result:
    signatures = [_signature(row) for row in rows]
    return rows[max(range(len(rows)), key=lambda i: (signatures.count(signatures[i]), -i))]


def _signature(row: Result) -> tuple[Any, ...]:
    return row.model_calls, row.model_requests, row.tool_rounds, row.ended, row.returned, row.silent, row.final_text


def _ending(row: Result) -> str:
    return f"{row.model_calls} model calls, {row.tool_rounds} tool rounds, {row.ended}, {row.returned}"


def limit_text(row: Result) -> str:
    """The limit as a person reads it; a star marks the SDK's own default."""
    value = "none" if row.limit is None else f"{row.limit:g}"
    return f"{value}*" if row.limit_is_default else value


def caller_text(row: Result) -> str:
    """What the caller gets: the error's type, or the SDK's word and the text."""
    if row.error is not None:
        return row.error["type"]
    parts = [row.finish_reason or "", repr(shorten(row.final_text, 34)) if row.final_text is not None else ""]
    return " ".join(part for part in parts if part)


def shorten(text: str | None, width: int) -> str:
    """Text on one line, cut to a width."""
    line = " ".join((text or "").split())
    return line if len(line) <= width else line[: width - 1] + "…"


#: header, text, and the rank by which a column is left out where there is no room.
_COLUMNS: tuple[tuple[str, Callable[[Result], str], int], ...] = (
    ("limit", limit_text, 0),
    ("count", lambda row: f"{row.count:g} {row.style.unit}{'' if row.count == 1 else 's'}", 6),
    ("calls", lambda row: str(row.model_calls), 0),
    ("requests", lambda row: str(row.model_requests), 5),
    ("rounds", lambda row: str(row.tool_rounds), 3),
    ("ended", lambda row: row.ended, 0),
    ("returned", lambda row: row.returned, 0),
    ("silent", lambda row: "SILENT" if row.silent else "", 0),
    ("refused", lambda row: str(len(row.refused_requests) or ""), 1),
    ("least", lambda row: "-" if row.least_limit is None else str(row.least_limit), 2),
    ("seconds", lambda row: f"{row.seconds:g}", 5),
    ("cost", lambda row: "" if row.cost_usd is None else f"${row.cost_usd:.4f}", 5),
    ("the caller gets", caller_text, 7),
)
_LEFT = ("ended", "returned", "silent", "the caller gets")

#: What each column is, under the table.
LEGEND = (
    "* the SDK's default. least: the smallest limit that is enough. refused: requests that the real API would reject."
)

_RETURNED = {"answer": "green", "stopped": "yellow", "error": "red"}
_COLOURS: dict[str, Callable[[str], str]] = {
    "returned": lambda text: _RETURNED.get(text, ""),
    "silent": lambda text: "bold red" if text else "",
}


def _columns(rows: Sequence[Result]) -> list[Column]:
    columns = [Column("style", tuple(row.style.name for row in rows))]
    for header, text, rank in _COLUMNS:
        if _says_something(header, rows):
            cells = tuple(map(text, rows))
            colours = tuple(map(_COLOURS[header], cells)) if header in _COLOURS else ()
            columns.append(Column(header, cells, header not in _LEFT, rank, colours, header == "the caller gets"))
    return columns


def _says_something(column: str, rows: Sequence[Result]) -> bool:
    """Seconds, cost and requests are only shown where they say something that the rest does not."""
    if column == "seconds":
        return any(row.seconds for row in rows)
    if column == "cost":
        return any(row.cost_usd is not None for row in rows)
    return column != "requests" or any(row.model_requests != row.model_calls for row in rows)
