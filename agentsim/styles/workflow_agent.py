"""@ai-sdk/workflow's WorkflowAgent: the AI SDK's loop written again, with no default cap.

Measured on @ai-sdk/workflow 2.0.43 (with ai 7.0.112). `generate()` throws "Not implemented" in this version. `stream()`:

    (approvals that were answered: run what was approved, one after another)
    loop:
      prepareStep                                       # what it returns is kept for later steps
      reply = stream the model, up to 3 requests for each step
      an error event in the stream: end; stream() resolves, with the error in its result
      finish reason "tool-calls" or "stop", and there are calls or provider results:
        a call without an implementation, or that needs approval: run the others, return
        run all valid calls together; an invalid one is answered with an error
        done = some stop condition is truthy (asked up to the first, not awaited),
          or there is no client call and no pending provider call
      else: done                                        # a cut reply always ends, readable or not

Its assistant messages have no thinking, valid calls in place and invalid ones at the end; where ids repeat, each result is the first
one's, and an invalid one wins.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import (
    Block,
    Message,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import Raised
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, Seen
from agentsim.styles._ai_sdk_calls import Call
from agentsim.styles._ai_sdk_claims import WORKFLOW_CLAIMS
from agentsim.styles._ai_sdk_options import WORKFLOW, reader
from agentsim.styles._ai_sdk_session import Session, thrown
from agentsim.styles._ai_sdk_wire import error_output, finish_reason, on_wire, unfinished_reason, workflow_arguments
from agentsim.styles.ai_sdk import RUNS_TOOLS, WIRES, broken_off, choice_violated, read_limit, unfit
from agentsim.styles.ai_sdk import loop as agent_loop

SDK = "@ai-sdk/workflow 2.0.43, ai 7.0.112"


def not_implemented(run: Run) -> Generator[Action, Event, Outcome]:
    """`generate()` of 2.0.43 throws whatever is set."""
    return run.threw("Error", "Not implemented", "not_implemented")
    yield


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One prompt: a call of stream(), and one more for each time that approvals are answered."""
    session = Session(run, agent_loop, strict=True)
    outcome = yield from steps(session)
    while True:
        session.keep(outcome)
        waiting, meant = session.waiting, session.meant
        answers = run.next_answers([call.seen for call in waiting]) if waiting else None
        if answers is None or (answers and all(answer.kind == "edit" for answer in answers)):
            return outcome
        run.total, run.count = run.total + run.count, 0
        session = Session(run, agent_loop, strict=True)
        yield from session.resume(waiting, answers, meant, one_by_one=True)
        outcome = yield from steps(session)


def steps(session: Session) -> Generator[Action, Event, Outcome]:
    """The loop itself."""
    run = session.run
    while True:
        try:
            yield from session.prepare(kept=True)
        except Raised as error:
            return run.threw(error.type, error.message, "stop_condition")
        if missing := session.unanswered():
            return run.threw("AI_MissingToolResultsError", missing, "dropped_calls")
        reply = yield from run.call(session.retry)
        if isinstance(reply, Failed):
            if not reply.fault.in_stream:
                return not_answered(session, reply)
            if reply.fault.disconnect == "reset":
                return run.threw("AI_APICallError", "Failed to process successful response", "broken_stream")
            seen = broken_off(session, reply.fault)
            return broken(session, seen)
        seen, finish = reply, finish_reason(reply)
        if finish == "interrupted":
            return run.threw("Error", "Unexpected finish reason: interrupted", dropped=bool(seen.calls))
        if session.choice_violated(seen):
            return choice_violated(session, seen)
        calls = yield from session.accept(seen)
        session.note_pending(seen)
        session.took(seen, calls)
        session.finish = finish
        if finish not in RUNS_TOOLS:
            return end(session, finish, None, dropped=bool(calls), bad=any(call.error is not None for call in calls))
        session.waiting = [c for c in calls if c.error is None and session.approval(c) is not None]
        session.meant = {call.id: call for call in calls}
        paused = [c for c in calls if c.error is None and (session.is_client(c) or c in session.waiting)]
        runs = yield from session.use([c for c in calls if c.error is None and c not in paused])
        results = answers_of(session, calls, runs) if not paused else [*runs, *invalid_results(session, calls)]
        session.say(assistant(seen, calls, run.server_tools), results)
        yield from session.step_ended()
        if run.aborted:
            return aborted(session)
        if paused:
            return end(session, finish, "approval" if session.waiting else "handed_back", whole=False)
        processed = bool(calls) or any(isinstance(b, ServerCall | ServerResult) for b in seen.reply.blocks)
        try:
            stopped = stop(session) if processed else None
        except Raised as error:
            return run.threw(error.type, error.message, "stop_condition")
        if not calls and not session.pending:
            return end(session, finish, None)
        if stopped or not processed:
            return end(session, finish, stopped)


def answers_of(session: Session, calls: Sequence[Call], runs: Sequence[ToolResult]) -> list[ToolResult]:
    """A result for each call, found by its id: the first invalid one's, else the first run's."""
    found: dict[str, ToolResult] = {}
    for result in [*invalid_results(session, calls), *runs]:
        found.setdefault(result.call_id, result)
    return [found[call.id] for call in calls if call.id in found]


def invalid_results(session: Session, calls: Sequence[Call]) -> list[ToolResult]:
    """The error results of the invalid calls."""
    return [error_output(session.run.wire, call.id, call.error) for call in calls if call.error is not None]


def assistant(seen: Seen, calls: Sequence[Call], declared: Collection[str]) -> Message | None:
    """The reply as it is sent back: no thinking, valid calls in place, what is invalid at the end.

    A provider tool's call that was not `declared` is invalid as well, so on Claude's wire its result comes before it.
    """
    by_block, parts, rest = iter(calls), list[Block](), list[Block]()
    for block in seen.reply.blocks:
        if isinstance(block, Text | Refusal):
            parts += [Text(block.text)] if block.text else []
        elif isinstance(block, ToolCall):
            call = next(by_block)
            written = ToolCall(call.id, call.name, workflow_arguments(call, seen.wire))
            (parts if call.error is None else rest).append(written)
        elif isinstance(block, ServerCall) and seen.wire == ANTHROPIC and block.name not in declared:
            rest.append(block)
        elif not isinstance(block, Thinking | RedactedThinking):
            parts.append(block)
    kept = {part.id for part in parts if isinstance(part, ToolCall)}
    return on_wire([*parts, *(part for part in rest if getattr(part, "id", "") not in kept)], seen.wire)


def stop(session: Session) -> str | None:
    """Ask the stop conditions up to the first true one; a promise is true, whatever it will resolve to."""
    for condition, ask in session.conditions:
        own = condition.function
        if (own is not None and (own.is_async or own.seconds)) or ask(session.steps):
            return "limit" if condition.count is not None else "stop_condition"
    return "limit" if session.at_limit() else None


def end(
    session: Session, finish: str, ended: str | None, *, dropped: bool = False, bad: bool = False, whole: bool = True
) -> Outcome:
    """stream() resolves with the last step; it rejects where any text is not the output that was asked for."""
    run, check = session.run, session.run.setup.output
    wrong = unfit(check, session.text) if check is not None and whole and session.text else None
    if wrong is not None:
        return run.threw("AI_NoObjectGeneratedError", wrong, ended, dropped=dropped, bad_call=bad)
    done, count = finish == "stop", int(run.count)
    return run.returned(session.text, finish, done=done, ended=ended, reported=count, dropped=dropped, bad_call=bad)


def aborted(session: Session) -> Outcome:
    """The caller gave up: stream() resolves with the steps that are done."""
    finish = session.finish
    text = session.text if session.steps else None
    return session.run.returned(text, finish, done=finish == "stop", ended="aborted", reported=int(session.run.count))


def broken(session: Session, seen: Seen) -> Outcome:
    """A stream that broke off: an error event resolves with the error, a clean end is a finish reason it does not know."""
    run = session.run
    if session.error is None and run.wire != ANTHROPIC:
        return run.threw("Error", f"Unexpected finish reason: {unfinished_reason(run.wire)}", "broken_stream")
    session.took(seen, ())
    count = int(run.count)
    if session.error is None:
        return run.returned(session.text, "other", done=False, ended="broken_stream", reported=count)
    finish = "other" if run.wire == ANTHROPIC else "error"
    return run.threw(*session.error, "broken_stream", finish=finish, text=session.text, reported=count)


def not_answered(session: Session, failure: Failed) -> Outcome:
    """A request that got no reply: stream() rejects, but not after an abort."""
    if failure.aborted:
        return aborted(session)
    return session.run.threw(*thrown(failure, session.options.retries), "http_error")


STYLES = (
    Style(
        name="ai-sdk/WorkflowAgent.generate",
        sdk=SDK,
        unit="step",
        knob="stopWhen: isStepCount(n)",
        default=None,
        loop=not_implemented,
        checks="never: this version throws whatever is set",
        at_limit='throws Error "Not implemented"',
        signal="none",
        wires=WIRES,
        streams=False,
        read_limit=read_limit,
        options=WORKFLOW,
        configure=reader(WORKFLOW, "stream"),
        claims=WORKFLOW_CLAIMS,
    ),
    Style(
        name="ai-sdk/WorkflowAgent.stream",
        sdk=SDK,
        unit="step",
        knob="stopWhen: isStepCount(n)",
        default=None,
        loop=loop,
        checks="after the step's tools ran, and only where the loop would go on",
        at_limit='returns the last step; finishReason "tool-calls" is the only sign',
        signal='finishReason == "stop"',
        wires=WIRES,
        streams=True,
        read_limit=read_limit,
        options=WORKFLOW,
        configure=reader(WORKFLOW, "stream"),
        claims=WORKFLOW_CLAIMS,
    ),
)
