"""The tools of the zoo: each run gives another output, so that a second run shows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

_runs = itertools.count(1)
#: Whether the tool fails whenever it runs; an audit makes it fail by itself.
failing = False


def lookup(key: str) -> str:
    """Look a value up."""
    if failing:
        raise RuntimeError("lookup is out of order")
    return f"value of {key}, {next(_runs)}"


IMPLS: dict[str, Callable[..., str]] = {"lookup": lookup}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}
CLAUDE_TOOLS = [{"name": "lookup", "description": "Look a value up.", "input_schema": SCHEMA}]
RESPONSES_TOOLS = [
    {"type": "function", "name": "lookup", "description": "Look a value up.", "parameters": SCHEMA, "strict": False}
]
CHAT_TOOLS = [
    {"type": "function", "function": {"name": "lookup", "description": "Look a value up.", "parameters": SCHEMA}}
]


class LoopError(Exception):
    """A run ended without an answer."""


def parsed(arguments: Any) -> Any:
    """Arguments as a value; None where they are no JSON."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None


def run_tool(name: str, given: Any) -> tuple[str, bool]:
    """A tool's output, and whether that is an error."""
    if name not in IMPLS:
        return f"Error: there is no tool {name}", True
    if not isinstance(given, dict) or set(given) != {"key"} or not isinstance(given["key"], str):
        return "Error: the arguments don't fit the schema; the tool was not run", True
    try:
        return IMPLS[name](**given), False
    except Exception as error:
        return f"Error: {error}", True
