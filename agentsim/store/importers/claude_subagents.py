"""The subagents of a Claude Code session: `SESSION/subagents/agent-ID.jsonl` beside `SESSION.jsonl`.

Older versions wrote a subagent's lines into the session's own file, newer ones give each a file. Either way they are one session:
who reads SESSION.jsonl gets them all, and a walk through a folder meets none of them twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentsim.core.messages import Text, ToolCall
from agentsim.errors import TranscriptError
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers.source import Source, open_source

FOLDER = "subagents"


def files_of(session: Path | None) -> list[Path]:
    """The files of a session's subagents, in order of names; none where it has none."""
    if session is None or session.suffix != ".jsonl":
        return []
    return sorted(path for path in (session.with_suffix("") / FOLDER).glob("agent-*.jsonl") if path.is_file())


def is_part_of_a_session(folder: str) -> bool:
    """Whether a folder holds the subagents of a session that lies beside it, and is read with that."""
    above, name = os.path.split(os.path.normpath(folder))
    return name == FOLDER and os.path.isfile(f"{above}.jsonl")


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """The lines of a session and then those of its subagents' files, numbered through.

    Args:
        source: of the session; what of a subagent's file can't be read is skipped, and named, there.
    """
    last = 0
    for last, record in source.records():
        yield last, record
    for path in files_of(source.path):
        try:
            one = open_source(path)
        except TranscriptError as error:
            source.skip(f"{path.name}: {str(error).removeprefix(f'{path}: ')}")
            continue
        agent = path.stem.removeprefix("agent-")
        start = last
        for number, record in one.records():
            last = start + number
            if isinstance(record, dict):
                record = {"agentId": agent, **record, "isSidechain": True}
            yield last, record
        for what, count in one.skipped.items():
            source.skipped[f"{path.name}: {what}"] = count


class Tasks:
    """Which call each subagent is the work of."""

    def __init__(self) -> None:
        self._prompts: dict[str, Any] = {}
        self._calls: dict[str, str] = {}

    def called(self, call: ToolCall) -> None:
        """A call of a subagent; its input says what it was told."""
        try:
            told = json.loads(call.arguments)
        except ValueError:
            return
        self._prompts[call.id] = told.get("prompt") if isinstance(told, dict) else None

    def done(self, agent: str, call_id: str) -> None:
        """The result of a call names the agent that did it."""
        self._calls[agent] = call_id

    def give_parents(self, agents: Mapping[str, ConversationBuilder], others: Iterable[str | None]) -> None:
        """Say of each agent whose work it is: by the result that names it, else by the words that it was told.

        Args:
            agents: by id.
            others: calls that side chains without an id have taken up.
        """
        taken = {*self._calls.values(), *others}
        for agent, builder in agents.items():
            builder.parent = self._calls.get(agent) or builder.parent
            if builder.parent is None:
                told = _first_words(builder)
                free = (call for call, prompt in self._prompts.items() if prompt == told and call not in taken)
                builder.parent = next(free, None) if told else None
                taken.add(builder.parent)


def _first_words(builder: ConversationBuilder) -> str:
    first = builder.history[0] if builder.history else None
    return "".join(part.text for part in first.content if isinstance(part, Text)) if first is not None else ""
