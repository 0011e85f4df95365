"""How the tools of a scenario are written."""

from __future__ import annotations

from typing import Any

from agentsim.core.tools import Approval, ToolOutcome, ToolSpec
from agentsim.scenario.blocks import noted
from agentsim.scenario.document import BROKEN, Node, Path, Report
from agentsim.scenario.inputs import input_check, schema_problem
from agentsim.scenario.records import Key, Part, Record
from agentsim.scenario.replies import SECONDS
from agentsim.scenario.shapes import Anything, Choice, Defs, Either, Flag, ListOf, Made, MapOf, Named, Object, Text

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
OUTCOMES = ("returns", "returns_each", "raises", "fails")
NO_INPUT = {"type": "object", "properties": {}}


def _short_schema(types: dict[str, str], *_: Any) -> dict[str, Any]:
    """`{order_id: integer}` as a JSON Schema; every name is required."""
    if not types:
        return NO_INPUT
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in types.items()},
        "required": list(types),
    }


def _checked_schema(schema: dict[str, Any], node: Node, path: Path, report: Report) -> Any:
    kind = node.value.get("type")
    if kind is None or kind.value != "object":
        line = node.line if kind is None else kind.line
        report.add("a tool's schema describes an object: it needs `type: object`", line, path)
        return BROKEN
    wrong = schema_problem(schema)
    if wrong is not None:
        report.add(f"this is no JSON Schema: {wrong}", node.line, path)
        return BROKEN
    return schema


class _JsonSchema(Object):
    """A JSON Schema of an object."""

    def schema(self, defs: Defs) -> dict[str, Any]:
        return {"type": "object", "required": ["type"], "properties": {"type": {"const": "object"}}}


SCHEMA = Made(_JsonSchema("a JSON Schema"), _checked_schema)
INPUT = Made(MapOf(Choice(TYPES), "a mapping of names to JSON types"), _short_schema)


def _outcome(value: Any, node: Node, path: Path, report: Report) -> Any:
    """An entry of `returns_each`: {raises: text}, {fails: text}, {returns: value}, or what is returned."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == "returns":
            return ToolOutcome("returns", inner)
        if kind in ("raises", "fails"):
            if not isinstance(inner, str):
                report.add(
                    f"{kind!r} takes a text; a value that looks like this is written {{returns: {{{kind}: …}}}}",
                    node.line,
                    path,
                )
                return BROKEN
            return ToolOutcome("raises" if kind == "raises" else "fails", inner)
    return ToolOutcome("returns", value)


APPROVED = Either(
    "true, false, {reject: text} or {edit: {…}}",
    {
        "flag": Made(Flag(), lambda value, *_: Approval("approve" if value else "reject")),
        "mapping": Record(
            "an answer",
            {"reject": Key(Text(), "no, and why"), "edit": Key(Object(), "yes, with this input in its place")},
            lambda part: (
                Approval("edit", input=part.get("edit")) if part.has("edit") else Approval("reject", part.get("reject"))
            ),
            some=("reject", "edit"),
            apart=(("reject", "edit"),),
        ),
    },
)
RUN_SECONDS = Either(
    "seconds, or a list of seconds",
    {
        "number": Made(SECONDS, lambda value, *_: (float(value),)),
        "list": Made(ListOf(SECONDS, "seconds, one a run", least=1), lambda values, *_: tuple(map(float, values))),
    },
)

KEYS = {
    "description": Key(Text(), "what the model is told"),
    "input": Key(INPUT, "short form: name -> JSON type, all required"),
    "schema": Key(SCHEMA, "the input as a whole JSON Schema"),
    "returns": Key(Anything(), "a JSON value; {name} of an input key is replaced in its texts"),
    "returns_each": Key(
        ListOf(Made(Anything(), _outcome), "a list of results", least=1),
        "one a run, the last one repeats; an entry may be {raises: text} or {fails: text}",
    ),
    "raises": Key(Text(), "each run throws this"),
    "fails": Key(Text(), "each run returns this as an error result (MCP's isError)"),
    "verbatim": Key(Flag(), "its results are given as they are: {name} in them is nothing special"),
    "seconds": Key(RUN_SECONDS, "virtual time of a run, or a list, one a run"),
    "approval": Key(Choice(("required",)), "somebody is asked before it runs"),
    "approved": Key(APPROVED, "what they say; absent: nobody answers"),
    "execute": Key(Choice(("client",)), "no implementation on this side: the call is handed back"),
    "return_direct": Key(Flag(), "its result is the answer"),
    "read_only": Key(Flag(), "it changes nothing"),
    "server": Key(Flag(), "it runs at the provider"),
    "agent": Key(noted("agent"), "the agent that this tool is"),
}


def _rules(part: Part) -> None:
    if part.has("approved") and not part.has("approval"):
        part.complain("'approved' needs `approval: required`, or nobody is asked", "approved")
    if part.get("server"):
        _nothing_else(
            part,
            "a tool that runs at the provider (server: true)",
            (*OUTCOMES, "seconds", "approval", "execute", "return_direct", "agent"),
        )
    if part.has("agent"):
        _nothing_else(part, "a tool that is an agent", (*OUTCOMES, "execute"))


def _nothing_else(part: Part, what: str, keys: tuple[str, ...]) -> None:
    results = {"a tool that is an agent": "its result is that agent's answer"}
    why = results.get(what, "its results are written in the replies, as server_tool_result")
    for key in keys:
        if part.has(key) and part.get(key) is not False:
            part.complain(f"{key!r} can't stand in {what}: {why}", key)


def _outcomes(part: Part) -> tuple[ToolOutcome, ...]:
    if part.has("returns_each"):
        return tuple(part.get("returns_each"))
    for kind in ("raises", "fails"):
        if part.has(kind):
            return (ToolOutcome("raises" if kind == "raises" else "fails", part.get(kind)),)
    return (ToolOutcome("returns", part.get("returns", "")),)


def _approval(part: Part) -> Approval | None:
    if not part.has("approval"):
        return None
    return part.get("approved") or Approval("none")


def _tool(part: Part) -> ToolSpec:
    schema = part.get("schema") or part.get("input") or NO_INPUT
    return ToolSpec(
        name=part.path[1],
        description=part.get("description", ""),
        schema=schema,
        outcomes=_outcomes(part),
        seconds=part.get("seconds", (0.0,)),
        approval=_approval(part),
        client=part.has("execute"),
        return_direct=part.get("return_direct", False),
        read_only=part.get("read_only", False),
        server=part.get("server", False),
        agent=part.get("agent"),
        verbatim=part.get("verbatim", False),
        problem=input_check(schema),
    )


TOOL = Named("tool", Record("a tool", KEYS, _tool, apart=(("input", "schema"), OUTCOMES), rules=(_rules,)))
TOOLS = MapOf(TOOL, "a mapping of tool names to tools", reserved=("*",))
