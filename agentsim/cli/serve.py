"""`agentsim serve`."""

from __future__ import annotations

import click

from agentsim.wire.rules import RULES


@click.command("serve", epilog=f"Strictness rules: {', '.join(RULES)}.")
@click.argument("path", metavar="PATH")
@click.argument("command_", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: a free one.")
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen; default: 127.0.0.1, this machine only."
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="A name by which others may ask; repeatable."
)
@click.option(
    "--off",
    multiple=True,
    metavar="RULE",
    help="Switch off a strictness rule, by a name from the list below; 'all': every one.",
)
@click.option("--real-time", is_flag=True, help="Wait for the scenarios' `seconds`.")
@click.option("--lenient", is_flag=True, help="Of a recording: dates, times and ids in requests may differ.")
@click.option("--differing", multiple=True, metavar="REGEX", help="What it matches may differ too; repeatable.")
@click.pass_context
def command(
    ctx: click.Context,
    path: str,
    command_: tuple[str, ...],
    port: int,
    host: str,
    hosts: tuple[str, ...],
    off: tuple[str, ...],
    real_time: bool,
    lenient: bool,
    differing: tuple[str, ...],
) -> None:
    """Serve a scenario, a folder of them, or a recording (`-`: from standard input), on 127.0.0.1. Requests that name another host
    are refused.

    With COMMAND it is run with the base-URL variables set, and its exit status is this one's. A recording is only played to the
    requests that it holds: where COMMAND asks something else, the nearest one is told, and the status is 1.
    """
    from agentsim.http.serve import serve

    settings = {"off": off, "real_time": real_time, "lenient": differing or lenient}
    ctx.exit(serve(path, port, command_, host=host, allow_hosts=hosts, **settings))  # type: ignore[arg-type]
