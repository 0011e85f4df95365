"""A tool's JSON Schema from the inputs it was called with, for logs that do not say what was offered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def guessed_schema(inputs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The tightest schema of a few words that takes every input.

    Args:
        inputs: recorded arguments.
    Returns:
        An object schema: each key with the JSON types that it had, required where no input is without it.
    """
    kinds: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    total = 0
    for given in inputs:
        total += 1
        for key, value in given.items():
            seen[key] = seen.get(key, 0) + 1
            kind = _kind(value)
            if kind not in kinds.setdefault(key, []):
                kinds[key].append(kind)
    schema: dict[str, Any] = {"type": "object", "properties": {key: _typed(types) for key, types in kinds.items()}}
    if required := [key for key, count in seen.items() if count == total]:
        schema["required"] = required
    return schema


def _typed(kinds: list[str]) -> dict[str, Any]:
    if "number" in kinds and "integer" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
