"""What a loop has to know of a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What one run of a tool gives: a JSON value returned, an exception raised, or an error result (MCP's isError)."""

    kind: Literal["returns", "raises", "fails"] = "returns"
    value: Any = None


@dataclass(frozen=True, slots=True)
class Approval:
    """What the person says who is asked. kind "none": nobody answers."""

    kind: Literal["none", "approve", "reject", "edit"] = "none"
    message: str | None = None
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the scenario declares.

    Args:
        name, description, schema: what the request offers; `schema` is a whole JSON Schema (type object).
        outcomes: one a run, the last one repeats; at least one.
        seconds: virtual time of each run, the last one repeats.
        approval: None, or what happens where each SDK's own way of asking asks.
        client: no implementation on this side (`execute: client`): the call is handed back.
        return_direct, read_only: as the SDKs that know them mean it.
        server: runs at the provider; a call of it is never the client's.
        agent: name of the agent that this tool is, or None.
        verbatim: its results are given as they are, `{key}` is nothing special in them.
        problem: says what is wrong with an input (None: it fits the schema). Compiled from `schema`, strict JSON Schema.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    outcomes: tuple[ToolOutcome, ...] = (ToolOutcome("returns", ""),)
    seconds: tuple[float, ...] = (0.0,)
    approval: Approval | None = None
    client: bool = False
    return_direct: bool = False
    read_only: bool = False
    server: bool = False
    agent: str | None = None
    verbatim: bool = False
    problem: Callable[[Any], str | None] = field(default=lambda value: None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """One answer of a resume (`approvals:`). call_id None: a bare word that names no call."""

    kind: Literal["approve", "reject", "edit"]
    call_id: str | None = None
    message: str | None = None
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as a loop has to know it: its script is somebody else's business.

    Args:
        name: "" for a main agent without a name.
        tools: the client's tools that it has; `handoffs`: agents that it may hand over to.
        limit: a limit of its own, where it is run as a tool.
        background: whether, as a subagent, it runs beside the main loop.
    """

    name: str = ""
    system: str | None = None
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    handoffs: tuple[str, ...] = ()
    limit: float | None = None
    background: bool = True
