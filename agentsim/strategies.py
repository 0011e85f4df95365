"""Hypothesis strategies: scenarios, replies, tool calls, cuts, faults. The only module that imports hypothesis.

    @given(agentsim.strategies.scenarios(tools=[{"name": "lookup", "input_schema": {...}}]))
    def test_any_script(scenario):
        with agentsim.play(scenario) as sim:
            my_agent(sim.prompt)
        sim.check()

Everything shrinks towards the shortest script: one reply, one text, no call, no fault. A scenario's `repr` in a falsifying
example is YAML to paste into a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise ImportError("agentsim.strategies needs Hypothesis: pip install 'agentsim[pytest]'") from None

from agentsim.core.events import Fault
from agentsim.core.messages import Block, Reply, ServerCall, ServerResult, Text, Thinking, ToolCall
from agentsim.core.tools import ToolOutcome, ToolSpec
from agentsim.scenario.arguments import arguments_for
from agentsim.scenario.inputs import input_check
from agentsim.scenario.model import FOREVER, Entry, Scenario, ScriptedFault, ScriptedReply

__all__ = [
    "arguments",
    "catalogues",
    "chunkings",
    "cuts",
    "faults",
    "replies",
    "scenarios",
    "tool_calls",
    "tools_of",
]

Tool = Mapping[str, Any] | ToolSpec

_DEEPEST = 4
_TEXTS = st.sampled_from(["ok", "Let me look.", "naïve 🙂", "line\nline", '"quoted" \\ {'])


# --- tools and their arguments ---------------------------------------------------------------------------------------


def tools_of(tools: Sequence[Tool] | Mapping[str, Tool]) -> dict[str, ToolSpec]:
    """Tools as a scenario has them.

    Args:
        tools: ToolSpecs, or tools as requests offer them (Claude's, Responses' or Chat Completions' form).
    """
    found: dict[str, ToolSpec] = {}
    for tool in tools.values() if isinstance(tools, Mapping) else tools:
        spec = tool if isinstance(tool, ToolSpec) else _spec(tool)
        found[spec.name] = spec
    return found


def _spec(tool: Mapping[str, Any]) -> ToolSpec:
    inner = tool.get("function", tool)
    schema = inner.get("input_schema", inner.get("parameters", inner.get("schema"))) or {"type": "object"}
    name = str(inner["name"])
    description = str(inner.get("description", ""))
    outcome = (ToolOutcome("returns", "ok"),)
    return ToolSpec(name, description=description, schema=schema, outcomes=outcome, problem=input_check(schema))


def arguments(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that fit a tool's JSON Schema; the smallest is the one that the catalogue calls it with.

    Args:
        schema: of the subset that tools use: types, enums, bounds, lengths, nested objects and arrays, anyOf, local refs.
    """
    least = arguments_for(schema)
    check = input_check(schema)

    def fits(value: Any) -> bool:
        return check(value) is None

    made = _object(schema, schema, 0)
    return st.one_of(st.just(least), made).filter(fits) if fits(least) else made.filter(fits)


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return st.none()
    if isinstance(schema.get("$ref"), str):
        return _value(_target(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return st.just(schema["const"])
    if schema.get("enum"):
        return st.sampled_from(list(schema["enum"]))
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return st.one_of([_value(each, root, depth + 1) for each in schema[key]])
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        return st.one_of([_value({**schema, "type": each}, root, depth + 1) for each in kind])
    return _typed(str(kind), schema, root, depth)


def _typed(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        most = schema.get("maxItems", max(3, int(schema.get("minItems", 0))))
        items = _value(schema.get("items", {"type": "string"}), root, depth + 1)
        key = json.dumps if schema.get("uniqueItems") else None
        return st.lists(items, min_size=schema.get("minItems", 0), max_size=most, unique_by=key)
    if kind == "integer":
        return st.integers(*_bounds(schema, 1))
    if kind == "number":
        low, high = _bounds(schema, 0)
        return st.floats(low, high, allow_nan=False, allow_infinity=False) | st.integers(*_bounds(schema, 1))
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    if isinstance(schema.get("pattern"), str):
        return st.from_regex(schema["pattern"])
    return st.text(st.characters(codec="utf-8"), min_size=schema.get("minLength", 0), max_size=schema.get("maxLength"))


def _bounds(schema: Mapping[str, Any], step: int) -> tuple[Any, Any]:
    """Least and greatest value; an exclusive bound is moved by a step, and what then still misses it is filtered."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + step
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - step
    return low, high


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    properties = schema.get("properties") or {}
    needed = set(schema.get("required") or ())
    required = {name: _value(properties.get(name, {}), root, depth + 1) for name in sorted(needed)}
    optional = {name: _value(each, root, depth + 1) for name, each in properties.items() if name not in needed}
    return st.fixed_dictionaries(required, optional=optional)


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    place: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        place = place.get(step) if isinstance(place, Mapping) else None
    return place


# --- replies ---------------------------------------------------------------------------------------------------------


def cuts(text: str) -> st.SearchStrategy[str]:
    """A text, cut at any character; the whole text is not among them unless it is empty."""
    return st.integers(0, max(0, len(text) - 1)).map(lambda n: text[:n])


def chunkings() -> st.SearchStrategy[int | None]:
    """Characters of a stream's chunks; None: whole blocks."""
    return st.none() | st.integers(1, 40)


def tool_calls(
    tools: Sequence[Tool] | Mapping[str, Tool], *, unknown: bool = True, unreadable: bool = True, unfit: bool = True
) -> st.SearchStrategy[ToolCall]:
    """Calls of some tools.

    Args:
        tools: that may be called.
        unknown: whether tools that don't exist are called too.
        unreadable: whether arguments may be no JSON.
        unfit: whether arguments may break the schema.
    """
    specs = tools_of(tools)
    kinds = [
        arguments(spec.schema).map(lambda given, name=name: ToolCall("", name, json.dumps(given)))  # type: ignore[misc]
        for name, spec in specs.items()
    ]
    names = st.sampled_from(list(specs) or ["no_such_tool"])
    if unknown or not specs:
        kinds.append(st.just(ToolCall("", "no_such_tool", "{}")))
    if unfit and specs:
        kinds.append(names.map(lambda name: ToolCall("", name, '{"wrong": 5}')))
    if unreadable and specs:
        kinds.append(
            st.builds(lambda name, raw: ToolCall("", name, raw), names, st.sampled_from(['{"a": ', "", "[1", "nope"]))
        )
    return st.one_of(kinds)


def replies(
    tools: Sequence[Tool] | Mapping[str, Tool] = (), *, calls: st.SearchStrategy[ToolCall] | None = None
) -> st.SearchStrategy[Reply]:
    """A reply: a text; or calls, thinking, a cut, a refusal, a pause, nothing.

    Args:
        tools: that it may call.
        calls: how it calls them; default: `tool_calls(tools)`.
    """
    # Nothing is built while an example is drawn: a strategy that is made anew is validated anew.
    text = _TEXTS.map(lambda words: (Text(words),))
    kinds = [text.map(lambda blocks: Reply(blocks, "end_turn"))]
    if tools or calls is not None:
        kinds += _calling(calls if calls is not None else tool_calls(tools))
    for stop in ("max_tokens", "refusal", "stop_sequence"):
        kinds.append(text.map(lambda blocks, stop=stop: Reply(blocks, stop)))  # type: ignore[misc]
    # A call that the provider left open would need its result in the next reply, or no request could follow.
    search: tuple[Block, ...] = (ServerCall("", "web_search", '{"query": "a"}'), ServerResult("", []))
    kinds.append(st.just(Reply((), "end_turn")))
    kinds.append(
        st.builds(lambda blocks, more: Reply((*blocks, *more), "pause_turn"), text, st.sampled_from([(), search]))
    )
    return st.one_of(kinds)


def _calling(calls: st.SearchStrategy[ToolCall]) -> list[st.SearchStrategy[Reply]]:
    """Replies with calls: plain, behind thinking, cut."""
    several = st.lists(calls, min_size=1, max_size=3)
    before = st.none() | _TEXTS
    where = st.integers(0, 10_000)

    def plain(words: str | None, made: list[ToolCall]) -> Reply:
        return Reply((*([Text(words)] if words else []), *made), "tool_use")

    def thinking(made: list[ToolCall]) -> Reply:
        return Reply((Thinking("hm", "c2ln"), *made), "tool_use")

    def cut(words: str | None, made: list[ToolCall], n: int) -> Reply:
        last = made[-1]
        arguments = last.arguments[: n % max(1, len(last.arguments))]
        made = [*made[:-1], ToolCall(last.id, last.name, arguments)]
        return Reply((*([Text(words)] if words else []), *made), "max_tokens")

    return [st.builds(plain, before, several), st.builds(cut, before, several, where), several.map(thinking)]


def faults() -> st.SearchStrategy[Fault]:
    """Requests that get no reply: overload, rate limits, server errors, client errors."""
    return st.sampled_from(
        [
            Fault(529, "overloaded_error", "Overloaded"),
            Fault(429, "rate_limit_error", "Slow down"),
            Fault(500, "api_error", "Internal server error"),
            Fault(400, "invalid_request_error", "This request is wrong."),
        ]
    )


# --- scenarios -------------------------------------------------------------------------------------------------------


class _Pasted(Scenario):
    """A scenario that shows itself as a file to paste."""

    def __repr__(self) -> str:
        from agentsim.scenario.dump import dumps

        return "agentsim.loads('''\n" + dumps(self) + "''')"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis prints it."""
        printer.text(repr(self))


def scenarios(
    tools: Sequence[Tool] | Mapping[str, Tool] = (),
    *,
    prompt: str = "Please do the task.",
    most: int = 6,
    with_faults: bool = True,
    entries: st.SearchStrategy[Reply] | None = None,
) -> st.SearchStrategy[Scenario]:
    """A whole script, that ends in plain answers however long an agent goes on.

    Args:
        tools: that replies may call, as requests offer them or as ToolSpecs.
        prompt: of the user.
        most: entries before the answers.
        with_faults: whether requests may fail.
        entries: how replies are made; default: `replies(tools)`.
    """
    specs = tools_of(tools)
    reply = entries if entries is not None else replies(specs)
    one: st.SearchStrategy[Entry] = st.builds(
        lambda said, size: ScriptedReply(said, characters_per_chunk=size), reply, chunkings()
    )
    if with_faults:
        one = st.one_of(one, one, one, faults().map(ScriptedFault))
    end = ScriptedReply(Reply((Text("Done."),), "end_turn"), repeat=FOREVER)

    def scenario(script: list[Entry]) -> Scenario:
        return _Pasted("generated", (prompt,), tools=specs, script=(*script, end), unused_replies_allowed=True)

    return st.lists(one, max_size=most).map(scenario)


def catalogues() -> st.SearchStrategy[Scenario]:
    """The scenarios of the audit's catalogue, one at a time."""
    from agentsim.scenario.catalogue import catalogue

    return st.sampled_from(list(catalogue().values()))
