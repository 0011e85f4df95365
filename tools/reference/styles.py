"""The page of styles."""

from __future__ import annotations

from agentsim.core.style import Style
from agentsim.styles import all_styles
from tools.reference.markdown import table

INTRODUCTION = """# Styles

A style is one SDK entry point's way of looping, counting and stopping, held against measurements of the real package. `agentsim styles NAME` prints one with its claims;
[claims](../claims.md) has all of those. Options are set with `--set PATH=JSON`, `--options FILE`, `options=` in Python, or under `styles:` in a scenario; code is written as a tree."""
STREAMS = {None: "the caller's choice", True: "always", False: "never"}


def page() -> str:
    """The whole page."""
    return "\n\n".join([INTRODUCTION, *map(_style, all_styles().values())]) + "\n"


def default_of(style: Style) -> str:
    """The knob's default in words."""
    return "none" if style.default is None else f"{style.default:g}"


def _style(style: Style) -> str:
    facts = {
        "proved on": style.sdk,
        "unit": style.unit,
        "knob": f"`{style.knob}`, default {default_of(style)}",
        "check": style.checks,
        "at the limit": style.at_limit,
        "says that it is done by": style.signal or "nothing: it returns",
        "wires": ", ".join(style.wires),
        "streams": STREAMS[style.streams],
    }
    parts = [f"## {style.name}", "\n".join(f"- {name}: {said}" for name, said in facts.items() if said)]
    if style.options:
        parts.append(table(("option", "what it is"), [(f"`{name}`", word) for name, word in style.options.items()]))
    return "\n\n".join(parts)
