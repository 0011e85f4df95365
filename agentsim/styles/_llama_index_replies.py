"""What LlamaIndex reads in a reply, with function calling: the calls and their arguments, the text, and what goes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentsim.core.messages import Block, Message, Reply, Text, Thinking, ToolCall, ToolResult
from agentsim.core.run import Run
from agentsim.core.value import value
from agentsim.core.wires import ANTHROPIC, CHAT, Seen, SeenCall

#: A streamed call whose arguments are neither an object nor a text can't even be kept.
NO_BLOCK = (
    "2 validation errors for ToolCallBlock\ntool_kwargs.dict[str,any]\n"
    "  Input should be a valid dictionary [type=dict_type, input_value={0}, input_type={1}]"
)


class Leaves(Exception):
    """An error that leaves the run."""

    def __init__(self, type_: str, message: str, ended: str | None = None) -> None:
        super().__init__(message)
        self.type, self.message, self.ended = type_, message, ended


@value
class Step:
    """What an agent read in a reply.

    Args:
        seen: the reply.
        text: its content.
        calls: with the arguments that the functions get.
        problem: why it has to be asked again; None where it was read.
        extra: whatever the agent keeps of it.
    """

    seen: Seen
    text: str | None
    calls: tuple[SeenCall, ...] = ()
    problem: str | None = None
    extra: Any = None


class Talk:
    """How an agent reads replies and writes its scratchpad, in one run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def read(self, seen: Seen) -> Step:
        """What is in a reply."""
        raise NotImplementedError

    def take(self, step: Step) -> bool:
        """Put the reply on the scratchpad; whether it was readable."""
        raise NotImplementedError

    def show(self, results: Sequence[ToolResult]) -> None:
        """Put the results on the scratchpad."""
        raise NotImplementedError

    def said(self, seen: Seen) -> str | None:
        """A reply's content."""
        return text_of(seen)

    def finish(self) -> None:
        """The scratchpad becomes memory."""
        raise NotImplementedError


class Functions(Talk):
    """Function calling: the scratchpad is the messages themselves."""

    def read(self, seen: Seen) -> Step:
        """The calls, with what arguments could be made of."""
        return Step(seen, text_of(seen), tuple(_calls(seen)))

    def take(self, step: Step) -> bool:
        """The reply goes back, with arguments as they were read (Claude's wire) or written (OpenAI's)."""
        self.run.history.append(Message("assistant", _written(step)))
        return True

    def show(self, results: Sequence[ToolResult]) -> None:
        """One message with all results."""
        self.run.answer_with(results)

    def finish(self) -> None:
        """Nothing is left out."""


def so_far(seen: Seen, unfinished: bool) -> Seen:
    """A reply whose stream merely ended. On Claude's wire a text counts only once its block has ended, a call at once."""
    blocks = seen.reply.blocks
    if seen.wire == CHAT or not unfinished or isinstance(blocks[-1], ToolCall):
        return seen
    return Seen(Reply(blocks[:-1], None), seen.wire, True, "", seen.refusal, seen.calls, None, None)


def text_of(seen: Seen) -> str | None:
    """A message's content: its text blocks, a line each; None where it has none."""
    if seen.wire == CHAT:
        return seen.text if seen.text or seen.streamed else None
    texts = [b.text for b in seen.reply.blocks if isinstance(b, Text) and (b.text or not seen.streamed)]
    return "\n".join(texts) or ("" if len(texts) == 1 else None)


def _calls(seen: Seen) -> list[SeenCall]:
    calls = seen.calls
    if seen.wire == ANTHROPIC and seen.streamed:
        calls = tuple({call.id: call for call in calls}.values())  # the last of an id takes the place of the others
    read = []
    for call in calls:
        given = _arguments(call, seen)
        read.append(SeenCall(call.id, call.name, call.raw, given if isinstance(given, dict) else {}))
    return read


def _arguments(call: SeenCall, seen: Seen) -> Any:
    if seen.wire == ANTHROPIC:
        given = longest(call.raw) if seen.streamed else call.arguments
        if isinstance(given, dict):
            return given
        if not isinstance(given, str):
            raise Leaves("ValidationError", NO_BLOCK.format(repr(given), type(given).__name__), "bad_call")
        try:
            return json.loads(given)
        except ValueError as error:
            raise Leaves("JSONDecodeError", str(error), "bad_call") from None
    try:
        return completed(call.raw) if call.raw else {}
    except ValueError:
        return {}


def longest(raw: str) -> Any:
    """What the longest readable beginning of streamed arguments comes to."""
    for end in range(len(raw), 0, -1):
        try:
            return completed(raw[:end])
        except ValueError:
            continue
    return {}


_CLOSES = {"{": "}", "[": "]"}


def completed(raw: str) -> Any:
    """Cut arguments, closed: an unfinished string goes (with any it may have been a value), a missing value is null.

    Raises:
        ValueError: that is no JSON either.
    """
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        pass
    text, stack, inside, escaped = "", [], False, False
    for char in raw:
        if inside:
            if char == '"' and not escaped:
                inside = False
            elif char == "\n" and not escaped:
                char = "\\n"
            elif char == "\\":
                escaped = not escaped
            else:
                escaped = False
        elif char == '"':
            inside, escaped = True, False
        elif char in _CLOSES:
            stack.append(_CLOSES[char])
        elif char in "}]" and (not stack or stack.pop() != char):
            raise ValueError("Malformed partial JSON encountered.")
        text += char
    if inside:
        start = text.rindex('"')
        text = text[:start] if ":" not in text[start:] else f'{text}"'
    text = text.rstrip()
    if text.endswith(":"):
        text += " null"
    elif text.endswith(","):
        text = text[:-1]
    return json.loads(text + "".join(reversed(stack)))


def misfit(name: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """The TypeError of a function that is called with the wrong keywords; values are not looked at."""
    known = schema.get("properties", {})
    for key in given:
        if key not in known:
            return f"{name}() got an unexpected keyword argument {key!r}"
    missing = [key for key in known if key in schema.get("required", ()) and key not in given]
    if missing:
        return f"{name}() missing {len(missing)} required keyword-only argument: {missing[0]!r}"
    return None


def _written(step: Step) -> tuple[Block, ...]:
    seen = step.seen
    if seen.wire == CHAT:
        return (*([Text(seen.text)] if seen.text or not seen.reply.calls else []), *seen.reply.calls)
    calls = {call.id: call for call in _last(step)}
    blocks: list[Block] = []
    for block in seen.reply.blocks:
        if isinstance(block, ToolCall):
            if block.id in calls or not seen.streamed:
                call = calls.pop(block.id, None) if seen.streamed else None
                blocks.append(block if call is None else ToolCall(call.id, call.name, json.dumps(longest(call.raw))))
        elif isinstance(block, Thinking) or (isinstance(block, Text) and block.text):
            blocks.append(block)
    return tuple(blocks)


def _last(step: Step) -> tuple[SeenCall, ...]:
    return step.calls
