"""Markdown from values: tables, and docstrings in this project's style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises(?: \([^)]*\))?|Example):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): (.+)$", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars in cells are escaped and their line breaks are blanks."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def first_paragraph(docstring: str) -> str:
    """What a docstring says before its sections."""
    return "\n\n".join(part for kind, part in sections(docstring) if kind == "")


def sections(docstring: str) -> list[tuple[str, str]]:
    """(section, text) of a docstring, in order; "" is what stands before and between."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in inspect.cleandoc(docstring).splitlines():
        head = _SECTION.match(line)
        if head:
            found.append((head[1], []))
        elif line and not line.startswith(" ") and found[-1][0]:
            found.append(("", [line]))
        else:
            found[-1][1].append(line)
    return [(kind, inspect.cleandoc("\n".join(lines))) for kind, lines in found if "".join(lines).strip()]


def documentation(docstring: str) -> str:
    """A docstring as Markdown: its sections as lists, its example as a block."""
    parts = []
    for kind, text in sections(docstring):
        if kind == "":
            parts.append(text)
        elif kind == "Example":
            parts.append(f"```pycon\n{text}\n```")
        elif kind == "Returns":
            parts.append(f"**Returns** {' '.join(text.split())}")
        else:
            title = kind.replace("Args", "Arguments")
            parts.append("\n".join([f"**{title}**", "", *(f"- {entry}" for entry in _entries(text))]))
    return "\n\n".join(parts)


def _entries(text: str) -> list[str]:
    """The entries of a section: a line that isn't indented begins one."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and found:
            found[-1] += " " + line.strip()
        elif line.strip():
            found.append(line.strip())
    return [_ENTRY.sub(lambda entry: f"`{entry[1]}`: {entry[2]}", each) for each in found]
