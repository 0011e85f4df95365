"""What the real APIs refuse, as rules over a neutral history.

The same functions serve the fake provider (which answers 400 with these words) and the simulation (which notes the
rule's name). Every rule has a name, is a sentence, and can be left out by the caller. Texts are the providers' own, as
quoted in public issues; a rule that only the bytes can show (a missing field, an empty array) is in the codec instead.

A history is the whole conversation, threads resolved. Adjacent messages of one role count as one, as at the providers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from agentsim.core.messages import (
    Message,
    Part,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
)
from agentsim.core.value import value
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES

_SERVER = (ServerCall, ServerResult)
LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")
LEGAL_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@value
class Broken:
    """One rule that a request breaks.

    Args:
        rule: its name.
        message: the provider's words.
        at: index in the history of the message that they complain about; -1 where it is the whole request.
    """

    rule: str
    message: str
    at: int = -1


def complaints(
    history: Sequence[Message],
    wire: str,
    tools: Collection[str] | None = None,
    new_from: int = 0,
    *,
    resumes: bool = False,
    prefill: bool = False,
) -> list[tuple[str, str]]:
    """What the real API would say of this history: (rule, the provider's message), worst first; empty if it is fine.

    Args:
        history: every message of the conversation, the stored ones of a thread too.
        wire: one of core.wires.WIRES.
        tools: names that the request offers, None if that is not to be looked at.
        new_from: messages before this index were looked at before; only what the newer ones change is told.
        resumes: the provider's last reply paused, so a final assistant message gives it back.
        prefill: the model takes a final assistant message to continue (none since Claude 4.6 does).
    """
    found = broken_rules(history, wire, tools, new_from, resumes=resumes, prefill=prefill)
    return [(each.rule, each.message) for each in found]


def broken_rules(
    history: Sequence[Message],
    wire: str,
    tools: Collection[str] | None = None,
    new_from: int = 0,
    *,
    resumes: bool = False,
    prefill: bool = False,
    place: Callable[[int], int] = lambda index: index,
) -> Iterator[Broken]:
    """As `complaints`, with places. `place` turns an index of the history into the one that the provider names."""
    if wire == ANTHROPIC:
        if tools is not None:
            yield from _tool_names(tools)
        request = _Claude(history, new_from, resumes, prefill, place)
        yield from request.broken()
    elif wire == RESPONSES:
        yield from _responses(history, new_from)
    elif wire == CHAT:
        yield from _chat(history, new_from)


# --- Claude ----------------------------------------------------------------------------------------------------------


@value
class _Group:
    """Adjacent messages of one role: `first` is the index of the first one; a place for each part."""

    role: str
    first: int
    last: int
    parts: tuple[Part, ...]
    places: tuple[tuple[int, int], ...]


def _groups(history: Sequence[Message], new_from: int) -> Iterator[_Group]:
    """The groups that the messages from `new_from` on belong to or follow."""
    start = min(max(new_from - 1, 0), len(history))
    while 0 < start < len(history) and history[start - 1].role == history[start].role:
        start -= 1
    while start < len(history):
        end = start + 1
        while end < len(history) and history[end].role == history[start].role:
            end += 1
        places = tuple((i, j) for i in range(start, end) for j in range(len(history[i].content)))
        parts = tuple(part for message in history[start:end] for part in message.content)
        yield _Group(history[start].role, start, end - 1, parts, places)
        start = end


@dataclass(slots=True)
class _Claude:
    history: Sequence[Message]
    new_from: int
    resumes: bool
    prefill: bool
    place: Callable[[int], int]

    def broken(self) -> Iterator[Broken]:
        yield from self.contents()
        if not any(message.role == "assistant" for message in self.history):
            yield from self.orphans()
            return
        groups = list(_groups(self.history, self.new_from))
        yield from self.ids()
        before = self.group_before(groups)
        for index, group in enumerate(groups):
            after = groups[index + 1] if index + 1 < len(groups) else None
            if group.role == "user":
                yield from self.results(group, before)
            elif not (after is None and self.is_pause(group)):
                yield from self.answered(group, after)
            before = group
        if any([type(part) in _SERVER for message in self.history for part in message.content]):
            yield from self.server_calls()
        if groups and groups[-1].role == "assistant":
            yield from self.final_assistant(groups[-1])

    def orphans(self) -> Iterator[Broken]:
        """Results in a history that holds no reply at all."""
        if any(type(part) is ToolResult for message in self.history for part in message.content):
            for group in _groups(self.history, self.new_from):
                yield from self.results(group, None)

    def group_before(self, groups: list[_Group]) -> _Group | None:
        if not groups or groups[0].first == 0:
            return None
        return list(_groups(self.history[: groups[0].first], groups[0].first))[-1]

    def at(self, index: int, part: int | None = None) -> str:
        where = f"messages.{self.place(index)}"
        return where if part is None else f"{where}.content.{part}"

    def is_pause(self, group: _Group) -> bool:
        """Whether the final assistant message is a pause sent back: the provider paused, or a server call is open."""
        return self.resumes or bool(_open_server_calls(group.parts))

    def contents(self) -> Iterator[Broken]:
        last = len(self.history) - 1
        for index in range(max(self.new_from - 1, 0), len(self.history)):
            message = self.history[index]
            newly_inner = index == self.new_from - 1
            if not message.content:
                if index != last or message.role == "user":
                    text = "all messages must have non-empty content except for the optional final assistant message"
                    yield Broken("no_empty_message", f"{self.at(index)}: {text}", index)
            elif newly_inner:
                continue
            texts = [block.text for block in message.content if isinstance(block, Text | Refusal)]
            if "" in texts:
                yield Broken("no_empty_text", "messages: text content blocks must be non-empty", index)
            elif len(texts) == len(message.content) and not "".join(texts).strip() and texts:
                # Recorded exchanges show blank text beside a call taken, so only a message of nothing else is refused.
                text = "messages: text content blocks must contain non-whitespace text"
                yield Broken("no_blank_text", text, index)

    def ids(self) -> Iterator[Broken]:
        seen: set[str] = set()
        for index, message in enumerate(self.history):
            if message.role != "assistant":
                continue
            for part, block in enumerate(message.content):
                if not isinstance(block, ToolCall | ServerCall):
                    continue
                if index >= self.new_from and block.id in seen:
                    yield Broken("ids_are_unique", f"{self.at(index, part)}: `tool_use` ids must be unique", index)
                if index >= self.new_from and not LEGAL_ID.fullmatch(block.id):
                    kind = "tool_use" if isinstance(block, ToolCall) else "server_tool_use"
                    text = "String should match pattern '^[a-zA-Z0-9_-]+$'"
                    yield Broken("ids_are_legal", f"{self.at(index, part)}.{kind}.id: {text}", index)
                seen.add(block.id)

    def answered(self, group: _Group, after: _Group | None) -> Iterator[Broken]:
        wanted = list(dict.fromkeys(block.id for block in group.parts if type(block) is ToolCall))
        if not wanted:
            return
        leading: set[str] = set()
        anywhere: set[str] = set()
        if after is not None:
            leading = {part.call_id for part in _leading_results(after.parts)}
            anywhere = {part.call_id for part in after.parts if type(part) is ToolResult}
        missing = [call_id for call_id in wanted if call_id not in leading]
        if not missing:
            return
        rule = "answers_come_first" if all(call_id in anywhere for call_id in missing) else "every_call_is_answered"
        text = (
            f"{self.at(group.last)}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
        yield Broken(rule, text, group.last)

    def results(self, group: _Group, before: _Group | None) -> Iterator[Broken]:
        called = {block.id for block in before.parts if type(block) is ToolCall} if before is not None else set()
        seen: set[str] = set()
        for part, (index, position) in zip(group.parts, group.places, strict=True):
            if type(part) is not ToolResult or index < self.new_from:
                if type(part) is ToolResult:
                    seen.add(part.call_id)
                continue
            where = self.at(index, position)
            if part.call_id not in called:
                text = (
                    f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {part.call_id}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
                yield Broken("no_answer_without_a_call", text, index)
            elif part.call_id in seen:
                text = (
                    f"{where}: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {part.call_id}"
                )
                yield Broken("one_answer_for_each_call", text, index)
            seen.add(part.call_id)

    def server_calls(self) -> Iterator[Broken]:
        """Server calls and their results over the whole history: a result may come in a later reply."""
        opened: dict[str, tuple[ServerCall, int]] = {}
        known: set[str] = set()
        for group in _groups(self.history, 0):
            if group.role == "user":
                if opened and not all(type(part) is ToolResult for part in group.parts):
                    yield from self.unpaired(opened, group.last)
                continue
            yield from self.server_results(group, opened, known)
            is_final = group.last == len(self.history) - 1
            if opened and not is_final and not any(type(part) is ToolCall for part in group.parts):
                yield from self.unpaired(opened, group.last + 1)

    def server_results(
        self, group: _Group, opened: dict[str, tuple[ServerCall, int]], known: set[str]
    ) -> Iterator[Broken]:
        for part, (index, position) in zip(group.parts, group.places, strict=True):
            if type(part) is ServerCall:
                opened[part.id] = part, index
                known.add(part.id)
            elif type(part) is ServerResult:
                opened.pop(part.call_id, None)
                if part.call_id not in known and index >= self.new_from:
                    kind = f"{part.name or 'server'}_tool_result"
                    text = (
                        f"{self.at(index, position)}: unexpected `tool_use_id` found in `{kind}` blocks: {part.call_id}. "
                        f"Each `{kind}` block must have a corresponding `server_tool_use` block before it."
                    )
                    yield Broken("no_server_answer_without_a_call", text, index)

    def unpaired(self, opened: dict[str, tuple[ServerCall, int]], seen_at: int) -> Iterator[Broken]:
        """Calls that can't get their result any more, unless the request before this one was told so."""
        for call, index in opened.values():
            if max(index, seen_at) >= self.new_from:
                text = (
                    f"{self.at(index)}: `{call.name}` tool use with id `{call.id}` was found without "
                    f"a corresponding `{call.name}_tool_result` block"
                )
                yield Broken("server_calls_are_paired", text, index)
        opened.clear()

    def final_assistant(self, group: _Group) -> Iterator[Broken]:
        if self.is_pause(group) or any(type(part) is ToolCall for part in group.parts):
            return  # a pause sent back is legal; an open call was complained about before
        if not self.prefill:
            text = (
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
            yield Broken("no_prefill", text, group.last)
        elif group.parts and isinstance(final := group.parts[-1], Text) and final.text != final.text.rstrip():
            text = "messages: final assistant content cannot end with trailing whitespace"
            yield Broken("no_trailing_whitespace", text, group.last)


def _leading_results(parts: Sequence[Part]) -> Iterator[ToolResult]:
    for part in parts:
        if type(part) is not ToolResult:
            return
        yield part


def _open_server_calls(parts: Sequence[Part]) -> list[ServerCall]:
    done = {part.call_id for part in parts if type(part) is ServerResult}
    return [part for part in parts if type(part) is ServerCall and part.id not in done]


def _tool_names(tools: Collection[str]) -> Iterator[Broken]:
    for index, name in enumerate(tools):
        if not LEGAL_TOOL_NAME.fullmatch(name):
            text = f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            yield Broken("tool_names_are_legal", text)
    if len(set(tools)) < len(tools):
        yield Broken("tool_names_are_unique", "tools: Tool names must be unique.")


# --- OpenAI ----------------------------------------------------------------------------------------------------------


def _responses(history: Sequence[Message], new_from: int) -> Iterator[Broken]:
    """Responses wants each call answered somewhere in the input, and each answer to have a call."""
    calls: dict[str, int] = {}
    answered: set[str] = set()
    for index, message in enumerate(history):
        for part in message.content:
            if type(part) is ToolCall:
                calls.setdefault(part.id, index)
            elif type(part) is ToolResult:
                answered.add(part.call_id)
                if part.call_id not in calls and index >= new_from:
                    text = f"No tool call found for function call output with call_id {part.call_id}."
                    yield Broken("no_answer_without_a_call", text, index)
    for call_id, index in calls.items():
        if call_id not in answered and index >= new_from - 1:
            yield Broken("every_call_is_answered", f"No tool output found for function call {call_id}.", index)


def _chat(history: Sequence[Message], new_from: int) -> Iterator[Broken]:
    """Chat Completions wants the tool messages directly behind the calls, before anything else."""
    open_calls: dict[str, None] = {}
    called: set[str] = set()
    for index, message in enumerate(history):
        if message.role == "assistant":
            yield from _chat_unanswered(open_calls, index, new_from)
            if not message.content and index >= new_from - 1:
                text = "Invalid value for 'content': expected a string, got null."
                yield Broken("no_empty_message", text, index)
            called = {part.id for part in message.content if type(part) is ToolCall}
            open_calls = dict.fromkeys(part.id for part in message.content if type(part) is ToolCall)
            continue
        for part in message.content:
            if type(part) is not ToolResult:
                yield from _chat_unanswered(open_calls, index, new_from)
                open_calls, called = {}, set()
            elif part.call_id in called:
                open_calls.pop(part.call_id, None)
            elif index >= new_from:
                text = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'."
                )
                yield Broken("no_answer_without_a_call", text, index)
    yield from _chat_unanswered(open_calls, len(history), new_from)


def _chat_unanswered(open_calls: Collection[str], seen_at: int, new_from: int) -> Iterator[Broken]:
    """`seen_at`: the message that stands where a tool message should; past the end where there is none."""
    if open_calls and seen_at >= new_from:
        text = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {', '.join(open_calls)}"
        )
        yield Broken("every_call_is_answered", text, seen_at)
