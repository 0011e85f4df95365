"""AutoGen's options, and what its agent makes of tool calls: which are run, what the model is told, how they are sent back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.coerce import lax
from agentsim.core.messages import Block, Message, Text, Thinking, ToolCall, ToolResult
from agentsim.core.run import Run
from agentsim.core.scripted import check_keys
from agentsim.core.wires import ANTHROPIC, Seen, SeenCall
from agentsim.styles._pydantic_errors import validation_error

#: What a call that is sent back has to fit.
_TOOL_USE = {"properties": {"input": {"type": "object"}}, "required": ["input"]}
_FIELDS = ("tool_name", "arguments", "result", "is_error")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What an agent is made with.

    Args:
        reflect: reflect_on_tool_use.
        format: tool_call_summary_format.
        iterations: max_tool_iterations, where it is not the limit itself.
    """

    reflect: bool = False
    format: str = "{result}"
    iterations: int = 1


def configure_agent(tree: Mapping[str, Any]) -> AgentOptions:
    """The option tree of AssistantAgent."""
    check_keys(tree, "", ("reflect_on_tool_use", "tool_call_summary_format"))
    return _options(tree)


def configure_team(tree: Mapping[str, Any]) -> AgentOptions:
    """The option tree of a team's agent."""
    check_keys(tree, "", ("reflect_on_tool_use", "tool_call_summary_format", "max_tool_iterations"))
    return _options(tree)


def _options(tree: Mapping[str, Any]) -> AgentOptions:
    reflect = tree.get("reflect_on_tool_use", False)
    if not isinstance(reflect, bool):
        raise ValueError(f"reflect_on_tool_use: expected true or false, but {reflect!r} came")
    iterations = tree.get("max_tool_iterations", 1)
    if isinstance(iterations, bool) or not isinstance(iterations, int):
        raise ValueError(f"max_tool_iterations: expected an integer, but {iterations!r} came")
    return AgentOptions(reflect, _format(tree.get("tool_call_summary_format", "{result}")), iterations)


def _format(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"tool_call_summary_format: expected a text, but {given!r} came")
    try:
        given.format(**dict.fromkeys(_FIELDS, ""))
    except (KeyError, IndexError, ValueError) as error:
        names = " ".join(f"{{{name}}}" for name in _FIELDS)
        raise ValueError(f"tool_call_summary_format: it may hold {names}, but {given!r} came ({error!r})") from None
    return given


# -- calls ----------------------------------------------------------------------------------------------------------


def refused(run: Run, call: SeenCall) -> ToolResult | None:
    """The result of a call that is not run: no JSON, no such tool, arguments that don't fit (in this order)."""
    if call.broken:
        return ToolResult(call.id, f"Error: {_json_error(call.raw)}", True)
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return ToolResult(call.id, f"Error: tool '{call.name}' not found in any workbench", True)
    problem = validation_error(f"{call.name}args", spec.schema, call.arguments or {})
    return None if problem is None else ToolResult(call.id, problem, True)


def _json_error(raw: str) -> str:
    try:
        json.loads(raw)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def fitted(run: Run, call: SeenCall) -> SeenCall:
    """The call with its arguments as the typed function gets them; whatever is false in Python counts as no arguments."""
    if refused(run, call) is not None:
        return call
    return SeenCall(call.id, call.name, call.raw, lax(run.tools[call.name].schema, call.arguments or {}))


def summary(run: Run, seen: Seen, results: Sequence[ToolResult]) -> str:
    """A ToolCallSummaryMessage's text: the last iteration's results, one after the other."""
    form: str = run.options.format
    return "\n".join(
        form.format(tool_name=call.name, arguments=_arguments(call), result=result.output, is_error=result.is_error)
        for call, result in zip(seen.calls, results, strict=True)
    )


def _arguments(call: SeenCall) -> str:
    return json.dumps(call.arguments) if isinstance(call.arguments, dict) else call.raw


# -- history --------------------------------------------------------------------------------------------------------


def written(run: Run, seen: Seen) -> Message:
    """The reply as later requests carry it: its text or, beside calls, its thinking in place of the text."""
    if not seen.calls:
        return Message("assistant", (Text(seen.text),) if seen.text or run.wire != ANTHROPIC else ())
    thought = seen.text
    empty = run.wire == ANTHROPIC and not seen.streamed and seen.has_text
    if run.wire == ANTHROPIC:
        thought = "".join(b.thinking for b in seen.reply.blocks if isinstance(b, Thinking)) or thought
    blocks: list[Block] = [Text(thought)] if thought or empty else []
    for call in seen.calls:
        raw = call.raw
        if run.wire == ANTHROPIC and call.broken:
            raw = json.dumps(
                {"text": raw if raw.strip() else " "}
            )  # arguments that are no JSON are sent back as a text
        blocks.append(ToolCall(call.id, call.name, raw))
    return Message("assistant", tuple(blocks))


def unsendable(run: Run) -> str | None:
    """Why the next request can't even be written: Claude's client wants arguments that are an object; None where it can."""
    if run.wire != ANTHROPIC:
        return None
    for message in run.history:
        for block in message.content:
            if isinstance(block, ToolCall) and not isinstance(given := json.loads(block.arguments), dict):
                return validation_error("ToolUseBlock", _TOOL_USE, {"input": given})
    return None
