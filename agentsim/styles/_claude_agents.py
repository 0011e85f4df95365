"""Subagents of the Claude Agent SDK: a loop of their own, in the background by default.

A call of one that runs in the background returns at once. When it ends, the main loop is woken by a notification, with a turn
budget of its own and a result of its own. Otherwise the call is a tool of the round that runs as long as the subagent does.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action, Given
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Run
from agentsim.core.wires import SeenCall
from agentsim.styles._claude_talk import Report, Talk

LAUNCHED = "Async agent launched successfully."
NO_TEXT = "(Subagent completed but returned no output.)"


def read_limit(value: Any) -> float | None:
    """maxTurns: 0 is no cap; a turn more than any other number is one too many, so -1 is one call."""
    return float(value) if value else None


def run_agent(talk: Talk, call: SeenCall, given: Any) -> Generator[Action, Event, Given]:
    """The result of a call whose tool is an agent. A subagent's own subagents run in the foreground."""
    run, begin = talk.run, talk.run.ledger.clock
    spec = run.setup.agents[run.tools[call.name].agent or ""]
    child = run.child(spec)
    child.limit = read_limit(spec.limit)
    child.say(_prompt(given))
    inner = Talk(child, talk.entry, talk.loop, talk)
    outcome = yield from talk.loop(inner)
    text, failed = _report(child, outcome)
    run.aborted |= child.aborted or outcome.ended == "aborted"
    if talk.nested or not spec.background:
        return Given(text, failed, run.ledger.clock - begin)
    talk.shared.reports.append(Report(run.ledger.clock, spec.name, text, failed))
    yield from run.wait(begin - run.ledger.clock)
    return Given(LAUNCHED)


def next_report(talk: Talk) -> Generator[Action, Event, str | None]:
    """Wait for the subagent that ends next; its notification, or None where none is on its way."""
    run, reports = talk.run, talk.shared.reports
    if not reports:
        return None
    report = min(reports, key=lambda one: one.at)
    reports.remove(report)
    yield from run.wait(max(0.0, report.at - run.ledger.clock))
    status = "failed" if report.failed else "completed"
    return (
        f"<task-notification>\n<status>{status}</status>\n<summary>Agent {report.agent} {status}</summary>\n"
        f"<result>{report.text}</result>\n</task-notification>"
    )


def _report(child: Run, outcome: Outcome) -> tuple[str, bool]:
    """What a subagent's loop comes to for who started it: its last text, also where its turns were used up."""
    if outcome.ended == "limit":
        return child.last_text or NO_TEXT, False
    if outcome.returned == "answer":
        return outcome.final_text or NO_TEXT, False
    return outcome.error_message or outcome.finish_reason or NO_TEXT, True


def _prompt(given: Any) -> str:
    """What the subagent is asked: `prompt`, the only text of the input, or the input as JSON."""
    if isinstance(given, dict) and isinstance(given.get("prompt"), str):
        return str(given["prompt"])
    values = list(given.values()) if isinstance(given, dict) else [given]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(given, ensure_ascii=False)
