"""crewai's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.scripted import check_keys

OPTIONS = {"max_retry_limit": "how many failed attempts of the agent start the task anew; 2"}


@dataclass(frozen=True, slots=True)
class Options:
    """Args: max_retry_limit: how many failed attempts start the task anew."""

    max_retry_limit: int = 2


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree of a crew's agent."""
    check_keys(tree, "", tuple(OPTIONS))
    limit = tree.get("max_retry_limit", 2)
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise ValueError(f"max_retry_limit: expected an integer, but {limit!r} came")
    return Options(limit)
