"""Guardrails of the OpenAI Agents SDKs, and how a first call that runs beside them ends.

Blocking input guardrails settle before the first call. One that runs beside it: JavaScript awaits it before any tool runs; Python's
`run` when the first turn is over, tools and all; `run_streamed` not before the run ends or hands over, and breaks off whatever
is going on when it trips. What trips at once leaves no call, but in `run_streamed` one.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Failed
from agentsim.core.scripted import Raised
from agentsim.core.wires import CHAT, Seen
from agentsim.styles._openai_errors import RETRY, client_error
from agentsim.styles._openai_options import Guardrail
from agentsim.styles._openai_talk import Talk

MayEnd = Generator[Action, Event, Outcome | None]
Verdict = tuple[str, str]


def before_first_call(talk: Talk) -> MayEnd:
    """Let the input guardrails look at the prompt; an outcome where one trips before the call."""
    if talk.turn != 1 or not talk.is_main or not talk.options.input_guardrails:
        return None
    guards = talk.options.input_guardrails
    seconds, verdict = judge(talk, [guard for guard in guards if not guard.parallel], "Input")
    yield from talk.run.wait(seconds)
    if verdict is not None:
        return tripped_early(talk, verdict)
    beside = [guard for guard in guards if guard.parallel]
    seconds, verdict = judge(talk, beside, "Input")
    if verdict is not None and seconds == 0 and not talk.streams_python:
        return tripped_early(talk, verdict)
    if beside:
        talk.guard_time, talk.guard_error = talk.run.ledger.clock + seconds, verdict
    return None


def judge(talk: Talk, guards: Sequence[Guardrail], kind: str) -> tuple[float, Verdict | None]:
    """Run guardrails side by side: when they have settled, and what they throw. JavaScript awaits all, Python the first."""
    verdicts = [(guard.function.seconds, _verdict(talk, guard, kind)) for guard in guards]
    bad = [(seconds, verdict) for seconds, verdict in verdicts if verdict is not None]
    if bad and talk.python:
        return min(bad, key=lambda one: one[0])
    return max((seconds for seconds, _ in verdicts), default=0.0), bad[0][1] if bad else None


def _verdict(talk: Talk, guard: Guardrail, kind: str) -> Verdict | None:
    """(type, message) of what one guardrail throws; None where it lets pass."""
    words = talk.words
    try:
        result: Mapping[str, Any] = talk.started(guard.function)()
    except Raised as error:
        if talk.python:
            return thrown(talk, error)
        return "GuardrailExecutionError", f"{kind} guardrail failed to complete: {error.type}: {error.message}"
    if not result[words.tripped]:
        return None
    if talk.python:
        return f"{kind}GuardrailTripwireTriggered", f"Guardrail {kind}Guardrail triggered tripwire"
    info = json.dumps(result[words.info], separators=(",", ":")) if words.info in result else "undefined"
    return f"{kind}GuardrailTripwireTriggered", f"{kind} guardrail triggered: {info}"


def thrown(talk: Talk, error: Raised) -> Verdict:
    """(type, message) of what a function of the user's threw; a plain error is an Exception in Python."""
    return "Exception" if talk.python and error.type == "Error" else error.type, error.message


def tripped(talk: Talk, verdict: Verdict) -> Outcome:
    """A guardrail's error ends the run."""
    reported = talk.shown_in_error(True, run_data=verdict[0].endswith("TripwireTriggered"))
    return talk.run.threw(*verdict, "guardrail", reported=reported)


def tripped_early(talk: Talk, verdict: Verdict) -> Outcome:
    """The same before the first call: the turn has begun, but JavaScript's stream does not show it yet."""
    outcome = tripped(talk, verdict)
    return outcome if talk.python or not talk.run.streamed else replace(outcome, reported_count=0)


def call_model(talk: Talk) -> Generator[Action, Event, Seen | Outcome]:
    """The turn's model call; a guardrail that trips meanwhile breaks it off in Python, and in JavaScript hides that it failed."""
    seen = yield from talk.run.call(RETRY, deadline=breaks_off(talk))
    if not isinstance(seen, Failed):
        return seen
    if seen.timed_out and talk.guard_error is not None:
        return tripped(talk, talk.guard_error)
    if seen.fault.disconnect == "end" and seen.fault.in_stream and talk.run.wire == CHAT:
        talk.broken = True  # on Chat Completions a stream that merely ends is a reply like any other
        return talk.run.partly(seen.fault)[0]
    hidden = None if talk.python else (yield from settled(talk))
    return hidden or client_error(talk, seen)


def breaks_off(talk: Talk) -> float | None:
    """Clock time at which a guardrail breaks off what is going on; None: never, and Python's stream only looks between two things."""
    return talk.guard_time if talk.python and not talk.streams_python and talk.guard_error is not None else None


def before_tools(talk: Talk) -> MayEnd:
    """JavaScript awaits the input guardrails before it does anything with a reply; Python's stream looks for those that tripped."""
    if talk.guard_time is None or (talk.python and not talk.streams_python):
        return None
    if talk.python and (talk.guard_error is None or talk.run.ledger.clock < talk.guard_time):
        return None
    return (yield from settled(talk))


def after_turn(talk: Talk, outcome: Outcome | None) -> MayEnd:
    """What the turn comes to where input guardrails still run beside it."""
    if talk.guard_time is None or not talk.python:
        return outcome
    if talk.streams_python:
        going_on = outcome is None and not talk.handed_over and talk.run.ledger.clock < talk.guard_time
        waits = not going_on
    else:
        waits = outcome is None or outcome.returned != "error"
    tripped_meanwhile = (yield from settled(talk)) if waits else None
    if tripped_meanwhile is not None and talk.streams_python and _hides_a_tripwire(outcome, tripped_meanwhile):
        return outcome
    return tripped_meanwhile or outcome


def _hides_a_tripwire(outcome: Outcome | None, guard: Outcome) -> bool:
    """Whether run_streamed tells of what its loop raised; only what a guardrail itself raises is told in its place."""
    raised = outcome is not None and outcome.returned == "error" and outcome.error_type != "MaxTurnsExceeded"
    return raised and (guard.error_type or "").endswith("TripwireTriggered")


def settled(talk: Talk) -> MayEnd:
    """Wait for the input guardrails; an outcome where one tripped."""
    if talk.guard_time is None:
        return None
    yield from talk.run.wait(max(0.0, talk.guard_time - talk.run.ledger.clock))
    verdict, talk.guard_time, talk.guard_error = talk.guard_error, None, None
    return None if verdict is None else tripped(talk, verdict)


def check_output(talk: Talk) -> MayEnd:
    """Let the output guardrails look at the final output; an outcome where one trips."""
    if not talk.is_main or not talk.options.output_guardrails:
        return None
    seconds, verdict = judge(talk, talk.options.output_guardrails, "Output")
    yield from talk.run.wait(seconds)
    return None if verdict is None else tripped(talk, verdict)
