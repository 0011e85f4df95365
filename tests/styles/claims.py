"""Claims of styles by their id: a test that proves one names it with `claim("…")`."""

from __future__ import annotations

from agentsim.core.style import Claim
from agentsim.styles import all_styles


def claims() -> dict[str, Claim]:
    """Every claim of every style, by id."""
    return {claim.id: claim for style in all_styles().values() for claim in style.claims}


def claim(id_: str) -> Claim:
    """The claim of this id; fails where no style makes it."""
    known = claims()
    assert id_ in known, f"no style makes the claim {id_!r}"
    return known[id_]
