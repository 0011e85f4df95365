"""`agentsim show`."""

from __future__ import annotations

import click

from agentsim.cli.common import console, echo_json, format_option


@click.command("show")
@click.argument("file", metavar="FILE")
@format_option
def command(file: str, format_: str) -> None:
    """A transcript, recording or scenario, readable; `--format json` gives its facts."""
    from agentsim.report.show import facts_of, lines_of
    from agentsim.store.inputs import read_input

    found = read_input(file)
    if format_ == "json":
        echo_json(facts_of(found))
    else:
        console().print("\n".join(lines_of(found)), markup=False, highlight=False, soft_wrap=True)
