"""Shapes with known keys. All that is wrong with a record is said at once, each mistake at its own line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsim.errors import nearest
from agentsim.scenario.document import BROKEN, Node, Path, Report
from agentsim.scenario.shapes import Defs, Schema, Shape, one_of, shorten


@dataclass(eq=False, repr=False)
class Key:
    """A key of a record: its value's shape, and a sentence about it."""

    shape: Shape
    says: str = ""
    required: bool = False


class Part:
    """A record that was read: its values by key (those that are sound), and a way to complain about one of them."""

    def __init__(self, node: Node, path: Path, report: Report) -> None:
        self.node = node
        self.path = path
        self.report = report
        self.values: dict[str, Any] = {}
        self.sound = True

    def has(self, key: str) -> bool:
        """Whether the key was written, sound or not."""
        return key in self.node.value

    def get(self, key: str, default: Any = None) -> Any:
        """The key's value, if it was written and is sound."""
        return self.values.get(key, default)

    def complain(self, message: str, key: str | None = None) -> None:
        """Report a problem, at a key or of the whole record."""
        line = self.node.line if key is None else self.node.value[key].key_line
        self.report.add(message, line, self.path if key is None else (self.path, key))
        self.sound = False


Rule = Callable[[Part], None]


@dataclass(eq=False, repr=False)
class Record(Shape):
    """A mapping with known keys.

    Args:
        words: what it is.
        keys: those that may stand in it.
        make: what the record means; called where all of it is sound. It may complain, and its value then does not count.
        some: at least one of these has to be there.
        apart: groups of keys of which only one may be there.
        rules: further checks, called whatever is wrong elsewhere.
    """

    words: str
    keys: Mapping[str, Key]
    make: Callable[[Part], Any] = field(default=lambda part: part.values)
    some: tuple[str, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    rules: tuple[Rule, ...] = ()

    def form(self) -> str:
        need = (
            f", of which it needs {'one' if {*self.some} >= {*self.keys} else one_of(self.some)}" if self.some else ""
        )
        return f"a mapping with the keys {', '.join(self.keys)}{need}"

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if type(node.value) is not dict:
            return self.mismatch(node, path, report)
        part = Part(node, path, report)
        for name, item in node.value.items():
            self._read_key(part, name, item)
        self._check_presence(part)
        for rule in self.rules:
            rule(part)
        made = self.make(part) if part.sound else BROKEN
        return made if part.sound else BROKEN

    def _read_key(self, part: Part, name: str, item: Node) -> None:
        key = self.keys.get(name)
        if key is None:
            part.complain("" if part.report.full else self._unknown(name), name)
            return
        value = key.shape.read(item, (part.path, name), part.report)
        if value is BROKEN:
            part.sound = False
        else:
            part.values[name] = value

    def _unknown(self, name: str) -> str:
        near = nearest(name, list(self.keys))
        if near is not None:
            return f"unknown key {name!r}; did you mean {near!r}?"
        return f"unknown key {name!r}; {self.words} has the keys {', '.join(self.keys)}"

    def _check_presence(self, part: Part) -> None:
        for name, key in self.keys.items():
            if key.required and not part.has(name):
                part.complain(f"the key {name!r} is missing; {self.words} needs it")
        if self.some and not any(map(part.has, self.some)):
            part.complain(f"expected {one_of([repr(name) for name in self.some])}, got none of them")
        for group in self.apart:
            there = [name for name in part.node.value if name in group]
            if len(there) > 1:
                part.complain(f"{there[1]!r} can't stand beside {there[0]!r}", there[1])

    def schema(self, defs: Defs) -> Schema:
        properties = {name: _described(key.shape.schema(defs), key.says) for name, key in self.keys.items()}
        whole: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [name for name, key in self.keys.items() if key.required]
        if required:
            whole["required"] = required
        if self.some:
            whole["anyOf"] = [{"required": [name]} for name in self.some]
        pairs = [[a, b] for group in self.apart for i, a in enumerate(group) for b in group[i + 1 :]]
        if pairs:
            whole["not"] = {"anyOf": [{"required": pair} for pair in pairs]}
        return whole


def _described(schema: Schema, says: str) -> Schema:
    return {"description": says, **schema} if says else schema


@dataclass(eq=False, repr=False)
class Tagged(Shape):
    """A mapping whose kind is told by one of its keys: `{text: …}`, `{thinking: …, signature: …}`."""

    words: str
    cases: Mapping[str, Record]

    def form(self) -> str:
        return f"a mapping with the key {one_of(list(self.cases))}"

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if type(node.value) is not dict:
            return self.mismatch(node, path, report)
        tags = [tag for tag in self.cases if tag in node.value]
        if len(tags) == 1:
            return self.cases[tags[0]].read(node, path, report)
        apart = f"{tags[0]!r} and {tags[1]!r} can't stand in one entry; each is an entry of its own" if tags else ""
        report.add(apart or self._untagged(list(node.value)), node.line, path)
        return BROKEN

    def _untagged(self, names: list[str]) -> str:
        near = next((f"; did you mean {n!r}?" for name in names if (n := nearest(name, list(self.cases)))), "")
        came = ", ".join(names) or "nothing"
        return f"expected {self.words} ({one_of(list(self.cases))}), got {shorten(came)}{near}"

    def schema(self, defs: Defs) -> Schema:
        return {"anyOf": [{**record.schema(defs), "required": [tag]} for tag, record in self.cases.items()]}
