"""Writing what a reply holds: the short form where it gives the same blocks in the same order, else `content:`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agentsim.core.messages import (
    Opaque,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
)
from agentsim.limits import LIMITS
from agentsim.scenario.arguments import as_arguments
from agentsim.scenario.blocks import SIGNATURE, Item
from agentsim.scenario.model import AnyCall, OutputBlock
from agentsim.scenario.yamlwriter import LONE

Data = dict[str, Any]


def kept(**values: Any) -> Data:
    """The values that are there."""
    return {key: value for key, value in values.items() if value is not None}


def content(items: Sequence[Item]) -> Data:
    """The keys that say what a reply holds: the short form where it gives the same blocks in the same order."""
    cut_after = next((item.cut_after for item in reversed(items) if isinstance(item, AnyCall)), None)
    cut = kept(cut_after=cut_after)
    short = _short(items)
    return {**({"content": [block(item) for item in items]} if short is None else short), **cut}


def _short(items: Sequence[Item]) -> Data | None:
    said: Data = {}
    ranks = [_rank(item) for item in items]
    if None in ranks or ranks != sorted(ranks, key=lambda rank: rank or 0):
        return None
    for item in items:
        for key, value in _short_keys(item):
            if key in said and key not in ("tool_use", "server_tool_use"):
                return None
            said.setdefault(key, []).append(value) if isinstance(value, tuple) else said.update({key: value})
    if "refusal" in said and ("text" in said or "output" in said or (said["refusal"] == "" and "category" not in said)):
        return None
    for key in ("server_tool_use", "tool_use"):
        if key in said:
            said[key] = _calls(said[key])
    return said


def _rank(item: Item) -> int | None:
    """Place of a block in the short form's order; None where it has none."""
    if isinstance(item, ServerCall | ToolCall) and (item.id or _input(item.arguments) is None):
        return None
    if isinstance(item, ToolCall) and item.name == "*":
        return None
    if isinstance(item, AnyCall):
        return None if item.id or item.raw is not None else 4
    ranks: dict[type, int] = {Thinking: 1, Text: 2, Refusal: 2, ServerCall: 3, ToolCall: 4, OutputBlock: 5}
    return ranks.get(type(item))


def _short_keys(item: Item) -> Iterator[tuple[str, Any]]:
    """Keys and values that say a block in the short form; a tuple is one of several calls."""
    if isinstance(item, Thinking):
        yield "thinking", item.thinking
        if item.signature != SIGNATURE:
            yield "signature", item.signature
    elif isinstance(item, Text):
        yield "text", item.text
    elif isinstance(item, Refusal):
        yield "refusal", item.text
        if item.category is not None:
            yield "category", item.category
    elif isinstance(item, OutputBlock):
        yield "output", item.value
    elif isinstance(item, AnyCall):
        yield "tool_use", ("*", dict(item.overrides))
    elif isinstance(item, ServerCall | ToolCall):
        yield "tool_use" if isinstance(item, ToolCall) else "server_tool_use", (item.name, _input(item.arguments))


def _calls(pairs: Sequence[tuple[str, Any]]) -> Any:
    """One mapping where each tool is called once, else a list."""
    names = [name for name, _ in pairs]
    return dict(pairs) if len(set(names)) == len(names) else [{name: given} for name, given in pairs]


def _no_constant(word: str) -> Any:
    raise ValueError(word)


def _input(arguments: str) -> Data | None:
    """The input whose JSON the argument text is, to the letter; None where there is none that a file could hold."""
    try:
        value = json.loads(arguments, parse_constant=_no_constant)
        same = isinstance(value, dict) and as_arguments(value) == arguments
    except (ValueError, RecursionError):
        return None
    whole = (
        same
        and not LONE.search(json.dumps(value, ensure_ascii=False))
        and _depth(value) < LIMITS["scenario_depth"].default - 20
    )
    return value if whole else None


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def block(item: Any) -> Data:
    """A block in the general form."""
    if isinstance(item, ToolCall):
        return {"tool_use": _call(item)}
    if isinstance(item, ServerCall):
        return {"server_tool_use": _call(item)}
    if isinstance(item, AnyCall):
        return {"tool_use": {"name": "*", **kept(input=dict(item.overrides) or None, raw=item.raw, id=item.id)}}
    if isinstance(item, ServerResult):
        return {"server_tool_result": {**kept(**{"for": item.call_id or None}), "content": item.content}}
    if isinstance(item, RedactedThinking):
        return {"redacted_thinking": item.data}
    if isinstance(item, Opaque):
        return {"opaque": {"kind": item.kind, "data": dict(item.data)}}
    return dict(_short_keys(item))


def _call(call: ToolCall | ServerCall) -> Data:
    given = _input(call.arguments)
    what = {"raw": call.arguments} if given is None else {"input": given}
    return {"name": call.name, **what, **kept(id=call.id or None)}
