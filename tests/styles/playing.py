"""Short YAML texts played under a style, so that tests read as documentation."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from agentsim.judge.result import Result
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.scenario.load import loads
from agentsim.styles import find

#: Tools that most tests need: one that answers, one that throws, one without an implementation here.
TOOLS = """
tools:
  lookup: {input: {key: string}, returns: "value of {key}"}
  add: {input: {a: number, b: number}, returns: "3"}
  boom: {raises: boom failed}
  ask: {input: {q: string}, execute: client}
"""


def played(
    style: str,
    replies: str,
    *,
    more: str = "",
    tools: str = TOOLS,
    limit: Any = DEFAULT,
    options: Mapping[str, Any] | None = None,
    wire: str | None = None,
    stream: bool | None = None,
    max_calls: int = 100,
) -> Result:
    """A script under a style.

    Args:
        style: its name.
        replies: the list of the scenario's replies, as YAML.
        more: further keys of the scenario, as YAML; its `prompt` is "go" where it has none.
        tools: the scenario's tools, as YAML.
        limit, options, wire, stream, max_calls: as of `agentsim.run`.
    """
    prompt = "" if "prompt:" in more or "messages:" in more else "prompt: go\n"
    text = f"agentsim: 1\n{prompt}{dedent(more)}\n{dedent(tools)}\nreplies:\n{_indented(replies)}"
    play = prepare(loads(text), find(style), wire=wire, stream=stream, options=options or {}, max_calls=max_calls)
    return play.result(limit)


def _indented(replies: str) -> str:
    return "".join(f"  {line}\n" for line in dedent(replies).strip("\n").split("\n"))


def requests_of(result: Result) -> list[list[str]]:
    """The new messages of each request, in short."""
    return [list(sent.short()["new"]) for sent in result.requests]  # type: ignore[call-overload]


def told(result: Result) -> list[Any]:
    """The outputs that the model read, in order."""
    from agentsim.core.messages import ToolResult

    return [
        part.output for sent in result.requests for m in sent.new for part in m.content if isinstance(part, ToolResult)
    ]
