"""Whether a tool input fits its JSON Schema. The validator is compiled on its first use: most runs of a file never need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def input_check(schema: Mapping[str, Any]) -> Callable[[Any], str | None]:
    """A function that says what is wrong with an input.

    Args:
        schema: a whole JSON Schema.
    Returns:
        A function of a JSON value; it returns the validator's first complaint with the place where it applies, or None.
    """
    compiled: list[Any] = []

    def problem(value: Any) -> str | None:
        if not compiled:
            compiled.append(_compile(schema))
        try:
            if compiled[0].is_valid(value):
                return None
            error = next(iter(compiled[0].iter_errors(value)), None)
        except (
            ValueError
        ) as unreadable:  # a lone surrogate, a value nested too deep: no JSON that a validator could read
            return f"the input is no JSON value: {unreadable}"
        if error is None:
            return None
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        return f"{error.message} at {place.removeprefix('.')}" if place else str(error.message)

    return problem


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Why this is no JSON Schema that a validator could use; None where it is one."""
    import jsonschema_rs

    try:
        _compile(schema)
    except jsonschema_rs.ValidationError as error:
        place = "/".join(map(str, error.instance_path))
        return f"{error.message} (at {place})" if place else str(error.message)
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        return str(error)
    return None


def _compile(schema: Mapping[str, Any]) -> Any:
    """Offline: a schema that refers to another place is refused, never fetched."""
    import jsonschema_rs

    return jsonschema_rs.validator_for(dict(schema), offline=True)
