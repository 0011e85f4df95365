"""Which SDKs are compared when not all are: those that are always, those whose style or driver changed since its proof, and some in turn.

An SDK is in rotation where its `entries.json` says so (`"rotates": true`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ledger import PATH

import agentsim.styles
from agentsim.styles import all_styles

HERE = Path(__file__).parent
STYLES = Path(agentsim.styles.__file__).parent


def chosen(turn: int, count: int) -> set[str]:
    """The names of the SDKs to compare.

    Args:
        turn: a number that grows by one from run to run, such as the number of commits.
        count: how many of those in rotation are compared in a turn, besides those that changed.
    """
    entries = {path.parent.name: json.loads(path.read_text("utf-8")) for path in sorted(HERE.glob("*/entries.json"))}
    rotating = [name for name, description in entries.items() if description.get("rotates")]
    known = proved()
    changed = {name for name in rotating if known.get(name) != digest(name)}
    return (entries.keys() - set(rotating)) | changed | set(in_turn(rotating, turn, count))


def in_turn(names: Sequence[str], turn: int, count: int) -> list[str]:
    """So many names, each as often as the others over the turns."""
    count = min(count, len(names))
    return [names[(turn * count + n) % len(names)] for n in range(count)]


def proved() -> dict[str, str]:
    """SDK -> digest of what was compared, of the last stored proof; an SDK whose entry points have several has none."""
    if not PATH.exists():
        return {}
    found: dict[str, set[str]] = {}
    for told in json.loads(PATH.read_text("utf-8")).values():
        found.setdefault(told["sdk"], set()).add(told.get("digest", ""))
    return {name: digests.pop() for name, digests in found.items() if len(digests) == 1}


@cache
def digest(name: str) -> str:
    """Of an SDK's styles, with all style modules that they use, and of its driver's folder."""
    description = json.loads((HERE / name / "entries.json").read_text("utf-8"))
    files = {file for module in modules_of(description["entries"]) for file in files_of(module)}
    files |= {file for file in (HERE / name).iterdir() if file.is_file()}
    total = hashlib.sha256()
    for file in sorted(files, key=lambda path: path.name):
        total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()[:16]


def modules_of(entries: Iterable[dict[str, Any]]) -> set[str]:
    """The modules that hold the loops of entry points, as far as they have a style yet."""
    styles = (all_styles().get(entry["style"]) for entry in entries)
    # A loop that an SDK's entry points share is a partial of it for each.
    loops = (getattr(style.loop, "func", style.loop) for style in styles if style is not None)
    return {loop.__module__ for loop in loops}


def files_of(module: str) -> Iterator[Path]:
    """The files of a style module and of those that it imports from beside itself."""
    waiting, seen = [module], set()
    while waiting:
        name = waiting.pop()
        if name in seen or not name.startswith("agentsim.styles."):
            continue
        seen.add(name)
        file: Any = importlib.import_module(name).__file__
        yield Path(file)
        nodes = ast.walk(ast.parse(Path(file).read_text("utf-8")))
        waiting += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
