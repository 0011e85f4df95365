"""Content as the providers write it, read with tolerance: what has no known form is kept as it came, never lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsim.core.messages import Block, Opaque, Part, Text, ToolResult, Usage
from agentsim.wire.anthropic_blocks import block_from_wire


def claude_parts(content: Any) -> tuple[Part, ...]:
    """The parts of a Claude message's content: a string, a block, or a list of blocks and strings."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return (Text(str(content)),)
    return tuple(part for item in content if (part := _claude_part(item)) is not None)


def _claude_part(item: Any) -> Part | None:
    if isinstance(item, str):
        return Text(item) if item else None
    if not isinstance(item, dict):
        return None
    if not isinstance(item.get("type"), str):
        return Text(item["text"]) if isinstance(item.get("text"), str) else Opaque("unknown", item)
    if item["type"] == "tool_result" and "tool_use_id" not in item and isinstance(item.get("toolUseID"), str):
        run = as_dict(item.get("run"))
        output = run.get("result", as_dict(run.get("error")).get("message"))
        return ToolResult(item["toolUseID"], "" if output is None else output, run.get("status") == "error")
    try:
        return block_from_wire(item)
    except (KeyError, TypeError, AttributeError):
        return Opaque(item["type"], {key: value for key, value in item.items() if key != "type"})


def reply_blocks(parts: Sequence[Part]) -> tuple[Block, ...]:
    """The parts that a reply may hold."""
    return tuple(part for part in parts if not isinstance(part, ToolResult))


def results_of(parts: Sequence[Part]) -> tuple[ToolResult, ...]:
    """The tool results among parts."""
    return tuple(part for part in parts if isinstance(part, ToolResult))


def usage(value: Any) -> Usage | None:
    """Tokens as any of the wires counts them; None where nothing is said.

    Claude's input excludes what the cache held; OpenAI's includes it, so there it is subtracted.
    """
    if not isinstance(value, dict):
        return None
    given = number(value, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens")
    made = number(value, "output_tokens", "completion_tokens", "outputTokens", "completionTokens")
    if given is None and made is None:
        return None
    details = value.get("input_tokens_details") or value.get("prompt_tokens_details")
    read = number(value, "cache_read_input_tokens") or 0
    if isinstance(details, dict) and (cached := number(details, "cached_tokens")):
        read = min(cached, given or 0)
        given = (given or 0) - read
    return Usage(given or 0, made or 0, read, number(value, "cache_creation_input_tokens") or 0)


def number(value: dict[str, Any], *keys: str) -> int | None:
    """The first of the keys that holds a sensible number."""
    for key in keys:
        found = value.get(key)
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < 1e12:
            return int(found)
    return None


def text_of(value: Any) -> str | None:
    """A string, or None for anything else."""
    return value if isinstance(value, str) else None


def as_dict(value: Any) -> dict[str, Any]:
    """A mapping, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A list, or an empty one for anything else."""
    return value if isinstance(value, list) else []
