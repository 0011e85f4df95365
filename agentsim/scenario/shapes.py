"""Shapes: what a value in a file has to look like. Each reads a node, says every problem, and yields its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.errors import nearest
from agentsim.scenario.document import BROKEN, Node, Path, Report

Schema = dict[str, Any]
#: Shared parts of a JSON Schema, filled while schemas are made.
Defs = dict[str, Schema]

KINDS: dict[type, str] = {
    dict: "mapping",
    list: "list",
    str: "text",
    bool: "flag",
    int: "number",
    float: "number",
    type(None): "null",
}


class Shape:
    """What a value has to look like. `words` tell a user what is expected."""

    words: str

    def read(self, node: Node, path: Path, report: Report) -> Any:
        """What the node means; BROKEN, and problems in the report, where it is not of this shape."""
        raise NotImplementedError

    def schema(self, defs: Defs) -> Schema:
        """The shape as JSON Schema."""
        raise NotImplementedError

    def mismatch(self, node: Node, path: Path, report: Report) -> Any:
        """Report that something else was expected."""
        if node.value is not BROKEN:
            kind = KINDS.get(type(node.value), "")
            more = hint(self, node, kind)
            form = "" if more or kind == "mapping" else self.form()
            report.add(
                f"expected {self.words}, got {describe(node)}{more}{form and f'; it is {form}'}", node.line, path
            )
        return BROKEN

    def form(self) -> str:
        """How a value that `words` alone don't tell is written: the keys of a mapping; "" where they do."""
        return ""


def describe(node: Node) -> str:
    """A value in a few words."""
    value = node.value
    if isinstance(value, str):
        return f"the text {shorten(repr(value))}"
    if value is None:
        return "nothing" if not node.source.strip("~") else "null"
    if isinstance(value, bool):
        return node.source
    kind = KINDS.get(type(value), "")
    return f"the number {shorten(node.source)}" if kind == "number" else f"a {kind}"


def shorten(text: str, most: int = 60) -> str:
    """A text of bearable length."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def hint(shape: Shape, node: Node, kind: str) -> str:
    """What a value that is nearly right lacks."""
    if isinstance(shape, Text):
        if kind in ("number", "flag") or (kind == "null" and node.source):
            return f" (in quotes it is text: '{shorten(node.source, 24)}')"
        return " (an empty text is '')" if kind == "null" else ""
    if (
        isinstance(shape, Flag)
        and kind == "text"
        and node.value.lower() in ("yes", "no", "on", "off", "true", "false", "y", "n")
    ):
        return " (YAML 1.2 has true and false, without quotes)"
    if isinstance(shape, Number) and kind == "text" and node.value.replace("_", "").replace(".", "", 1).isdigit():
        return f" (a number is written {node.value.replace('_', '')}, without quotes)"
    return ""


def one_of(words: Sequence[str]) -> str:
    """Words as "a, b or c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


# -- scalars ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Text(Shape):
    """A text; `least` characters long."""

    words: str = "a text"
    least: int = 0

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if not isinstance(node.value, str):
            return self.mismatch(node, path, report)
        if len(node.value) < self.least:
            report.add(f"expected {self.words}, got an empty text", node.line, path)
            return BROKEN
        return node.value

    def schema(self, defs: Defs) -> Schema:
        return {"type": "string", "minLength": self.least} if self.least else {"type": "string"}


@dataclass(eq=False, repr=False)
class Choice(Shape):
    """One of some texts; `beside`: what else may stand in its place."""

    options: tuple[str, ...]
    beside: tuple[str, ...] = ()

    @property
    def words(self) -> str:  # type: ignore[override]
        return one_of((*self.beside, *self.options))

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if node.value in self.options and isinstance(node.value, str):
            return node.value
        near = nearest(node.value, self.options) if isinstance(node.value, str) else None
        if near is None:
            return self.mismatch(node, path, report)
        report.add(f"unknown word {node.value!r}; did you mean {near!r}? (expected {self.words})", node.line, path)
        return BROKEN

    def schema(self, defs: Defs) -> Schema:
        return {"enum": list(self.options)}


@dataclass(eq=False, repr=False)
class Number(Shape):
    """A number; `whole`: without a fraction; not below `least`, not above `most`."""

    words: str = "a number"
    least: float | None = None
    most: float | None = None
    whole: bool = False

    def read(self, node: Node, path: Path, report: Report) -> Any:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return self.mismatch(node, path, report)
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            return self.mismatch(node, path, report)
        return value

    def schema(self, defs: Defs) -> Schema:
        bounds = {"minimum": self.least, "maximum": self.most}
        kind = "integer" if self.whole else "number"
        return {"type": kind, **{key: bound for key, bound in bounds.items() if bound is not None}}


@dataclass(eq=False, repr=False)
class Flag(Shape):
    """true or false; `only`: one of them alone."""

    only: bool | None = None

    @property
    def words(self) -> str:  # type: ignore[override]
        return "true or false" if self.only is None else str(self.only).lower()

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if not isinstance(node.value, bool) or self.only not in (None, node.value):
            return self.mismatch(node, path, report)
        return node.value

    def schema(self, defs: Defs) -> Schema:
        return {"type": "boolean"} if self.only is None else {"const": self.only}


@dataclass(eq=False, repr=False)
class Null(Shape):
    """null."""

    words: str = "null"

    def read(self, node: Node, path: Path, report: Report) -> Any:
        return None if node.value is None else self.mismatch(node, path, report)

    def schema(self, defs: Defs) -> Schema:
        return {"type": "null"}


# -- whatever JSON has --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Anything(Shape):
    """Any JSON value."""

    words: str = "a JSON value"

    def read(self, node: Node, path: Path, report: Report) -> Any:
        return node.plain() if node.sound() else BROKEN

    def schema(self, defs: Defs) -> Schema:
        return {}


@dataclass(eq=False, repr=False)
class Object(Shape):
    """Any JSON object."""

    words: str = "a mapping"

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if type(node.value) is not dict:
            return self.mismatch(node, path, report)
        return node.plain() if node.sound() else BROKEN

    def schema(self, defs: Defs) -> Schema:
        return {"type": "object"}


# -- containers -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ListOf(Shape):
    """A list; `least` long; `alone`: a single item may stand for a list of one."""

    item: Shape
    words: str = "a list"
    least: int = 0
    alone: bool = False

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if type(node.value) is not list:
            if not self.alone:
                return self.mismatch(node, path, report)
            value = self.item.read(node, path, report)
            return BROKEN if value is BROKEN else [value]
        if len(node.value) < self.least:
            report.add(f"expected {self.words}, got an empty list", node.line, path)
            return BROKEN
        values = [self.item.read(item, (path, at), report) for at, item in enumerate(node.value)]
        return BROKEN if any(value is BROKEN for value in values) else values

    def schema(self, defs: Defs) -> Schema:
        whole: Schema = {"type": "array", "items": self.item.schema(defs)}
        if self.least:
            whole["minItems"] = self.least
        return {"anyOf": [self.item.schema(defs), whole]} if self.alone else whole


@dataclass(eq=False, repr=False)
class MapOf(Shape):
    """A mapping with free keys.

    Args:
        value: the shape of each value.
        words: what it is.
        least, most: how many keys.
        reserved: keys that can't be there.
        nameless: a key may be empty.
    """

    value: Shape
    words: str = "a mapping"
    least: int = 0
    most: int | None = None
    reserved: tuple[str, ...] = ()
    nameless: bool = False

    def read(self, node: Node, path: Path, report: Report) -> Any:
        if type(node.value) is not dict:
            return self.mismatch(node, path, report)
        if not self.least <= len(node.value) <= (self.most or len(node.value)):
            report.add(f"expected {self.words}, got {self._keys(node)}", node.line, path)
            return BROKEN
        sound, values = True, {}
        for key, item in node.value.items():
            if (not key and not self.nameless) or key in self.reserved:
                report.add(f"{key!r} can't be a name here", item.key_line, path)
                sound = False
            values[key] = self.value.read(item, (path, key), report)
        return values if sound and all(value is not BROKEN for value in values.values()) else BROKEN

    def _keys(self, node: Node) -> str:
        return f"the keys {', '.join(node.value)}" if node.value else "an empty mapping"

    def schema(self, defs: Defs) -> Schema:
        names: Schema = {} if self.nameless else {"minLength": 1}
        if self.reserved:
            names["not"] = {"enum": list(self.reserved)}
        limits = {"minProperties": self.least or None, "maxProperties": self.most}
        whole = {"type": "object", "propertyNames": names, "additionalProperties": self.value.schema(defs)}
        return whole | {key: limit for key, limit in limits.items() if limit is not None}


@dataclass(eq=False, repr=False)
class Either(Shape):
    """A shape for each kind of value: text, number, flag, null, list, mapping."""

    words: str
    kinds: Mapping[str, Shape]

    def form(self) -> str:
        return "" if "{" in self.words else " or ".join(filter(None, (shape.form() for shape in self.kinds.values())))

    def read(self, node: Node, path: Path, report: Report) -> Any:
        shape = self.kinds.get(KINDS.get(type(node.value), ""))
        return self.mismatch(node, path, report) if shape is None else shape.read(node, path, report)

    def schema(self, defs: Defs) -> Schema:
        return {"anyOf": [shape.schema(defs) for shape in self.kinds.values()]}


@dataclass(eq=False, repr=False)
class Made(Shape):
    """Another shape whose value is made into something else: `make(value, node, path, report)`, which may report problems."""

    shape: Shape
    make: Callable[[Any, Node, Path, Report], Any]

    @property
    def words(self) -> str:  # type: ignore[override]
        return self.shape.words

    def form(self) -> str:
        return self.shape.form()

    def read(self, node: Node, path: Path, report: Report) -> Any:
        value = self.shape.read(node, path, report)
        return BROKEN if value is BROKEN else self.make(value, node, path, report)

    def schema(self, defs: Defs) -> Schema:
        return self.shape.schema(defs)


@dataclass(eq=False, repr=False)
class Named(Shape):
    """A shape that the JSON Schema defines once, under a name."""

    name: str
    shape: Shape

    @property
    def words(self) -> str:  # type: ignore[override]
        return self.shape.words

    def form(self) -> str:
        return self.shape.form()

    def read(self, node: Node, path: Path, report: Report) -> Any:
        return self.shape.read(node, path, report)

    def schema(self, defs: Defs) -> Schema:
        if self.name not in defs:
            defs[self.name] = {}
            defs[self.name] = self.shape.schema(defs)
        return {"$ref": f"#/$defs/{self.name}"}
