"""A reply's calls in the reference loop: who is asked, what is handed over, what runs, and what the model reads."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

from agentsim.core.actions import Action, Given, ToRun
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Run
from agentsim.core.tools import AgentSpec, Decision
from agentsim.core.wires import Seen, SeenCall

CUT = "The output limit cut this reply, so this call was not run. Send it again, with less in one reply."


class Loop(Protocol):
    """The loop itself, which a subagent runs too."""

    def __call__(self, run: Run) -> Generator[Action, Event, Outcome]: ...


@dataclass(slots=True)
class Settled:
    """What became of a reply's calls. Args: results: in their order; handed_over: whose turn it is now; unanswered: a person was asked and nobody answers."""

    results: list[ToolResult]
    handed_over: AgentSpec | None = None
    unanswered: bool = False


def transfer_tool(agent: str) -> str:
    """Name of the tool by which the model hands over to an agent."""
    return f"transfer_to_{agent}"


def offered(run: Run) -> tuple[str, ...]:
    """The names of the agent's tools and of those that hand over."""
    return (*run.tools, *map(transfer_tool, run.agent.handoffs))


def settle(run: Run, seen: Seen, loop: Loop, deadline: float | None) -> Generator[Action, Event, Settled]:
    """Answer every call of a reply: refuse what must not run, ask who has to be asked, then run the rest side by side."""
    transfers = {transfer_tool(name): run.setup.agents[name] for name in run.agent.handoffs}
    results: dict[str, ToolResult] = {}
    target: AgentSpec | None = None
    due: list[SeenCall] = []
    asks = False
    for call in seen.calls:
        if call.name in transfers and not seen.cut:
            first = target is None
            target = target or transfers[call.name]
            text = json.dumps({"assistant": target.name}) if first else "Only one handoff at a time."
            results[call.id] = ToolResult(call.id, text, is_error=not first)
        elif (problem := refusal(run, seen, call)) is not None:
            results[call.id] = ToolResult(call.id, problem, is_error=True)
        elif not (spec := run.tools[call.name]).client:
            due.append(call)
            asks = asks or spec.approval is not None
    allowed = asked(run, due, results) if asks else due
    if allowed is None:
        return Settled([], unanswered=True)
    for done in (yield from run_all(run, allowed, loop, deadline)):
        results[done.call_id] = render(done)
    answered = [results[call.id] if call.id in results else ToolResult(call.id, None) for call in seen.calls]
    return Settled(answered, target)


def refusal(run: Run, seen: Seen, call: SeenCall) -> str | None:
    """Why this call must not run, as the model reads it; None where it may."""
    if seen.cut:
        return CUT
    problem = run.problem(call)
    if problem is None:
        return None
    if problem == "unknown":
        return f"There is no tool {call.name!r}. Tools: {', '.join(offered(run)) or 'none'}."
    if problem == "json":
        return "The arguments are no valid JSON, so the tool was not run."
    return f"The arguments don't fit the tool's {problem}"


def asked(run: Run, calls: list[SeenCall], results: dict[str, ToolResult]) -> list[SeenCall] | None:
    """The calls that may run after everybody who has to approve has answered; None where nobody does.

    Nothing of the reply runs before: a side effect of a sibling can't be taken back when the answer is no.
    """
    waiting = {call.id: call for call in calls if run.tools[call.name].approval is not None}
    while waiting:
        answers = run.next_answers(list(waiting.values()))
        if answers is None:
            return None
        for answer in answers:
            for call_id in [answer.call_id] if answer.call_id is not None else list(waiting):
                call = waiting.pop(call_id, None)
                if call is not None:
                    calls = decided(answer, call, calls, results)
    return calls


def decided(answer: Decision, call: SeenCall, calls: list[SeenCall], results: dict[str, ToolResult]) -> list[SeenCall]:
    """One answer: the call runs, runs with other input, or is refused with the person's words."""
    if answer.kind == "reject":
        text = answer.message or "The user did not approve this call."
        results[call.id] = ToolResult(call.id, text, is_error=True)
        return [other for other in calls if other.id != call.id]
    if answer.kind == "edit":
        edited = SeenCall(call.id, call.name, json.dumps(answer.input), dict(answer.input or {}))
        return [edited if other.id == call.id else other for other in calls]
    return calls


def run_all(
    run: Run, calls: list[SeenCall], loop: Loop, deadline: float | None
) -> Generator[Action, Event, tuple[ToolRun, ...]]:
    """Run the calls side by side; one whose tool is an agent is that agent's whole run."""
    inputs = []
    for call in calls:
        name = run.tools[call.name].agent
        given = None if name is None else (yield from subagent(run, run.setup.agents[name], call, loop))
        inputs.append(ToRun(call.id, call.name, call.arguments, given))
    return (yield from run.use(inputs, deadline=deadline))


def subagent(run: Run, agent: AgentSpec, call: SeenCall, loop: Loop) -> Generator[Action, Event, Given]:
    """A subagent's run, with a history and a limit of its own; its clock starts with its siblings'."""
    begin = run.ledger.clock
    child = run.child(agent)
    child.say(prompt_of(call))
    outcome = yield from loop(child)
    seconds = run.ledger.clock - begin
    yield from run.wait(-seconds)
    if outcome.returned == "answer":
        return Given(outcome.final_text, False, seconds)
    return Given(f"The agent {agent.name} did not finish: {outcome.error_message or outcome.ended}", True, seconds)


def prompt_of(call: SeenCall) -> str:
    """What a subagent is asked: the only text of the input, or the input as JSON."""
    values = list(call.arguments.values()) if isinstance(call.arguments, dict) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else call.raw


def render(done: ToolRun) -> ToolResult:
    """A tool's output as it is sent."""
    return ToolResult(done.call_id, as_text(done.output), is_error=done.is_error)


def as_text(value: Any) -> str:
    """A tool's output as the text that is sent: strings as they are, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
