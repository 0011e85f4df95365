"""The tables on the pages: between `<!-- bench:GROUP -->` and `<!-- /bench -->` of docs/benchmarks.md, and after `<!-- bench -->` of the README."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bench.cache import ROOT
from bench.rows import Aim, Row, aims_table, share, table, told

PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"

#: What the README shows of everything, with the peers that it shows.
FEW = (
    "a run of 10 tool rounds and an answer",
    "a call of the anthropic client",
    "anthropic, whole, 16 connections: CPU time a request",
    "anthropic, streamed, 16 connections: CPU time a request",
)


PLUGIN = "CPU time of pytest with the plugin, less that of the same pytest without it (`python bench/plugin.py`)."


def write(
    measured: Mapping[str, Sequence[Row]],
    aims: Sequence[Aim],
    versions: Mapping[str, str],
    titles: Mapping[str, str],
    plugin: str | None,
) -> None:
    """Put what was measured where it belongs; what was not measured stays as it is."""
    text = PAGE.read_text("utf-8")
    parts = {group: table(rows) for group, rows in measured.items() if group in titles}
    if aims and {"own", "servers", "logs"} <= set(measured):
        parts["aims"] = aims_table(aims)
    if plugin:
        parts["plugin"] = plugin
        if "<!-- bench:plugin -->" not in text:
            text += f"\n## The pytest plugin\n\n{PLUGIN}\n\n<!-- bench:plugin -->\n<!-- /bench -->\n"
    parts["versions"] = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    for name, shown in parts.items():
        text = _between(text, f"<!-- bench:{name} -->", "<!-- /bench -->", shown)
    PAGE.write_text(text, "utf-8")
    found = [row for rows in measured.values() for row in rows]
    if "aims" in parts and all(any(row.what == what for row in found) for what in FEW):
        shown = f"{readme_table(found)}\n\n{aims_table(aims)}"
        README.write_text(_between(README.read_text("utf-8"), "<!-- bench -->", "<!-- /bench -->", shown), "utf-8")


def readme_table(rows: Sequence[Row]) -> str:
    """A line for each of the few rows: agentsim, then the peers with how many times agentsim's figure theirs is."""
    lines = ["| what | agentsim | peers |", "|---|---|---|"]
    for row in (row for what in FEW for row in rows if row.what == what):
        ours, *others = row.values
        peers = ", ".join(
            f"{name} {told(row.values[name], row.unit)} ({share(row.ratios[name])})"
            for name in others
            if name not in row.floors
        )
        lines.append(f"| {row.what} | {told(row.values[ours], row.unit)} {row.unit} | {peers} |")
    return "\n".join(lines)


def _between(text: str, begin: str, end: str, shown: str) -> str:
    pattern = re.compile(re.escape(begin) + r"\n.*?" + re.escape(end), re.DOTALL)
    replaced, count = pattern.subn(lambda _: f"{begin}\n{shown}\n{end}", text)
    if count != 1:
        raise SystemExit(f"{begin} … {end} is there {count} times, expected once")
    return replaced
