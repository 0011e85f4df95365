"""The page of claims: what articles and documentation say of the SDKs' loops, and what was measured.

python -m agentsim.report.claims > docs/claims.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentsim.core.style import Claim, Style
from agentsim.styles import all_styles

INTRODUCTION = """# Claims, held against the real SDKs

What two articles and the SDKs' documentation say of their loops. Every claim has a test that plays a script under the style, and every style is held
against measurements of the real package. This page is written by `python -m agentsim.report.claims > docs/claims.md`; a test keeps it true."""


def page() -> str:
    """The whole page as Markdown."""
    claims = list(claims_of(all_styles().values()))
    contradicted = [claim for claim in claims if claim.divergence is not None]
    confirmed = [claim for claim in claims if claim.divergence is None]
    parts = [INTRODUCTION, f"{len(confirmed)} are confirmed, {len(contradicted)} are contradicted, wholly or in part."]
    parts += ["## Contradicted", *map(_contradicted, contradicted), "## Confirmed", *map(_confirmed, confirmed)]
    return "\n\n".join(parts) + "\n"


def claims_of(styles: Iterable[Style]) -> Iterator[Claim]:
    """Every claim once, in the order of the styles."""
    seen: set[str] = set()
    for style in styles:
        for claim in style.claims:
            if claim.id not in seen:
                seen.add(claim.id)
                yield claim


def _contradicted(claim: Claim) -> str:
    return f"**{claim.says}**\n({claim.source}; measured on {claim.version}; `{claim.id}`)\n\n> {claim.divergence}"


def _confirmed(claim: Claim) -> str:
    return f"- {claim.says} ({claim.source}; {claim.version}; `{claim.id}`)"


if __name__ == "__main__":
    print(page(), end="")
