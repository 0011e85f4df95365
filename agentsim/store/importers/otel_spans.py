"""Spans as exporters write them: one attribute bag, a list of spans, OTLP's JSON, one span a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentsim.store.importers.blocks import as_dict, as_list, text_of

#: Attributes by which a span of a model is known.
PREFIXES = ("gen_ai.", "ai.", "llm.")


@dataclass(frozen=True, slots=True)
class Span:
    """A span. `events`: (name, attributes) in order; `trace` and `start` put it in its place; `failed`: it ended with an error."""

    name: str
    attributes: dict[str, Any]
    trace: str = ""
    start: str = ""
    events: tuple[tuple[str, dict[str, Any]], ...] = field(default=())
    failed: str | None = None


def spans_of(value: Any) -> Iterator[Span]:
    """Every span in a value."""
    if isinstance(value, list):
        for inner in value:
            yield from spans_of(inner)
    elif isinstance(value, dict):
        if isinstance(value.get("attributes"), dict | list) and (
            "name" in value or has_model_attribute(attributes_of(value["attributes"]))
        ):
            yield _span(value)
        elif has_model_attribute(value):
            yield Span("", attributes_of(value))
        else:
            for key in ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "data", "batches"):
                yield from spans_of(value.get(key))


def has_model_attribute(attributes: Any) -> bool:
    """Whether attributes tell of a model."""
    return isinstance(attributes, dict) and any(isinstance(key, str) and key.startswith(PREFIXES) for key in attributes)


def attributes_of(value: Any) -> dict[str, Any]:
    """Attributes as a mapping; OTLP has a list of keys with typed values."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return {str(as_dict(a).get("key")): _plain(as_dict(a).get("value")) for a in as_list(value)}


def _plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for key in ("stringValue", "intValue", "doubleValue", "boolValue"):
        if key in value:
            return value[key]
    if "arrayValue" in value:
        return [_plain(item) for item in as_list(as_dict(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        return attributes_of(as_dict(value["kvlistValue"]).get("values"))
    return value


def _span(value: dict[str, Any]) -> Span:
    context = as_dict(value.get("spanContext")) or as_dict(value.get("context"))
    trace = value.get("traceId") or value.get("trace_id") or context.get("traceId") or context.get("trace_id")
    start = value.get("startTimeUnixNano") or value.get("startTime") or value.get("start_time")
    status = as_dict(value.get("status"))
    failed = status.get("code") in (2, "2", "ERROR", "STATUS_CODE_ERROR") or status.get("status_code") == "ERROR"
    events = tuple(
        (str(as_dict(e).get("name")), attributes_of(as_dict(e).get("attributes"))) for e in as_list(value.get("events"))
    )
    message = str(status.get("message") or status.get("description") or "") if failed else None
    return Span(
        str(value.get("name") or ""),
        attributes_of(value["attributes"]),
        str(trace or ""),
        _sortable(start),
        events,
        message,
    )


def _sortable(start: Any) -> str:
    """A start time as text that sorts: [seconds, nanoseconds], nanoseconds, or ISO."""
    if isinstance(start, list) and all(isinstance(n, int | float) for n in start):
        return "".join(f"{int(n):020d}" for n in start)
    if isinstance(start, int | float) or (isinstance(start, str) and start.isdigit() and len(start) < 30):
        return f"{int(start):020d}"
    return text_of(start) or ""


def indexed(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Attributes of the form `prefix.0.key.1.more` as a list of nested values.

    Args:
        prefix: as `gen_ai.prompt`.
    """
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix + "."):
            continue
        place = root
        *path, last = key[len(prefix) + 1 :].split(".")
        for step in path[:12]:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = value
    values = _listed(root)
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() and len(key) < 9 for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(item) for key, item in value.items()}


def loaded(value: Any) -> Any:
    """A JSON text as its value; any other text as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
