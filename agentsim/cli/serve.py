"""`agentsim serve`."""

from __future__ import annotations

import click


@click.command("serve")
@click.argument("path", metavar="PATH")
@click.argument("command_", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of 127.0.0.1; default: a free one.")
@click.option("--off", multiple=True, metavar="RULE", help="Switch a strictness rule off; 'all' for every one.")
@click.option("--real-time", is_flag=True, help="Wait for the scenarios' `seconds`.")
@click.pass_context
def command(
    ctx: click.Context, path: str, command_: tuple[str, ...], port: int, off: tuple[str, ...], real_time: bool
) -> None:
    """Serve a scenario, or a folder of them, on 127.0.0.1.

    With COMMAND it is run with the base-URL variables set, and its exit status is this one's.
    """
    from agentsim.http.serve import serve

    ctx.exit(serve(path, port, command_, off=off, real_time=real_time))
