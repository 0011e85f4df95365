"""LlamaIndex's options of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import check_keys

OPTIONS = {
    "early_stopping_method": "force (default): an error at the cap; generate: one more call without tools, its text is returned"
}
METHODS = ("force", "generate")


@dataclass(frozen=True, slots=True)
class Options:
    """Args: early_stopping_method: what happens at the cap."""

    early_stopping_method: str = "force"


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree."""
    check_keys(tree, "", tuple(OPTIONS))
    method = tree.get("early_stopping_method", "force")
    if method not in METHODS:
        raise ValueError(f"early_stopping_method: expected {' or '.join(METHODS)}, but {method!r} came")
    return Options(method)
