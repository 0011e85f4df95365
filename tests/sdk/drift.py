"""What the newest releases of the SDKs do otherwise than the ones that the styles were proved on.

``python -m tests.sdk.drift [NAME…] [--all] [--pinned] [--store]``

NAME is a folder of `tests/sdk`; none: every SDK. The newest versions are installed beside the pinned ones, the measured scripts are played
to them, and what comes out is held against the stored rows: which entry points changed, in what, and by which scripts it shows. Without
--all only the scripts that every SDK is measured on are played. With --pinned the pinned versions are asked once more, which ought to
change nothing. --store writes the new rows in place of the old ones, so that `git diff` shows them and the style can follow.

The exit status is 1 where an entry point changed, 2 where an SDK could not be installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import measure  # noqa: E402
import server  # noqa: E402
from environments import Driver, prepare, versions  # noqa: E402

from tests.styles.cases import SCRIPTS_OF  # noqa: E402

Json = dict[str, Any]

#: Not compared: where a row comes from, and the wording of errors beyond their type.
_APART = (*measure.KEY_FIELDS, "options", "seconds")
SHOWN = 3


def stored(name: str) -> tuple[Json, dict[str, Json]]:
    """The versions that an SDK's rows were measured on, and the rows by their keys."""
    first, *rest = (measure.MEASURED / f"{name}.jsonl").read_text("utf-8").rstrip("\n").split("\n")
    rows = map(json.loads, rest)
    return json.loads(first)["versions"], {measure.key_of(row): row for row in rows}


def documents(name: str, everything: bool) -> Iterator[Json]:
    """The scripts to play: the shared ones, and the SDK's own where all are wanted."""
    shared = json.loads((HERE / "cases.json").read_text("utf-8"))
    yield shared
    folder = HERE / SCRIPTS_OF.get(name, name)
    for path in (folder / "extra_cases.json", folder / "option_cases.json"):
        if everything and path.is_file():
            yield shared | json.loads(path.read_text("utf-8"))


def changed(old: Json, new: Json) -> list[str]:
    """The fields in which two rows differ."""
    return [field for field in old if field not in _APART and _plain(field, old) != _plain(field, new)]


def _plain(field: str, row: Json) -> Any:
    value = row.get(field)
    return (value or {}).get("type") if field == "error" else value


def rows_now(name: str, everything: bool, latest: bool) -> Iterator[Json]:
    """Every row of an SDK as it comes out now."""
    description = json.loads((HERE / name / "entries.json").read_text("utf-8"))
    driver = Driver(name, prepare(name, latest), latest)
    port = server.start()
    chosen = argparse.Namespace(case=[], style=[], wire=[], full=False)
    number = 0
    try:
        for document in documents(name, everything):
            for asked in measure.plan(document, description, chosen):
                number += 1
                row = measure.measure(port, driver, number, asked)
                if row is not None:
                    yield row
                if sys.stderr.isatty():
                    print(f"\r{name}: {number} {asked['case']['id']}\033[K", end="", file=sys.stderr)
    finally:
        driver.close()
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)


def drift(name: str, everything: bool, latest: bool, store: bool) -> bool:
    """Tell how an SDK drifted; whether it did."""
    description = json.loads((HERE / name / "entries.json").read_text("utf-8"))
    before, known = stored(name)
    rows = list(rows_now(name, everything, latest))
    now = versions(name, description["versions"], latest)
    moved = [f"{package} {before.get(package)} -> {v}" for package, v in now.items() if before.get(package) != v]
    print(f"{name}: {', '.join(moved) or 'no version has moved'}")
    found: dict[str, list[tuple[Json, Json, list[str]]]] = defaultdict(list)
    played: Counter[str] = Counter()
    for row in rows:
        old = known.get(measure.key_of(row))
        if old is None:
            continue  # a new script, or one that the plan has since been told
        played[row["style"]] += 1
        if fields := changed(old, row):
            found[row["style"]].append((old, row, fields))
    for style, count in sorted(played.items()):
        _tell(style, count, found[style])
    if store:
        measure.store(measure.MEASURED / f"{name}.jsonl", {"versions": now}, rows)
    return any(found.values())


def _tell(style: str, count: int, found: list[tuple[Json, Json, list[str]]]) -> None:
    if not found:
        print(f"  {style}: unchanged on {count} rows")
        return
    fields = Counter(field for _, _, names in found for field in names)
    told = ", ".join(f"{field} ({number})" for field, number in fields.most_common())
    print(f"  {style}: {len(found)} of {count} rows changed: {told}")
    for old, new, names in found[:SHOWN]:
        stream = " streamed" if new["stream"] else ""
        print(f"    {new['case']}, {new['wire']}{stream}, limit {new['limit']}")
        for field in names:
            print(f"      {field}: was {_short(old[field])}, is {_short(new[field])}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 150 else f"{text[:149]}…"


def main() -> int:
    """Tell the drift of what the command line names."""
    known = sorted(path.parent.name for path in HERE.glob("*/entries.json"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--all", action="store_true", help="the SDK's own scripts too")
    parser.add_argument("--pinned", action="store_true", help="ask the pinned versions once more")
    parser.add_argument("--store", action="store_true", help="write the new rows in place of the old ones")
    asked = parser.parse_args()
    if wrong := [name for name in asked.names if name not in known]:
        parser.error(f"no SDK is called {wrong[0]!r}; there are {', '.join(known)}")
    drifted, broken = False, []
    for name in asked.names or known:
        try:
            drifted |= drift(name, asked.all, not asked.pinned, asked.store)
        except subprocess.CalledProcessError as error:
            print(f"{name}: could not be installed: {error}", file=sys.stderr)
            broken.append(name)
    return 2 if broken else int(drifted)


if __name__ == "__main__":
    sys.exit(main())
