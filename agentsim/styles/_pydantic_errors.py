"""What pydantic says of arguments that don't fit a tool's typed signature: SDKs in Python show it to the model as it is.

Facts: measured on pydantic 2.14; the same conversions as `agentsim.core.coerce.lax`, field by field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentsim.core.coerce import Unfit, lax

_HELP = "    For further information visit https://errors.pydantic.dev/2.14/v/"
_WORDS = {"string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "array": "list"}
_CODES = {"string": "string", "number": "float", "integer": "int", "boolean": "bool", "array": "list", "object": "dict"}


def validation_error(title: str, schema: Mapping[str, Any], value: Any) -> str | None:
    """The text of a ValidationError; None where the value fits.

    Args:
        title: name of the model.
        schema: JSON Schema of the input, an object.
        value: the arguments.
    """
    if not isinstance(value, Mapping):
        says = f"Input should be a valid dictionary or instance of {title}"
        return _text(title, [f"  {says} {_about('model_type', value)}"])
    found = list(_problems(schema, value))
    return _text(title, found) if found else None


def _problems(schema: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for key, part in schema.get("properties", {}).items():
        if key not in value:
            if key in required:
                yield f"{key}\n  Field required {_about('missing', dict(value))}"
            continue
        try:
            lax({"properties": {key: part}, "required": [key] if key in required else []}, {key: value[key]})
        except Unfit:
            says, code = _misfit(part, value[key])
            yield f"{key}\n  {says} {_about(code, value[key])}"


def _misfit(schema: Mapping[str, Any], value: Any) -> tuple[str, str]:
    """pydantic's words and code for a value of the wrong type."""
    kind = str(schema.get("type"))
    says = f"Input should be a valid {_WORDS.get(kind, 'dictionary')}"
    code = _CODES.get(kind, "dict")
    if kind in ("number", "integer") and isinstance(value, str):
        return (
            f"{says}, unable to parse string as {'a number' if kind == 'number' else 'an integer'}",
            f"{code}_parsing",
        )
    if kind == "integer" and isinstance(value, float):
        return f"{says}, got a number with a fractional part", "int_from_float"
    if kind == "boolean" and isinstance(value, str | int | float):
        return f"{says}, unable to interpret input", "bool_parsing"
    return says, f"{code}_type"


def _about(code: str, value: Any) -> str:
    """The code, the value (long ones without their middle) and its type, with where to read more."""
    shown = repr(value)
    if len(shown) > 50:
        shown = f"{shown[:25]}...{shown[-24:]}"
    return f"[type={code}, input_value={shown}, input_type={type(value).__name__}]\n{_HELP}{code}"


def _text(title: str, problems: list[str]) -> str:
    count = f"{len(problems)} validation error{'' if len(problems) == 1 else 's'}"
    return "\n".join([f"{count} for {title}", *problems])
