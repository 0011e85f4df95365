"""The comparison as a table that a person reads: on a terminal, in a string, in a notebook."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agentsim.judge.result import Result

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

#: Width of a table that no terminal limits.
WIDE = 170


class Table(Sequence[Result]):
    """Results of one or more scenarios, a row each, in file then style order.

    Args:
        rows: the results.
        only_differences: leave out what most rows agree on and say how many they are.
    """

    def __init__(self, rows: Iterable[Result], *, only_differences: bool = False) -> None:
        self.rows = list(rows)
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
        from rich.console import Console

        out = io.StringIO()
        self.print(Console(file=out, width=WIDE, color_system=None, legacy_windows=False))
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def __rich__(self) -> RichTable:
        return self._tables()[0]

    def _repr_html_(self) -> str:
        from rich.console import Console

        console = Console(record=True, width=WIDE, file=io.StringIO())
        self.print(console)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def print(self, console: Console) -> None:
        """Print a table for each scenario, and a line under it that says what is silent."""
        for rows in self.by_scenario():
            name = rows[0].scenario.name
            shown, hidden = differing(rows) if self.only_differences else (rows, 0)
            console.print(_rich_table(name, shown, console.width))
            if hidden:
                console.print(f"{hidden} more styles do what most do: {_ending(_commonest(rows))}")
            console.print(LEGEND, highlight=False, style="dim")
            console.print(summary(rows), highlight=False)

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

    def _tables(self) -> list[RichTable]:
        return [_rich_table(rows[0].scenario.name, rows) for rows in self.by_scenario()]


def summary(rows: Sequence[Result]) -> str:
    """One line: how many styles would report an unfinished run as finished, and which."""
    silent = [row.style.name for row in rows if row.silent]
    if not silent:
        return "silent: none of them reports an unfinished run as finished"
    return f"silent: {len(silent)} of {len(rows)} report an unfinished run as finished: {', '.join(silent)}"


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


#: header, justification, text, and the terminal's width from which on it is shown.
_COLUMNS: tuple[tuple[str, str, Callable[[Result], str], int], ...] = (
    ("limit", "right", limit_text, 0),
    ("count", "right", lambda row: f"{row.count:g} {row.style.unit}{'' if row.count == 1 else 's'}", 110),
    ("calls", "right", lambda row: str(row.model_calls), 0),
    ("requests", "right", lambda row: str(row.model_requests), 100),
    ("rounds", "right", lambda row: str(row.tool_rounds), 90),
    ("ended", "left", lambda row: row.ended, 0),
    ("returned", "left", lambda row: row.returned, 0),
    ("silent", "left", lambda row: "SILENT" if row.silent else "", 0),
    ("refused", "right", lambda row: str(len(row.refused_requests) or ""), 0),
    ("least", "right", lambda row: "-" if row.least_limit is None else str(row.least_limit), 96),
    ("seconds", "right", lambda row: f"{row.seconds:g}", 100),
    ("cost", "right", lambda row: "" if row.cost_usd is None else f"${row.cost_usd:.4f}", 100),
    ("the caller gets", "left", caller_text, 140),
)

#: What each column is, under the table.
LEGEND = (
    "* the SDK's default. least: the smallest limit that is enough. refused: requests that the real API would reject."
)

_COLOURS = {"answer": "green", "stopped": "yellow", "error": "red"}


def _rich_table(name: str, rows: Sequence[Result], width: int = WIDE) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(
        title=name, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title_style="bold"
    )
    columns = [c for c in _COLUMNS if c[3] <= width and _says_something(c[0], rows)]
    cells = [[text(row) for _, _, text, _ in columns] for row in rows]
    table.add_column("style", no_wrap=True)
    narrow = width < 110
    for at, (header, justify, *_) in enumerate(columns):
        wide = max([len(header), *(len(line[at]) for line in cells)])
        fixed = header != "the caller gets"
        table.add_column(header, justify=justify, no_wrap=True, min_width=wide if fixed else 15)  # type: ignore[arg-type]
    for row, line in zip(rows, cells, strict=True):
        name = row.style.name.replace("/", "/\n", 1) if narrow else row.style.name
        table.add_row(_cell(name), *(_styled(c[0], text) for c, text in zip(columns, line, strict=True)))
    return table


def _says_something(column: str, rows: Sequence[Result]) -> bool:
    """Seconds, cost and requests are only shown where they say something that the rest does not."""
    if column == "seconds":
        return any(row.seconds for row in rows)
    if column == "cost":
        return any(row.cost_usd is not None for row in rows)
    return column != "requests" or any(row.model_requests != row.model_calls for row in rows)


def _styled(header: str, text: str) -> Any:
    cell = _cell(text)
    if header == "returned":
        cell.stylize(_COLOURS.get(text, ""))
    elif header == "silent" and text:
        cell.stylize("bold red")
    return cell


def _cell(text: str) -> Any:
    from rich.text import Text

    return Text(text)
