"""`agentsim styles`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agentsim.cli.common import echo_json, format_option, show, show_lines
from agentsim.report.proofs import proofs

if TYPE_CHECKING:
    from agentsim.report.columns import Column


@click.command("styles")
@click.argument("name", required=False)
@format_option
def command(name: str | None, format_: str) -> None:
    """The vocabulary of every SDK's loop; with NAME (a style or an SDK) also options, claims and sources."""
    from agentsim.report.columns import Listing
    from agentsim.styles import select

    chosen = select([name] if name else [])
    if format_ == "json":
        echo_json([style_data(style) for style in chosen])
    elif name:
        show_lines(line for style in chosen for line in (*_lines(style), ""))
    else:
        show(Listing(_columns(chosen)))


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
        f"  signal:    {style.signal or 'none: every return is an answer'}",
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


def _columns(styles: list[Any]) -> list[Column]:
    """The longest columns are the first to go where there is no room."""

    from agentsim.report.columns import Column

    def column(
        header: str, text: Callable[[Any], str], rank: int = 0, *, right: bool = False, wraps: bool = False
    ) -> Column:
        return Column(header, tuple(map(text, styles)), right, rank, wraps=wraps)

    return [
        column("style", lambda style: style.name),
        column("unit", lambda style: style.unit),
        column("knob", lambda style: style.knob, 1, wraps=True),
        column("default", lambda style: "none" if style.default is None else f"{style.default:g}", right=True),
        column("check", lambda style: style.checks, 3, wraps=True),
        column("the caller gets at the limit", lambda style: style.at_limit, 2, wraps=True),
        column("says it is done by", lambda style: style.signal, 4, wraps=True),
        column("proved on", lambda style: style.sdk + _proved(style), 5, wraps=True),
    ]
