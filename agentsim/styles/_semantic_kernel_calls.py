"""What Semantic Kernel makes of a call: what is answered without a run, and what the function receives.

A parameter's value is given to the parameter's type as it is (`int("7")`, `bool("false")`, `list("ab")`), which is not pydantic's conversion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from agentsim.core.run import Run
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import SeenCall

UNKNOWN = (
    "The tool call with name `{name}` is not part of the provided tools, please try again with a supplied tool call name "
    "and make sure to validate the name."
)
MALFORMED = "The tool call arguments are malformed. Arguments must be in JSON format. Please try again."
FAILED = "An error occurred while invoking the function {name}: {problem}"

#: The types of a signature that its author would write for a JSON Schema.
TYPES: dict[str, Callable[..., Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


class Answered(Exception):
    """The call is not run. `text`: what the model is told instead."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def received(run: Run, call: SeenCall) -> dict[str, Any]:
    """What the function of a call receives.

    Raises:
        Answered: there is no such function, or the arguments don't fit it.
    """
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        raise Answered(UNKNOWN.format(name=call.name))
    arguments = _read(call.raw)
    known, required = spec.schema.get("properties", {}), spec.schema.get("required", ())
    missing = sorted(set(required) - set(arguments))
    unexpected = sorted(set(arguments) - set(known))
    if missing or unexpected:
        parts = [f"Missing required argument(s): {missing}."] if missing else []
        parts += [f"Received unexpected argument(s): {unexpected}."] if unexpected else []
        raise Answered(" ".join(parts) + " Please revise the arguments to match the function signature.")
    return {key: _given(spec, key, arguments[key]) for key in known if key in arguments}


def _read(raw: str) -> Mapping[str, Any]:
    """The arguments; JSON with single quotes is read too, and what is empty or null is none."""
    value: Any = None
    if raw:
        try:
            value = json.loads(raw)
        except ValueError:
            value = _with_double_quotes(raw)
    if not value:
        return {}
    if not isinstance(value, Mapping):
        raise Answered(MALFORMED)
    return value


def _with_double_quotes(raw: str) -> Any:
    try:
        return json.loads(re.sub(r"(?<!\\)'", '"', raw).replace("\\'", "'"))
    except ValueError:
        raise Answered(MALFORMED) from None


def _given(spec: ToolSpec, key: str, value: Any) -> Any:
    """The value as the parameter's type makes it; parameters without one, and optional ones, take it as it is."""
    schema = spec.schema["properties"][key]
    made = TYPES.get(schema.get("type"))
    if made is None:
        return value
    try:
        return made(**value) if isinstance(value, dict) else made(value)
    except Exception:
        problem = f"Parameter {key} is expected to be parsed to {made} but is not."
        raise Answered(FAILED.format(name=spec.name, problem=problem)) from None
