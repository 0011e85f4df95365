"""The page of the scenario file, from its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentsim.scenario.schema import json_schema
from tools.reference.markdown import table

INTRODUCTION = """# The scenario file

YAML 1.2 or JSON, UTF-8, one scenario a file. It is checked strictly: an unknown or doubled key, a wrong type or an impossible combination is an error with file, line and path, and all
problems of a file are reported together. `agentsim schema` prints the JSON Schema that this page is made of; [Install](../install.md#editors-and-hooks) tells editors about it."""
TITLES = {
    "tool": "A tool",
    "reply": "A reply",
    "block": "A block of `content`",
    "message": "A message of `messages`",
    "user_block": "A block of a user's message",
    "agent": "An agent of `agents`",
    "match": "A condition on a text",
    "expect": "What `expect` may say",
}

#: A mapping with more keys is shown without what they take.
MOST_KEYS = 8

Json = Mapping[str, Any]


def page() -> str:
    """The whole page."""
    schema = json_schema()
    parts = [INTRODUCTION, "## The file", _keys(schema)]
    names = [*TITLES, *(name for name in schema["$defs"] if name not in TITLES)]
    for name in names:
        if name in schema["$defs"]:
            parts += [f"## {TITLES.get(name, name)}", _definition(schema["$defs"][name])]
    return "\n\n".join(parts) + "\n"


def _definition(schema: Json) -> str:
    if "properties" in schema:
        return _keys(schema)
    forms = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return "\n\n".join(_keys(form) if "properties" in form else f"- {type_of(form)}" for form in forms)


def _keys(schema: Json) -> str:
    needed = set(schema.get("required", ()))
    rows = []
    for name, value in schema["properties"].items():
        word = value.get("description", "") + (" (required)" if name in needed else "")
        rows.append((f"`{name}`", type_of(value), word))
    return table(("key", "value", "what it is"), rows)


def _keys_in_brief(properties: Json) -> str:
    """The keys of a mapping that has no table of its own, each with what it takes, unless they are many."""
    if len(properties) > MOST_KEYS:
        return "{" + ", ".join(properties) + "}"
    return "{" + ", ".join(f"{name}: {type_of(value)}" for name, value in properties.items()) + "}"


def type_of(schema: Any) -> str:
    """A schema in words."""
    if not isinstance(schema, Mapping):
        return "any JSON value"
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return TITLES.get(name, name).lower()
    for key in ("anyOf", "oneOf"):
        if key in schema and "properties" not in schema:  # of a mapping they say which keys it needs
            return " or ".join(dict.fromkeys(type_of(each) for each in schema[key]))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if not schema.get("type"):
        return "any JSON value"
    kind = schema["type"]
    if kind == "array":
        return f"list of: {type_of(schema.get('items'))}"
    if kind == "object":
        if schema.get("properties"):
            return _keys_in_brief(schema["properties"])
        return f"name → {type_of(schema['additionalProperties'])}" if schema.get("additionalProperties") else "mapping"
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "null": "null",
    }
    return words.get(kind, kind) if isinstance(kind, str) else " or ".join(words.get(each, each) for each in kind)
