"""smolagents: a step is a model call and the tools that it asks for; the history is text.

Measured on smolagents 1.26.0 with OpenAIModel (Chat Completions):

    step = 1
    while no final answer and step <= max_steps:
      reply = model call                            # HTTP error: AgentGenerationError leaves the run; 429: 3 times the client's 3 requests
      ToolCallingAgent: no calls -> a JSON blob in the text is one; without one the step fails
        run the calls side by side, the last of each id; any error (unknown, invalid, thrown) is the step's, its results are lost
        final_answer: the answer, if it is the only call; else the step fails
      CodeAgent: run the code, one call after the other; an error is the step's, what comes later does not run
        final_answer(…) ends the code and is the answer
      step += 1                                     # a step that failed too
    no final answer, and step == max_steps + 1:
      reply = model call without tools, under another system prompt, with "provide an answer to the task"
      return its text, state max_steps_error        # calls in it are ignored; an error becomes the text
    return the answer

`final_answer` is a tool of the SDK's own, which every request offers beside `tool_choice: required`. A reply of plain text is no answer
to a ToolCallingAgent: the option `final_answer: true` lets the script's text answers arrive as calls of that tool, as from a model that
obeys. A CodeAgent's model writes code: a reply's calls are taken for lines of it, a text for `final_answer("…")`.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.style import Style
from agentsim.core.value import value
from agentsim.core.wires import CHAT
from agentsim.styles._python_clients import client_error, ending
from agentsim.styles._smolagents_claims import CLAIMS
from agentsim.styles._smolagents_options import Options, configure, options_of
from agentsim.styles._smolagents_steps import Step, calling_step, code_step, heard
from agentsim.styles._smolagents_talk import RETRY_NOW, Talk

ASKED = "Based on the above, please provide an answer to the following user task:"


@value
class Throttled(Retry):
    """The client's retries, and smolagents' own around them: 429 is asked for three times three times."""

    rounds: int = 3

    def again(self, fault: Any, attempts: int) -> bool:
        if fault.status == 429 and not fault.in_stream:
            return attempts < self.rounds * (self.retries + 1)
        return Retry.again(self, fault, attempts)


def loop(run: Run, coding: bool) -> Generator[Action, Event, Outcome]:
    """One run of a task."""
    options: Options = run.options or Options()
    talk, limit = Talk(run), options.max_steps or run.limit
    run.count = 0
    while limit is None or run.count + 1 <= limit:
        run.offered = None if coding else (*run.tools, "final_answer")
        seen = yield from heard(run, Throttled(rounds=options.attempts))
        if isinstance(seen, Failed):
            return failed(run, seen)
        step: Step = yield from (code_step if coding else calling_step)(run, options, seen)
        if run.aborted:
            return run.threw("KeyboardInterrupt", "", "aborted")
        run.count += 1
        talk.remember(step)
        if step.answered:
            return run.returned(step.answer, "success")
    if run.count + 1 != limit + 1:
        name = "local variable 'final_answer' where it is not associated with a value"
        return run.threw("UnboundLocalError", f"cannot access {name}", "limit")
    return (yield from forced(run, talk, options, coding))


def forced(run: Run, talk: Talk, options: Options, coding: bool) -> Generator[Action, Event, Outcome]:
    """One more model call, without tools; its text is returned whatever it says."""
    run.offered = () if not coding else None
    before = talk.mark()
    talk.say("user", ASKED)
    seen = yield from heard(run, Throttled(rounds=options.attempts), whole=True)
    talk.back_to(before)
    talk.say("user", f"Error:\nReached max steps.\n{RETRY_NOW}")
    if isinstance(seen, Failed):
        if seen.aborted:
            return failed(run, seen)
        told = f"Error in generating final LLM output: {client_error(run.wire, seen.fault)[1]}"
        text: str | None = str([{"type": "text", "text": told}])  # a message's content, not its text
    else:
        text = seen.as_code() if coding else seen.content
    if run.count == 0:
        name = "local variable 'action_step' where it is not associated with a value"
        return run.threw("UnboundLocalError", f"cannot access {name}", "limit")
    return run.returned(text, "max_steps_error", done=False, ended="limit")


def failed(run: Run, failure: Failed) -> Outcome:
    """No reply: the error leaves the run in smolagents' own."""
    if failure.aborted:
        return run.threw("KeyboardInterrupt", "", "aborted")
    _, message = client_error(run.wire, failure.fault)
    return run.threw("AgentGenerationError", f"Error while generating output:\n{message}", ending(failure))


def _style(name: str, coding: bool) -> Style:
    return Style(
        name=f"smolagents/{name}.run",
        sdk="smolagents 1.26.0",
        unit="step",
        knob="max_steps",
        default=20,
        loop=partial(loop, coding=coding),
        checks="before each step, after the last one's tools ran",
        at_limit='one more model call without tools; its text is returned, state is "max_steps_error"',
        signal='RunResult.state == "success"',
        wires=(CHAT,),
        options=options_of(coding),
        configure=partial(configure, coding=coding),
        claims=CLAIMS,
    )


STYLES = (_style("ToolCallingAgent", False), _style("CodeAgent", True))
