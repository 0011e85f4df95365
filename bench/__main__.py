"""How fast agentsim is beside its peers, in one run.

    python -m bench                     every group: loops, calls, servers, logs, own, plugin
    python -m bench loops calls         some of them
    python -m bench --check             says which ratios are more than a tenth worse than the stored ones; exit status 1
    python -m bench --write             stores the ratios in bench/ratios.json, and the tables in docs/benchmarks.md and README.md

The peers are installed into the ignored `.sdk-cache/` on first use. Node and npm are needed for two of them, wrk (a Debian package) makes a
better load client than the one in here.
"""

from __future__ import annotations

import argparse
import sys

from bench import cache, inprocess, logs, own, pages, rows, servers

GROUPS = ("loops", "calls", "servers", "logs", "own", "plugin")
TITLES = {
    "loops": "A run with a fake model",
    "calls": "A call that is answered in the process",
    "servers": "A mock server",
    "logs": "A large log",
    "own": "agentsim's own processes",
}


def main() -> int:
    """Measure, print, store or check."""
    given = _arguments()
    wanted = given.groups or list(GROUPS)
    versions = cache.versions()
    measured: dict[str, list[rows.Row]] = {}
    aims: list[rows.Aim] = []
    print(", ".join(f"{name} {version}" for name, version in sorted(versions.items())), file=sys.stderr)
    for group in wanted:
        print(f"{group} …", file=sys.stderr, flush=True)
        found, more = _measure(group, given.rounds)
        aims += more
        if found:
            measured[group] = found
            print(f"\n## {TITLES[group]}\n\n{rows.table(found)}", flush=True)
    if aims:
        print(f"\n## Aims\n\n{rows.aims_table(aims)}")
    told = own.plugin() if "plugin" in wanted else None
    if told:
        print(f"\n## The pytest plugin\n\n{told}")
    every = [row for found in measured.values() for row in found]
    for row in every:
        for name in row.behind:
            print(f"behind {name}: {row.what} ({row.ratios[name]:.2f} of its)")
    worse = _worse_twice(measured, given.rounds) if given.check else []
    for line in worse:
        print(f"worse than stored: {line}", file=sys.stderr)
    if given.write:
        rows.store(every, versions)
        pages.write(measured, aims, versions, TITLES, told)
    return 1 if worse else 0


def _worse_twice(measured: dict[str, list[rows.Row]], rounds: int) -> list[str]:
    """What is worse than stored, and still is when it is measured again: a busy minute is no regression."""
    found = []
    for group, before in measured.items():
        if rows.regressions(before):
            print(f"{group}, again …", file=sys.stderr, flush=True)
            again = {row.what: row for row in _measure(group, rounds)[0]}
            found += rows.regressions([row.better(again[row.what]) for row in before])
    return found


def _measure(group: str, rounds: int) -> tuple[list[rows.Row], list[rows.Aim]]:
    if group == "loops":
        return inprocess.loops(rounds), []
    if group == "calls":
        return inprocess.calls(rounds), []
    if group == "servers":
        return servers.servers(min(rounds, 3))
    if group == "logs":
        return logs.logs(min(rounds, 3))
    return own.own(rounds) if group == "own" else ([], [])


def _arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("groups", nargs="*", choices=[[], *GROUPS], metavar="GROUP", help=", ".join(GROUPS))
    options.add_argument("--rounds", type=int, default=7, help="how often each side is asked (default 7)")
    options.add_argument("--check", action="store_true", help="hold the ratios against the stored ones")
    options.add_argument("--write", action="store_true", help="store ratios and tables")
    given = options.parse_args()
    if given.rounds < 1:
        options.error("--rounds: expected a number above 0")
    return given


if __name__ == "__main__":
    sys.exit(main())
