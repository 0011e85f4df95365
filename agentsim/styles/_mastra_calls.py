"""What Mastra makes of a model's calls: which run, with what input, and what the model is told of the others.

Measured on @mastra/core 1.71.0, whose tools check their input with zod. The wording of zod's issues is not reproduced; the rest is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.coerce import strip_unknown
from agentsim.core.events import ToolRun
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import ANTHROPIC, RESPONSES, SeenCall, parse

NOT_JSON = "received invalid arguments — the provided JSON could not be parsed. Please provide valid JSON arguments."


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the loop holds it.

    Args:
        id, name: of the call; a second call of one id keeps it.
        arguments: raw JSON text as it is sent back.
        input: what its tool function receives.
        result: what the model is told in place of a run, else None; `failed`: it counts as an error.
        client: the tool has no `execute`.
    """

    id: str
    name: str
    arguments: str
    input: Any = None
    result: str | None = None
    failed: bool = False
    client: bool = False

    @property
    def seen(self) -> SeenCall:
        """As those who answer approvals see it."""
        return SeenCall(self.id, self.name, self.arguments, self.input)


def accept(seen: SeenCall, tools: Mapping[str, ToolSpec], wire: str, streamed: bool) -> Call:
    """What becomes of a call."""
    value, arguments = _read(seen, wire, streamed)
    name = seen.name or "unknown_tool"
    spec = tools.get(seen.name)
    if spec is None:
        known = f" Available tools: {', '.join(tools)}" if tools else "."
        text = (
            f'Tool "{seen.name}" not found.{known}. Call tools by their exact name only '
            "— never add prefixes, namespaces, or colons."
        )
        return Call(seen.id, name, arguments, result=text, failed=True)
    if spec.client:
        return Call(seen.id, name, arguments, value, client=True)
    if value is None:
        return Call(seen.id, name, arguments, result=f'Tool "{name}" {NOT_JSON}', failed=True)
    problem = spec.problem(value)
    if problem is not None:
        value, first = without_nulls(value), problem
        if spec.problem(value) is not None:
            return Call(seen.id, name, arguments, result=_unfit(name, first, value))
    return Call(seen.id, name, arguments, strip_unknown(spec.schema, value))


def _read(seen: SeenCall, wire: str, streamed: bool) -> tuple[Any, str]:
    """The arguments that are looked at, and how they are sent back: what can't be read is {}."""
    if seen.broken:
        fixed = repaired(seen.raw)
        if fixed is None:
            return {}, "{}"
        return ({} if streamed else fixed), compact(fixed)
    value = seen.arguments
    if isinstance(value, Mapping):
        return value, compact(value)
    back = seen.raw if wire in (RESPONSES, ANTHROPIC) else "{}"
    if isinstance(value, list):
        return {str(at): item for at, item in enumerate(value)}, back
    return value, back


def repaired(raw: str) -> Any:
    """Arguments that only lack quotes, have a comma too many or a model's control tokens; None: beyond repair."""
    text = re.sub(r"<\|[^|]*\|>\s*", "", raw).strip()
    value, broken = parse(text)
    if not broken:
        return value
    text = re.sub(r'([{,]\s*)([a-zA-Z_$][\w$]*)"', r'\1"\2"', text)
    text = re.sub(r"([{,]\s*)([a-zA-Z_$][\w$]*)\s*:", r'\1"\2":', text)
    text = re.sub(r",(\s*[}\]])", r"\1", text.replace("'", '"'))
    return parse(text)[0] or None


def without_nulls(value: Any) -> Any:
    """An object without its keys that are null, at every depth."""
    if isinstance(value, Mapping):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


def _unfit(name: str, problem: str, value: Any) -> str:
    """The result of a call whose input does not fit: an object that says so, and no error mark."""
    given = json.dumps(value, indent=2, ensure_ascii=False)
    message = (
        f"Tool input validation failed for {name}. Please fix the following errors and try again:\n- {problem}\n\n"
        f"Provided arguments: {given}"
    )
    return compact({"error": True, "message": message})


def output(done: ToolRun) -> str:
    """A tool's output, or what it threw, as it is sent."""
    return done.output if isinstance(done.output, str) else compact(done.output)


def compact(value: Any) -> str:
    """A JSON value as JSON.stringify writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
