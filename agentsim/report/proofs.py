"""How the styles were last proved: what the comparison of each entry point with the real SDK on random scripts came to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import agentsim

#: Where the file lies: in an installed package, and in a checkout.
INSTALLED, CHECKOUT = "agreement.json", "tests/sdk/agreement.json"


@dataclass(frozen=True, slots=True)
class Proof:
    """The last comparison of one entry point.

    Args:
        date: the day of it, as 2026-01-31.
        versions: package -> version that ran.
        examples: random scripts that were played to both.
        agreements: of them, those on which nothing that can be seen differs.
        divergences: why the others differ, each reason with its number of scripts.
    """

    date: str
    versions: Mapping[str, str]
    examples: int
    agreements: int
    divergences: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.date}, {self.agreements:,} of {self.examples:,} random scripts agree"


@cache
def proofs() -> Mapping[str, Proof]:
    """Every entry point's last proof, by the style's name; none where the file is missing."""
    package = Path(agentsim.__file__).parent
    for path in (package / INSTALLED, package.parent / CHECKOUT):
        if path.is_file():
            return {style: _proof(told) for style, told in json.loads(path.read_text("utf-8")).items()}
    return {}


def _proof(told: Mapping[str, object]) -> Proof:
    date, versions, examples, agreements, divergences = (
        told[name] for name in ("date", "versions", "examples", "agreements", "divergences")
    )
    counts = {one["reason"]: one["examples"] for one in divergences}  # type: ignore[attr-defined]
    return Proof(date, versions, examples, agreements, counts)  # type: ignore[arg-type]
