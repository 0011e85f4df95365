"""What every Python driver shares: the JSON-lines loop and the behaviour of the tools.

A driver calls ``serve(handler)``. The handler gets a case (a dict) and its ``Tools`` and returns the
fields of the answer; it may be a coroutine function. Whatever it raises becomes an ``error`` answer.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class Failure:
    """What a tool with ``fails`` returns: the SDK's own error result is the driver's business."""

    def __init__(self, text: str) -> None:
        self.text = text


class Tools:
    """The case's client tools, and a record of each run in order of start."""

    def __init__(self, specs: list[Json]) -> None:
        self.specs = [spec for spec in specs if not spec.get("server")]
        self.runs: list[Json] = []
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def run(self, spec: Json, given: Json) -> Any:
        """Run a tool on the input that its function received."""
        with self._lock:
            entry: Json = {"name": spec["name"], "input": given, "output": None, "is_error": False}
            self.runs.append(entry)
            count = self._counts.get(spec["name"], 0)
            self._counts[spec["name"]] = count + 1
        try:
            value = _behave(spec, given, count)
        except Exception as error:
            entry.update(output=str(error), is_error=True)
            raise
        failed = isinstance(value, Failure)
        entry.update(output=value.text if failed else value, is_error=failed)
        return value

    def function(self, spec: Json) -> Callable[..., Any]:
        """A function with the name, docstring and typed parameters that the JSON Schema says."""
        schema = spec.get("schema") or {}
        required = schema.get("required", [])
        parameters = []
        for name, kind in schema.get("properties", {}).items():
            hint: Any = TYPES.get(kind.get("type", ""), Any)
            default: Any = inspect.Parameter.empty
            if name not in required:
                default, hint = None, hint | None if hint is not Any else Any
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=hint,
                )
            )

        def function(**given: Any) -> Any:
            return self.run(spec, given)

        function.__name__ = function.__qualname__ = spec["name"]
        function.__doc__ = spec.get("description") or spec["name"]
        function.__annotations__ = {item.name: item.annotation for item in parameters}
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return function


def _behave(spec: Json, given: Json, count: int) -> Any:
    entry: Json = spec
    if "returns_each" in spec:
        each = spec["returns_each"]
        value = each[min(count, len(each) - 1)]
        is_behaviour = isinstance(value, dict) and ("raises" in value or "fails" in value)
        entry = value if is_behaviour else {"returns": value}
    if "raises" in entry:
        raise Exception(entry["raises"])
    if "fails" in entry:
        return Failure(entry["fails"])
    return render(entry.get("returns"), given)


def render(value: Any, given: Json) -> Any:
    """Fill ``{name}`` of a string from the input; other JSON values are returned as they are."""
    if isinstance(value, dict) and "$add" in value:
        first, second = value["$add"]
        return given[first] + given[second]
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda match: str(given[match.group(1)]), value)
    return value


def error_of(error: BaseException) -> Json:
    """Class without module, and message."""
    return {"type": type(error).__name__, "message": str(error)}


def threw(error: BaseException) -> Json:
    """The answer of a run that raised."""
    return {"returned": "error", "error": error_of(error)}


def serve(handler: Callable[[Json, Tools], Any]) -> None:
    """Answer cases from standard input until it ends.

    Whatever the SDK prints goes to standard error: standard output is the protocol's alone.
    """
    protocol = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        case = json.loads(line)
        protocol.write(json.dumps(_answer(handler, case), default=repr) + "\n")
        protocol.flush()
    os._exit(0)


def _answer(handler: Callable[[Json, Tools], Any], case: Json) -> Json:
    """Run a case in a thread of its own, so that one that hangs can be left behind."""
    tools = Tools(case.get("tools", []))
    box: list[Json] = []

    def work() -> None:
        try:
            result = handler(case, tools)
            box.append(asyncio.run(result) if inspect.iscoroutine(result) else result)
        except Exception as error:
            box.append(threw(error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    seconds = case.get("timeout", 30)
    thread.join(seconds)
    late = {"type": "RigTimeout", "message": f"no answer within {seconds} s"}
    answer: Json = {"id": case["id"], "returned": None, "finish_reason": None, "final_text": None}
    answer |= {"reported_count": None, "error": None, "tool_runs": list(tools.runs)}
    return answer | (box[0] if box else {"returned": "error", "error": late})
