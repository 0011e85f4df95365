"""The lock files of the JavaScript packages name all that npm looks for: `npm ci` refuses the whole of one that leaves out an optional part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted(path for folder in ("tests/sdk", "bench") for path in (ROOT / folder).glob("*/package-lock.json"))


def missing(packages: dict[str, dict[str, object]]) -> list[str]:
    """What a lock file's packages ask for and nothing above them provides, as ``who: what``."""
    found = []
    for place, package in packages.items():
        for kind in ("dependencies", "optionalDependencies"):
            named = package.get(kind, {})
            assert isinstance(named, dict)
            found += [f"{place}: {name}" for name in named if not _provided(packages, place, name)]
    return found


def _provided(packages: dict[str, dict[str, object]], place: str, name: str) -> bool:
    """Whether Node finds a package from a folder: beside it, or beside a folder above it."""
    while place:
        if f"{place}/node_modules/{name}" in packages:
            return True
        place = place.rpartition("/node_modules/")[0]
    return f"node_modules/{name}" in packages


@pytest.mark.parametrize("lock", LOCKS, ids=[path.parent.name for path in LOCKS])
def test_a_lock_file_leaves_nothing_out(lock: Path) -> None:
    assert missing(json.loads(lock.read_text("utf-8"))["packages"]) == []


@pytest.mark.parametrize("lock", LOCKS, ids=[path.parent.name for path in LOCKS])
def test_a_lock_file_is_of_its_manifest(lock: Path) -> None:
    manifest = json.loads(lock.with_name("package.json").read_text("utf-8"))
    assert json.loads(lock.read_text("utf-8"))["packages"][""]["dependencies"] == manifest["dependencies"]


def test_an_optional_package_that_is_left_out_is_told() -> None:
    packages: dict[str, dict[str, object]] = {
        "": {"dependencies": {"cbor-x": "1"}},
        "node_modules/cbor-x": {"optionalDependencies": {"cbor-extract": "2"}},
        "node_modules/cbor-x/node_modules/cbor-extract": {"optionalDependencies": {"@cbor/linux": "2"}},
    }
    assert missing(packages) == ["node_modules/cbor-x/node_modules/cbor-extract: @cbor/linux"]
