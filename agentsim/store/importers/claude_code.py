"""Claude Code sessions: `~/.claude/projects/DIR/SESSION.jsonl`, one object a line, and the lines of its web export.

A reply is written block by block, a line each, under one `message.id`; results may stand between its lines, and usage is
repeated on each. After a resume old lines come again under new uuids. `parentUuid` makes a tree: side chains are subagents,
a rewind leaves a dead branch, a compaction begins a new root. Subagents may have files of their own, which are read with their session's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentsim.core.messages import Block, Part, Text, ToolCall, ToolResult, Usage
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer, claude_subagents
from agentsim.store.importers.blocks import as_dict, as_list, claude_parts, reply_blocks, text_of, usage
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording

#: Texts that the harness wrote into the user's message: slash commands, their output, reminders.
_HARNESS = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<bash-",
    "Caveat: The messages below",
    "[Request interrupted",
)


class _Thread:
    """One conversation with the reply that is still being written."""

    def __init__(self, builder: ConversationBuilder) -> None:
        self.builder = builder
        self.key: str | None = None
        self.blocks: list[Block] = []
        self.after: list[tuple[Part, bool]] = []
        self.raw: str | None = None
        self.usage: Usage | None = None
        self.place = 0
        self.last_reply_at = 0

    def close(self) -> None:
        """The reply is whole; what came after its first line follows."""
        if self.key is not None:
            self.builder.reply(self.blocks, self.raw, self.place, usage=self.usage, key=self.key)
            self.last_reply_at = len(self.builder.history)
            self.key, self.blocks, self.raw, self.usage = None, [], None, None
        for part, typed in self.after:
            if isinstance(part, ToolResult):
                self.builder.result(part.call_id, part.output, part.is_error)
            else:
                self.builder.say(part, typed=typed)
        self.after = []

    @property
    def replied(self) -> int:
        """How many messages the history has up to the last reply, be it still open."""
        if self.key is None:
            return self.last_reply_at
        return len(self.builder.history) + bool(self.builder.waiting) + 1

    @property
    def position(self) -> int:
        """How many it has once everything so far is in it."""
        whole = len(self.builder.history) + bool(self.builder.waiting) if self.key is None else self.replied
        return whole + bool(self.after)


class _Session:
    """All conversations of a file, and where each line of it stands."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.threads: list[_Thread] = []
        self.main: _Thread | None = None
        self.by_agent: dict[str, _Thread] = {}
        self.at: dict[str, tuple[_Thread, int]] = {}
        self.notes: dict[str, int] = {}
        self.name = ""
        self.all_side = True
        self.said: set[int] = set()
        #: calls of subagents that no side chain has taken up yet
        self.tasks: list[str] = []
        self.work = claude_subagents.Tasks()

    def line(self, number: int, record: dict[str, Any]) -> None:
        """Take one line."""
        kind, message = record.get("type"), record.get("message")
        self.name = self.name or text_of(record.get("sessionId")) or ""
        if kind == "system" and record.get("subtype") == "compact_boundary":
            self._compact(record)
        elif kind in ("user", "assistant") and isinstance(message, dict | str):
            self._message(number, kind, record, message if isinstance(message, dict) else {"content": message})
        elif kind is None and isinstance(message, dict) and (role := _role(message)):
            self._message(number, role, record, message)
        else:
            self._skip(kind, record)
            self._follow(record)

    def _skip(self, kind: Any, record: dict[str, Any]) -> None:
        name = kind if isinstance(kind, str) else "no type"
        subtype = text_of(record.get("subtype"))
        self.source.skip(f"line of type {name}/{subtype}" if subtype else f"line of type {name}")

    def _follow(self, record: dict[str, Any]) -> None:
        """A line that says nothing may still stand between two that do."""
        parent, uuid = record.get("parentUuid"), record.get("uuid")
        if isinstance(uuid, str) and isinstance(parent, str) and parent in self.at:
            self.at[uuid] = self.at[parent]

    def _compact(self, record: dict[str, Any]) -> None:
        thread = self._thread(record)
        thread.close()
        thread.builder.rewrite(0)
        thread.last_reply_at = 0
        self._stand(record, thread)
        self.note("compaction: the history was replaced by a summary")

    def _message(self, number: int, kind: str, record: dict[str, Any], message: dict[str, Any]) -> None:
        if kind == "assistant":
            if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage") is True:
                status = record.get("apiErrorStatus")
                self.source.skip(f"synthetic message of an API error {status or ''}".rstrip()
                                 if record.get("isApiErrorMessage") is True else "synthetic message")  # fmt: skip
                self._follow(record)
                return
            thread = self._thread(record)
            self._assistant(number, thread, record, message)
        else:
            thread = self._thread(record)
            self._user(thread, record, message)
        self._stand(record, thread)

    # -- replies ------------------------------------------------------------------------------------------------

    def _assistant(self, number: int, thread: _Thread, record: dict[str, Any], message: dict[str, Any]) -> None:
        key = text_of(message.get("id")) or text_of(record.get("requestId")) or f"line {number}"
        blocks = reply_blocks(claude_parts(message.get("content")))
        raw = text_of(message.get("stop_reason"))
        if key == thread.key:
            fresh = [block for block in blocks if not _repeated(block, thread.blocks)]
            if blocks and not fresh:
                self._forget_repeats(thread)
            self._note_tasks(fresh)
            thread.blocks += fresh
            thread.raw = raw or thread.raw
            thread.usage = usage(message.get("usage")) or thread.usage
            return
        if thread.builder.knows(key):
            self._again(thread, key, blocks, raw)
            return
        self.said.update(hash(part.text) for part, _ in thread.after if isinstance(part, Text))
        thread.close()
        thread.key, thread.blocks, thread.raw = key, list(blocks), raw
        thread.usage, thread.place = usage(message.get("usage")), number
        self._note_tasks(blocks)

    def _note_tasks(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if isinstance(block, ToolCall) and block.name in ("Task", "Agent"):
                self.tasks.append(block.id)
                self.work.called(block)

    def _again(self, thread: _Thread, key: str, blocks: tuple[Block, ...], raw: str | None) -> None:
        """A reply that is long over: a resumed session repeats it, or its last blocks come late."""
        thread.builder.amend(key, blocks, raw)
        self._forget_repeats(thread)

    def _forget_repeats(self, thread: _Thread) -> None:
        """What stands before a repeated reply and was said before, is repeated too."""
        thread.after = [
            (p, typed) for p, typed in thread.after if not (isinstance(p, Text) and hash(p.text) in self.said)
        ]
        self.source.skip("line of a reply that was written before")

    # -- what the user says -------------------------------------------------------------------------------------

    def _user(self, thread: _Thread, record: dict[str, Any], message: dict[str, Any]) -> None:
        parts = claude_parts(message.get("content"))
        typed = record.get("isMeta") is not True
        for part in parts:
            text = part.text if isinstance(part, Text) else ""
            thread.after.append((part, typed and not text.startswith(_HARNESS)))
        self._link(thread, record)

    def _link(self, thread: _Thread, record: dict[str, Any]) -> None:
        """A task's result names the agent that did it."""
        result = as_dict(record.get("toolUseResult"))
        agent = text_of(result.get("agentId"))
        call = next((p.call_id for p, _ in reversed(thread.after) if isinstance(p, ToolResult)), None)
        if agent is not None and call is not None:
            self.work.done(agent, call)

    # -- which conversation -------------------------------------------------------------------------------------

    def _thread(self, record: dict[str, Any]) -> _Thread:
        side = record.get("isSidechain") is True
        self.all_side = self.all_side and side
        parent = record.get("parentUuid")
        known = self.at.get(parent) if isinstance(parent, str) else None
        if side:
            return self._side_thread(record, known)
        if self.main is None:
            self.main = self._new(self.name)
        elif known is not None and known[0] in self._mains() and self._rewound(record, *known):
            self.main = self._branch(*known)
        return self.main

    def _mains(self) -> list[_Thread]:
        return [thread for thread in self.threads if thread.builder.name == self.name]

    def _rewound(self, record: dict[str, Any], thread: _Thread, position: int) -> bool:
        """Whether a line hangs on to a place before the last reply: everything since is a dead branch."""
        if record.get("type") != "user" or _is_result(record):
            return False
        if thread is not self.main:
            return True
        return position < thread.replied

    def _branch(self, thread: _Thread, position: int) -> _Thread:
        thread.close()
        self.note("rewind: the branch that was left is a conversation of its own")
        thread.builder.rewrite(len(thread.builder.history))
        return self._new(self.name, thread.builder.history[:position], shared=True)

    def _side_thread(self, record: dict[str, Any], known: tuple[_Thread, int] | None) -> _Thread:
        agent = text_of(record.get("agentId"))
        if agent is not None:
            if agent not in self.by_agent:
                self.by_agent[agent] = self._new(f"agent {agent}")
            return self.by_agent[agent]
        if known is not None and known[0] is not self.main:
            return known[0]
        if known is None and self.all_side and self.threads:
            return self.threads[-1]
        thread = self._new("side chain")
        if self.tasks:
            thread.builder.parent = self.tasks.pop(0)
        return thread

    def _new(self, name: str, history: Iterable[Any] = (), *, shared: bool = False) -> _Thread:
        thread = _Thread(ConversationBuilder(name, messages=tuple(history), shared=shared))
        self.threads.append(thread)
        return thread

    def _stand(self, record: dict[str, Any], thread: _Thread) -> None:
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            self.at[uuid] = (thread, thread.position)

    def give_parents(self) -> None:
        """Say of each subagent which call it is the work of."""
        agents = {agent: thread.builder for agent, thread in self.by_agent.items()}
        taken = [thread.builder.parent for thread in self.threads]
        self.work.give_parents(agents, taken)

    def note(self, text: str) -> None:
        """Note something, once, with how often it was."""
        self.notes[text] = self.notes.get(text, 0) + 1


def _role(message: dict[str, Any]) -> str | None:
    """Who speaks in a line without a type; logs that only count tokens leave out all but the usage."""
    role = message.get("role")
    if role in ("user", "assistant"):
        return str(role)
    return "assistant" if role is None and isinstance(message.get("usage"), dict) else None


def _repeated(block: Block, blocks: list[Block]) -> bool:
    """Whether a block stands in the reply already."""
    if isinstance(block, ToolCall):
        return any(isinstance(b, ToolCall) and b.id == block.id for b in blocks)
    return block in blocks


def _is_result(record: dict[str, Any]) -> bool:
    content = as_dict(record.get("message")).get("content")
    return isinstance(content, list) and any(as_dict(item).get("type") == "tool_result" for item in content)


def read_lines(source: Source, records: Iterator[tuple[int, Any]], name: str) -> Recording:
    """The recording of a session's lines.

    Args:
        source: for what is skipped.
        records: (line number, JSON value).
        name: of the format.
    """
    session = _Session(source)
    for number, record in records:
        if not isinstance(record, dict):
            source.skip(f"line that is no object but a {type(record).__name__}")
            continue
        session.line(number, record)
    for thread in session.threads:
        thread.close()
    session.give_parents()
    notes = [text if n == 1 else f"{text} ({n} times)" for text, n in session.notes.items()]
    conversations = [thread.builder.conversation() for thread in session.threads]
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    kept = tuple(c for c in conversations if c.origins)
    return Recording(name, kept or tuple(conversations[:1]), {}, tuple(notes), (STOP_REASONS,) if missing else ())


def _is_line(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in ("user", "assistant")
        and isinstance(value.get("message"), dict | str)
    )


def _is_session_line(value: Any) -> bool:
    """A line that no other format has: the SDK's frames have a message too, but say whose work they are."""
    keys = {"uuid", "sessionId", "parentUuid", "isSidechain", "requestId", "costUSD"}
    if isinstance(value, dict) and "type" not in value and keys & value.keys():
        return isinstance(as_dict(value.get("message")).get("usage"), dict)
    return _is_line(value) and bool(keys & value.keys()) and "parent_tool_use_id" not in value


def _fits(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_session_line, value))
    return isinstance(value, dict) and (_is_session_line(value) or any(map(_is_line, as_list(value.get("loglines")))))


def _read(source: Source, shape: Shape) -> Recording:
    if shape.kind == "lines":
        return read_lines(source, claude_subagents.records(source), IMPORTER.name)
    value = shape.value
    if isinstance(value, dict):
        value = as_list(value["loglines"]) if "loglines" in value else [value]
    return read_lines(source, iter(enumerate(value, 1)), IMPORTER.name)


IMPORTER = Importer("claude-code", "Claude Code sessions", ("lines", "document"), _fits, _read)
