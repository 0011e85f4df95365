"""Mastra's Agent.generate and Agent.stream: a step is one model call with its tools, whatever the finish reason.

Measured on @mastra/core 1.71.0 with @ai-sdk/anthropic 3.0.140 and @ai-sdk/openai 3.0.141:

    conds = maxSteps truthy ? [steps.length === maxSteps, ...stopWhen] : (stopWhen ?? [steps.length === 5])
    loop:
      reply = model(...)                                     # 1 HTTP request, no retry by default
      no reply, or half of one: an error; the step has no calls to go on for, but what is below is asked all the same
      reason "other" and no content at all: error
      run all its client calls (at most 10 at once), whatever the finish reason; one that needs an approval: suspend
      a call ended in an error (it threw, unknown tool): go on, and the reason is "tool-calls"
      a call waits for the client: don't go on
      else go on = (has calls and reason not in {error, length, content-filter}) or reason not in {stop, error, length, content-filter}
      not go on and isTaskComplete: go on = not complete     # feedback as ASSISTANT text
      steps.push(...)
      stop = go on and any(conds)                            # all are asked, and only while it would go on
      onIterationComplete: feedback as ASSISTANT text while it goes on; `continue: false` stops, with feedback one
        iteration later; `continue: true` restarts what is finished, up to maxSteps
      if stop or not go on: return; an error on the way: generate throws the first, stream tells of the last

Approvals are answered by a call of its own for each answer. It keeps the steps, asks for approvals again, and begins a new count;
of the call's other options nothing is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.run import Failed, Run, fault_ending
from agentsim.core.scripted import Raised
from agentsim.core.style import Style
from agentsim.core.tools import Decision
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen
from agentsim.styles._mastra_claims import CLAIMS
from agentsim.styles._mastra_options import OPTIONS, configure
from agentsim.styles._mastra_replies import broke_off, finish_reason, refused, unfinished, whole_blocks
from agentsim.styles._mastra_session import Error, Session

ENDS = frozenset({"error", "length", "content-filter"})
BAD_TIMEOUT = (
    "`modelSettings.timeout` must be an object with optional `totalMs`, `stepMs`, and `firstChunkMs` properties."
)
NOT_RESOLVED = "promise 'suspendPayload' was not resolved or rejected when stream finished"


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One prompt: a call of the SDK, and one more for each answer of a person's."""
    session = Session(run)
    if session.options.bad_timeout:
        return session.rejected("Error", BAD_TIMEOUT, "timeout")
    try:
        outcome = yield from steps(session)
        while session.waiting:
            said = run.next_answers([call.seen for call in session.waiting])
            if said is None:
                break
            took = False
            for decision in said:
                if not settles(session, decision):
                    continue
                took, outcome = True, (yield from answered(session, decision))
                if outcome.returned == "error":
                    return outcome
            if not took and run.setup.approvals is None:
                break  # a tool's own answer will be the same next time
        if session.waiting:
            session.history.hide()
        return outcome
    except Raised as error:
        if run.streamed:
            session.history.forget()
            return Outcome("unbounded", "stopped")  # the stream neither fails nor ends
        return session.rejected(error.type, error.message, "stop_condition")


def settles(session: Session, decision: Decision) -> bool:
    """Whether a person's word is for a call that waits; other arguments can't be given."""
    named = decision.call_id is None or decision.call_id in [call.id for call in session.waiting]
    return bool(session.waiting) and named and decision.kind != "edit"


def answered(session: Session, decision: Decision) -> Generator[Action, Event, Outcome]:
    """approveToolCall or declineToolCall: the step's other calls run, and the loop goes on after it."""
    session.resume()
    anew = yield from session.answer(decision)
    if session.waiting:
        if anew or session.run.streamed:
            return suspended(session)
        return session.threw("Error", NOT_RESOLVED, "approval")
    assert session.run.last is not None
    outcome = yield from after_tools(session, session.run.last, "tool-calls", goes_on=True)
    return outcome or (yield from steps(session))


def steps(session: Session) -> Generator[Action, Event, Outcome]:
    """The loop itself."""
    run = session.run
    while True:
        reply = yield from run.call(session.retry, deadline=session.step_deadline())
        if isinstance(reply, Failed) and not reply.fault.in_stream:
            outcome = yield from not_answered(session, reply)
            if outcome is not None:
                return outcome
            continue
        broken = reply.fault if isinstance(reply, Failed) else None
        seen = run.partly(reply.fault)[0] if isinstance(reply, Failed) else reply
        finish = finish_reason(seen) if broken is None else unfinished(run, broken)
        session.took(seen)
        if wrong := refused(run, seen, finish):
            error = Error(*wrong, None if broken is None else "broken_stream")
            outcome = yield from failed_step(session, seen, error)
            if outcome is not None:
                return outcome
            continue
        if broken is not None:
            seen = whole_blocks(run, broken)
        calls = session.accept(seen)
        yield from session.execute(calls)
        if run.timed_out:
            return timed_out(session)
        if run.aborted:
            return aborted(session)
        if finish == "error" and broken is not None:
            outcome = yield from failed_step(session, seen, Error(*broke_off(run, broken), "broken_stream"))
            if outcome is not None:
                return outcome
            continue
        if session.waiting:
            return suspended(session)
        if session.failed and not session.client:
            finish, goes_on = "tool-calls", True
        else:
            pending = bool(calls) and finish not in ENDS
            goes_on = not session.client and finish is not None and (pending or finish not in ENDS | {"stop"})
        outcome = yield from after_tools(session, seen, finish, goes_on=goes_on, broken=broken is not None)
        if outcome is not None:
            return outcome


def failed_step(session: Session, seen: Seen | None, error: Error) -> Generator[Action, Event, Outcome | None]:
    """A step that ended in an error: checks and hooks are asked as after any other, and may make the loop go on."""
    session.errors.append(error)
    return (yield from after_tools(session, seen, "error", goes_on=False))


def after_tools(
    session: Session, seen: Seen | None, finish: str | None, *, goes_on: bool, broken: bool = False
) -> Generator[Action, Event, Outcome | None]:
    """The end of a step: what the caller gets, or None where the loop goes on."""
    if not goes_on and not session.client:
        goes_on = yield from session.task_incomplete()
    session.finish_step(seen)
    stop = (yield from session.stopped()) if goes_on else None
    goes_on, stop = yield from session.iteration_complete(goes_on, stop)
    session.history.write()
    if goes_on and stop is None:
        return None
    if goes_on:
        return ended(session, finish, stop)
    return ended(session, finish, "handed_back" if session.client else "broken_stream" if broken else None)


def ended(session: Session, finish: str | None, why: str | None) -> Outcome:
    """The SDK returns; where structured output was asked for, the text has to be one."""
    if session.errors:
        return session.threw_late(finish)
    check = session.run.setup.output
    if check is not None and finish in ("length", "content-filter"):
        text = f'Structured output was truncated because the model finished with reason "{finish}".'
        return session.threw("Error", text, why, failed_steps=0)
    if check is not None and finish == "stop" and session.text and (wrong := unfit(check, session.last_text)):
        return session.threw("Error", f"Structured output validation failed: - {wrong}", why, failed_steps=0)
    return session.returned(finish, why)


def unfit(check: Callable[[Any], str | None], text: str) -> str | None:
    """What is wrong with a text that has to be an object."""
    try:
        return check(json.loads(text))
    except (ValueError, RecursionError):
        return "root: Invalid input: expected object, received undefined"


# -- other ends -----------------------------------------------------------------------------------------------------


def suspended(session: Session) -> Outcome:
    """Somebody has to approve a call first; the step is not finished."""
    text = session.text if session.run.streamed else ""
    return session.run.returned(text, "suspended", done=False, ended="approval", reported=session.reported)


def aborted(session: Session) -> Outcome:
    """The caller gave up: the step is shown all the same."""
    session.history.end()
    reported = session.reported + 1
    return session.run.returned(session.text, "aborted", done=False, ended="aborted", reported=reported)


def timed_out(session: Session, which: str = "totalMs") -> Outcome:
    """`modelSettings.timeout` went off."""
    seconds = session.options.total if which == "totalMs" else session.options.step
    what = "Agent execution" if which == "totalMs" else "Model call"
    text = f"{what} timed out after {round((seconds or 0) * 1000)}ms (modelSettings.timeout.{which})"
    return session.rejected("MastraTimeoutError", text, "timeout")


def not_answered(session: Session, failure: Failed) -> Generator[Action, Event, Outcome | None]:
    """A request that got no reply."""
    if failure.timed_out:
        return timed_out(session, session.which_timeout())
    session.no_reply()
    if failure.aborted:
        return aborted(session)
    fault = failure.fault
    message = fault.message if fault.status is not None else f"Cannot connect to API: {lost(fault)}"
    return (yield from failed_step(session, None, Error("AI_APICallError", message, fault_ending(fault))))


def lost(fault: Fault) -> str:
    """How a connection that gave no headers went away."""
    if fault.disconnect == "refuse":
        return "connect ECONNREFUSED"
    return "read ECONNRESET" if fault.disconnect == "reset" else "other side closed"


def read_limit(value: Any) -> float | None:
    """0 is the default 5; `===` never fires for -1 or 1.5."""
    if not value:
        return 5
    return value if value >= 1 and value == int(value) else None


def _style(name: str, streams: bool) -> Style:
    return Style(
        name=f"mastra/{name}",
        sdk="@mastra/core 1.71.0, @ai-sdk/anthropic 3.0.140, @ai-sdk/openai 3.0.141",
        unit="step",
        knob="maxSteps",
        default=5,
        loop=loop,
        checks="after the step's tools ran, and only where the loop would go on",
        at_limit='returns; finishReason "tool-calls" is the only sign',
        signal='finishReason == "stop"',
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=streams,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
        claims=CLAIMS,
    )


STYLES = (_style("Agent.generate", streams=False), _style("Agent.stream", streams=True))
