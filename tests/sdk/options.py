"""The option trees that random scripts are tried under: those that an SDK was measured with, alone and in pairs."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from tests.styles.cases import SCRIPTS_OF, SDK

Json = dict[str, Any]

#: Settings that only mean something with a script of their own.
_OWN_SCRIPT = (
    "prompts",
    "approvals",
    "abort",
    "output",
    "agents",
    "handoffs",
    "tools",
    "only_tools",
)


@lru_cache
def pool(name: str) -> tuple[Json, ...]:
    """Every option tree that an SDK's driver was measured with and that says something about any script."""
    found: dict[str, Json] = {}
    folder = SDK / SCRIPTS_OF.get(name, name)
    for path in (folder / "extra_cases.json", folder / "option_cases.json"):
        if not path.is_file():
            continue
        for case in json.loads(path.read_text("utf-8"))["cases"]:
            tree = case.get("options")
            if tree and not any(key in case for key in _OWN_SCRIPT) and not _waits(tree):
                found.setdefault(json.dumps(tree, sort_keys=True), tree)
    return tuple(found[key] for key in sorted(found, key=lambda key: (len(key), key)))


def _waits(tree: Any) -> bool:
    """Whether it holds a run up: what comes first is then a matter of the machine, and the named cases have it."""
    if isinstance(tree, dict):
        return "seconds" in tree or any(map(_waits, tree.values()))
    return isinstance(tree, list) and any(map(_waits, tree))


def trees(name: str) -> st.SearchStrategy[Json]:
    """No options as often as some; then one measured tree, sometimes two that set different things."""
    known = pool(name)
    if not known:
        return st.just({})
    one = st.sampled_from(known)
    two = st.tuples(one, one).map(lambda pair: pair[0] if pair[0].keys() & pair[1].keys() else pair[0] | pair[1])
    return st.sampled_from(["none", "none", "one", "two"]).flatmap(
        lambda how: {"none": st.just({}), "one": one, "two": two}[how]
    )
