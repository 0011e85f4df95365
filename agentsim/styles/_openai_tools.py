"""Calls of the OpenAI Agents SDKs: which id is whose, what a tool gets, and what of its output is sent.

An exception's own text is never sent, and arguments that don't fit get a fixed text. Measured on @openai/agents 0.20.0 (zod
tools) and openai-agents 0.24.0 (function_tool).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.coerce import Unfit, lax, strip_unknown
from agentsim.core.events import ToolRun
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import CHAT, Seen, SeenCall

FAILED = "An error occurred while running the tool. Please try again."
UNREADABLE = "An error occurred while parsing tool arguments. Please try again with valid JSON."


class Unreadable(ValueError):
    """Arguments that are no JSON. Args: what the model is told."""


@dataclass(slots=True)
class Ids:
    """Which call each id of the run belongs to."""

    python: bool
    calls: dict[str, str] = field(default_factory=dict)

    def identity(self, call: SeenCall) -> str:
        """Tool and arguments; JSON is compared by value, broken JSON as text. JavaScript has one kind of number."""
        if call.broken:
            return f"{call.name} {call.raw}"
        value = call.arguments if self.python else plain_numbers(call.arguments)
        return f"{call.name} {json.dumps(value, sort_keys=True)}"

    def problem(self, calls: Sequence[SeenCall], known: Mapping[str, Any]) -> str | None:
        """What is wrong with the reply's ids; None where nothing is. `known`: the tools that there are."""
        own: dict[str, str] = {}
        for call in calls:
            identity = self.identity(call)
            if self.calls.get(call.id, identity) != identity:
                return self._later(call.id, all(c.name in known for c in calls))
            if own.setdefault(call.id, identity) != identity:
                return self._same_reply(call.id)
        return None

    def _same_reply(self, call_id: str) -> str:
        if self.python:
            return (
                "Model reused a tool call ID for a different invocation in one response. Use a unique call ID for each "
                "tool invocation."
            )
        return f"Tool call ID {call_id} was reused for different tool invocations in the same run."

    def _later(self, call_id: str, all_known: bool) -> str:
        if self.python:
            which = "completed tool call ID" if all_known else "tool call ID"
            return f"Model reused a {which} for a different invocation. Use a unique call ID for each tool invocation."
        return f"Tool call ID {call_id} was reused for a different invocation after its output was committed."

    def fresh(self, calls: Sequence[SeenCall]) -> list[SeenCall]:
        """The calls whose id is new; the others are neither run nor kept."""
        found = [
            call for at, call in enumerate(calls) if call.id not in self.calls and call.id not in ids_before(calls, at)
        ]
        self.calls |= {call.id: self.identity(call) for call in found}
        return found


def ids_before(calls: Sequence[SeenCall], at: int) -> set[str]:
    """Ids of the calls before a position."""
    return {call.id for call in calls[:at]}


def plain_numbers(value: Any) -> Any:
    """The value with 1.0 as 1, as JavaScript has it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: plain_numbers(item) for key, item in value.items()}
    return [plain_numbers(item) for item in value] if isinstance(value, list) else value


def as_arrived(call: SeenCall, seen: Seen, python: bool) -> SeenCall:
    """The call as the SDK holds it: Python reads "" as {}; JavaScript's Chat stream loses an empty object before another."""
    if python and not call.raw:
        return SeenCall(call.id, call.name, "{}" if seen.wire == CHAT else "", {})
    if not python and seen.wire == CHAT and seen.streamed and call.raw.startswith("{}{"):
        raw = call.raw[2:]
        try:
            return SeenCall(call.id, call.name, raw, json.loads(raw))
        except ValueError:
            return SeenCall(call.id, call.name, raw, None, broken=True)
    return call


def tool_input(spec: ToolSpec, call: SeenCall, python: bool) -> Any:
    """What the tool function gets.

    Raises:
        Unreadable: the arguments are no JSON.
        Unfit: they don't fit the tool's schema.
    """
    if call.broken:
        raise Unreadable(FAILED if python else UNREADABLE)
    if spec.agent is not None and not spec.schema.get("properties") and call.is_object:
        return call.arguments  # an agent for which the scenario asks no input takes what comes
    if python:
        return lax(spec.schema, call.arguments)
    value = strip_unknown(spec.schema, without_null_options(spec.schema, call.arguments))
    if (problem := spec.problem(value)) is not None:
        raise Unfit(problem)
    return value


def without_null_options(schema: Mapping[str, Any], value: Any) -> Any:
    """The value without the optional keys that are null: the SDK makes zod's optional nullable, and drops the null."""
    if not isinstance(value, Mapping):
        return value
    required = schema.get("required", ())
    return {key: item for key, item in value.items() if item is not None or key in required}


def as_text(value: Any, python: bool) -> str:
    """A tool's output as text: JSON in JavaScript, str() in Python."""
    if isinstance(value, str):
        return value
    if python:
        return str(value)
    return json.dumps(plain_numbers(value), separators=(",", ":"), ensure_ascii=False)


def output_of(done: ToolRun, python: bool) -> Any:
    """What is sent of a run that did not throw: text, or content blocks as they are."""
    if is_content(done.output):
        return done.output
    return as_text(done.output, python)


def is_content(value: Any) -> bool:
    """Whether a value is a list of text blocks, which becomes structured output."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, Mapping) and v.get("type") == "text" for v in value)
    )
