"""The calls of one reply in the OpenAI Agents SDKs: tools, agents that are tools, approvals, handoffs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agentsim.core.actions import Action, Given, ToRun
from agentsim.core.coerce import Unfit
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.tools import Decision
from agentsim.core.wires import SeenCall
from agentsim.styles._openai_errors import aborted
from agentsim.styles._openai_guardrails import breaks_off, tripped
from agentsim.styles._openai_talk import Talk, handoff_names
from agentsim.styles._openai_tools import FAILED, Unreadable, as_text, output_of, tool_input

NOT_APPROVED = "Tool execution was not approved."
IGNORED = "Multiple handoffs detected, ignoring this one."

#: Turns of an agent that is a tool, where it has no limit of its own.
NESTED_TURNS = 10


@dataclass(slots=True)
class Work:
    """What became of a reply's calls.

    Args:
        outputs: (tool, text that was sent) of the calls that were run or would have been, in their order.
        handoffs: the calls that hand over.
        outcome: the run ends here.
    """

    outputs: list[tuple[str, str]] = field(default_factory=list)
    handoffs: list[SeenCall] = field(default_factory=list)
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """One call, answered. Args: thrown: (type, message, ended) where the tool has no error function."""

    output: Any
    thrown: tuple[str, str, str | None] | None = None


#: An agent that is a tool and waits for somebody itself.
WAITS = Done(None)


def work(talk: Talk, calls: Sequence[SeenCall]) -> Generator[Action, Event, Work]:
    """Run all calls at once; results go back in call order, those of unknown tools last."""
    run, done = talk.run, Work()
    tools, handoffs = run.tools, handoff_names(talk)
    done.handoffs = [call for call in calls if call.name in handoffs and call.name not in tools]
    missing = [call for call in calls if call.name not in tools and call.name not in handoffs]
    waiting = [call for call in calls if call.name in tools and _asks(talk, call)]
    client = [call for call in calls if call.name in tools and tools[call.name].client]
    due = [call for call in calls if call.name in tools and call not in waiting and call not in client]
    yield from settle(talk, due, done)
    run.answer_with([ToolResult(call.id, f"Tool '{call.name}' not found.") for call in missing])
    while waiting and done.outcome is None:
        waiting = yield from resume(talk, waiting, done)
    if client and done.outcome is None:
        run.count += 1
        done.outcome = run.returned(None, ended="handed_back", reported=talk.shown())
    return done


def _asks(talk: Talk, call: SeenCall) -> bool:
    return talk.run.tools[call.name].approval is not None


def resume(talk: Talk, waiting: list[SeenCall], done: Work) -> Generator[Action, Event, list[SeenCall]]:
    """The run has returned with interruptions; what the next resume says. Returns the calls that still wait."""
    run = talk.run
    answers = run.next_answers(waiting)
    if answers is None:
        done.outcome = interrupted(talk)
        return waiting
    said = decisions(waiting, answers)
    done.outputs = []  # only what this resume gives can be the final output
    rejected_calls = [call for call in waiting if call.id in said and said[call.id].kind == "reject"]
    rejected = {call.id: said[call.id].message or NOT_APPROVED for call in rejected_calls}
    yield from settle(talk, [call for call in waiting if call.id in said], done, rejected)
    return [call for call in waiting if call.id not in said]


def interrupted(talk: Talk) -> Outcome:
    """The run returns with interruptions, and nobody resumes it."""
    talk.run.count += 1
    return talk.run.returned(None, ended="approval", reported=talk.shown())


def decisions(waiting: Sequence[SeenCall], answers: Sequence[Decision]) -> dict[str, Decision]:
    """Call id -> what was said to it. A bare word settles the first call that is not settled; an edit can't be said: approved."""
    said = {answer.call_id: answer for answer in answers if answer.call_id is not None}
    left = [call.id for call in waiting if call.id not in said]
    for answer in answers:
        if answer.call_id is None and left:
            said[left.pop(0)] = answer
    return {call.id: said[call.id] for call in waiting if call.id in said}


def settle(
    talk: Talk, calls: Sequence[SeenCall], done: Work, rejected: Mapping[str, str] | None = None
) -> Generator[Action, Event, None]:
    """Run calls and append their results in call order; the first that throws ends the run, after its siblings ran."""
    answered = yield from run_all(talk, calls, rejected or {})
    if answered is None:
        done.outcome = tripped(talk, talk.guard_error) if talk.guard_error and talk.run.timed_out else aborted(talk)
        return
    for call, one in zip(calls, answered, strict=True):
        if one.thrown is not None:
            type_, message, ended = one.thrown
            reported = talk.shown_in_error(ended == "tool_error")
            done.outcome = talk.run.threw(type_, message, ended, reported=reported, bad_call=True)
            return
        if one is not WAITS:
            done.outputs.append((call.name, as_text(one.output, talk.python)))
    results = [ToolResult(call.id, one.output) for call, one in zip(calls, answered, strict=True) if one is not WAITS]
    talk.run.answer_with(results)
    if len(results) < len(calls):
        done.outcome = interrupted(talk)


def run_all(
    talk: Talk, calls: Sequence[SeenCall], rejected: Mapping[str, str]
) -> Generator[Action, Event, list[Done] | None]:
    """Answer calls side by side, those that somebody rejected with a text; None where a guardrail or the caller broke them off."""
    run = talk.run
    prepared = [Done(rejected[call.id]) if call.id in rejected else prepare(talk, call) for call in calls]
    due = [at for at, one in enumerate(prepared) if not isinstance(one, Done)]
    agents = [at for at in due if run.tools[calls[at].name].agent is not None]
    begin = run.ledger.clock
    ran = yield from run.side_by_side([partial(run_agent, talk, calls[at], prepared[at]) for at in agents])
    yield from run.wait(begin - run.ledger.clock)
    given = dict(zip(agents, ran, strict=True))
    due = [at for at in due if at not in given or given[at] is not None]
    runs = yield from run.use(
        [
            ToRun(calls[at].id, calls[at].name, prepared[at], given.get(at), _timeout(talk, calls[at].name))
            for at in due
        ],
        deadline=breaks_off(talk),
    )
    if run.timed_out or run.aborted:
        return None
    finished = dict(zip(due, runs, strict=False))
    return [
        one if isinstance(one, Done) else rendered(talk, finished[at]) if at in finished else WAITS
        for at, one in enumerate(prepared)
    ]


def prepare(talk: Talk, call: SeenCall) -> Any:
    """What the tool gets, or Done where it is not run."""
    throws = call.name in talk.options.throwing
    try:
        return tool_input(talk.run.tools[call.name], call, talk.python)
    except Unreadable as error:
        if throws and talk.python:
            return Done(None, ("ModelBehaviorError", f"Invalid JSON input for tool {call.name}", None))
        return Done(str(error))
    except Unfit:
        if not throws:
            return Done(FAILED)
        if talk.python:
            return Done(None, ("ModelBehaviorError", f"Invalid JSON input for tool {call.name}", None))
        message = f"InvalidToolInputError: Invalid input for function tool '{call.name}'."
        return Done(None, ("ToolCallError", f"Failed to run function tools: {message}", None))


def run_agent(talk: Talk, call: SeenCall, given: Any) -> Generator[Action, Event, Given | None]:
    """An agent that is a tool: a run of its own, whose turns are its own and whose usage is this run's too.

    Returns:
        Its result; None where a call of its own waits for an approval that nobody gives.
    """
    run = talk.run
    agent = run.setup.agents[run.tools[call.name].agent or ""]
    child, begin = run.child(agent), run.ledger.clock
    child.limit = NESTED_TURNS if agent.limit is None else agent.limit
    child.streamed = False
    child.say(given["input"] if isinstance(given.get("input"), str) else as_text(given, python=False))
    outcome: Outcome = yield from run.style.loop(child)
    talk.used += child.memory["used"]
    seconds = run.ledger.clock - begin
    run.aborted = run.aborted or child.aborted
    if outcome.ended == "approval":
        return None
    if outcome.returned == "error":
        return Given(f"{outcome.error_type}: {outcome.error_message}", is_error=True, seconds=seconds)
    return Given(outcome.final_text, seconds=seconds)


def _timeout(talk: Talk, tool: str) -> float | None:
    return talk.options.timeouts[tool][1] if tool in talk.options.timeouts else None


def rendered(talk: Talk, done: ToolRun) -> Done:
    """A finished run's output as it is sent."""
    is_agent = talk.run.tools[done.name].agent is not None
    if done.timed_out:
        written = talk.options.timeouts[done.name][0]
        after = f"{written:g} seconds" if talk.python else f"{written:g}ms"
        return Done(f"Tool '{done.name}' timed out after {after}.")
    if not (done.raised or (is_agent and done.is_error)):
        return Done(output_of(done, talk.python))
    if done.name not in talk.options.throwing:
        return Done(FAILED)
    text = str(done.output) if is_agent else f"Error: {done.output}"
    if talk.python:
        return Done(None, ("UserError", f"Error running tool {done.name}: {done.output}", "tool_error"))
    return Done(None, ("ToolCallError", f"Failed to run function tools: {text}", "tool_error"))


def hand_over(talk: Talk, done: Work) -> None:
    """The first handoff wins. JavaScript drops the others from the history, Python answers them."""
    run, names = talk.run, handoff_names(talk)
    first, *others = done.handoffs
    target = names[first.name]
    results = [ToolResult(call.id, IGNORED) for call in others] if talk.python else []
    assistant = f'{{"assistant": "{target}"}}' if talk.python else f'{{"assistant":"{target}"}}'
    run.answer_with([*results, ToolResult(first.id, assistant)])
    if not talk.python:
        drop_calls(talk, {call.id for call in others})
    run.hand_over(run.setup.agents[target])
    talk.handed_over = True


def drop_calls(talk: Talk, ids: set[str]) -> None:
    """Take calls out of the reply that was appended last."""
    history = talk.run.history
    for at in range(len(history) - 1, -1, -1):
        if history[at].role == "assistant":
            kept = tuple(b for b in history[at].content if not (isinstance(b, ToolCall) and b.id in ids))
            history[at] = Message("assistant", kept)
            return
