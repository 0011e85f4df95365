"""`agentsim.check`: the loop rules over a history from anywhere, and how broken rules are told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentsim.core.events import Event, ModelReplied, ModelRequested, RunStarted
from agentsim.core.history import short, short_part
from agentsim.core.messages import Message, Reply, ToolCall
from agentsim.core.transcript import Transcript
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from agentsim.errors import RuleBroken, UsageError
from agentsim.judge.case import Case
from agentsim.judge.rules import Verdict, all_rules, judge
from agentsim.wire import anthropic_blocks, chat_messages, responses_items

#: Types of items that only the Responses API has.
_ITEMS = ("function_call", "function_call_output", "reasoning", "web_search_call", "custom_tool_call", "message")
_CHAT_WORDS = {"length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use", "stop": "end_turn"}


def check(history: Any, *rules: str, tools: Mapping[str, Any] | None = None) -> list[Verdict]:
    """Hold a history against the loop rules.

    Args:
        history: the list of messages or items that an agent sends, of the Messages API, the Responses API or Chat
            Completions, as dicts or as the SDKs' objects; or a request's body with them; or a Transcript, or anything that
            has one (a Sim, the Result of a run).
        rules: names of the rules to look at; none: all.
        tools: JSON Schema by tool name, where the body does not say it; rules about unknown tools and bad input need it.
    Returns:
        What each rule says: passed, or not applicable where a history can't tell.
    Raises:
        RuleBroken: rules are broken; its `verdicts` hold what each rule says.
        UsageError: this is no history, or there is no such rule.
    Example:
        >>> call = {"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {"order_id": 42}}
        >>> history = [
        ...     {"role": "user", "content": "Refund order 42"},
        ...     {"role": "assistant", "content": [call]},
        ...     {"role": "user", "content": "And?"},
        ... ]
        >>> agentsim.check(history, "every_call_is_answered")
        Traceback (most recent call last):
        agentsim.errors.RuleBroken: 1 loop rule broken
        ...
    """
    case = history if isinstance(history, Case) else case_of(history, tools)
    return settled(case, rules)


def settled(case: Case, rules: Iterable[str] = ()) -> list[Verdict]:
    """What each rule says of a case; raises RuleBroken where one is broken."""
    __tracebackhide__ = True  # of pytest: what is wrong stands in the message, and lies in the code under test
    verdicts = judge(case, rules)
    broken = [verdict for verdict in verdicts if verdict.failed]
    if broken:
        error = RuleBroken(report(case, broken))
        error.verdicts = verdicts
        raise error
    return verdicts


def report(case: Case, broken: Sequence[Verdict]) -> str:
    """Broken rules in words: the rule, what broke it, who demands it, and an outline of the run."""
    rules = all_rules()
    lines = [f"{len(broken)} loop rule{'s' if len(broken) > 1 else ''} broken"]
    for verdict in broken:
        known = rules[verdict.rule]
        lines += [f"{verdict.rule}: {verdict.detail}", f"    rule: {known.sentence}", f"    source: {known.source}"]
    return "\n".join([*lines, "the run:", *(f"    {line}" for line in outline(case))])


def outline(case: Case) -> Iterator[str]:
    """A line for each request and each reply."""
    for each in case.exchanges:
        kept = min(each.kept, len(each.history))
        new = ", ".join(map(short, each.history[kept:])) or "nothing"
        yield f"request {each.number}: keeps {kept}, new: {new}"
        if each.reply is not None:
            yield f"  reply: {each.reply.stop_reason}: {' + '.join(map(short_part, each.reply.blocks)) or 'nothing'}"
        elif each.fault is not None:
            fault = each.fault
            yield f"  fault: {fault.status or 'connection lost'} {fault.message}".rstrip()


# --- a history as a case ---------------------------------------------------------------------------------------------


def case_of(history: Any, tools: Mapping[str, Any] | None = None) -> Case:
    """The case of a transcript, or of a list of messages of one of the three wires."""
    found = getattr(history, "transcript", history)
    if isinstance(found, Transcript):
        return Case(found.events, getattr(history, "wire", None), schemas=tools or {})
    body = _plain(history)
    items = body.get("messages", body.get("input")) if isinstance(body, dict) else body
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UsageError(
            "expected a list of messages (Claude, Chat Completions) or of input items (Responses), a request's body with "
            f"one, or a transcript; {type(history).__name__} came"
        )
    wire = wire_of(items)
    schemas = dict(tools) if tools is not None else _schemas(body)
    offered = None if schemas is None else tuple(schemas)
    return Case(tuple(_events(items, wire, offered)), wire, schemas=schemas or {})


def _plain(value: Any) -> Any:
    """Dicts and lists in place of the SDKs' objects."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _plain(dump(exclude_none=True))
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def wire_of(items: Sequence[Mapping[str, Any]]) -> str:
    """Which provider's a history is."""
    for item in items:
        if item.get("role") == "tool" or item.get("tool_calls"):
            return CHAT
        if item.get("type") in _ITEMS and ("role" not in item or item.get("type") == "message"):
            return RESPONSES
        content = item.get("content")
        kinds = {part.get("type") for part in content if isinstance(part, dict)} if isinstance(content, list) else set()
        if kinds & {"input_text", "output_text", "input_image"}:
            return RESPONSES
        if kinds & {"image_url", "input_audio"}:
            return CHAT
        if kinds & {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}:
            return ANTHROPIC
    return ANTHROPIC


def _schemas(body: Any) -> dict[str, Any] | None:
    """Tool name -> JSON Schema of a request's body; None where it says nothing of tools."""
    tools = body.get("tools") if isinstance(body, dict) else None
    if not isinstance(tools, list):
        return None
    found: dict[str, Any] = {}
    for tool in tools:
        inner = tool.get("function", tool)
        found[str(inner.get("name"))] = inner.get("input_schema", inner.get("parameters"))
    return found


def _events(items: Sequence[Mapping[str, Any]], wire: str, offered: tuple[str, ...] | None) -> Iterator[Event]:
    """The run that would have sent this history: a request before each reply, and one with what follows the last."""
    messages, stops = _messages(items, wire)
    yield RunStarted(None)
    sent = 0
    for end, stop in stops:
        yield ModelRequested(sent, messages[sent:end], None, offered)
        yield ModelReplied(Reply(messages[end].content, stop))  # type: ignore[arg-type]
        sent = end
    if stops and len(messages) > sent + 1:
        yield ModelRequested(sent, messages[sent:], None, offered)
    elif not stops:
        yield ModelRequested(0, messages, None, offered)


def _messages(
    items: Sequence[Mapping[str, Any]], wire: str
) -> tuple[tuple[Message, ...], list[tuple[int, str | None]]]:
    """The neutral messages, and for each reply its index and stop reason."""
    messages: list[Message] = []
    stops: list[tuple[int, str | None]] = []
    for item in items:
        message = _decode(item, wire)
        if message is None:
            continue
        joins = wire == RESPONSES and messages and messages[-1].role == message.role == "assistant"
        if joins:
            message = Message("assistant", messages.pop().content + message.content)
            stops.pop()
        messages.append(message)
        if message.role == "assistant":
            stops.append((len(messages) - 1, _stop(item, message)))
    return tuple(messages), stops


def _decode(item: Mapping[str, Any], wire: str) -> Message | None:
    decoders = {RESPONSES: responses_items, CHAT: chat_messages, ANTHROPIC: anthropic_blocks}
    try:
        return decoders[wire].message_from_wire(dict(item))  # type: ignore[no-any-return]
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"this is no message of {wire}: {json.dumps(item, default=str)[:200]}") from error


def _stop(item: Mapping[str, Any], message: Message) -> str | None:
    """The recorded stop reason; where none is, only that there are calls is known."""
    stop = item.get("stop_reason") or item.get("finish_reason")
    if isinstance(stop, str):
        return _CHAT_WORDS.get(stop, stop)
    if item.get("status") == "incomplete":
        return "max_tokens"
    return "tool_use" if any(type(part) is ToolCall for part in message.content) else None
