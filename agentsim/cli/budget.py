"""`agentsim budget`."""

from __future__ import annotations

from typing import Any

import click

from agentsim.cli.common import (
    console,
    echo_json,
    format_option,
    option_trees,
    options_option,
    scenarios_of,
    set_option,
)


@click.command("budget")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option("--rounds", type=click.IntRange(0, 10_000), help="Without a FILE: for so many tool rounds and an answer.")
@click.option(
    "--percentile",
    type=click.FloatRange(0, 100, min_open=True),
    default=100,
    help="Share of the runs that has to finish.",
)
@click.option("--style", "styles", multiple=True, metavar="NAME", help="A style or all of an SDK's; repeatable.")
@set_option
@options_option
@format_option
def command(
    files: tuple[str, ...],
    rounds: int | None,
    percentile: float,
    styles: tuple[str, ...],
    sets: tuple[str, ...],
    options_file: str | None,
    format_: str,
) -> None:
    """The least limit in each style that lets the runs of the FILEs finish, and what each SDK's default would cut.

    With --rounds it answers without a file: a translation table of caps.
    """
    from agentsim.judge.budget import budget
    from agentsim.judge.budget import rounds as rounds_of
    from agentsim.styles import select

    chosen = select(styles)
    trees = option_trees(sets, options_file, [s.name for s in chosen] if styles else ())
    if bool(files) == (rounds is not None):
        raise click.UsageError("give FILEs, or --rounds N in place of them")
    played = scenarios_of(files) if rounds is None else [rounds_of(rounds)]
    needs = budget(played, chosen, percentile=percentile, options=trees)
    if format_ == "json":
        echo_json([need.to_dict() for need in needs])
    else:
        console().print(_table(needs, percentile))
        for need in needs:
            if need.formula:
                click.echo(f"{need.style.name}: {need.formula}")


def _table(needs: list[Any], percentile: float) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    runs = len(needs[0].least) if needs else 0
    share = "every run" if percentile == 100 else f"{percentile:g} % of the runs"
    table = Table(
        title=f"The least limit that lets {share} finish ({runs} run{'' if runs == 1 else 's'})",
        title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold",
    )  # fmt: skip
    for header, justify in (
        ("style", "left"), ("least limit", "right"), ("unit", "left"), ("knob", "left"), ("default", "right"), ("the default cuts", "left"),
    ):  # fmt: skip
        table.add_column(header, justify=justify, no_wrap=header != "knob")  # type: ignore[arg-type]
    for need in needs:
        default = "none" if need.style.default is None else f"{need.style.default:g}"
        cut = f"{need.cut} of {runs}" if need.cut else ""
        cells = [
            need.style.name,
            "none" if need.limit is None else str(need.limit),
            need.style.unit,
            need.style.knob,
            default,
            cut,
        ]
        table.add_row(*map(Text, cells))
    return table
