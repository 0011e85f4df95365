"""The page of commands, from what click knows of them."""

from __future__ import annotations

import inspect

import click

from agentsim.cli import COMMANDS, group
from tools.reference.markdown import table

INTRODUCTION = """# Commands

Results go to standard output, complaints to standard error. Exit status 0 is fine, 1 means that the thing examined failed, 2 bad usage or bad input. `NO_COLOR` is
honoured. A FILE may be a scenario or any recording that `agentsim import` reads."""


def page() -> str:
    """The whole page."""
    root = click.Context(group, info_name="agentsim")
    parts = [INTRODUCTION]
    parts.append(table(("command", "does"), [(f"[`{name}`](#{name})", does) for name, (_, does) in COMMANDS.items()]))
    for name in COMMANDS:
        command = group.get_command(root, name)
        assert command is not None
        parts.append(_command(name, command, click.Context(command, info_name=name, parent=root)))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: click.Command, context: click.Context) -> str:
    usage = " ".join(["agentsim", name, *command.collect_usage_pieces(context)])
    parts = [f"## {name}", f"`{usage}`", inspect.cleandoc(command.help or "")]
    rows = [_option(each, context) for each in command.params if isinstance(each, click.Option)]
    return "\n\n".join([*parts, table(("option", "what it does"), rows)] if rows else parts)


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    assert record is not None
    names, text = record
    return f"`{names}`", text
