"""A file as a tree of values that know their lines, whatever syntax it came in; and the list of what is wrong with it."""

from __future__ import annotations

import math
from typing import Any

from agentsim.errors import Problem, ScenarioError
from agentsim.limits import limit

#: A place in a document: () is the whole, else (where it is, key or index there).
Path = tuple[Any, ...]

LONGEST_PATH = 160
MOST_PROBLEMS = 200

#: Aliases may stand for so many values in all, so that a short file can't unfold to a huge one.
MOST_ALIASED = 100_000


def too_deep() -> str:
    """Why deeper nesting is refused: no scenario needs it, and whatever reads one may recurse."""
    return f"nested deeper than {limit('scenario_depth')} levels, which no scenario needs"


class Broken:
    """Marks a value about which a problem was already reported; nothing more is said of it."""


BROKEN = Broken()


class Node:
    """A value of the file.

    Attributes:
        value: a dict of Nodes, a list of Nodes, a JSON scalar, or BROKEN.
        line: where it begins, 1-based; 0 where there is no text.
        key_line: where its key stands, if it has one.
        source: a number, true, false or null as it was written, else "".
    """

    __slots__ = ("key_line", "line", "source", "value")

    def __init__(self, value: Any, line: int = 0, source: str = "", key_line: int = 0) -> None:
        self.value = value
        self.line = line
        self.source = source
        self.key_line = key_line or line

    def plain(self) -> Any:
        """The value without its lines."""
        value = self.value
        if type(value) is dict:
            return {key: item.plain() for key, item in value.items()}
        if type(value) is list:
            return [item.plain() for item in value]
        return value

    def sound(self) -> bool:
        """Whether nothing in it is BROKEN."""
        value = self.value
        if type(value) is dict:
            return all(item.sound() for item in value.values())
        return all(item.sound() for item in value) if type(value) is list else value is not BROKEN


class Report:
    """The problems of one file, and what was seen on the way that has to agree with something elsewhere in it.

    Attributes:
        file: what problems name, "" for a string.
        name: of a scenario whose text states none.
        path: of the file; None for a string.
        seen: (kind, value, line, path) of names and references.
    """

    def __init__(self, file: str = "", name: str = "scenario", path: str | None = None) -> None:
        self.file = file
        self.name = name
        self.path = path
        self.problems: list[Problem] = []
        self._more = 0
        self.seen: list[tuple[str, str, int, Path]] = []

    @property
    def full(self) -> bool:
        """Whether further problems are only counted: nobody reads so many, and a hostile file could have millions."""
        return len(self.problems) >= MOST_PROBLEMS

    def add(self, message: str, line: int = 0, path: Path = ()) -> None:
        """Note a problem."""
        if self.full:
            self._more += 1
        else:
            self.problems.append(Problem(message, line, show(path), self.file))

    def raise_any(self) -> None:
        """Raise ScenarioError with all problems in order of lines, where there are any."""
        if not self.problems:
            return
        found = sorted(self.problems, key=lambda problem: problem.line)
        if self._more:
            found.append(Problem(f"and {self._more} more problems", found[-1].line, "", self.file))
        raise ScenarioError(found)


def show(path: Path) -> str:
    """A place in words: `replies[2].tool_use`."""
    text = ""
    while path:
        path, step = path
        plain = isinstance(step, str) and step.replace("-", "_").isidentifier()
        text = (f"[{step}]" if isinstance(step, int) else f".{step}" if plain else f"[{step!r}]") + text
    text = text.removeprefix(".")
    return text if len(text) <= LONGEST_PATH else f"{text[: LONGEST_PATH // 2]}…{text[-LONGEST_PATH // 2 :]}"


class Unreadable(Exception):
    """The rest of the text can't be read; its problem is in the report."""


class _Frame:
    """An open mapping or list. `key` is the one whose value comes next; `dropped`: that value is not kept."""

    __slots__ = ("anchor", "dropped", "height", "key", "key_line", "node", "size")

    def __init__(self, node: Node, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.key: str | None = None
        self.key_line = 0
        self.dropped = False
        self.size = 1
        self.height = 1


class Tree:
    """Builds Nodes from a parser's events, and notes what no scenario may have: duplicate keys, keys that are no text …"""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.root: Node | None = None
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        self._aliased = 0
        self._deepest = limit("scenario_depth")

    @property
    def path(self) -> Path:
        """Where the next value goes."""
        path: Path = ()
        for frame in self._frames:
            value = frame.node.value
            path = (path, len(value)) if type(value) is list else (path, frame.key) if frame.key is not None else path
        return path

    @property
    def wants_key(self) -> bool:
        """Whether the next value is a key."""
        return bool(self._frames) and type(self._frames[-1].node.value) is dict and self._frames[-1].key is None

    def complain(self, message: str, line: int) -> Node:
        """Note a problem of the value that comes next; returns what stands for it."""
        self.report.add(message, line, self.path)
        return Node(BROKEN, line)

    def stop(self, message: str, line: int) -> Unreadable:
        """Note a problem of the whole text after which reading on makes no sense."""
        self.report.add(message, line)
        return Unreadable()

    def scalar(self, node: Node, anchor: str | None = None) -> None:
        """A scalar came."""
        if anchor is not None:
            self._anchors[anchor] = (node, 1, 0)
        self._put(node, 1, 0)

    def open(self, value: dict[str, Node] | list[Node], line: int, anchor: str | None = None) -> None:
        """A mapping or list begins."""
        if len(self._frames) >= self._deepest:
            raise self.stop(too_deep(), line)
        self._frames.append(_Frame(Node(value, line), anchor))

    def close(self) -> None:
        """The innermost mapping or list ends."""
        frame = self._frames.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.node, frame.size, frame.height)
        self._put(frame.node, frame.size, frame.height)

    def alias(self, name: str, line: int) -> None:
        """A value that stands elsewhere is used again."""
        if name not in self._anchors:
            self._put(self.complain(f"the alias *{name} has no anchor &{name} that ends before it", line), 1, 0)
            return
        node, size, height = self._anchors[name]
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            raise self.stop(
                f"the aliases stand for more than {MOST_ALIASED:,} values in all; write less, or no aliases", line
            )
        if len(self._frames) + height > self._deepest:
            raise self.stop(f"with its aliases {too_deep()}", line)
        self._put(Node(node.value, line, node.source), size, height)

    def _put(self, node: Node, size: int, height: int) -> None:
        if not self._frames:
            self.root = node
            return
        frame = self._frames[-1]
        frame.size += size
        frame.height = max(frame.height, height + 1)
        value = frame.node.value
        if type(value) is list:
            value.append(node)
        elif frame.key is None:
            self._key(frame, node)
        else:
            node.key_line = frame.key_line
            if not frame.dropped:
                value[frame.key] = node
            frame.key = None

    def _key(self, frame: _Frame, node: Node) -> None:
        key = node.value
        frame.key_line = node.line
        frame.dropped = not isinstance(key, str)
        if frame.dropped:
            if key is not BROKEN:
                self.report.add(_bad_key(node), node.line, self.path)
            frame.key = "?"
            return
        frame.key = key
        if key in frame.node.value:
            frame.dropped = True
            first = frame.node.value[key].key_line
            self.report.add(_duplicate(key, first, self.path), node.line, self.path)


def _bad_key(node: Node) -> str:
    if node.source:
        return f"keys are text, and {node.source} is not; quote it: '{node.source}'"
    return "keys are text; this one is " + ("empty" if node.value is None else "a list or a mapping")


def _duplicate(key: str, first: int, path: Path) -> str:
    again = f"the key {key!r} is here twice" + (f", first on line {first}" if first else "")
    parent = path[0][1] if path and path[0] else None
    if parent in ("tool_use", "server_tool_use"):
        return f"{again}; two calls of one tool are a list: [{{{key}: …}}, {{{key}: …}}]"
    return again


def tree_of(data: Any, report: Report) -> Node:
    """A tree of values that are already parsed: dicts with text keys, lists, tuples and JSON scalars."""
    tree = Tree(report)
    _walk(data, tree)
    return tree.root or Node(BROKEN)


def _walk(data: Any, tree: Tree) -> None:
    if isinstance(data, dict):
        tree.open({}, 0)
        for key, value in data.items():
            tree.scalar(Node(key, 0, "" if isinstance(key, str) else repr(key)))
            _walk(value, tree)
        tree.close()
    elif isinstance(data, list | tuple):
        tree.open([], 0)
        for value in data:
            _walk(value, tree)
        tree.close()
    else:
        tree.scalar(_scalar(data, tree))


def _scalar(data: Any, tree: Tree) -> Node:
    if data is None or isinstance(data, bool):
        return Node(data, 0, {None: "null", True: "true", False: "false"}[data])
    if isinstance(data, str):
        return Node(str(data))
    if isinstance(data, int) or (isinstance(data, float) and math.isfinite(data)):
        return Node(data, 0, str(data))
    what = "is no number that JSON has" if isinstance(data, float) else f"is a {type(data).__name__}, no JSON value"
    return tree.complain(f"{data!r:.60} {what}", 0)
