"""Reports as one HTML page each, with nothing that is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f6f6f4;padding:.8rem;overflow-x:auto;white-space:pre-wrap}"
    "summary{cursor:pointer}.failed{color:#a40000}.passed{color:#1a6b1a}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#242424}"
    ".failed{color:#ff8080}.passed{color:#80d080}}"
)


def page(title: str, parts: Iterable[str]) -> str:
    """A page of its own."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def audit_page(target: str, lines: Sequence[str]) -> str:
    """A report card as a page."""
    return page(f"audit of {target}", [f"<pre>{escape(chr(10).join(lines[2:]))}</pre>"])


def session_page(tests: Sequence[tuple[str, str, str]]) -> str:
    """The transcripts of a test session.

    Args:
        tests: (name, outcome, transcript) of each, in order.
    """
    failed = sum(outcome != "passed" for _, outcome, _ in tests)
    parts = [f"<p>{len(tests)} tests played a scenario, {failed} failed.</p>"]
    for name, outcome, text in tests:
        is_open = " open" if outcome != "passed" else ""
        parts.append(
            f'<details{is_open}><summary class="{escape(outcome)}">{escape(outcome)}: {escape(name)}</summary>'
            f"<pre>{escape(text)}</pre></details>"
        )
    return page("agentsim", parts)
