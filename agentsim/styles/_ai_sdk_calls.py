"""What the AI SDK makes of a model's calls: which it accepts, with what input, and what the model is told of the others.

Measured on ai 7.0.143 (zod: unknown keys are dropped) and @ai-sdk/workflow 2.0.43 (Ajv: unknown keys are refused). The wording of zod's
list of issues is not reproduced; the rest of the texts is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.coerce import strip_unknown
from agentsim.core.scripted import Raised
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import SeenCall, parse

#: JSON.parse is given up at this key: the SDK's parser refuses to build such an object.
PROTO = re.compile(r'"__proto__"\s*:')


@dataclass(frozen=True, slots=True)
class Call:
    """A client call as the SDK holds it.

    Args:
        id, name: as resent; a repair may have changed the name.
        input: what the tool receives; of an invalid call the parsed arguments, or their text where that is no JSON.
        error: why it is invalid, as the model reads it; None where it is valid.
        seen: the call as it came.
    """

    id: str
    name: str
    input: Any
    error: str | None
    seen: SeenCall


class Invalid(Exception):
    """A call that the SDK does not accept; the message is what the model reads."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a step offers, and how their input is checked.

    Args:
        specs: the client's tools by name.
        names: of all tools in the request, provider tools included.
        strict: Ajv's way (WorkflowAgent) in place of zod's.
        none: what an unknown call is told where no tool was given at all; None: the same as with tools.
    """

    specs: Mapping[str, ToolSpec]
    names: tuple[str, ...]
    strict: bool = False
    none: str | None = "No tools are available."

    def accept(self, name: str, raw: str) -> Any:
        """The input that the tool receives.

        Raises:
            Invalid: no such tool, no JSON, or it does not fit.
        """
        spec = self.specs.get(name)
        if spec is None:
            listed = f"Available tools: {', '.join(self.names)}."
            known = self.none if self.none is not None and not self.names else listed
            raise Invalid(f"AI_NoSuchToolError: Model tried to call unavailable tool '{name}'. {known}")
        value = _json(name, raw) if raw.strip() else {}
        problem = ajv_problem(spec.schema, value) or spec.problem(value) if self.strict else spec.problem(value)
        if problem is None:
            return value if self.strict else strip_unknown(spec.schema, value)
        reason = f"Error: {problem}" if self.strict else problem
        raise Invalid(
            f"AI_InvalidToolInputError: Invalid input for tool {name}: AI_TypeValidationError: "
            f"Type validation failed: Value: {compact(value)}.\nError message: {reason}"
        )


def _json(name: str, raw: str) -> Any:
    try:
        if PROTO.search(raw):
            raise ValueError("Object contains forbidden prototype property")
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"AI_InvalidToolInputError: Invalid input for tool {name}: AI_JSONParseError: "
            f"JSON parsing failed: Text: {raw}.\nError message: SyntaxError: {error}"
        ) from None


def accepted(seen: SeenCall, tools: Tools, repair: Callable[..., Any] | None = None) -> Call:
    """The call as the SDK goes on with it: valid, repaired, or invalid.

    Args:
        seen: the call as it came, with the id that the SDK keeps.
        tools: those of this step.
        repair: the user's `repairToolCall`, asked once for an invalid call.
    """
    try:
        return Call(seen.id, seen.name, tools.accept(seen.name, seen.raw), None, seen)
    except Invalid as error:
        wrong = str(error)
    if repair is not None and tools.names:
        try:
            changed = repair()
            if changed is not None:
                name, raw = changed.get("toolName", seen.name), changed.get("input", seen.raw)
                return Call(seen.id, name, tools.accept(name, raw), None, seen)
        except Raised as thrown:
            wrong = f"AI_ToolCallRepairError: Error repairing tool call: {thrown_text(thrown.type, thrown.message)}"
        except Invalid as again:
            wrong = str(again)
    value, broken = parse(seen.raw)
    return Call(seen.id, seen.name, seen.raw if broken or PROTO.search(seen.raw) else value, wrong, seen)


def ajv_problem(schema: Mapping[str, Any], value: Any, path: str = "data") -> str | None:
    """The first problem that Ajv names, for the schema that zod makes of a tool's input: no unknown keys."""
    kind = schema.get("type")
    if isinstance(kind, str) and not _is(kind, value):
        return f"{path} must be {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} must be equal to one of the allowed values"
    if isinstance(value, Mapping) and isinstance(schema.get("properties"), Mapping):
        return _ajv_object(schema, value, path)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        found = (ajv_problem(schema["items"], item, f"{path}/{at}") for at, item in enumerate(value))
        return next((problem for problem in found if problem), None)
    return None


def _ajv_object(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> str | None:
    properties: Mapping[str, Any] = schema["properties"]
    for key in schema.get("required", ()):
        if key not in value:
            return f"{path} must have required property '{key}'"
    if not schema.get("additionalProperties", False) and any(key not in properties for key in value):
        return f"{path} must NOT have additional properties"
    found = (ajv_problem(part, value[key], f"{path}/{key}") for key, part in properties.items() if key in value)
    return next((problem for problem in found if problem), None)


def _is(kind: str, value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "object": isinstance(value, Mapping),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "number": number,
        "integer": number and value == int(value)
        if number and value == value and abs(value) != float("inf")
        else False,
        "boolean": isinstance(value, bool),
        "null": value is None,
    }.get(kind, True)


def compact(value: Any) -> str:
    """A JSON value as JSON.stringify writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def as_text(value: Any) -> str:
    """A tool's output as text: strings as they are, other values as JSON."""
    return value if isinstance(value, str) else compact(value)


def thrown_text(type_: str, message: str) -> str:
    """An exception as JavaScript writes it."""
    return f"{type_}: {message}" if message else type_
