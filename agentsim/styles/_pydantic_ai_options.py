"""The option tree of pydantic-ai's Agent and of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.scripted import check_keys

OPTIONS = {
    "usage_limits.request_limit": "model turns of a run; the knob itself",
    "usage_limits.tool_calls_limit": "single tool calls of a run; looked at before a reply's calls run",
    "usage_limits.input_tokens_limit": "input tokens of a run",
    "usage_limits.output_tokens_limit": "output tokens of a run",
    "usage_limits.total_tokens_limit": "input and output tokens of a run",
    "retries": "how often a failing tool, or a reply without output, is asked for again: a number, or {tools, output}; 1",
    "tools.NAME.max_retries": "the retries of one tool",
}
_LIMITS = ("request_limit", "tool_calls_limit", "input_tokens_limit", "output_tokens_limit", "total_tokens_limit")


@dataclass(frozen=True, slots=True)
class Options:
    """What the tree comes to.

    Args:
        limits: of `UsageLimits`, those that are set; a missing request_limit is the style's limit.
        tool_retries, output_retries: how often a failing tool and a reply without output are asked for again.
        of_tool: retries by tool.
    """

    limits: Mapping[str, float] = field(default_factory=dict)
    tool_retries: int = 1
    output_retries: int = 1
    of_tool: Mapping[str, int] = field(default_factory=dict)

    @property
    def bounded(self) -> bool:
        """Whether a limit of the options can end a run."""
        return bool(self.limits)

    def retries(self, tool: str) -> int:
        """How often a call of this tool may fail in a row and be asked for again."""
        return self.of_tool.get(tool, self.tool_retries)


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as the user wrote it. `UsageLimits` may stand as the call that it is, or its limits beside it.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", ("usage_limits", "retries", "tools"))
    limits = tree.get("usage_limits", {})
    if isinstance(limits, Mapping) and set(limits) == {"UsageLimits"}:
        limits = limits["UsageLimits"]
    check_keys(limits, "usage_limits", _LIMITS)
    for name, value in limits.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"usage_limits.{name}: expected a number or null, but {value!r} came")
    retries = tree.get("retries", {})
    if not isinstance(retries, Mapping):
        _whole(retries, "retries")
        retries = {"tools": retries, "output": retries}
    check_keys(retries, "retries", ("tools", "output"))
    tools = tree.get("tools", {})
    if not isinstance(tools, Mapping):
        raise ValueError(f"tools: expected {{NAME: {{max_retries: n}}}}, but {tools!r} came")
    of_tool = {}
    for name, own in tools.items():
        check_keys(own, f"tools.{name}", ("max_retries",))
        if "max_retries" in own:
            of_tool[str(name)] = _whole(own["max_retries"], f"tools.{name}.max_retries")
    return Options(
        {name: value for name, value in limits.items() if value is not None},
        _whole(retries.get("tools", 1), "retries.tools"),
        _whole(retries.get("output", 1), "retries.output"),
        of_tool,
    )


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{where}: expected a whole number, but {value!r} came")
    return value
