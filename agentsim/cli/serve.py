"""`agentsim serve`."""

from __future__ import annotations

import click


@click.command("serve")
@click.argument("path", metavar="PATH")
@click.argument("command_", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of 127.0.0.1; default: a free one.")
@click.option("--off", multiple=True, metavar="RULE", help="Switch a strictness rule off; 'all' for every one.")
@click.option("--real-time", is_flag=True, help="Wait for the scenarios' `seconds`.")
@click.option("--lenient", is_flag=True, help="Of a recording: dates, times and ids in requests may differ.")
@click.option("--differing", multiple=True, metavar="REGEX", help="What it matches may differ too; repeatable.")
@click.pass_context
def command(
    ctx: click.Context,
    path: str,
    command_: tuple[str, ...],
    port: int,
    off: tuple[str, ...],
    real_time: bool,
    lenient: bool,
    differing: tuple[str, ...],
) -> None:
    """Serve a scenario, a folder of them, or a recording, on 127.0.0.1.

    With COMMAND it is run with the base-URL variables set, and its exit status is this one's. A recording is only played to the
    requests that it holds: where COMMAND asks something else, the nearest one is told, and the status is 1.
    """
    from agentsim.http.serve import serve

    ctx.exit(serve(path, port, command_, off=off, real_time=real_time, lenient=differing or lenient))
