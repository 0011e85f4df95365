"""Tables that fit: on a narrow terminal columns are left out, the least telling ones first, and then rows become paragraphs.

Nothing is cut in the middle of a word that matters: a table whose last columns are hidden past the edge says less than a narrower one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentsim.report.plain import line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

#: Narrower than this no column of running text is worth reading.
WORDS = 16

#: On a place narrower than this, names of styles stand on two lines.
NARROW = 110

#: So wide is what no terminal limits: every column has room.
UNLIMITED = 10_000


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        header: its name.
        cells: one a row.
        right: whether it is flush right, as numbers are.
        rank: 0: always there; of the others the highest is left out first.
        colours: one a row, "" for none.
        wraps: whether it may be as narrow as WORDS and go over several lines.
        broken: whether it goes on in a new line behind a slash.
    """

    header: str
    cells: tuple[str, ...]
    right: bool = False
    rank: int = 0
    colours: tuple[str, ...] = ()
    wraps: bool = False
    broken: bool = False

    def text(self, row: int) -> str:
        """A cell as it is printed."""
        text = line(self.cells[row])
        return text.replace("/", "/\n", 1) if self.broken else text

    def width(self) -> int:
        """What it takes, in places on a terminal (some characters take two)."""
        from rich.cells import cell_len

        cells = [self.text(row) for row in range(len(self.cells))]
        whole = max(map(cell_len, [self.header, *(part for text in cells for part in text.split("\n"))]))
        return min(whole, max(WORDS, cell_len(self.header))) if self.wraps else whole


def fitting(columns: Sequence[Column], width: int) -> list[Column] | None:
    """The columns that fit, in their order; None where not even those fit that always have to be there."""
    kept = list(columns)
    while sum(column.width() + 2 for column in kept) > width:
        last = max(kept, key=lambda column: column.rank)
        if not last.rank:
            return None
        kept.remove(last)
    return kept


class Listing:
    """A table without a title, which prints itself.

    Args:
        columns: the first names the row.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        yield from parts("", self.columns, options.max_width)


def parts(title: str, columns: Sequence[Column], width: int) -> Iterator[Any]:
    """What is printed of a table: its title, and the table or, where the place is too narrow, a paragraph a row.

    Args:
        title: as it is, no markup is read in it; "": none.
        columns: the first names the row.
        width: of the place.
    """
    from rich.text import Text

    if title:
        yield Text(line(title), style="bold", overflow="fold")
    if width < NARROW:
        columns = [replace(columns[0], broken=True), *columns[1:]]
    kept = fitting(columns, width)
    if kept is None:
        yield from _paragraphs(columns)
    else:
        yield _table(kept)
        left_out = [column.header for column in columns if column not in kept]
        if left_out:
            yield Text(f"no room for: {', '.join(left_out)}", style="dim")


def _table(columns: Sequence[Column]) -> Any:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        made.add_column(
            column.header, justify="right" if column.right else "left", no_wrap=not column.wraps, overflow="fold",
            min_width=column.width(),
        )  # fmt: skip
    for row in range(len(columns[0].cells)):
        made.add_row(*(_cell(column, row) for column in columns))
    return made


def _cell(column: Column, row: int) -> Any:
    from rich.text import Text

    return Text(column.text(row), style=column.colours[row] if column.colours else "")


def _paragraphs(columns: Sequence[Column]) -> Iterator[Any]:
    from rich.padding import Padding
    from rich.text import Text

    name, *others = columns
    for row, text in enumerate(name.cells):
        yield Text("")
        yield Text(line(text), overflow="fold")
        told = Text(overflow="fold")
        for column in others:
            if column.cells[row]:
                told.append(f"{', ' if told else ''}{column.header} ", "dim").append_text(_cell(column, row))
        yield Padding(told, (0, 0, 0, 2))


def as_text(printed: Any, width: int, encoding: str = "utf-8") -> str:
    """What a value prints, as a string without colours and without spaces at the ends of lines.

    Args:
        encoding: of the place it is for: lines are drawn with what that can say.
    """
    from rich.console import Console

    out = io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", newline="")
    Console(file=out, width=width, color_system=None, legacy_windows=False, highlight=False).print(printed)
    out.seek(0)
    return "\n".join(text.rstrip() for text in out.read().splitlines())


def show(printed: Any, console: Console) -> None:
    """Print a value; where no terminal limits it, in full and without spaces at the ends of lines."""
    if console.is_terminal:
        console.print(printed)
    else:
        console.file.write(as_text(printed, console.width, console.encoding) + "\n")
