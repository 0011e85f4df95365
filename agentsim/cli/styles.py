"""`agentsim styles`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from agentsim.cli.common import console, echo_json, format_option
from agentsim.report.proofs import proofs


@click.command("styles")
@click.argument("name", required=False)
@format_option
def command(name: str | None, format_: str) -> None:
    """The vocabulary of every SDK's loop; with NAME (a style or an SDK) also options, claims and sources."""
    from agentsim.styles import select

    chosen = select([name] if name else [])
    if format_ == "json":
        echo_json([style_data(style) for style in chosen])
    elif name:
        console().print("\n\n".join("\n".join(_lines(style)) for style in chosen), markup=False, soft_wrap=True)
    else:
        console().print(_table(chosen))


def style_data(style: Any) -> dict[str, Any]:
    """A style as `styles --format json` prints it."""
    proof = proofs().get(style.name)
    return {
        "style": style.name,
        "sdk": style.sdk,
        "proof": None if proof is None else asdict(proof),
        "unit": style.unit,
        "knob": style.knob,
        "default": style.default,
        "check": style.checks,
        "at_limit": style.at_limit,
        "signal": style.signal,
        "wires": list(style.wires),
        "streams": style.streams,
        "options": dict(style.options),
        "claims": [
            {"id": c.id, "says": c.says, "source": c.source, "version": c.version, "divergence": c.divergence}
            for c in style.claims
        ],
    }


def _lines(style: Any) -> list[str]:
    streams = {None: "the caller's choice", True: "always", False: "never"}[style.streams]
    if style.streams_on:
        streams += f", but always on {', '.join(style.streams_on)}"
    default = "none" if style.default is None else f"{style.default:g}"
    lines = [
        f"{style.name}",
        f"  proved on: {style.sdk}{_proved(style)}",
        f"  unit:      {style.unit}",
        f"  knob:      {style.knob} (default {default})",
        f"  check:     {style.checks}",
        f"  at limit:  {style.at_limit}",
        f"  signal:    {style.signal}",
        f"  wires:     {', '.join(style.wires)}; streaming: {streams}",
    ]
    proof = proofs().get(style.name)
    if proof is not None:
        lines += [f"  differs ({count:,} scripts): {reason}" for reason, count in proof.divergences.items()]
    lines += [f"  option {option}: {word}" for option, word in style.options.items()]
    for claim in style.claims:
        verdict = "confirmed" if claim.divergence is None else f"contradicted: {claim.divergence}"
        lines += [f"  claim {claim.id}: {claim.says}", f"    {verdict} ({claim.source}; {claim.version})"]
    return lines


def _proved(style: Any) -> str:
    """When, and on how many scripts; nothing where no proof is stored."""
    proof = proofs().get(style.name)
    return "" if proof is None else f" ({proof})"


def _table(styles: list[Any]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    headers = (
        "style",
        "unit",
        "knob",
        "default",
        "check",
        "the caller gets at the limit",
        "says it is done by",
        "proved on",
    )
    for header in headers:
        table.add_column(header, no_wrap=header == "style")
    for style in styles:
        default = "none" if style.default is None else f"{style.default:g}"
        proved = style.sdk + _proved(style)
        cells = [style.name, style.unit, style.knob, default, style.checks, style.at_limit, style.signal, proved]
        table.add_row(*map(Text, cells))
    return table
