"""`agentsim audit`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from agentsim.cli.common import LIMIT, echo_json, html_option, show_lines, write_page
from agentsim.errors import UsageError

_COMMAND = "agentsim.audit.command"


def _progress(stem: str, number: int, count: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{number}/{count} {stem}", nl=number == count, err=True)


class _Audit(click.Command):
    """Keeps what stands behind `--` apart: it is a command, while a word before it names a callable."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = args[at + 1 :] if at < len(args) else None
        return super().parse_args(ctx, args[:at])


@click.command("audit", cls=_Audit)
@click.argument("target", nargs=-1, type=click.UNPROCESSED, metavar="TARGET | -- COMMAND...")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "junit", "html"]),
    default="text",
    help="How to print the report card.",
)
@html_option
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Look at this rule only; may be given again.")
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="RULE",
    help="Exit with 1 only where this rule failed; 'none' for never.",
)
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Call this tool only: tools have side effects.")
@click.option("--result", metavar="MODULE:FUNCTION", help="Says of what the target returned whether it is an answer.")
@click.option(
    "--deadline", type=click.FloatRange(0.1), default=30.0, show_default=True, help="Seconds for one scenario."
)
@click.option(
    "--max-calls", type=click.IntRange(2), default=100, show_default=True, help="Stop a run after so many requests."
)
@click.option("--limit", type=LIMIT, default=None, help="Model calls that the target's own limit allows.")
@click.option("--prompt", help="What the agent is asked, in place of the catalogue's prompt.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST", help="A host that the target may reach.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    target: tuple[str, ...],
    format_: str,
    html: str | None,
    fail_on: tuple[str, ...],
    **given: Any,
) -> None:
    """Play the catalogue of awkward replies to an agent, and report rule by rule.

    TARGET is module:callable (it takes a prompt; sync or async). Behind `--` it is a command in any language: it gets
    base-URL variables and dummy keys, and the prompt as {prompt}, else as its last word. Exit status 1: a rule failed.
    """
    from agentsim.audit import Options, audit
    from agentsim.judge.rules import chosen
    from agentsim.report.html.page import STANDARD_OUTPUT, require

    if format_ == "html":
        require()
        html = html or STANDARD_OUTPUT
    named = _target(target, ctx.meta[_COMMAND])
    chosen(name for name in fail_on if name != "none")
    limit = given["limit"]
    options = Options(
        deadline=given["deadline"],
        most=given["max_calls"],
        limit=None if limit in (None, "none", "default") else float(limit),
        tools=frozenset(given["tools"]),
        result=given["result"],
        prompt=given["prompt"],
        allow_hosts=given["hosts"],
    )
    report = audit(named, rules=given["rules"], options=options, tell=_progress)
    if write_page(html, format_, report.to_html):
        pass
    elif format_ == "json":
        echo_json(report.to_dict())
    elif format_ == "junit":
        click.echo(report.junit(), nl=False)
    elif format_ != "html":
        show_lines(report.lines())
    if [rule for rule in report.failed if not fail_on or rule in fail_on]:
        ctx.exit(1)


def _target(words: Sequence[str], command_: Sequence[str] | None) -> str | Sequence[str]:
    """The callable's name, or the command's words.

    Raises:
        UsageError: neither or both are given, or a word names no callable.
    """
    if words and command_ is not None:
        raise UsageError(
            f"expected module:callable or `-- COMMAND`, but both came: {' '.join(words)!r} and {' '.join(command_)!r}"
        )
    if command_:
        return command_
    if command_ is not None:
        raise UsageError("expected a command behind `--`, but nothing came")
    if not words:
        raise UsageError("expected module:callable, as my_package:run_agent, or `-- COMMAND`, but nothing came")
    if len(words) == 1 and _is_callable(words[0]):
        return words[0]
    said = " ".join(words)
    raise UsageError(f"expected module:callable or `-- COMMAND`, but {said!r} came{_hint(words)}")


def _hint(words: Sequence[str]) -> str:
    """What was meant: a file's module, or a command without `--`."""
    file, _, name = words[0].partition(":")
    module = file.removeprefix("./").removesuffix(".py")
    if len(words) == 1 and all(part.isidentifier() for part in re.split("[./]", module)):
        return f"; for a callable of the module {module.replace('/', '.')}: {module.replace('/', '.')}:{name or 'NAME'}"
    return f"; for a command: agentsim audit -- {' '.join(words)}"


def _is_callable(word: str) -> bool:
    """Whether a word has the form module:callable."""
    module, colon, path = word.partition(":")
    return (
        bool(colon)
        and "/" not in module
        and all(part.isidentifier() for part in (*module.split("."), *path.split(".")))
    )
