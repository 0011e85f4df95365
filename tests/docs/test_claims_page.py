"""The page of claims is what the styles say."""

from __future__ import annotations

from pathlib import Path

from agentsim.report.claims import claims_of, page
from agentsim.styles import all_styles

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == page(), "run: python -m agentsim.report.claims > docs/claims.md"


def test_some_sixty_statements_are_checked_and_some_are_contradicted():
    claims = list(claims_of(all_styles().values()))
    assert len(claims) >= 60
    assert sum(claim.divergence is not None for claim in claims) >= 10
    assert len({claim.id for claim in claims}) == len(claims)
