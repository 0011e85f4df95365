"""The pages of `agentsim show` and `agentsim run`: a recording, a scenario or one run as timelines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentsim.core.tools import ToolSpec
from agentsim.judge.result import Result
from agentsim.report.html.page import render
from agentsim.report.html.pieces import Piece, json_text, of_part, piece
from agentsim.report.html.timeline import Card, Timeline, reply_card, timeline
from agentsim.report.show import facts_of, notes_of
from agentsim.report.transcript import ending_lines, fault_text, many
from agentsim.scenario.chaos import words
from agentsim.scenario.model import FOREVER, Entry, Scenario, ScriptedReply
from agentsim.store.recording import Recording


@dataclass(frozen=True, slots=True)
class Part:
    """One conversation, one agent's script, or one run.

    Args:
        title: its heading.
        notes: a line each.
        begins: what it begins with: system prompt, prompts.
    """

    title: str
    shown: Timeline
    notes: tuple[str, ...] = ()
    begins: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a scenario declares."""

    name: str
    agent: str
    kind: str
    description: str
    input: Piece


def page(found: Scenario | Recording, file: str) -> str:
    """The page of a file.

    Args:
        found: what is in it.
        file: its name.
    """
    notes: tuple[str, ...] = ()
    if isinstance(found, Scenario):
        parts, tools, title = list(_scripts(found)), _tools(found), found.name
    else:
        parts, tools, title = list(_conversations(found)), [], f"{found.format} recording"
        notes = tuple(notes_of(found))
    facts = {key: value for key, value in facts_of(found).items() if not isinstance(value, list)}
    return render(
        "show.html", title=title, file=file, facts=facts, parts=parts, tools=tools, notes=notes,
        agents=any(tool.agent for tool in tools),
    )  # fmt: skip


def run_page(result: Result) -> str:
    """The page of one run."""
    part = Part("What happened", timeline(result.transcript))
    title = f"{result.scenario.name} under {result.style.name}"
    return render("run.html", title=title, result=result, facts=list(ending_lines(result)), parts=[part])


def _conversations(recording: Recording) -> Iterator[Part]:
    for number, each in enumerate(recording.conversations, 1):
        notes = [f"the work of call {each.parent}"] if each.parent else []
        if each.pending:
            notes.append(f"waits for a person's approval: {', '.join(sorted(each.pending))}")
        begins = (piece("text", "system", each.system),) if each.system else ()
        title = f"Conversation {number}" + (f": {each.name}" if each.name else "")
        yield Part(title, timeline(each.events), tuple(notes), begins)


def _scripts(scenario: Scenario) -> Iterator[Part]:
    begins = [piece("text", "system", scenario.system)] if scenario.system else []
    begins += [of_part(part, message.role) for message in scenario.messages for part in message.content]
    begins += [piece("text", "prompt", prompt) for prompt in scenario.prompts]
    yield Part("Script", _script(scenario.script), begins=tuple(begins))
    for name, agent in scenario.agents.items():
        notes = [many(agent.limit, "model call") + " at most"] if agent.limit is not None else []
        begins = [piece("text", "system", agent.system)] if agent.system else []
        yield Part(f"Script of agent {name}", _script(agent.script), tuple(notes), tuple(begins))


def _script(entries: tuple[Entry, ...]) -> Timeline:
    return Timeline(("model",), tuple((_entry(number, entry),) for number, entry in enumerate(entries, 1)))


def _entry(number: int, entry: Entry) -> Card:
    notes = [] if entry.repeat == 1 else ["for ever" if entry.repeat == FOREVER else f"{entry.repeat} times"]
    if entry.when is not None:
        notes.append(f"when {entry.when.where.replace('_', ' ')} {entry.when.how} {entry.when.pattern!r}")
    if entry.chaos is not None:
        notes.append(f"on its way: {words(entry.chaos)}")
    if isinstance(entry, ScriptedReply):
        notes += [f"hands over to {agent}" for agent in entry.handoff]
        return reply_card(entry.reply, 1, "model", f"reply {number}", tuple(notes))
    partial = tuple(map(of_part, entry.fault.partial.blocks)) if entry.fault.partial is not None else ()
    return Card(
        1, "model", f"fault {number}", str(entry.fault.status or entry.fault.disconnect or ""), "bad", tuple(notes),
        (piece("error", "what comes", fault_text(entry.fault)),), partial, "the reply that is on its way",
    )  # fmt: skip


def _tools(scenario: Scenario) -> list[Tool]:
    own = [(scenario.agent or "", scenario.tools), *((agent.name, agent.tools) for agent in scenario.agents.values())]
    return [
        Tool(name, agent, _kind(tool), tool.description, piece("other", "input", json_text(tool.schema), code=True))
        for agent, tools in own
        for name, tool in tools.items()
    ]


def _kind(tool: ToolSpec) -> str:
    kinds = {
        "runs at the provider": tool.server,
        "handed back to the caller": tool.client,
        "an agent": tool.agent is not None,
        "asks for approval": tool.approval is not None,
        "its result is the answer": tool.return_direct,
        "reads only": tool.read_only,
    }
    return ", ".join(word for word, on in kinds.items() if on)
