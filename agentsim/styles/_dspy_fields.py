"""The text protocol of dspy.ReAct: what its adapters read in a reply, and what a tool receives.

A reply names its tool in fields of text, `[[ ## next_tool_name ## ]]` and so on. Here its first call stands for them, with the text beside it
as the thought; a text alone stands for a call of `finish`, and for the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.coerce import Unfit, lax
from agentsim.core.partial_json import NotAPrefix, complete
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import Seen

FINISH = "finish"


class Unparsed(Exception):
    """No adapter can read the reply. `message`: what it says."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Step:
    """What a reply says in a step: call_id "" where a text stands for `finish`."""

    call_id: str
    thought: str
    name: str
    arguments: dict[str, Any]


def step_of(seen: Seen, tools: Mapping[str, ToolSpec]) -> Step:
    """The fields of a step.

    Raises:
        Unparsed: the reply is empty, names no tool, or its arguments can't be repaired into an object.
    """
    if not seen.calls:
        return Step("", answer_of(seen), FINISH, {})
    call = seen.calls[0]
    if call.name not in tools and call.name != FINISH:
        raise Unparsed(f"Failed to parse field next_tool_name with value {call.name}")
    return Step(call.id, seen.text, call.name, repaired(call.raw))


def answer_of(seen: Seen) -> str:
    """The field of the answer: the reply's text.

    Raises:
        Unparsed: the reply is empty.
    """
    if not seen.text and not seen.calls:
        raise Unparsed("The LM returned an empty or null response.")
    return "\n".join(seen.text.splitlines()).strip()


def repaired(raw: str) -> dict[str, Any]:
    """Arguments as json_repair makes them an object: closed where they were cut, single quotes taken for double ones.

    Raises:
        Unparsed: no object comes of it.
    """
    value = _value(raw.strip())
    if not isinstance(value, dict):
        raise Unparsed(f"Failed to parse field next_tool_args with value {raw}")
    return value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    if '"' not in text:
        text = text.replace("'", '"')
    objects = list(_objects(text))
    if objects:
        return objects[-1]
    if re.fullmatch(r'\{\s*|\{"', text):
        return {}
    if re.fullmatch(r'\{\s*"[^"]*"?\s*', text):
        return None  # a key without a value is taken for a list
    if text.endswith(":"):
        text += '""'
    try:
        return complete(text, strings=True)
    except NotAPrefix:
        return None


def _objects(text: str) -> list[Any]:
    """The whole objects that the text begins with; of several, the last one counts."""
    found, at = list[Any](), 0
    while at < len(text) and text[at] == "{":
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            break
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def received(spec: ToolSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the function receives. Values of required parameters are checked strictly, then converted; Python checks the keywords.

    Raises:
        Unfit: they don't fit.
    """
    known, required = spec.schema.get("properties", {}), spec.schema.get("required", ())
    for key, value in given.items():
        if key not in known:
            raise Unfit(f"Arg {key} is not in the tool's args.")
        kind = known[key].get("type")
        if key in required and kind in _FITS and not _FITS[kind](value):
            raise Unfit(f"Arg {key} is invalid: {value!r} is not of type {kind!r}")
    whole = lax(spec.schema, given)
    return {key: value for key, value in whole.items() if key in given}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_FITS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
