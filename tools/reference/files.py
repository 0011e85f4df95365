"""Which files are generated, and of what."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from agentsim.report import claims
from agentsim.scenario.schema import json_schema
from tools.reference import api, budgets, cli, plugin, rules, scenario, styles

ROOT = Path(__file__).parents[2]
#: What `agentsim schema` prints, for editors.
SCHEMA = "schema/scenario.schema.json"


def kept() -> dict[str, str]:
    """Generated files that the repository keeps: path from its root -> the whole text that belongs there."""
    pages = {"docs/claims.md": claims.page(), SCHEMA: json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n"}
    explanation = "docs/explanation/budgets.md"
    pages[explanation] = budgets.filled((ROOT / explanation).read_text("utf-8"))
    return pages | {"docs/llms.txt": _llms(pages | built())}


def built() -> dict[str, str]:
    """Pages that are only made for the site: they change whenever the code does."""
    return {
        "docs/reference/cli.md": cli.page(),
        "docs/reference/api.md": api.page(),
        "docs/reference/budgets.md": budgets.page(),
        "docs/reference/pytest.md": plugin.page(),
        "docs/reference/rules.md": rules.page(),
        "docs/reference/scenario.md": scenario.page(),
        "docs/reference/styles.md": styles.page(),
    }


def navigation() -> list[tuple[str, list[tuple[str, str]]]]:
    """(section, [(title, page)]) of the site's navigation; pages without a section are in the first, ""."""
    nav: list[Any] = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    top: list[tuple[str, str]] = []
    sections: list[tuple[str, list[tuple[str, str]]]] = [("", top)]
    for entry in nav:
        [(title, target)] = entry.items()
        if isinstance(target, str):
            top.append((title, target))
        else:
            sections.append((title, [next(iter(page.items())) for page in target]))
    return sections


def _llms(pages: dict[str, str]) -> str:
    """The map of the documentation for language models: each page with its title and first sentence."""
    lines = [
        "# agentsim",
        "",
        "> Tests for LLM agent loops, without a model: scenarios script what the model says, and are played to your agent (in Python in-process, in any",
        "> language over a local server) or to two dozen SDKs' loops side by side. Python 3.11 or newer; the commands are `agentsim --help`.",
    ]
    for section, entries in navigation():
        lines += ["", f"## {section or 'Start'}", ""]
        for title, page in entries:
            path = f"docs/{page}"
            text = pages[path] if path in pages else (ROOT / path).read_text("utf-8")
            said = _first_sentence(_with_snippets(text))
            lines.append(f"- [{title}]({page}): {said}" if said else f"- [{title}]({page})")
    return "\n".join(lines) + "\n"


def _first_sentence(page: str) -> str:
    """The first sentence of a page's first paragraph; "" where it has none."""
    for paragraph in page.split("\n\n"):
        text = " ".join(paragraph.split())
        if text and not text.startswith(("#", "<!--", "```", "|", "- ", "1. ")):
            end = text.find(". ")
            return text.removesuffix(".") if end < 0 else text[:end]
    return ""


def _with_snippets(page: str) -> str:
    """A page that is nothing but another file, as that file."""
    found = re.fullmatch(r'--8<-- "([^"]+)"\n', page)
    return (ROOT / found[1]).read_text("utf-8") if found else page
