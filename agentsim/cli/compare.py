"""`agentsim compare`."""

from __future__ import annotations

from typing import Any

import click

from agentsim.cli.common import (
    echo_json,
    format_option,
    html_option,
    limit_option,
    max_calls_option,
    option_trees,
    options_option,
    scenarios_of,
    set_option,
    show,
    wire_options,
    write_page,
)

SORT_KEYS = ("style", "calls", "requests", "rounds", "least", "seconds", "cost", "ended", "returned")


@click.command("compare")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@limit_option
@click.option("--style", "styles", multiple=True, metavar="NAME", help="A style or all of an SDK's; repeatable.")
@wire_options
@set_option
@options_option
@max_calls_option
@click.option("--only-differences", is_flag=True, help="Leave out the styles that do what most do.")
@click.option("--sort", type=click.Choice(SORT_KEYS), help="Sort the rows of each file.")
@click.option("--fail-on", type=click.Choice(["silent"]), help="Exit with status 1 where a style is silent.")
@html_option
@format_option
def command(
    files: tuple[str, ...],
    limit: Any,
    styles: tuple[str, ...],
    wire: str | None,
    stream: bool | None,
    sets: tuple[str, ...],
    options_file: str | None,
    max_calls: int,
    only_differences: bool,
    sort: str | None,
    fail_on: str | None,
    html: str | None,
    format_: str,
) -> None:
    """Play each FILE (a scenario or a recording) under each style.

    A style that can't be called with the --wire or --stream that is asked for is played as it is, and named under its table.
    """
    from agentsim.api import compare
    from agentsim.report.table import Table
    from agentsim.styles import select

    chosen = [style.name for style in select(styles)]
    trees = option_trees(sets, options_file, chosen if styles else ())
    rows: list[Any] = []
    for scenario in scenarios_of(files):
        table = compare(
            scenario, limit=limit, styles=chosen, wire=wire, stream=stream, options=trees, max_calls=max_calls
        )
        rows += sorted_rows(list(table), sort)
    found = Table(rows, only_differences=only_differences, wire=wire, stream=stream)
    if write_page(html, format_, found.to_html):
        pass
    elif format_ == "json":
        echo_json(found.to_list())
    else:
        show(found)
    if fail_on == "silent" and any(row.silent for row in rows):
        raise click.exceptions.Exit(1)


def sorted_rows(rows: list[Any], key: str | None) -> list[Any]:
    """The rows by a key, style order kept among equals."""
    keys = {
        "style": lambda r: r.style.name,
        "calls": lambda r: r.model_calls,
        "requests": lambda r: r.model_requests,
        "rounds": lambda r: r.tool_rounds,
        "least": lambda r: r.least_limit or 0,
        "seconds": lambda r: r.seconds,
        "cost": lambda r: r.cost_usd or 0.0,
        "ended": lambda r: r.ended,
        "returned": lambda r: r.returned,
    }
    return sorted(rows, key=keys[key]) if key else rows
