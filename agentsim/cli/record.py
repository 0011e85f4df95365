"""`agentsim record`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from agentsim.cli.common import echo_json, format_option
from agentsim.errors import UsageError

if TYPE_CHECKING:
    from agentsim.http.record import Recorder

#: The scenario's file where `-o` does not name one.
DEFAULT = "recording.yaml"


@click.command("record")
@click.argument("command_", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o", "--output", default=DEFAULT, show_default=True, metavar="FILE",
    help="The scenario, or a folder for it; FILE.http.jsonl (the traffic) and FILE.transcript.jsonl stand beside it.",
)  # fmt: skip
@click.option(
    "--upstream", multiple=True, metavar="[NAME=]URL",
    help="Where requests go; of one provider: anthropic=, openai= or gemini=. Default: the base-URL variables, else the provider.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of 127.0.0.1; default: a free one.")
@click.option("--force", is_flag=True, help="Replace a recording that exists.")
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    command_: tuple[str, ...],
    output: str,
    upstream: tuple[str, ...],
    port: int,
    force: bool,
    format_: str,
) -> None:
    """Run COMMAND, pass its requests through to the provider, and keep them as a scenario and a transcript.

    Every exchange is written when it is finished, without keys and cookies. The exit status is COMMAND's. Ctrl-C goes to COMMAND, and
    what it asked until it ends is recorded.
    """
    from agentsim.http.forward import upstreams
    from agentsim.http.record import Recorder
    from agentsim.http.recording import record

    targets = upstreams(upstream, os.environ)
    recorder = Recorder(_place(output), replace=force)
    click.echo(f"recording to {recorder.files.part}", err=True)
    try:
        status = record(recorder, targets, command_, port=port, tell=lambda text: click.echo(text, err=True))
    except BaseException:  # no such command, a taken port: nothing is left behind that would be in the way
        recorder.abandon()
        if recorder.kept:
            click.echo(f"what was recorded until then is in {recorder.files.part}", err=True)
        raise
    written = recorder.finish()
    if format_ == "json":
        files = [str(path) for path in written]
        echo_json(
            {
                "status": status,
                "exchanges": recorder.kept,
                "passed": recorder.passed,
                "unreached": recorder.unreached,
                "files": files,
            },
            err=True,
        )
    else:
        _tell(recorder, [str(path) for path in written])
    ctx.exit(status)


def _place(output: str) -> str:
    """The scenario's file; in a folder it is called as it is without `-o`.

    Raises:
        UsageError: a name that is empty, or of a folder that does not exist.
    """
    if not output:
        raise UsageError("-o wants a file or a folder, but its name is empty")
    return os.path.join(output, DEFAULT) if os.path.isdir(output) else output


def _tell(recorder: Recorder, written: list[str]) -> None:
    """What was kept; on standard error, because standard output is the command's."""
    count = f"{recorder.kept} exchange{'' if recorder.kept == 1 else 's'}"
    other = f", {recorder.passed} other requests passed through" if recorder.passed else ""
    click.echo(f"{count} kept{other}", err=True)
    if recorder.unreached:
        count = f"{recorder.unreached} request{' is' if recorder.unreached == 1 else 's are'}"
        click.echo(f"warning: {count} not kept: the provider could not be reached", err=True)
    elif not written:
        click.echo("nothing was written: the command asked no model through the base-URL variables", err=True)
    for path in written:
        click.echo(f"  {path}", err=True)
