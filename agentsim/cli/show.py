"""`agentsim show`."""

from __future__ import annotations

from typing import Any

import click

from agentsim.cli.common import echo_json, format_option, html_option, show_lines, write_page


@click.command("show")
@click.argument("file", metavar="FILE")
@html_option
@format_option
def command(file: str, html: str | None, format_: str) -> None:
    """A transcript, recording or scenario, readable; `--format json` gives its facts."""
    from agentsim.report.show import facts_of, lines_of
    from agentsim.store.inputs import read_input

    found = read_input(file)
    if write_page(html, format_, lambda: _page(found, file)):
        pass
    elif format_ == "json":
        echo_json(facts_of(found))
    else:
        show_lines(lines_of(found))


def _page(found: Any, file: str) -> str:
    from agentsim.report.html.shown import page

    return page(found, file)
