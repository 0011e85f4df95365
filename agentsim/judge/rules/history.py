"""Rules about the history that goes back: nothing is lost, changed or empty."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from agentsim.core.messages import (
    Message,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
)
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, parse
from agentsim.judge.case import Case, Exchange, is_unreadable
from agentsim.judge.rules import rule

_EMPTY = ("no_empty_message", "no_empty_text", "no_blank_text")


@rule(
    "What the model said goes back unchanged: thinking with its signature, server tool results, ids, in order.",
    "Messages API: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified; "
    "Responses: 'function_call' was provided without its required 'reasoning' item (mastra-ai/mastra#8738)",
    "thinking",
    "server_results",
    "text_and_call",
)
def assistant_blocks_are_sent_back_unchanged(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if each.after is None or each.reply is None or each.is_cut or each.stop in ("refusal", "pause_turn"):
            continue
        odd = {call.id for call in each.calls if is_unreadable(call)}
        said = [block for b in each.reply.blocks if (block := _comparable(b, case.wire, odd)) is not None]
        back = [b for m in _assistant(each.tail()) if (b := _comparable(m, case.wire, odd)) is not None]
        if not said or not back or not each.grew():
            continue  # a reply that left the history as a whole is another rule's business
        yield None if back[: len(said)] == said else _difference(each, said, back)


def _assistant(tail: tuple[Message, ...]) -> Iterator[Any]:
    for message in tail:
        if message.role == "assistant":
            yield from message.content


def _difference(each: Exchange, said: list[Any], back: list[Any]) -> str:
    assert each.after is not None
    lost = [_kind(block) for block in said if block not in back]
    what = f"without its {', '.join(dict.fromkeys(lost))}" if lost else "in another order"
    return f"request {each.after.number} gives reply {each.number} back {what}"


def _kind(block: Any) -> str:
    return str(block[0])


def _comparable(block: Any, wire: str | None, odd: Collection[str]) -> tuple[Any, ...] | None:
    """A block as it has to come back; None for what a wire can't carry back or nobody has to.

    Args:
        odd: ids of calls whose arguments can't be read: how they come back depends on how the client's library read them.
    """
    if isinstance(block, ToolCall):
        value = {} if block.id in odd else parse(block.arguments)[0]
        return ("tool call", block.id, block.name, value if isinstance(value, dict) else {})
    if isinstance(block, Text | Refusal):
        return ("text", block.text) if block.text.strip() else None
    if wire == ANTHROPIC or wire is None:
        if isinstance(block, Thinking):
            return ("thinking", block.thinking, block.signature)
        if isinstance(block, RedactedThinking):
            return ("redacted thinking", block.data)
        if isinstance(block, ServerCall):
            return ("server tool call", block.id)
        if isinstance(block, ServerResult):
            return ("server tool result", block.call_id, block.content)
    if wire == RESPONSES and isinstance(block, Thinking | RedactedThinking):
        return ("reasoning", block.thinking if isinstance(block, Thinking) else "")
    return None


@rule(
    "A conversation only grows: no message that was sent once is changed or dropped later, and the system prompt stays.",
    "Prompt caches and stored threads go by the unchanged beginning; a window that slides loses calls of their results; "
    "Responses: instructions are not carried over with previous_response_id; lost after a tool call (open-webui/open-webui#30161)",
    "two_rounds",
    "four_rounds",
)
def history_only_grows(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        after = each.after
        if after is None or each.fault is not None or each.starts_over() or _is_summary(each):
            continue
        if each.is_cut or each.stop in ("refusal", "pause_turn"):
            continue  # what is changed there is other rules' business
        if not each.grew():
            yield f"request {after.number} changes or drops {_lost(each)}"
        elif each.number in case.led and after.number not in case.led and each.offered == after.offered:
            yield f"request {after.number} drops the system prompt that request {each.number} held"
        else:
            yield None


def _lost(each: Exchange) -> str:
    assert each.after is not None
    n = len(each.history) - each.after.kept
    return f"the last {n} of the {len(each.history)} messages that request {each.number} held"


def _is_summary(each: Exchange) -> bool:
    """Whether a summary took the history's place: fewer messages, the first one new text."""
    after = each.after
    if after is None or each.grew() or not after.history or len(after.history) > len(each.history):
        return False
    first = after.history[0]
    old = {part.text for message in each.history for part in message.content if isinstance(part, Text)}
    return any(isinstance(part, Text) and part.text not in old for part in first.content)


@rule(
    "No message is empty, and no text block is blank.",
    "Messages API: all messages must have non-empty content (anthropics/claude-code#6774); "
    "text content blocks must be non-empty (anthropics/claude-code#49171)",
    "tool_use_without_calls",
    "empty_reply",
    "call_without_text",
)
def no_empty_message(case: Case) -> Iterator[str | None]:
    for name, words in case.refused:
        if name in _EMPTY:
            yield f"a request was refused: {words}"
    for each in case.exchanges:
        if each.before is not None and each.kept >= len(each.history):
            continue
        empty = [i for i, m in enumerate(each.history) if i >= each.kept and _is_blank(m, case.wire)]
        if case.wire == RESPONSES:  # a stored reply without content is the provider's own
            empty = [i for i in empty if each.history[i].role == "user"]
        where = ", ".join(map(str, empty))
        yield f"message {where} of request {each.number} is empty or blank" if empty else None


def _is_blank(message: Message, wire: str | None) -> bool:
    if not message.content:
        return True
    if wire in (CHAT, RESPONSES):  # these take an empty string; of the user it says nothing all the same
        blank = all(isinstance(part, Text) and not part.text.strip() for part in message.content)
        return message.role == "user" and blank
    return any(isinstance(part, Text) and not part.text.strip() for part in message.content)
