"""Pages as the tests read them: parsed by the rules of HTML, where one mistake is an error."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import html5lib


def parsed(page: str) -> Element:
    """The page's root element; any mistake that a browser would have to mend is an error."""
    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), strict=True, namespaceHTMLElements=False)
    return parser.parse(page)


def tag(element: Element) -> str:
    """Its name, that of SVG elements too."""
    return str(element.tag).rpartition("}")[2]


def words(element: Element) -> str:
    """Its text as a reader sees it."""
    return " ".join("".join(element.itertext()).split())


def find(root: Element, name: str) -> list[Element]:
    """Every element of that name, in order."""
    return [each for each in root.iter() if isinstance(each.tag, str) and tag(each) == name]


def one(root: Element, name: str) -> Element:
    """The only element of that name."""
    (found,) = find(root, name)
    return found


def with_id(root: Element, name: str) -> Element:
    """The element of that id."""
    (found,) = [each for each in root.iter() if each.get("id") == name]
    return found


def rows(table: Element) -> list[list[str]]:
    """A table's cells as words, row by row, its header first."""
    return [[words(cell) for cell in row if tag(cell) in ("td", "th")] for row in find(table, "tr")]


def outline(root: Element) -> str:
    """What a screen reader offers to jump to: landmarks, headings, tables and charts."""
    return "\n".join(_outline(root, root, 0))


def _outline(root: Element, element: Element, depth: int) -> Iterator[str]:
    name = tag(element) if isinstance(element.tag, str) else ""
    pad = "  " * depth
    if name in ("header", "nav", "main", "footer", "section"):
        yield f"{pad}{name} {label_of(root, element)}".rstrip()
        depth += 1
    elif re.fullmatch(r"h[1-6]", name):
        yield f"{pad}{name} {words(element)}"
    elif name == "table":
        yield f"{pad}table of {len(rows(element)) - 1} rows: {label_of(root, element)}"
    elif name == "svg" and element.get("role") == "img":
        yield f"{pad}chart: {element.get('aria-label')}"
        return
    for child in element:
        yield from _outline(root, child, depth)


def label_of(root: Element, element: Element) -> str:
    """The name by which a screen reader tells it."""
    if element.get("aria-label"):
        return str(element.get("aria-label"))
    if element.get("aria-labelledby"):
        return words(with_id(root, str(element.get("aria-labelledby"))))
    captions = [child for child in element if tag(child) == "caption"]
    return words(captions[0]) if captions else ""


def hash_of(element: Element) -> str:
    """How a content security policy names the inline style or script."""
    content = "".join(element.itertext()).encode()
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
