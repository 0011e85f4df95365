"""agno's options, and what it makes of replies: which calls it reads, what they run with, how they are sent back."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.coerce import Unfit, lax
from agentsim.core.events import Fault
from agentsim.core.messages import Block, Message, Reply, Text, ToolCall
from agentsim.core.partial_json import NotAPrefix
from agentsim.core.run import Run
from agentsim.core.scripted import check_keys
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall
from agentsim.styles._anthropic_json import completed_python
from agentsim.styles._python_clients import client_error

OPTIONS = {"retries": "how often a run that fails is begun anew; 0"}
NO_TOOL = "Error: The requested tool does not exist or is not available."
NO_OBJECT = "Function arguments are not a valid JSON object.\n\n Please fix and retry."
UNREADABLE = "Unable to parse tool parameter JSON from model. Please retry your request or adjust your prompt."


class Unreadable(ValueError):
    """The client can't even read a streamed call."""


@dataclass(frozen=True, slots=True)
class Options:
    """Args: retries: how often a run that fails is begun anew."""

    retries: int = 0


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree."""
    check_keys(tree, "", ("retries",))
    retries = tree.get("retries", 0)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries: expected an integer, at least 0, but {retries!r} came")
    return Options(retries)


# -- reading --------------------------------------------------------------------------------------------------------


def readable(seen: Seen) -> tuple[SeenCall, ...]:
    """The calls that agno reads.

    Raises:
        Unreadable: the client completes cut arguments of a stream, and gives up what is no JSON at all.
    """
    if seen.wire != ANTHROPIC:
        return seen.calls
    if not seen.streamed:
        return seen.calls if seen.stop == "tool_use" else ()
    calls = []
    for call in seen.calls:
        try:
            value = completed_python(call.raw)
        except NotAPrefix as error:
            raise Unreadable(f"{UNREADABLE} Error: {error}. JSON: {call.raw}") from None
        calls.append(SeenCall(call.id, call.name, json.dumps(value), value))
    return tuple(calls)


def unnoticed(wire: str, fault: Fault) -> bool:
    """Whether a stream that broke off is taken for a whole reply: one that merely ends, and an error event of Responses."""
    return fault.in_stream and (fault.disconnect == "end" or (wire == RESPONSES and fault.disconnect is None))


def so_far(seen: Seen, unfinished: bool) -> Seen:
    """The reply that broke off, without a call that has not ended; on Chat Completions a call has no end."""
    if seen.wire == CHAT or not unfinished or not isinstance(seen.reply.blocks[-1], ToolCall):
        return seen
    reply = Reply(seen.reply.blocks[:-1], None)
    return Seen(reply, seen.wire, True, seen.text, seen.refusal, seen.calls[:-1], None, None)


def text_of(seen: Seen, whole: bool) -> str | None:
    """What the reply adds to the run's content; None where it adds nothing, "" where a text is there but empty.

    Args:
        whole: the reply's end arrived; on Claude's wire it comes with an empty text.
    """
    if seen.text:
        return seen.text
    if seen.wire == ANTHROPIC:
        empty = whole if seen.streamed else seen.has_text
    elif seen.wire == CHAT:
        empty = seen.has_text and seen.refusal is None
    else:
        empty = seen.has_text and not seen.streamed
    return "" if empty else None


def problem(run: Run, call: SeenCall) -> str | None:
    """The result of a call that does not even get to the limit: an unknown tool, or no JSON object."""
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return NO_TOOL
    try:
        value = arguments(call.raw)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError) as error:
        wish = "Please make sure we can json.loads() the arguments and retry."
        return f"Error while decoding function arguments: {error}\n\n{wish}"
    return None if isinstance(value, Mapping) or value == [] else NO_OBJECT


def arguments(raw: str) -> Any:
    """The arguments' text read as JSON, else as a Python literal; no text at all is no arguments."""
    if not raw:
        return {}
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return ast.literal_eval(raw)


_WORDS: dict[str, Any] = {"none": None, "null": None, "true": True, "false": False}


def fitted(run: Run, call: SeenCall) -> tuple[Any, str | None]:
    """What the function gets, or its result where the arguments don't fit. Texts such as "none" and "true" are read as values."""
    given = arguments(call.raw) or {}
    read = {
        key: _WORDS[word] if isinstance(value, str) and (word := value.strip().lower()) in _WORDS else value
        for key, value in given.items()
    }
    try:
        return lax(run.tools[call.name].schema, read, extra="forbid"), None
    except Unfit as error:
        return None, f"1 validation error for {call.name}\n{error}"


# -- writing back ---------------------------------------------------------------------------------------------------


def written(run: Run, seen: Seen, calls: tuple[SeenCall, ...]) -> Message:
    """The reply as later requests carry it: without the calls that agno has not read."""
    kept: list[Block] = []
    raws = {call.id: call.raw for call in calls}
    if seen.wire == ANTHROPIC:
        for block in seen.reply.blocks:
            if not isinstance(block, ToolCall):
                kept.append(block)
            elif block.id in raws:
                kept.append(ToolCall(block.id, block.name, raws[block.id]))
        return Message("assistant", tuple(kept))
    if seen.wire == CHAT:
        kept = [Text(seen.text)] if seen.text or not seen.reply.calls else []
        return Message("assistant", (*kept, *seen.reply.calls))
    return Message("assistant", seen.reply.blocks)


def error_text(wire: str, fault: Fault) -> str:
    """A failed model call in agno's words: the client's message, or on OpenAI's wires the provider's."""
    if fault.status is None or fault.in_stream:
        return client_error(wire, fault, openai=3)[1]
    if wire == ANTHROPIC:
        body = {"type": "error", "error": {"type": fault.type, "message": fault.message}, "request_id": "req_1"}
        return f"Error code: {fault.status} - {body}"
    return fault.message
