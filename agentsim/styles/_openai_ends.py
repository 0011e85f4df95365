"""How a run of the OpenAI Agents SDKs ends: answers, errors, and the user's handlers that turn errors into answers."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Message, Text
from agentsim.core.scripted import Function, Raised
from agentsim.core.wires import parse
from agentsim.styles._openai_guardrails import check_output, thrown
from agentsim.styles._openai_reply import Held
from agentsim.styles._openai_talk import Talk
from agentsim.styles._openai_tools import as_text
from agentsim.styles._openai_work import Work

#: What both SDKs say in place of an error that would show a bad structured output.
REDACTED = "Error details are redacted."

Ends = Generator[Action, Event, Outcome]
MayEnd = Generator[Action, Event, Outcome | None]


def returned(talk: Talk, text: str | None, ended: str | None = None, *, handled: bool = False) -> Ends:
    """The final output, if the output guardrails let it pass."""
    tripped = yield from check_output(talk)
    if tripped is not None:
        return tripped
    talk.run.count += ended != "limit"
    if ended is None and talk.broken:
        ended = "broken_stream"
    return replace(talk.run.returned(text, ended=ended, reported=talk.shown()), handled=handled)


def at_limit(talk: Talk) -> Ends:
    """The turns are used up."""
    run = talk.run
    assert run.limit is not None
    talk.over = run.limit >= 0
    name = "MaxTurnsExceeded" if talk.python else "MaxTurnsExceededError"
    outcome = run.threw(name, f"Max turns ({run.limit:g}) exceeded", "limit", reported=talk.shown_in_error(True))
    return (yield from handled_or(talk, "max_turns", outcome))


def refused(talk: Talk, refusal: str) -> Ends:
    """The model refused."""
    message = f"Model refused to produce output: {refusal}"
    outcome = talk.run.threw("ModelRefusalError", message, "refusal", reported=talk.shown_in_error(True))
    return (yield from handled_or(talk, "model_refusal", outcome))


def model_error(talk: Talk, message: str, *, consumed: bool = True, with_state: bool = False) -> Outcome:
    """A reply that is rejected as a whole. `consumed`: the run had taken it; `with_state`: JavaScript's error shows the run."""
    reported = talk.shown_in_error(with_state)
    return talk.run.threw("ModelBehaviorError", message, reported=reported, bad_call=consumed, dropped=True)


def spoken(talk: Talk, held: Held) -> MayEnd:
    """The words of a reply without calls are the answer; None: it is asked again."""
    text = held.said.text
    if talk.structured is not None:
        return (yield from structured(talk, text or ""))
    if text is None or (held.ran_a_server_tool and not held.said.any_message):
        return None
    return (yield from returned(talk, text))


def structured(talk: Talk, text: str) -> MayEnd:
    """Structured output is checked once; an empty one is asked again."""
    if not text:
        message = "Model returned no final output for the structured output type."
        outcome = talk.run.threw(
            "ModelBehaviorError", message, "empty", reported=talk.shown_in_error(False, run_data=False)
        )
        handled = yield from handled_or(talk, "invalid_final_output", outcome)
        return None if handled is outcome else handled
    problem = bad_output(talk, text)
    if problem is None:
        return (yield from returned(talk, text))
    outcome = talk.run.threw("ModelBehaviorError", problem, reported=talk.shown_in_error(False, run_data=False))
    return (yield from handled_or(talk, "invalid_final_output", outcome))


def bad_output(talk: Talk, text: str) -> str | None:
    """Why the text is not the structured output that was asked for."""
    value, broken = parse(text)
    wrong = "no JSON" if broken else (talk.structured(value) if talk.structured else None)
    if wrong is None:
        return None
    if talk.python:
        return "Invalid JSON when parsing model output"
    return "Invalid output type: final assistant output did not match the expected schema."


def handled_or(talk: Talk, kind: str, outcome: Outcome) -> Ends:
    """What the user's handler makes of an error: its output, its own error, or nothing."""
    written: Function | None = talk.options.handlers.get(kind)
    if written is None:
        return outcome
    yield from talk.run.wait(written.seconds)
    try:
        result = talk.started(written)()
    except Raised as error:
        return instead(talk, outcome, kind, *thrown(talk, error))
    if not result:
        return outcome
    value = result[talk.words.final_output]
    if talk.structured is not None and (wrong := talk.structured(value)):
        return instead(talk, outcome, kind, "UserError", f"Invalid run error handler finalOutput: {wrong}")
    text = as_output(value, talk)
    if text:
        talk.run.history.append(Message("assistant", (Text(text),)))
    return (yield from returned(talk, text, outcome.ended, handled=True))


def instead(talk: Talk, outcome: Outcome, kind: str, type_: str, message: str) -> Outcome:
    """The handler's own error goes out; what it says of a bad structured output is hidden."""
    if kind == "invalid_final_output":
        type_, message = "UserError", REDACTED
    return replace(
        outcome, error_type=type_, error_message=message, reported_count=talk.shown_in_error(False, run_data=False)
    )


def as_output(value: Any, talk: Talk) -> str:
    """A handler's output as the text that the caller gets: JavaScript's String() and Python's str(), JSON where it is structured."""
    if talk.structured is not None:
        return json.dumps(value, ensure_ascii=False)
    if talk.python or not isinstance(value, Mapping | list):
        return as_text(value, talk.python)
    return "[object Object]" if isinstance(value, Mapping) else ",".join(as_output(item, talk) for item in value)


def tool_is_answer(talk: Talk, done: Work) -> MayEnd:
    """Whether `toolUseBehavior` makes one of the outputs the final one."""
    behaviour = talk.options.behaviour if talk.is_main else "run_llm_again"
    if not done.outputs or behaviour == "run_llm_again":
        return None
    text = None
    if isinstance(behaviour, Function):
        yield from talk.run.wait(behaviour.seconds)
        try:
            decided = talk.started(behaviour)() or {}
        except Raised as error:
            reported = talk.shown_in_error(False, run_data=False)
            return talk.run.threw(*thrown(talk, error), "tool_result", reported=reported)
        if not decided.get(talk.words.is_final):
            return None
        text = as_text(decided.get(talk.words.final_output), talk.python)
    else:
        names = {name for name, _ in done.outputs} if isinstance(behaviour, str) else set(behaviour)
        text = next((output for name, output in done.outputs if name in names), None)
    if text is None:
        return None
    if talk.structured is not None and not talk.python and (problem := bad_output(talk, text)):
        return talk.run.threw("ModelBehaviorError", problem, "tool_result", reported=talk.shown_in_error(False))
    return (yield from returned(talk, text, "tool_result"))
