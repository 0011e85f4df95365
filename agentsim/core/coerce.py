"""What SDKs make of a tool's input before the function gets it: zod drops unknown keys, pydantic also converts.

Facts: measured on the real packages. Python SDKs build a pydantic model from the function's signature, whose lax mode takes "1" for
a number; an optional parameter that is left out arrives as its default, None.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal


class Unfit(ValueError):
    """The value can't be made to fit."""


def strip_unknown(schema: Mapping[str, Any], value: Any) -> Any:
    """The value without the keys that its schema does not name, as a zod object leaves it.

    Args:
        schema: JSON Schema; where `additionalProperties` is true or a schema, unknown keys stay.
        value: a value that fits it.
    """
    if isinstance(value, Mapping) and isinstance(schema.get("properties"), Mapping):
        known = schema["properties"]
        keep = bool(schema.get("additionalProperties", False))
        return {k: strip_unknown(known.get(k, {}), v) for k, v in value.items() if keep or k in known}
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [strip_unknown(schema["items"], item) for item in value]
    return value


def lax(schema: Mapping[str, Any], value: Any, *, extra: Literal["ignore", "forbid"] = "ignore") -> dict[str, Any]:
    """What a pydantic-typed function receives.

    Args:
        schema: JSON Schema of the input, an object.
        value: the arguments.
        extra: whether unknown keys are dropped or refused.
    Returns:
        Every declared key, converted; None for an optional one that is left out.
    Raises:
        Unfit: a key is missing, unknown or can't be converted.
    """
    if not isinstance(value, Mapping):
        raise Unfit(f"expected an object, but {value!r} came")
    known: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    if extra == "forbid" and (unknown := [key for key in value if key not in known]):
        raise Unfit(f"unexpected keyword argument {unknown[0]!r}")
    result: dict[str, Any] = {}
    for key, part in known.items():
        if key not in value:
            if key in required:
                raise Unfit(f"{key!r} is a required property")
            result[key] = part.get("default")
        elif value[key] is None and key not in required:
            result[key] = None
        else:
            result[key] = _converted(key, part, value[key])
    return result


def from_text(schema: Mapping[str, Any], value: Any) -> Any:
    """The arguments with texts read as JSON where the schema wants a number, boolean, list or object.

    Only the object's own keys, and only texts that are nothing but such a value.

    Args:
        schema: JSON Schema of the input, an object.
        value: the arguments.
    """
    if not isinstance(value, Mapping):
        return value
    known: Mapping[str, Any] = schema.get("properties", {})
    return {key: _read(known.get(key, {}).get("type"), part) for key, part in value.items()}


def _read(kind: Any, text: Any) -> Any:
    if not isinstance(text, str) or kind not in _KINDS or text != text.strip():
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, bool) or kind == "boolean":
        return value if isinstance(value, bool) and kind == "boolean" else text
    if isinstance(value, float) and not (math.isfinite(value) and (kind == "number" or value.is_integer())):
        return text
    return value if isinstance(value, _KINDS[kind]) else text


_KINDS: dict[str, Any] = {
    "number": (int, float),
    "integer": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _converted(key: str, schema: Mapping[str, Any], value: Any) -> Any:
    kind = schema.get("type")
    convert = _CONVERT.get(kind) if isinstance(kind, str) else None
    converted = convert(value) if convert is not None else value
    if converted is _NO:
        raise Unfit(f"{key}: expected {kind}, but {value!r} came")
    if "enum" in schema and converted not in schema["enum"]:
        raise Unfit(f"{key}: expected one of {schema['enum']}, but {value!r} came")
    return converted


_NO = object()
_WORDS = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else _NO


def _number(value: Any) -> Any:
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return _NO
    return _NO


def _integer(value: Any) -> Any:
    number = _number(value)
    if number is _NO or number != number or number in (float("inf"), float("-inf")) or number != int(number):
        return _NO
    return int(value) if isinstance(value, int) else int(number)


def _boolean(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(value.lower(), _NO)
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else _NO


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": lambda value: value if isinstance(value, list) else _NO,
    "object": lambda value: value if isinstance(value, Mapping) else _NO,
}
