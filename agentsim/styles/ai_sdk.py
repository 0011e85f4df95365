"""The Vercel AI SDK: generateText, streamText, ToolLoopAgent.generate and ToolLoopAgent.stream are one loop.

Measured on ai 7.0.143 with @ai-sdk/anthropic 4.0.82 and @ai-sdk/openai 4.0.118. In the SDK's own order of checks:

    (approvals that were answered: run what was approved, before any request; no step)
    steps = []
    loop:
      prepareStep                                       # before every step, the first too
      reply = the model, up to 3 requests for each step
      toolChoice required and no call: throw
      a call of an unknown tool, with arguments that are no JSON or don't fit: (repairToolCall) invalid
      outputs = an error for every invalid call, whatever the finish reason
      finish reason "tool-calls" or "stop": outputs += a run of every valid call that has an implementation and
        needs no approval, all together
      steps.push(step)                                  # the only counter
      go on only if every client call has its output (or a rule said no), there is a client call or a pending
        provider call, and no stop condition is true    # asked here, last: isStepCount(n) is steps.length === n
    return the last step's text and finish reason       # never throws for a cap

On ai 7.0.173 all rows were run again: one thing differs, and the styles `…@7.0.173` of the streaming entry points have it.

A stream that breaks off is a step with what had arrived: an error event makes an error part, a clean end makes none.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import Reply, ToolCall, ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import Raised
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, arrived, see
from agentsim.styles._ai_sdk_calls import Call
from agentsim.styles._ai_sdk_claims import CORE_CLAIMS
from agentsim.styles._ai_sdk_options import AGENT, CORE, reader
from agentsim.styles._ai_sdk_session import Session, thrown
from agentsim.styles._ai_sdk_wire import (
    assistant,
    denied,
    error_output,
    finish_reason,
    in_call_order,
    unfinished_reason,
)

__all__ = ["STYLES", "finish_reason", "loop"]

SDK = "ai 7.0.143, @ai-sdk/anthropic 4.0.82, @ai-sdk/openai 4.0.118"
NEWER = "ai 7.0.173, @ai-sdk/anthropic 4.0.105, @ai-sdk/openai 4.0.118"
RUNS_TOOLS = ("tool-calls", "stop")
WIRES = (ANTHROPIC, RESPONSES, CHAT)


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One prompt: a call of the SDK, and one more for each time that approvals are answered."""
    session = Session(run, loop)
    outcome = yield from steps(session)
    while True:
        session.keep(outcome)
        waiting, meant = session.waiting, session.meant
        answers = run.next_answers([call.seen for call in waiting]) if waiting else None
        if answers is None or (answers and all(answer.kind == "edit" for answer in answers)):
            return outcome  # nobody answers, or with other arguments, which can't be said here
        run.total, run.count = run.total + run.count, 0
        session = Session(run, loop)
        yield from session.resume(waiting, answers, meant)
        outcome = yield from steps(session)


def newer_loop(run: Run) -> Generator[Action, Event, Outcome]:
    """The loop of 7.0.173: the same, but a Claude stream without an end is "interrupted" too."""
    run.memory["unfinished"] = "interrupted"
    return (yield from loop(run))


def steps(session: Session) -> Generator[Action, Event, Outcome]:
    """The loop itself."""
    run = session.run
    while True:
        try:
            yield from session.prepare(kept=False)
        except Raised as error:
            return failed(session, error.type, error.message, "stop_condition")
        if missing := session.unanswered():
            return failed(session, "AI_MissingToolResultsError", missing, "dropped_calls")
        if session.given_up is not None:
            return run.threw(*session.given_up)
        reply = yield from run.call(session.retry, deadline=session.deadline)
        if isinstance(reply, Failed):
            if not reply.fault.in_stream:
                return not_answered(session, reply)
            if reply.fault.disconnect == "reset":
                return run.threw("AI_APICallError", "Failed to process successful response", "broken_stream")
            unfinished = run.memory.get("unfinished", unfinished_reason(run.wire))
            broken, finish = True, unfinished if reply.fault.disconnect else "error"
            seen = broken_off(session, reply.fault)
            if run.wire == ANTHROPIC and finish != "error" and not arrived(reply.fault)[0].blocks:
                text = "No output generated. The model stream ended without a finish chunk."
                return run.threw("AI_NoOutputGeneratedError", text, "broken_stream")
        else:
            broken, seen, finish = False, reply, finish_reason(reply)
        if session.unreadable(seen):
            return run.threw("AI_APICallError", "Invalid JSON response", "bad_call")
        if session.choice_violated(seen):
            return choice_violated(session, seen)
        calls = yield from session.accept(seen)
        results = yield from outputs(session, calls, finish)
        if run.streamed and session.given_up is not None:
            return run.threw(*session.given_up)  # a stream ends at once; without one, tools are waited for
        if not run.streamed and (lost := session.lost_result(seen)):
            return run.threw("Error", f"Tool call {lost} not found.", "bad_call")
        session.took(seen, calls)
        session.note_pending(seen)
        session.say(assistant(seen, calls if run.streamed else resent(calls)), in_call_order(calls, results))
        yield from session.step_ended()
        if len(results) != len(calls) or not (calls or session.pending):
            return end(session, seen, finish, why(session, calls, results, finish, broken), len(results) < len(calls))
        try:
            stopped = yield from stop(session)
        except Raised as error:
            return run.threw(error.type, error.message, "stop_condition")
        if stopped:
            return end(session, seen, finish, stopped)


def outputs(session: Session, calls: list[Call], finish: str) -> Generator[Action, Event, list[ToolResult]]:
    """An output for every call that gets one; approvals are asked for whatever the finish reason."""
    streamed, held = session.run.streamed, set[str]()
    valid = [call for call in calls if call.error is None]
    needs = {id(call): session.approval(call) for call in valid}
    asked = [call for call in valid if needs[id(call)] == "user-approval"]
    refused = [call for call in valid if needs[id(call)] == "denied"]
    if not streamed:  # what is asked and refused is kept by the call's id there, so all calls of that id share it
        held = {call.id for call in (*asked, *refused)}
        asked, refused = one_of_each_id(asked), one_of_each_id(refused)
    session.waiting = asked
    session.meant = {call.id: call for call in (calls if streamed else resent(calls))}
    results = [error_output(session.run.wire, call.id, call.error) for call in calls if call.error is not None]
    results += [denied(call.id) for call in refused]
    if finish in RUNS_TOOLS:
        free = [call for call in valid if needs[id(call)] is None and call.id not in held]
        results += yield from session.use([call for call in free if not session.is_client(call)])
    return results


def resent(calls: Sequence[Call]) -> list[Call]:
    """The calls as they are sent back without streaming: those that share an id are all the first one."""
    first: dict[str, Call] = {}
    return [first.setdefault(call.id, call) for call in calls]


def one_of_each_id(calls: Sequence[Call]) -> list[Call]:
    """The calls, the last one for each id."""
    return list({call.id: call for call in calls}.values())


def stop(session: Session) -> Generator[Action, Event, str | None]:
    """Ask every stop condition, all at once; the contract's `ended` if one is true."""
    own = [condition.function.seconds for condition, _ in session.conditions if condition.function is not None]
    yield from session.run.wait(max(own, default=0.0))
    said = [(condition, bool(ask(session.steps))) for condition, ask in session.conditions]
    if any(yes and condition.count is None for condition, yes in said):
        return "stop_condition"
    return "limit" if session.at_limit() or any(yes for _, yes in said) else None


def why(session: Session, calls: list[Call], results: list[ToolResult], finish: str, broken: bool) -> str | None:
    """The contract's `ended` of a run that no condition stopped; None: the last reply's fate."""
    if session.waiting:
        return "approval"
    if finish in RUNS_TOOLS and any(call.error is None and session.is_client(call) for call in calls):
        return "handed_back"
    return "broken_stream" if broken else None


def end(session: Session, seen: Seen, finish: str, ended: str | None, dropped: bool = False) -> Outcome:
    """The SDK returns the last step; where structured output was asked for, its text has to be one."""
    run, text, count = session.run, session.text, int(session.run.count)
    if session.error is not None:
        return run.threw(*session.error, ended, finish=finish, text=text, reported=count, dropped=dropped)
    if run.setup.output is not None and (finish == "stop" or (finish != "tool-calls" and text)):
        wrong = unfit(run.setup.output, text)
        if wrong is not None:
            shown: dict[str, Any] = {"finish": finish, "text": text, "reported": count} if run.streamed else {}
            return run.threw("AI_NoObjectGeneratedError", wrong, ended, dropped=dropped, **shown)
    return run.returned(text, finish, done=finish == "stop", ended=ended, reported=count, dropped=dropped)


def unfit(check: Any, text: str) -> str | None:
    """What the SDK says of a text that is not the object that was asked for."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "No object generated: could not parse the response."
    return None if check(value) is None else "No object generated: response did not match schema."


def not_answered(session: Session, failure: Failed) -> Outcome:
    """A request that got no reply: generate throws and loses the steps; a stream keeps those that are done."""
    if failure.aborted:
        return session.run.threw("AbortError", "This operation was aborted", "aborted")
    if failure.timed_out:
        return session.run.threw("TimeoutError", "The operation was aborted due to timeout", "timeout")
    return failed(session, *thrown(failure, session.options.retries), "http_error")


def choice_violated(session: Session, seen: Seen) -> Outcome:
    """A call was required and none came: generate throws, a stream makes an error of the step."""
    text = "Model response did not contain a tool call even though tool choice was required."
    if not session.run.streamed:
        return session.run.threw("AI_ToolChoiceViolationError", text)
    session.took(seen, ())
    if not session.strict:
        session.say(assistant(seen, ()), ())  # the caller of a stream gets the reply all the same
    name, count = "AI_ToolChoiceViolationError", int(session.run.count)
    return session.run.threw(name, text, finish="error", text=session.text, reported=count)


def failed(session: Session, name: str, message: str, ended: str | None) -> Outcome:
    """A step failed: generate throws and loses the steps, a stream emits an error and keeps those that are done."""
    if not (session.run.streamed and session.steps):
        return session.run.threw(name, message, ended)
    count = int(session.run.count)
    return session.run.threw(name, message, ended, finish="other", text=session.text, reported=count)


def broken_off(session: Session, fault: Fault) -> Seen:
    """What had arrived of a stream; only the Chat package hands on a call that is not whole."""
    seen, unfinished = session.run.partly(fault)
    if fault.disconnect is None and session.error is None:
        session.error = ("AI_StreamProviderError", fault.message)
    if unfinished and session.run.wire != CHAT and isinstance(seen.reply.blocks[-1], ToolCall):
        session.run.last = seen = see(Reply(seen.reply.blocks[:-1], None), seen.wire, seen.streamed)
    return seen


def _style(name: str, default: float, streams: bool, options: dict[str, str]) -> Style:
    return Style(
        name=f"ai-sdk/{name}",
        sdk=SDK,
        unit="step",
        knob="stopWhen: isStepCount(n)",
        default=default,
        loop=loop,
        checks="after the step's tools ran, and only where the loop would go on",
        at_limit='returns the last step; finishReason "tool-calls" is the only sign',
        signal='finishReason == "stop"',
        wires=WIRES,
        streams=streams,
        read_limit=read_limit,
        options=options,
        configure=reader(options, "stream" if streams else "generate"),
        claims=CORE_CLAIMS,
    )


def read_limit(value: Any) -> float | None:
    """`isStepCount(n)` compares with `===`: only a whole number of at least 1 ever fires."""
    return value if value is not None and value >= 1 and value == int(value) else None


STYLES = (
    _style("generateText", 1, streams=False, options=CORE),
    _style("streamText", 1, streams=True, options=CORE),
    _style("ToolLoopAgent.generate", 20, streams=False, options=AGENT),
    _style("ToolLoopAgent.stream", 20, streams=True, options=AGENT),
    replace(_style("streamText@7.0.173", 1, streams=True, options=CORE), sdk=NEWER, loop=newer_loop),
    replace(_style("ToolLoopAgent.stream@7.0.173", 20, streams=True, options=AGENT), sdk=NEWER, loop=newer_loop),
)
