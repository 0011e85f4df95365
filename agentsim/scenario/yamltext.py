"""YAML 1.2's core schema over PyYAML's parser (the C one where it is there), which itself knows YAML 1.1.

Only `true`, `false` and `null` are words with a meaning: `no`, `on` and `1_000` are texts, `017` is seventeen and `0o17` fifteen.
Events are read one by one, so that a hostile file is stopped before it costs anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentsim.scenario.document import Node, Report, Tree, too_deep
from agentsim.scenario.jsontext import number

WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
INTEGER = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
CORE = "tag:yaml.org,2002:"


def parse(text: str, report: Report) -> Node | None:
    """The tree of a YAML text; what is wrong with it is in the report. Raises Unreadable where reading on makes no sense."""
    import yaml

    odd = FORBIDDEN.search(text)
    if odd:
        report.add(_odd(odd[0]), text.count("\n", 0, odd.start()) + 1)
        return None
    tree = Tree(report)
    try:
        _build(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), tree)
    except yaml.YAMLError as error:
        report.add(*_wrong(error))
        return None
    if tree.root is None:
        report.add("the file is empty", 1)
    return tree.root


def _odd(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if character in "\x85\u2028\u2029\ufeff":
        return (
            f'the invisible character {code} has to be written as an escape in double quotes: "\\u{ord(character):04x}"'
        )
    return f"the character {code} can't stand in a text file; is this one?"


def _wrong(error: Any) -> tuple[str, int]:
    """A syntax error in one line, and the line where it is."""
    if "nesting depth" in str(error):
        return too_deep(), error.problem_mark.line + 1
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    words = [getattr(error, "context", None), getattr(error, "problem", None)]
    message = ", ".join(word for word in words if word) or str(error).splitlines()[0]
    return f"this is no YAML: {message}" + (
        f" (column {mark.column + 1})" if mark else ""
    ), mark.line + 1 if mark else 1


def _build(events: Iterator[Any], tree: Tree) -> None:
    from yaml import events as kinds

    documents = 0
    for event in events:
        kind, line = type(event), event.start_mark.line + 1
        if kind is kinds.ScalarEvent:
            tree.scalar(_scalar(event, line, tree), event.anchor)
        elif kind is kinds.MappingStartEvent or kind is kinds.SequenceStartEvent:
            mapping = kind is kinds.MappingStartEvent
            _check_tag(event, "map" if mapping else "seq", line, tree)
            tree.open({} if mapping else [], line, event.anchor)
        elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
            tree.close()
        elif kind is kinds.AliasEvent:
            tree.alias(event.anchor, line)
        elif kind is kinds.DocumentStartEvent:
            documents += 1
            _check_document(event, documents, line, tree)


def _check_document(event: Any, documents: int, line: int, tree: Tree) -> None:
    if documents > 1:
        raise tree.stop("a second document begins here; one file is one scenario", line)
    if event.version == (1, 1):
        tree.report.add("the file says that it is YAML 1.1; scenarios are YAML 1.2", line)


def _check_tag(event: Any, expected: str, line: int, tree: Tree) -> None:
    if event.tag not in (None, "!", CORE + expected):
        tree.report.add(_tag(event.tag), line, tree.path)


def _tag(tag: str) -> str:
    return f"the tag {tag.replace(CORE, '!!')} means nothing in a scenario; leave it out, or quote the value to make it text"


def _scalar(event: Any, line: int, tree: Tree) -> Node:
    text, tag = event.value, event.tag
    if tag == CORE + "str" or (tag == "!" and not event.style):
        return Node(text, line)
    if tag not in (None, "!"):
        return _tagged(text, tag, line, tree)
    if event.style:
        return Node(text, line)
    if text == "<<" and tree.wants_key:
        return tree.complain("merge keys (<<) are not YAML 1.2; write the keys out", line)
    return _plain(text, line, tree)


def _tagged(text: str, tag: str, line: int, tree: Tree) -> Node:
    node = _plain(text, line, tree)
    kinds = {"null": type(None), "bool": bool, "int": int, "float": float | int}
    kind = kinds.get(tag.removeprefix(CORE)) if tag.startswith(CORE) else None
    if kind is None or not isinstance(node.value, kind) or (kind is int and isinstance(node.value, bool)):
        return tree.complain(_tag(tag), line)
    return Node(float(text), line, text) if tag == CORE + "float" else node


def _plain(text: str, line: int, tree: Tree) -> Node:
    """A scalar without quotes, as the core schema reads it."""
    if text in WORDS:
        return Node(WORDS[text], line, text)
    if text[0] not in "+-.0123456789":
        return Node(text, line)
    if INTEGER.fullmatch(text):
        return number(text, True, line, tree)
    if BASED.fullmatch(text):
        return Node(int(text[2:], 8 if text[1] == "o" else 16), line, text)
    if FLOAT.fullmatch(text):
        return number(text, False, line, tree)
    if NO_NUMBER.fullmatch(text):
        return tree.complain(f"{text} is no number that a scenario may hold", line)
    return Node(text, line)
