"""`agentsim run`."""

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
    show_lines,
    wire_options,
    write_page,
)


@click.command("run")
@click.argument("file", metavar="FILE")
@click.option("--style", default="reference", show_default=True, metavar="NAME", help="The loop to play it under.")
@limit_option
@wire_options
@set_option
@options_option
@max_calls_option
@click.option("--requests", type=click.Choice(["short", "full"]), default="short", help="How requests are told.")
@html_option
@format_option
def command(
    file: str,
    style: str,
    limit: Any,
    wire: str | None,
    stream: bool | None,
    sets: tuple[str, ...],
    options_file: str | None,
    max_calls: int,
    requests: str,
    html: str | None,
    format_: str,
) -> None:
    """Play one FILE under one style and print the transcript.

    Exit status 1 where an `expect` is not met (the file's own holds for the reference loop, others for their style), 2 where no wire of the style can say the scenario.
    """
    from agentsim.api import run
    from agentsim.judge.expect import unmet
    from agentsim.report.transcript import result_lines

    scenario = scenarios_of([file])[0]
    trees = option_trees(sets, options_file, [style])
    result = run(scenario, style, limit=limit, wire=wire, stream=stream, options=trees.get(style), max_calls=max_calls)
    if write_page(html, format_, lambda: _page(result)):
        pass
    elif format_ == "json":
        echo_json(result.to_dict(full_requests=requests == "full"))
    else:
        show_lines(result_lines(result, full=requests == "full"))
    if result.ended == "cannot_express":
        click.echo(f"agentsim: {(result.error or {})['message']}", err=True)
        raise click.exceptions.Exit(2)
    problems = unmet(result)
    for problem in problems:
        click.echo(f"expect: {problem}", err=True)
    if problems:
        raise click.exceptions.Exit(1)


def _page(result: Any) -> str:
    from agentsim.report.html.shown import run_page

    return run_page(result)
