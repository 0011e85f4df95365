"""What TanStack AI's adapters make of a provider's stream, and how they write a turn back.

Measured on @tanstack/ai-anthropic 0.18.11 and @tanstack/ai-openai 0.23.1 (Responses and Chat Completions). The adapters decide what a
reply is: on Chat Completions any call that arrived is `tool_calls` and runs, cut or not; on Claude's wire nothing but `tool_use` is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import (
    Block,
    Part,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
)
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall, parse

CUT = "The response was cut off because the maximum token limit was reached."
REFUSED = "Refused without explanation"


@dataclass(frozen=True, slots=True)
class RunError:
    """The adapter's RUN_ERROR event: it ends the run. `ended`: in the contract's words; None: the last reply's fate."""

    message: str
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A call as chat() holds it.

    Args:
        id, name: of the first event with this id.
        arguments: parsed; what is no object or array, or can't be read, is {}.
        unreadable: of a call in the given messages: its text where that is no JSON.
        server: what a tool that ran at the provider left: its call and its result.
    """

    id: str
    name: str
    arguments: Any
    unreadable: str | None = None
    server: tuple[Part, ...] = ()

    @property
    def seen(self) -> SeenCall:
        """As those who answer approvals see it."""
        return SeenCall(self.id, self.name, compact(self.arguments), self.arguments)


def finish_of(seen: Seen, *, documented: bool = False) -> str | RunError:
    """The finish reason of a whole reply, or the adapter's RUN_ERROR.

    Args:
        seen: the reply.
        documented: as the documentation has it: an answer that hits the output limit has the finish reason `length`.
    """
    if documented and seen.stop == "max_tokens":
        return "length"
    if seen.wire == ANTHROPIC:
        if seen.stop == "max_tokens":
            return RunError(CUT)
        return "tool_calls" if seen.stop == "tool_use" else "stop"
    if seen.wire == RESPONSES:
        if seen.refusal is not None:
            return RunError(REFUSED)
        if seen.cut:
            return RunError("max_output_tokens")
        return "tool_calls" if seen.calls else "stop"
    if seen.calls:
        return "tool_calls"
    return "stop" if seen.word in (None, "tool_calls") else seen.word


def text_message(seen: Seen) -> str | None:
    """The turn's text message; None where it opened none. Responses opens one for an empty text too."""
    if seen.wire == RESPONSES and seen.refusal is not None:
        before = []  # a refusal item ends the stream: only what came before it was shown
        for block in seen.reply.blocks if seen.text else ():
            if isinstance(block, Refusal):
                break
            before += [block.text] if isinstance(block, Text) else []
        return "".join(before) or None
    if seen.text or (seen.wire == RESPONSES and any(isinstance(b, Text) for b in seen.reply.blocks)):
        return seen.text
    return None


def uses(seen: Seen, tools: Mapping[str, ToolSpec]) -> list[Use]:
    """The reply's calls: two with one id are one, of the first one's name and with the last one's arguments.

    On Claude's wire a call that ran at the provider is one of them once its result is there.
    """
    found: dict[str, Use] = {}
    calls = iter(seen.calls)
    servers = {b.id: b for b in seen.reply.blocks if isinstance(b, ServerCall)} if seen.wire == ANTHROPIC else {}
    for block in seen.reply.blocks:
        if isinstance(block, ToolCall):
            call = next(calls)
            first = found.get(call.id)
            value = readable(None if call.broken else call.arguments)
            found[call.id] = Use(call.id, first.name if first else call.name, value)
        elif isinstance(block, ServerResult) and (server := servers.get(block.call_id)):
            found[server.id] = Use(server.id, server.name, readable(parse(server.arguments)[0]), None, (server, block))
    named = [use for use in found.values() if use.id and use.name.strip()]
    return named if seen.wire == ANTHROPIC else [_without_nulls(use, tools.get(use.name)) for use in named]


def readable(value: Any) -> Any:
    """Arguments that are no object and no array are {}."""
    return value if isinstance(value, dict | list) else {}


def _without_nulls(use: Use, spec: ToolSpec | None) -> Use:
    """On OpenAI's wires null for an optional property is taken out, since strict schemas make every property required."""
    if spec is None or not isinstance(use.arguments, dict):
        return use
    required = spec.schema.get("required", ())
    kept = {key: value for key, value in use.arguments.items() if value is not None or key in required}
    return Use(use.id, use.name, kept)


def resent(seen: Seen, calls: Iterable[Use]) -> tuple[Part, ...]:
    """The turn as it is sent back: on Claude's wire signed thinking, text, calls; on Responses text comes last."""
    texts: list[Part] = [Text(seen.text)] if seen.text else []
    called: list[Part] = []
    for use in calls:
        called += use.server or (ToolCall(use.id, use.name, compact(use.arguments)),)
    if seen.wire == RESPONSES:
        return (*_thoughts(seen.reply.blocks), *called, *texts)
    thoughts = [b for b in seen.reply.blocks if isinstance(b, Thinking) and b.signature]
    return (*thoughts, *texts, *called)


def _thoughts(blocks: Iterable[Block]) -> list[Thinking]:
    """On Responses thoughts with no text between them become one, with the last one's signature."""
    thoughts: list[Thinking] = []
    joins = False
    for block in blocks:
        if isinstance(block, Thinking) and joins:
            thoughts[-1] = Thinking(thoughts[-1].thinking + block.thinking, block.signature)
        elif isinstance(block, Thinking):
            thoughts.append(block)
            joins = True
        elif isinstance(block, Text):
            joins = False
    return thoughts


def answer(seen: Seen) -> tuple[Part, ...]:
    """The last turn as chat() keeps it: its text and thoughts, without calls."""
    return resent(seen, ()) if seen.text or any(isinstance(b, Thinking) for b in seen.reply.blocks) else ()


def run_error(fault: Fault, wire: str, request: int) -> RunError:
    """The RUN_ERROR of a request that failed: Claude's client puts the whole body into its message."""
    body = fault.message
    if wire == ANTHROPIC:
        error = {"type": fault.type, "message": fault.message}
        body = compact({"type": "error", "error": error, "request_id": f"req_{request}"})
    if fault.in_stream:
        return RunError("terminated" if fault.disconnect is not None else body, "broken_stream")
    return RunError("Connection error." if fault.status is None else f"{fault.status} {body}", "http_error")


def ends_quietly(fault: Fault, wire: str) -> bool:
    """Whether a stream that merely ended is taken for a whole reply: Claude's adapter says nothing then, OpenAI's finish it."""
    return fault.disconnect == "end" and wire in (RESPONSES, CHAT)


def compact(value: Any) -> str:
    """A JSON value as JSON.stringify writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
