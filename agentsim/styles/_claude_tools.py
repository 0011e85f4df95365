"""The tools of one reply in the Claude Agent SDK: what runs, side by side or in order, and what goes back."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentsim.core.actions import Action, Given, ToRun
from agentsim.core.coerce import from_text, strip_unknown
from agentsim.core.events import Event, ToolRun
from agentsim.core.messages import Message, Part, RedactedThinking, Text, Thinking, ToolCall, ToolResult
from agentsim.core.run import Run
from agentsim.core.wires import Seen, SeenCall
from agentsim.styles._claude_agents import run_agent
from agentsim.styles._claude_permission import Verdict, ask_person, judge, refuse
from agentsim.styles._claude_talk import OUTPUT, SEARCH, Talk

INTERRUPTED = "Interrupted: the response was stopped by a safety classifier."
MISSING = "[Tool result missing due to internal error]"
ACCEPTED = "Structured output provided successfully"
NO_CONTENT = "(no content)"
NOTHING_FOUND = "No matching deferred tools found"


@dataclass(slots=True)
class Round:
    """How the tools of a reply ended.

    Args:
        aborted: the caller gave up meanwhile.
        interrupted: canUseTool denied with `interrupt`.
        waits: nobody answers who was asked; `deferred`: a call is handed back.
        stopped: a hook ends the run.
        accepted: of StructuredOutput.
    """

    aborted: bool = False
    interrupted: bool = False
    waits: bool = False
    deferred: bool = False
    stopped: bool = False
    accepted: bool = False


def tool_round(talk: Talk, seen: Seen, *, refused: bool = False) -> Generator[Action, Event, Round]:
    """Tools start as their blocks arrive: read-only ones side by side, the others in order; results one message each.

    Args:
        refused: a safety classifier stopped the reply; what has started runs, its results are not sent.
    """
    run, done = talk.run, Round()
    results: list[ToolResult | None] = [early(talk, call, done) for call in seen.calls]
    verdicts = decide(talk, seen.calls, results, done)
    done.waits = not ask_person(talk, seen.calls, verdicts)
    yield from run.wait(time_of_asking(talk, seen.calls, verdicts))
    for at, (call, verdict) in enumerate(zip(seen.calls, verdicts, strict=True)):
        if results[at] is None:
            results[at] = late(talk, call, verdict)
    due = [
        at for at, verdict in enumerate(verdicts) if results[at] is None and not verdict.asks and not verdict.deferred
    ]
    if refused:  # those that run one after the other have not started when the classifier stops the reply
        due = due[: (read_only_batches([reads(talk, seen.calls[at]) for at in due]) or (0,))[0]]
    runs = yield from run_all(talk, [seen.calls[at] for at in due], [verdicts[at] for at in due])
    done.aborted = run.aborted
    for at, ran in zip(due, runs, strict=False):
        results[at] = render(ran)
    fresh = send_back(talk, seen)
    answer(talk, seen, results, fresh, refused=refused)
    return done


def decide(talk: Talk, calls: Sequence[SeenCall], results: list[ToolResult | None], done: Round) -> list[Verdict]:
    """A verdict for each call. After a denial that interrupts, no further call starts."""
    verdicts: list[Verdict] = []
    for at, call in enumerate(calls):
        verdict = Verdict(call.arguments)
        if done.interrupted:
            results[at] = refuse(call, MISSING)
        elif results[at] is None and call.name != SEARCH:
            verdict = judge(talk, call)
        done.interrupted |= verdict.interrupts
        done.stopped |= verdict.stops
        done.deferred |= verdict.deferred
        verdicts.append(verdict)
    return verdicts


def early(talk: Talk, call: SeenCall, done: Round) -> ToolResult | None:
    """The result of a call that no hook hears of: an unknown tool, unreadable arguments, the structured output."""
    if call.name == OUTPUT and talk.structured is not None:
        return take_output(talk, call, done)
    if call.name not in talk.known() and not (call.name == SEARCH and talk.options.tool_search):
        return refuse(call, f"<tool_use_error>Error: No such tool available: {call.name}</tool_use_error>")
    if call.broken and call.raw.strip():
        return refuse(
            call, "<tool_use_error>InputValidationError: the input could not be parsed as JSON</tool_use_error>"
        )
    return None


def late(talk: Talk, call: SeenCall, verdict: Verdict) -> ToolResult | None:
    """The result of a call that is refused, or whose input the tool's server does not take."""
    if verdict.refused is not None:
        return refuse(call, verdict.refused)
    if call.name == SEARCH:
        return None
    spec = talk.run.tools[call.name]
    verdict.input = from_text(spec.schema, {} if verdict.input is None and call.broken else verdict.input)
    problem = spec.problem(verdict.input)
    return None if problem is None else refuse(call, f"Input validation error: {problem}")


def take_output(talk: Talk, call: SeenCall, done: Round) -> ToolResult:
    """A call of StructuredOutput: accepted once it fits."""
    assert talk.structured is not None
    problem = "not JSON" if call.broken else talk.structured(call.arguments)
    if problem is not None:
        talk.bad_outputs += 1
        talk.bad_output = f"Output does not match required schema: {problem}"
        return refuse(call, talk.bad_output)
    talk.output, done.accepted = call.arguments, True
    return ToolResult(call.id, ACCEPTED)


def time_of_asking(talk: Talk, calls: Sequence[SeenCall], verdicts: Sequence[Verdict]) -> float:
    """Seconds that the user's functions take: at once for calls that run side by side."""
    seconds, at = 0.0, 0
    for size in read_only_batches([reads(talk, call) for call in calls]):
        seconds += max(verdict.seconds for verdict in verdicts[at : at + size])
        at += size
    return seconds


# -- running --------------------------------------------------------------------------------------------------------


def run_all(
    talk: Talk, calls: Sequence[SeenCall], verdicts: Sequence[Verdict]
) -> Generator[Action, Event, tuple[ToolRun, ...]]:
    """Run calls; those of agents first, each in a loop of its own."""
    run, begin = talk.run, talk.run.ledger.clock
    agents = [at for at, call in enumerate(calls) if call.name != SEARCH and run.tools[call.name].agent is not None]
    branches = [partial(run_agent, talk, calls[at], verdicts[at].input) for at in agents]
    ran = yield from run.side_by_side(branches)
    if run.aborted:
        return ()
    yield from run.wait(begin - run.ledger.clock)
    given: dict[int, Given] = dict(zip(agents, ran, strict=True))
    inputs = [
        ToRun(call.id, call.name, _input(talk, call, verdict), given.get(at) or search(talk, call))
        for at, (call, verdict) in enumerate(zip(calls, verdicts, strict=True))
    ]
    batches = read_only_batches([reads(talk, call) for call in calls])
    return (yield from run.use(inputs, batches=batches, eager=True))


def _input(talk: Talk, call: SeenCall, verdict: Verdict) -> Any:
    if call.name == SEARCH or talk.entry.python:
        return verdict.input
    return strip_unknown(talk.run.tools[call.name].schema, verdict.input)  # zod drops keys that it does not know


def search(talk: Talk, call: SeenCall) -> Given | None:
    """What ToolSearch finds: tools by name ("select:a,b"), or whose name or description has a word of the query."""
    if call.name != SEARCH:
        return None
    arguments = call.arguments if call.is_object else {}
    query = str(arguments.get("query", ""))
    if query.startswith("select:"):
        names = [name.strip() for name in query.removeprefix("select:").split(",")]
        found = [name for name in talk.known() if name in names]
    else:
        words = query.lower().split()
        found = [
            name for name, spec in talk.known().items() if any(w in f"{name} {spec.description}".lower() for w in words)
        ]
    talk.shared.found += [name for name in found if name not in talk.shared.found]
    references = [{"type": "tool_reference", "tool_name": name} for name in found]
    return Given(references or NOTHING_FOUND)


def reads(talk: Talk, call: SeenCall) -> bool:
    """Whether the call may run beside its neighbours: a tool with readOnlyHint, an agent, a search."""
    spec = talk.run.tools.get(call.name)
    return call.name == SEARCH if spec is None else spec.read_only or spec.agent is not None


def read_only_batches(read_only: Sequence[bool]) -> tuple[int, ...]:
    """Sizes of the batches: neighbours that only read are one, every other call is one of its own."""
    batches: list[int] = []
    before = False
    for reads_only in read_only:
        if reads_only and before:
            batches[-1] += 1
        else:
            batches.append(1)
        before = reads_only
    return tuple(batches)


def render(done: ToolRun) -> ToolResult:
    """A tool's output as it is sent."""
    output = done.output if isinstance(done.output, str) else json.dumps(done.output, separators=(",", ":"))
    return ToolResult(done.call_id, output, is_error=done.is_error)


# -- what goes back -------------------------------------------------------------------------------------------------


def answer(talk: Talk, seen: Seen, results: Sequence[ToolResult | None], fresh: set[str], *, refused: bool) -> None:
    """Send the results, one user message each; of one id only the first, and none where the history had it before.

    A call without a result gets an error for it.

    Args:
        fresh: ids of the calls that were sent back.
    """
    given = [result or refuse(call, MISSING) for call, result in zip(seen.calls, results, strict=True)]
    if refused:
        given = [ToolResult(result.call_id, INTERRUPTED, is_error=True) for result in given]
    talk.users += len(given)
    sent = {result.call_id: result for result in reversed(given) if result.call_id in fresh}
    if sent:
        talk.run.answer_with(list(sent.values())[::-1])
    else:
        talk.run.say(NO_CONTENT)


def send_back(talk: Talk, seen: Seen) -> set[str]:
    """The reply as it is sent back: calls last, only the first of an id, no blank text, no open server call, no lone thinking.

    Returns:
        The ids of its calls.
    """
    calls: dict[str, Part] = {}
    others: list[Part] = []
    open_calls = seen.open_server_calls()
    for block in seen.reply.blocks:
        if isinstance(block, ToolCall):
            if block.id not in talk.ids:
                calls.setdefault(block.id, block)
        elif block not in open_calls and not (isinstance(block, Text) and not block.text.strip()):
            others.append(block)
    if not calls and all(isinstance(block, Thinking | RedactedThinking) for block in others):
        others = [Text(NO_CONTENT)] if seen.calls else []
    if calls or others:
        talk.run.history.append(Message("assistant", (*others, *calls.values())))
    talk.ids.update(calls)
    return set(calls)


def answer_all(run: Run) -> None:
    """Calls in the history that nobody answered get an error for a result, so that the API takes it."""
    answered = {part.call_id for message in run.history for part in message.content if isinstance(part, ToolResult)}
    for at in range(len(run.history) - 1, -1, -1):
        lost = [part.id for part in run.history[at].content if isinstance(part, ToolCall) and part.id not in answered]
        if lost:
            results = Message("user", tuple([ToolResult(call_id, MISSING, is_error=True) for call_id in lost]))
            run.rewrite(at + 1, [results, *run.history[at + 1 :]])
