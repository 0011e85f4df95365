"""The styles, one file per SDK. A file is found by being here and having STYLES; nothing else has to know of it.

Packages of third parties add theirs through the entry point group "agentsim.styles": a module with STYLES, or a Style.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path

from agentsim.core.style import Style
from agentsim.errors import UsageError, kind, nearest

#: The order in which tables show them; files that are not named here follow by name.
_ORDER = (
    "ai_sdk", "workflow_agent", "langchain", "mastra", "openai_agents", "claude_agent_sdk", "tool_runners",
    "openai_tool_runner", "tanstack_ai", "hand_rolled",
)  # fmt: skip
GROUP = "agentsim.styles"
_LAST = ("reference",)
_known: dict[str, Style] = {}
_added: list[Style] = []


def register(style: Style) -> None:
    """Add a style of one's own to this process, as a test does. A known name is replaced."""
    _added.append(style)
    _known.clear()


def unregister(name: str) -> None:
    """Take back what `register` added under this name."""
    _added[:] = [style for style in _added if style.name != name]
    _known.clear()


def all_styles() -> dict[str, Style]:
    """Every style by name, in the order of tables."""
    if not _known:
        found = [style for module in _modules() for style in importlib.import_module(module).STYLES]
        for style in [*found, *_of_entry_points(), *_added]:
            _known[style.name] = style
    return _known


def _modules() -> Iterable[str]:
    names = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    first = [name for name in _ORDER if name in names]
    last = [name for name in _LAST if name in names]
    return [f"{__name__}.{name}" for name in [*first, *sorted(set(names) - set(first) - set(last)), *last]]


def _is_declared() -> bool:
    """Whether any installed package declares styles: importlib.metadata alone costs more than everything else here."""
    files = (file for folder in sys.path for file in Path(folder or ".").glob("*.dist-info/entry_points.txt"))
    return any(f"[{GROUP}]" in file.read_text("utf-8", errors="replace") for file in files)


def _of_entry_points() -> list[Style]:
    if not _is_declared():
        return []
    from importlib.metadata import entry_points

    styles: list[Style] = []
    for point in entry_points(group=GROUP):
        value = point.load()
        styles += [value] if isinstance(value, Style) else value.STYLES
    return styles


def find(name: str) -> Style:
    """The style of this name.

    Raises:
        UsageError: there is none; it names the nearest.
    """
    if not isinstance(name, str):
        raise UsageError(f"expected a style's name, as 'langchain/create_agent', but {kind(name)} came")
    style = all_styles().get(name)
    if style is not None:
        return style
    entries = [style for style in all_styles() if style.startswith(f"{name}/")]
    if entries:
        raise UsageError(f"{name!r} is an SDK, not one style; name one of {', '.join(entries)}")
    raise UsageError(f"there is no style {name!r}; {_hint(name)}`agentsim styles` lists them")


def _hint(name: str) -> str:
    """What was probably meant: a style, an SDK with all of its entry points, or a style whose entry point is named alone."""
    meant = {entry: style for style in reversed(all_styles()) for entry in (style.partition("/")[2], style) if entry}
    near = nearest(name, [*meant, *(style.partition("/")[0] for style in all_styles())])
    return "" if near is None else f"did you mean {meant.get(near, near)!r}? "


def select(names: Iterable[str]) -> list[Style]:
    """The styles of these names; the name of an SDK takes all of its entry points. No names: every style.

    Styles that describe another version or only a documentation (`…@0.58.0`, `…@docs`) are taken when they are named.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(
            f"styles: expected a list of names, as ['langchain', 'ai-sdk/generateText'], but {kind(names)} came"
        )
    wanted = list(names)
    if not wanted:
        return [style for style in all_styles().values() if "@" not in style.name]
    chosen: dict[str, Style] = {}
    for name in wanted:
        of_sdk = [s for s in all_styles().values() if s.name.startswith(f"{name}/") and "@" not in s.name]
        for style in of_sdk or [find(name)]:
            chosen[style.name] = style
    return list(chosen.values())
