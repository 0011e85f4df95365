"""Arguments for a tool of which only the JSON Schema is known: the smallest sensible instance.

It covers what tools' schemas use (types, enums, defaults, bounds, patterns, local references, alternatives); what comes out is
checked by the validator, so that a caller knows whether it fits.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from agentsim.scenario.inputs import input_check

DEEPEST = 24

FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "uri-reference": "https://example.com",
    "url": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "regex": "a",
}

Schema = Mapping[str, Any]


def arguments_for(schema: Any, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The smallest sensible arguments for a tool.

    Args:
        schema: its JSON Schema; anything that is no mapping counts as one without demands.
        overrides: arguments that are taken as they are.
    Returns:
        The required arguments, in the schema's order, then the overrides that it does not name.
    """
    root = schema if isinstance(schema, Mapping) else {}
    made = _Maker(root).make({**root, "type": "object"}, 0)
    return {**made, **(overrides or {})}


def fitting_arguments(schema: Any, overrides: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], bool]:
    """The arguments of `arguments_for`, and whether the schema's validator takes them."""
    made = arguments_for(schema, overrides)
    try:
        return made, input_check(schema if isinstance(schema, Mapping) else {})(made) is None
    except ValueError:  # the schema itself is none
        return made, False


class _Maker:
    """Makes instances of the parts of one schema; `root` is where its references point."""

    def __init__(self, root: Schema) -> None:
        self.root = root

    def make(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > DEEPEST:
            return "a" if schema is not False else None
        schema = self._plain(schema, depth)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("enum", "examples"):
            if isinstance(schema.get(key), list) and schema[key]:
                return schema[key][0]
        return self._by_type(schema, depth)

    def _plain(self, schema: Schema, depth: int) -> dict[str, Any]:
        """The schema with its references, `allOf` and the first fitting alternative folded in."""
        parts = [self._target(schema["$ref"])] if isinstance(schema.get("$ref"), str) else []
        parts += _listed(schema.get("allOf"))
        for key in ("anyOf", "oneOf"):
            options = _listed(schema.get(key))
            parts += [option for option in options if option.get("type") != "null"][:1] or options[:1]
        plain = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        for part in parts if depth <= DEEPEST else ():
            plain = _merged(plain, self._plain(part, depth + 1))
        return plain

    def _target(self, reference: str) -> Schema:
        """What a local reference points to; without demands where it is not found."""
        place: Any = self.root
        for step in reference.removeprefix("#").split("/")[1:] if reference.startswith("#") else ("",):
            step = step.replace("~1", "/").replace("~0", "~")
            place = place.get(step) if isinstance(place, Mapping) else None
        return place if isinstance(place, Mapping) else {}

    def _by_type(self, schema: Schema, depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((k for k in kind if k != "null"), "null")
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        return {"boolean": False, "null": None}.get(kind, _string(schema)) if isinstance(kind, str) else "a"

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = [name for name in _texts(schema.get("required")) if name not in properties]
        names = [name for name in properties if name in _texts(schema.get("required"))] + required
        least = schema.get("minProperties")
        spare = [name for name in properties if name not in names]
        names += spare[: max(0, least - len(names))] if isinstance(least, int) else []
        return {name: self.make(properties.get(name, {}), depth + 1) for name in names}

    def _array(self, schema: Schema, depth: int) -> list[Any]:
        least = schema.get("minItems")
        least = min(least, 100) if isinstance(least, int) else 0
        first = schema.get("prefixItems")
        first = first if isinstance(first, list) else []
        items = [self.make(first[i] if i < len(first) else schema.get("items", {}), depth + 1) for i in range(least)]
        return _different(items) if schema.get("uniqueItems") else items


def _listed(value: Any) -> list[Schema]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _merged(one: Schema, other: Schema) -> dict[str, Any]:
    """Both demands as one: properties and required names of both, else the first one's word."""
    merged = {**other, **one}
    for key in ("properties", "required"):
        if key in one and key in other:
            a, b = one[key], other[key]
            if isinstance(a, Mapping) and isinstance(b, Mapping):
                merged[key] = {**b, **a}
            elif isinstance(a, list) and isinstance(b, list):
                merged[key] = a + b
    return merged


def _different(items: list[Any]) -> list[Any]:
    """Items made different from each other, where counting makes them so."""
    numbers = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items)
    texts = all(isinstance(item, str) for item in items)
    if numbers:
        return [item + i for i, item in enumerate(items)]
    return [item + str(i) if i else item for i, item in enumerate(items)] if texts else items


def _number(schema: Schema, *, whole: bool) -> Any:
    """1, moved into the bounds and onto the multiple."""
    low, high = _bound(schema, "inimum", 1, whole), _bound(schema, "aximum", -1, whole)
    value: Any = 1
    if low is not None and value < low:
        value = low
    if high is not None and value > high:
        value = high
    step = schema.get("multipleOf")
    if isinstance(step, (int, float)) and not isinstance(step, bool) and step > 0:
        value = math.ceil(value / step) * step
        if high is not None and value > high:
            value -= step
    return math.ceil(value) if whole and value == math.ceil(value) else value


def _bound(schema: Schema, name: str, inwards: int, whole: bool) -> Any:
    """The tightest bound of a side: `minimum` and `exclusiveMinimum`, or `maximum` and `exclusiveMaximum`."""
    bounds = []
    for key, exclusive in ((f"m{name}", False), (f"exclusiveM{name}", True)):
        value = schema.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            bounds.append(_inside(value, inwards, exclusive, whole))
    return None if not bounds else max(bounds) if inwards > 0 else min(bounds)


def _inside(bound: Any, inwards: int, exclusive: bool, whole: bool) -> Any:
    if not whole:
        return bound + inwards * 0.5 if exclusive else bound
    nearest = math.ceil(bound) if inwards > 0 else math.floor(bound)
    return nearest + inwards if exclusive and nearest == bound else nearest


def _string(schema: Schema) -> str:
    pattern, form = schema.get("pattern"), schema.get("format")
    text = _matching(pattern) if isinstance(pattern, str) else FORMATS.get(form, "a") if isinstance(form, str) else "a"
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        text += "a" * min(least - len(text), 100_000)
    return text[:most] if isinstance(most, int) and 0 <= most < len(text) else text


# -- strings that match a pattern ---------------------------------------------------------------------------------------


def _matching(pattern: str) -> str:
    """A short text that matches a regular expression; "a" where the pattern is beyond this."""
    try:
        text = "".join(map(_piece, importlib.import_module("re._parser").parse(pattern)))
        return text if re.search(pattern, text) else "a"
    except Exception:  # the parser is the standard library's own and private: any trouble means "can't"
        return "a"


def _piece(node: tuple[Any, Any]) -> str:
    kind, value = str(node[0]), node[1]
    if kind == "LITERAL":
        return chr(int(value))
    if kind == "IN":
        return _one_of(value)
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, inner = value
        return "".join(map(_piece, inner)) * min(int(least), 1000)
    if kind == "SUBPATTERN":
        return "".join(map(_piece, value[-1]))
    if kind == "BRANCH":
        return "".join(map(_piece, value[1][0]))
    if kind == "NOT_LITERAL":
        return "a" if value != ord("a") else "b"
    return "a" if kind == "ANY" else ""


def _one_of(members: Any) -> str:
    """A character of a class: its first member, or a common one that a negated class leaves over."""
    if str(members[0][0]) == "NEGATE":
        taken = "".join(_one_of([member]) for member in members[1:])
        return next((c for c in "a0A_- " if c not in taken), "~")
    kind, value = str(members[0][0]), members[0][1]
    if kind == "RANGE":
        return chr(value[0])
    if kind == "CATEGORY":
        return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(value), "-")
    return chr(int(value))


def as_arguments(value: Any) -> str:
    """A call's input as the argument text that a model would write."""
    return json.dumps(value)
