"""`agentsim audit`."""

from __future__ import annotations

import sys
from typing import Any

import click

from agentsim.cli.common import LIMIT, echo_json, html_option, show_lines, write_page


def _progress(stem: str, number: int, count: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{number}/{count} {stem}", nl=number == count, err=True)


@click.command("audit", context_settings={"ignore_unknown_options": False})
@click.argument("target", nargs=-1, required=True, type=click.UNPROCESSED, metavar="TARGET | -- COMMAND...")
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
    named: Any = target[0] if len(target) == 1 and _is_callable(target[0]) else target
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


def _is_callable(word: str) -> bool:
    """Whether a word names a callable, rather than being a command of one word."""
    module, colon, path = word.partition(":")
    return (
        bool(colon)
        and "/" not in module
        and all(part.isidentifier() for part in (*module.split("."), *path.split(".")))
    )
