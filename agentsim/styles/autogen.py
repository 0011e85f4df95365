"""AutoGen: AssistantAgent.run, and a RoundRobinGroupChat of one agent.

Measured on autogen-agentchat 0.7.5 with autogen-ext 0.7.5 (anthropic 0.125.0, openai 3.57.0):

    AssistantAgent:
      reply = model call
      for i in 1..max_tool_iterations (default 1):
        no calls: return its text, a TextMessage                 # the stop reason is never read
        run all calls at once; every error becomes a result
        i is the last: break
        reply = model call
      reflect_on_tool_use: one more model call without tools -> TextMessage; no text in it: RuntimeError
      else: return the last results' texts, a ToolCallSummaryMessage

    RoundRobinGroupChat:
      loop:
        a turn of the agent, as above
        the termination condition holds (here: its message is a TextMessage) or max_turns is reached: return

A text beside calls is kept as the call message's "thought" and sent back with it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Refused, Style
from agentsim.core.value import value
from agentsim.core.wires import ANTHROPIC, CHAT, Seen
from agentsim.styles._autogen_calls import (
    AgentOptions,
    configure_agent,
    configure_team,
    fitted,
    refused,
    summary,
    unsendable,
    written,
)
from agentsim.styles._python_clients import RETRY, client_error, ending

SDK = "autogen-agentchat 0.7.5"
NO_INTEGER = "'float' object cannot be interpreted as an integer"
NO_REFLECTION = "Reflect on tool use produced no valid text response."


@value
class Said:
    """What an agent's turn came to.

    Args:
        text: of its message.
        is_text: a TextMessage; otherwise a ToolCallSummaryMessage.
        forced: the cap on tool iterations ended the turn.
    """

    text: str
    is_text: bool
    forced: bool = False


class Leaves(Exception):
    """An error that leaves the agent's turn."""

    def __init__(self, type_: str, message: str, ended: str | None = None) -> None:
        super().__init__(message)
        self.type, self.message, self.ended = type_, message, ended


def agent_run(run: Run) -> Generator[Action, Event, Outcome]:
    """One AssistantAgent.run."""
    try:
        said = yield from turn(run, run.limit, counts=True)
    except Leaves as error:
        return run.threw(error.type, error.message, error.ended)
    return run.returned(said.text, done=said.is_text, ended="limit" if said.forced else None)


def team_run(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the team."""
    options: AgentOptions = run.options
    if options.iterations < 1:
        return run.threw("ValueError", too_few(options.iterations), "limit")
    while True:
        try:
            said = yield from turn(run, options.iterations, counts=False)
        except Leaves as error:
            if error.ended == "aborted":
                return run.threw(error.type, error.message, error.ended)
            return run.threw("RuntimeError", f"{error.type}: {error.message}", error.ended)
        run.count += 1
        if said.is_text:
            ended = "limit" if said.forced else None
            return run.returned(said.text, "Text message received from 'assistant'", ended=ended)
        if run.limit is not None and run.count >= run.limit:
            finish = f"Maximum number of turns {run.limit} reached."
            return run.returned(said.text, finish, done=False, ended="limit")


def turn(run: Run, iterations: float | None, *, counts: bool) -> Generator[Action, Event, Said]:
    """One turn of the agent.

    Args:
        iterations: tool iterations of this turn; None never ends it.
        counts: whether the run's limit counts them.
    """
    done = 0
    seen = yield from ask(run)
    if isinstance(iterations, float):
        raise Leaves("TypeError", NO_INTEGER, "limit")
    while True:
        if not seen.calls:
            return Said(seen.text, True)
        results = yield from answer(run, seen)
        done += 1
        run.count += counts
        if iterations is not None and done >= iterations:
            break
        seen = yield from ask(run)
    if not run.options.reflect:
        return Said(summary(run, seen, results), False, forced=True)
    run.offered = ()
    seen = yield from ask(run, reflecting=True)
    run.offered = None
    return Said(seen.text, True, forced=True)


def ask(run: Run, *, reflecting: bool = False) -> Generator[Action, Event, Seen]:
    """Call the model and keep its reply; a reflection has to be a text."""
    if (problem := unsendable(run)) is not None:
        raise Leaves("ValidationError", problem, "bad_call")
    seen = yield from run.call(RETRY)
    if isinstance(seen, Failed):
        fault = seen.fault
        if seen.aborted:
            raise Leaves("CancelledError", "", "aborted")
        if fault.disconnect != "end" or not fault.in_stream:
            raise Leaves(*client_error(run.wire, fault, openai=3), ending(seen))
        seen, unfinished = run.partly(fault)  # a stream that merely ends is taken for a whole reply
        seen = read(seen, unfinished)
    else:
        seen = read(seen)
    if reflecting and seen.calls:
        raise Leaves("RuntimeError", NO_REFLECTION, "limit")
    run.history.append(written(run, seen))
    return seen


def read(seen: Seen, unfinished: bool = False) -> Seen:
    """The reply as the model client has it: of Claude's streamed calls the last one of an id stands for all."""
    calls = list(seen.calls)
    if seen.streamed and seen.wire == ANTHROPIC:
        if unfinished and calls and seen.reply.blocks[-1:] == seen.reply.calls[-1:]:
            calls[-1] = type(calls[-1])(calls[-1].id, calls[-1].name, "{}", {})
        calls = list({call.id: call for call in calls}.values())
        calls = [call if call.raw else type(call)(call.id, call.name, "{}", {}) for call in calls]
    return Seen(seen.reply, seen.wire, seen.streamed, seen.text, seen.refusal, tuple(calls), seen.stop, seen.word)


def answer(run: Run, seen: Seen) -> Generator[Action, Event, tuple[ToolResult, ...]]:
    """Run a reply's calls and keep their results."""
    settled = yield from run.settle(
        [fitted(run, call) for call in seen.calls], lambda call: refused(run, call), rendered
    )
    if run.aborted:
        raise Leaves("CancelledError", "", "aborted")
    run.answer_with([ToolResult(result.call_id, result.output) for result in settled.results])
    return settled.results


def rendered(done: ToolRun) -> ToolResult:
    """A run's result: `str` of what it returned or threw. No wire is told that it is an error; the summary's format is."""
    text = str(done.output)
    return ToolResult(done.call_id, text.strip() if done.raised else text, done.is_error)


def too_few(iterations: Any) -> str:
    """Why a cap below 1 is refused."""
    return f"Maximum number of tool iterations must be greater than or equal to 1, got {iterations}"


def read_iterations(given: Any) -> float | Refused | None:
    """max_tool_iterations is at least 1. A fraction is taken, and dies in the run."""
    return Refused("ValueError", too_few(given)) if given < 1 else given


def read_turns(given: Any) -> float | Refused | None:
    """max_turns is above 0."""
    if given > 0:
        return given  # type: ignore[no-any-return]
    return Refused("ValueError", "The maximum number of turns must be greater than 0.")


_OPTIONS = {
    "reflect_on_tool_use": "true: one more model call without tools after the last iteration's tools, its text is returned",
    "tool_call_summary_format": "the text of each result in the summary: {tool_name} {arguments} {result} {is_error}",
}

STYLES = (
    Style(
        name="autogen/AssistantAgent.run",
        sdk=SDK,
        unit="tool iteration",
        knob="max_tool_iterations",
        default=1,
        loop=agent_run,
        checks="after each iteration's tools",
        at_limit="returns the last results' texts as a ToolCallSummaryMessage; with reflect_on_tool_use the text of one more call",
        signal="the last message is a TextMessage",
        wires=(CHAT, ANTHROPIC),
        streams=None,
        read_limit=read_iterations,
        options=_OPTIONS,
        configure=configure_agent,
    ),
    Style(
        name="autogen/RoundRobinGroupChat.run",
        sdk=SDK,
        unit="agent turn",
        knob="max_turns",
        default=None,
        loop=team_run,
        checks="after each turn of the agent",
        at_limit='returns; stop_reason is "Maximum number of turns n reached."',
        signal="the last message is a TextMessage",
        wires=(CHAT, ANTHROPIC),
        streams=None,
        read_limit=read_turns,
        options={**_OPTIONS, "max_tool_iterations": "tool iterations of each turn of the agent; 1"},
        configure=configure_team,
    ),
)
