"""The command line. Each command is a module of its own that is imported when it is called, so that `--help` is quick."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from agentsim import __version__
from agentsim.cli.output import guarded
from agentsim.errors import AgentsimError, UsageError, nearest

#: command -> (module, what it does); the order is the one of the help.
COMMANDS = {
    "compare": ("compare", "Play scenarios or recordings under every style, side by side."),
    "run": ("run", "Play one scenario under one style and print the transcript."),
    "budget": ("budget", "The least limit in each style that lets the runs finish."),
    "styles": ("styles", "The vocabulary: unit, knob, default, check, ending."),
    "audit": ("audit", "Play awkward replies to your agent and report rule by rule."),
    "validate": ("validate", "Check scenario files; usable as a pre-commit hook."),
    "serve": ("serve", "A local server that speaks the providers' wire formats from scenarios."),
    "record": ("record", "Run a command and keep what it says to the real provider as a scenario."),
    "import": ("import_", "Write recordings of other tools as scenarios."),
    "show": ("show", "A transcript, recording or scenario, readable."),
    "schema": ("schema", "Print the JSON Schema of the scenario file."),
}


class _Commands(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(f"agentsim.cli.{entry[0]}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = nearest(args[0], COMMANDS) if args else None
            if near is None:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near!r}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, does) for name, (_, does) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="agentsim")
def group() -> None:
    """A test harness and simulator for LLM agent loops.

    Exit status: 0 fine, 1 the thing examined failed, 2 bad usage or bad input.
    """


def main() -> None:
    """Run the command line; every error of agentsim's own is a message and exit status 2."""
    try:
        with guarded():
            status = _status()
    except UsageError as error:  # there is nowhere to print to
        click.echo(f"agentsim: {error}", err=True)
        status = 2
    sys.exit(status)


def _status() -> int:
    """Run a command, and tell what went wrong; returns the exit status."""
    try:
        # Without standalone mode click hands an Exit's code over as the result.
        status = group(standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.Abort:
        click.echo("aborted", err=True)
    except click.ClickException as error:
        error.show()
    except AgentsimError as error:
        click.echo(f"agentsim: {error}", err=True)
    except OSError as error:  # the system's no to something that no command expected
        place = "" if error.filename is None else f"{os.fspath(error.filename)!r}: "
        click.echo(f"agentsim: {place}{error.strerror or error}", err=True)
    return 2
