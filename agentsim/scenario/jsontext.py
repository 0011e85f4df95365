"""JSON with lines. The standard library's parser judges the syntax; a second walk over the tokens finds where things stand."""

from __future__ import annotations

import json
import math
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

from agentsim.scenario.document import Node, Report, Tree

TOKEN = re.compile(r"[ \t\n\r,:]*(?:([\[\]{}])|(\")|([^\s\[\]{},:\"]+))")
LONE = re.compile("[\ud800-\udfff]")
WORDS = {"true": True, "false": False, "null": None}


def is_json(text: str) -> bool:
    """Whether a text is JSON, whatever its values."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    except (RecursionError, ValueError):  # too deep, or a number that is too long: JSON all the same
        return True
    return True


def parse(text: str, report: Report) -> Node | None:
    """The tree of a JSON text; None where its syntax is wrong, which the report then says."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        report.add(f"this is no JSON: {error.msg} (column {error.colno})", error.lineno)
        return None
    except (RecursionError, ValueError):
        pass  # the walk says where
    return _walk(text, Tree(report))


def _walk(text: str, tree: Tree) -> Node | None:
    at, line, counted = 0, 1, 0
    while match := TOKEN.match(text, at):
        at = match.end()
        begin = at - len(match[match.lastindex or 0])
        line += text.count("\n", counted, begin)
        counted = begin
        if match[1]:
            _bracket(match[1], line, tree)
        elif match[2]:
            value, at = scanstring(text, at, True)
            tree.scalar(_string(value, line, tree))
        else:
            tree.scalar(_word(match[3], line, tree))
    return tree.root


def _bracket(bracket: str, line: int, tree: Tree) -> None:
    if bracket == "{":
        tree.open({}, line)
    elif bracket == "[":
        tree.open([], line)
    else:
        tree.close()


def _string(value: str, line: int, tree: Tree) -> Node:
    if LONE.search(value):
        return tree.complain("half of a surrogate pair is no character", line)
    return Node(value, line)


def _word(word: str, line: int, tree: Tree) -> Node:
    if word in WORDS:
        return Node(WORDS[word], line, word)
    if word in ("NaN", "Infinity", "-Infinity"):
        return tree.complain(f"{word} is no JSON number", line)
    return number(word, word.lstrip("-").isdigit(), line, tree)


def number(word: str, whole: bool, line: int, tree: Tree) -> Node:
    """A number as Python has it; a problem where it is too large for that."""
    try:
        value = int(word) if whole else float(word)
    except ValueError:
        return tree.complain(f"the number {word[:20]}… is too long", line)
    if not math.isfinite(value):
        return tree.complain(f"the number {word} is too large", line)
    return Node(value, line, word)
