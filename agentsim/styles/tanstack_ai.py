"""TanStack AI's chat(): iterations are model turns, and a strategy is asked after each, the final one too.

Measured on @tanstack/ai 0.58.0 with @tanstack/ai-anthropic 0.18.11 and @tanstack/ai-openai 0.23.1:

    strategy = agentLoopStrategy ?? maxIterations(5);  iterationCount = 0
    unanswered calls of the given messages are run first (no iteration)
    do:
      reply = adapter stream (the client library's 2 retries)
      RUN_ERROR from the adapter -> the run is over
      finish reason "tool_calls" and the reply has calls:
        run them ONE AFTER THE OTHER; every failure is a result;  phase = continue
        a client tool, or a call that a person has to approve (then free ones wait too): interrupt;  phase = wait
      else: phase = stop
      iterationCount += 1
      a = strategy(state);  b = onShouldContinue(state)          # both always called
    while a and b and phase == continue

A resume is a new call of chat() with new counters; it runs what was approved before any request. `tanstack-ai/chat@docs` is what the
documentation describes, which no measured version does: a cut call never runs but gets an error result, and the default also stops
on the finish reason `length`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import Message
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.scripted import Raised
from agentsim.core.style import Style
from agentsim.core.tools import Decision
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen
from agentsim.styles._tanstack_adapters import (
    RunError,
    Use,
    answer,
    ends_quietly,
    finish_of,
    resent,
    run_error,
    text_message,
    uses,
)
from agentsim.styles._tanstack_chat import Chat, unanswered
from agentsim.styles._tanstack_claims import CLAIMS
from agentsim.styles._tanstack_hooks import AbandonedByHook
from agentsim.styles._tanstack_options import OPTIONS, configure

RETRY = Retry(2)


def measured(run: Run) -> Generator[Action, Event, Outcome]:
    """chat() as it was measured."""
    return (yield from loop(run, documented=False))


def documented(run: Run) -> Generator[Action, Event, Outcome]:
    """chat() as its documentation describes it."""
    return (yield from loop(run, documented=True))


def loop(run: Run, documented: bool) -> Generator[Action, Event, Outcome]:
    """A call of chat(), and one more for each time that the open approvals are answered."""
    answers: list[tuple[Use, Decision]] = []
    while True:
        chat = Chat(run, documented, answers)
        try:
            outcome = yield from turns(chat)
        except AbandonedByHook:
            return returned(chat, "guardrail")
        except Raised as error:
            return run.threw(error.type, error.message, "stop_condition")
        waiting = chat.approvals if chat.options.stream else []
        said = run.next_answers([use.seen for use in waiting]) if waiting else None
        if said is None:
            return outcome
        run.total, run.count = run.total + run.count, 0
        answers = matched(waiting, said)
        if wrong := refused(chat, answers):
            return threw(Chat(run, documented), RunError(wrong, "approval"))


def turns(chat: Chat) -> Generator[Action, Event, Outcome]:
    """One call of chat()."""
    run = chat.run
    if pending := unanswered(run.history):
        phase = yield from chat.execute_given(pending)
        if phase != "continue":
            return stopped(chat, phase)
    while True:
        chat.hooks.begin_turn()
        seen, broken = yield from model_turn(chat)
        if seen is None:
            return (
                stopped(chat, "aborted") if broken is None else threw(chat, run_error(broken, run.wire, run.requests))
            )
        finish = None if broken and not ends_quietly(broken, run.wire) else finish_of(seen, documented=chat.documented)
        if isinstance(finish, RunError):
            return threw(chat, finish)
        calls = uses(seen, run.tools) if run.tools or run.server_tools else []
        if calls and finish in chat.goes_on:
            run.history.append(Message("assistant", resent(seen, calls)))
            chat.reason = finish
            phase = yield from chat.execute(calls) if finish == "tool_calls" else chat.refuse_cut(calls)
            chat.finish = finish
            if phase == "aborted":
                return stopped(chat, phase)
        else:
            chat.finish, chat.reason = finish or chat.finish, finish or chat.reason
            phase = chat.no_calls()
        run.count += 1
        no = yield from chat.stopped()
        if phase == "wait":
            return stopped(chat, phase)
        if phase == "stop":
            run.history += [Message("assistant", parts)] if (parts := answer(seen)) else []
            return returned(chat, "broken_stream" if broken else None, dropped=bool(seen.calls))
        if no:
            return returned(chat, no if no != "length" else None)
        chat.finish = "tool_calls"


def model_turn(chat: Chat) -> Generator[Action, Event, tuple[Seen | None, Fault | None]]:
    """The reply, or what of it had arrived when the stream ended, with that fault; no reply where the request failed."""
    run = chat.run
    reply = yield from run.call(RETRY)
    if not isinstance(reply, Failed):
        chat.show(text_message(reply))
        return reply, None
    if reply.aborted:
        return None, None
    fault = reply.fault
    if not fault.in_stream:
        return None, fault
    seen, _ = run.partly(fault)
    chat.show(text_message(seen))
    return (seen if fault.disconnect == "end" else None), fault


# -- resumes --------------------------------------------------------------------------------------------------------


def matched(waiting: Sequence[Use], said: Sequence[Decision]) -> list[tuple[Use, Decision]]:
    """The open calls that somebody answered; a word that names no call answers the first one left."""
    left, found = list(waiting), []
    for decision in said:
        use = next((use for use in left if decision.call_id in (None, use.id)), None)
        if use is not None:
            left.remove(use)
            found.append((use, decision))
    return found


def refused(chat: Chat, answers: Sequence[tuple[Use, Decision]]) -> str | None:
    """Why chat() refuses a resume: it answers some of what is open and not the rest, or edits to what does not fit."""
    answered = {use.id for use, _ in answers}
    open_ = [f"approval_{use.id}" for use in chat.approvals if use.id not in answered]
    open_ += [f"client_tool_{use.id}" for use in chat.handed_back]
    wrong = [f"Missing resume entry for interrupt {name}." for name in sorted(open_)] if answers else []
    for use, decision in answers:
        problem = chat.run.tools[use.name].problem(dict(decision.input or {})) if decision.kind == "edit" else None
        if problem is not None:
            wrong.append(f"Approval approval_{use.id} edited arguments are invalid: {problem}")
    if wrong and open_:
        wrong.append("Resume entries must resolve or cancel the complete interrupt batch.")
    return " ".join([*wrong, "One or more interrupt resolutions are invalid."]) if wrong else None


# -- what the caller sees -------------------------------------------------------------------------------------------


def stopped(chat: Chat, phase: str) -> Outcome:
    """The run waits for somebody, or was aborted: then there is no further event at all."""
    if phase == "aborted":
        return returned(chat, "aborted")
    chat.finish = "tool_calls"
    return returned(chat, "approval" if chat.approvals else "handed_back")


def returned(chat: Chat, ended: str | None, *, dropped: bool = False) -> Outcome:
    """As a stream, its last text message and its finish reason; `stream: false` returns all turns' text and no reason."""
    if chat.options.stream:
        return chat.run.returned(chat.shown, chat.finish, done=chat.finish == "stop", ended=ended, dropped=dropped)
    return chat.run.returned(chat.run.all_text, None, ended=ended, dropped=dropped)


def threw(chat: Chat, error: RunError) -> Outcome:
    """A RUN_ERROR event; `stream: false` rejects with a plain Error."""
    if chat.options.stream:
        return chat.run.threw("RUN_ERROR", error.message, error.ended, text=chat.shown)
    return chat.run.threw("Error", error.message, error.ended)


def _style(name: str, sdk: str, loop: Any, default: str) -> Style:
    return Style(
        name=name,
        sdk=sdk,
        unit="iteration",
        knob="agentLoopStrategy: maxIterations(n)",
        default=5,
        loop=loop,
        checks="after the turn's tools ran, always; at least one call is made",
        at_limit=f"the stream ends after the tool results; RUN_FINISHED(tool_calls) is the only sign{default}",
        signal='RUN_FINISHED with finishReason "stop"',
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=True,
        options=OPTIONS,
        configure=configure,
        claims=CLAIMS,
    )


SDK = "@tanstack/ai 0.58.0, @tanstack/ai-anthropic 0.18.11, @tanstack/ai-openai 0.23.1"
STYLES = (
    _style("tanstack-ai/chat", SDK, measured, ""),
    _style("tanstack-ai/chat@0.58.0", SDK, measured, ""),
    _style(
        "tanstack-ai/chat@docs", "@tanstack/ai (documentation)", documented, "; by default it also stops on `length`"
    ),
)
