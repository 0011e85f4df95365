"""What `agentsim show` says of a file: a scenario's story, or a recording's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentsim.core.messages import ServerCall, ToolCall, ToolResult
from agentsim.report.transcript import fault_text, message_lines, reply_lines, transcript_lines
from agentsim.scenario.chaos import words
from agentsim.scenario.model import FOREVER, Entry, Scenario, ScriptedReply
from agentsim.store.recording import RULES, Recording, facts


def facts_of(found: Scenario | Recording) -> dict[str, Any]:
    """The facts of contract part 3 (`show --format json`); a scenario's replies count as they stand in the file."""
    return facts(found) if isinstance(found, Recording) else scenario_facts(found)


def lines_of(found: Scenario | Recording) -> Iterator[str]:
    """The story, line by line."""
    return _recording_lines(found) if isinstance(found, Recording) else _scenario_lines(found)


def scenario_facts(scenario: Scenario) -> dict[str, Any]:
    """A scenario's facts: an endless entry counts once."""
    entries = [e for script in _scripts(scenario).values() for e in script for _ in range(max(1, e.repeat))]
    replies = [entry.reply for entry in entries if isinstance(entry, ScriptedReply)]
    blocks = [block for reply in replies for block in reply.blocks]
    answered = {b.call_id for m in scenario.messages for b in m.content if isinstance(b, ToolResult)}
    calls = [b for m in scenario.messages for b in m.content if isinstance(b, ToolCall)]
    return {
        "format": "scenario",
        "conversations": 1,
        "model_calls": len(replies),
        "error_replies": len(entries) - len(replies),
        "stop_reasons": [reply.stop_reason for reply in replies],
        "tool_calls": sum(isinstance(b, ToolCall) for b in blocks) + len(calls),
        "server_calls": sum(isinstance(b, ServerCall) for b in blocks),
        "tool_results": len(answered),
        "orphan_calls": sum(call.id not in answered for call in calls),
    }


def _scripts(scenario: Scenario) -> Mapping[str, tuple[Entry, ...]]:
    return {"": scenario.script, **{name: agent.script for name, agent in scenario.agents.items()}}


def _scenario_lines(scenario: Scenario) -> Iterator[str]:
    yield f"scenario: {scenario.name}"
    if scenario.system:
        yield f"system: {json.dumps(scenario.system, ensure_ascii=False)}"
    for message in scenario.messages:
        yield from message_lines(message)
    for prompt in scenario.prompts:
        yield f"prompt: {json.dumps(prompt, ensure_ascii=False)}"
    for name, tool in scenario.tools.items():
        kinds = [word for word, on in (("at the provider", tool.server), ("client's", tool.client)) if on]
        yield f"tool {name}{' (' + ', '.join(kinds) + ')' if kinds else ''}: {tool.description or 'no description'}"
    for agent, script in _scripts(scenario).items():
        if agent:
            yield f"agent {agent}"
        for number, entry in enumerate(script, 1):
            yield from _entry_lines(number, entry)


def _entry_lines(number: int, entry: Entry) -> Iterator[str]:
    times = "" if entry.repeat == 1 else " for ever" if entry.repeat == FOREVER else f" {entry.repeat} times"
    if isinstance(entry, ScriptedReply):
        yield f"reply {number}{times}: {entry.reply.stop_reason}"
        yield from (f"    {line}" for line in reply_lines(entry.reply))
        yield from (f"    hands over to {agent}" for agent in entry.handoff)
    else:
        yield f"fault {number}{times}: {fault_text(entry.fault)}"
    if entry.chaos is not None:
        yield f"    on its way: {words(entry.chaos)}"


def _recording_lines(recording: Recording) -> Iterator[str]:
    known = facts(recording)
    yield f"{known['format']}: {known['conversations']} conversation{'' if known['conversations'] == 1 else 's'}"
    counts = ("model_calls", "error_replies", "tool_calls", "server_calls", "tool_results", "orphan_calls")
    yield ", ".join(f"{known[key]} {key.replace('_', ' ')}" for key in counts)
    for number, conversation in enumerate(recording.conversations, 1):
        yield ""
        yield f"conversation {number}"
        yield from transcript_lines(conversation.events, full=True)
    yield from (f"note: {note}" for note in notes_of(recording))


def notes_of(recording: Recording) -> list[str]:
    """What a reader has to know of a recording: what was inferred, looks wrong, or was not read (and how often)."""
    skipped = [
        f"not read: {what}{f' ({count} times)' if count > 1 else ''}" for what, count in recording.skipped.items()
    ]
    inferred = [RULES[each] for each in recording.inferred if each in RULES]
    return list(dict.fromkeys([*inferred, *recording.notes, *skipped]))
