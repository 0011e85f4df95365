"""Every claim of a style is proved by a test that names it, and every claim that a test names is made."""

from __future__ import annotations

import re
from pathlib import Path

from agentsim.styles import all_styles
from tests.styles.claims import claims

CITED = {
    id_
    for path in Path(__file__).parent.glob("test_*.py")
    for id_ in re.findall(r'claim\("([^"]+)"\)', path.read_text("utf-8"))
}


def test_every_claim_is_cited_by_a_test():
    assert set(claims()) - CITED == set()


def test_every_cited_claim_is_made_by_a_style():
    assert CITED - set(claims()) == set()


def test_a_claim_says_one_thing_from_one_source():
    by_id: dict[str, set[object]] = {}
    for style in all_styles().values():
        for claim in style.claims:
            by_id.setdefault(claim.id, set()).add(claim)
            assert all((claim.says, claim.source, claim.version))
    assert {id_ for id_, found in by_id.items() if len(found) > 1} == set()
