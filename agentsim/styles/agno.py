"""agno: Agent.run and Agent.arun. Nothing but the model ends the loop: the cap is on single tool calls, and only tells the model.

Measured on agno 3.1.10 (anthropic 2.14.0, openai 3.57.0):

    count = 0
    loop:
      reply = model call, tools always offered
      its calls: all of them; Claude without streaming: only where stop_reason is tool_use, else they vanish
      no calls: return
      unknown tools and arguments that are no JSON object: an error text each, in front of all other results
      for each other call: count += 1
        count > tool_call_limit: "Tool call limit reached. …" is its result, it is not run
        else run it; what it throws is its result
      a tool that ran has stop_after_tool_call: return
    content = all texts of the run, one after the other
    any exception: the run is returned with status ERROR and the error's text as content (streamed: a RunError event)

`run` runs a reply's tools one after the other, `arun` side by side. Stop reasons are never shown.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall
from agentsim.styles._agno_calls import (
    OPTIONS,
    Unreadable,
    configure,
    error_text,
    fitted,
    problem,
    readable,
    so_far,
    text_of,
    unnoticed,
    written,
)
from agentsim.styles._python_clients import RETRY, ending

COMPLETED, ERROR = "COMPLETED", "ERROR"


class Breaks(Exception):
    """An exception inside the run: agno catches it."""

    def __init__(self, text: str, ended: str | None, *, retryable: bool = True) -> None:
        super().__init__(text)
        self.text, self.ended, self.retryable = text, ended, retryable


class Content:
    """The run's content so far: all texts, one after the other."""

    def __init__(self) -> None:
        self.text: str | None = None

    def add(self, text: str | None) -> None:
        """One more text; None is no text at all."""
        if text is not None:
            self.text = (self.text or "") + text


def loop(run: Run, together: bool) -> Generator[Action, Event, Outcome]:
    """One run.

    Args:
        together: whether a reply's tools run side by side.
    """
    history = len(run.history)
    attempts = 1 + run.options.retries
    while True:
        content = Content()
        try:
            return (yield from attempt(run, content, together))
        except Breaks as error:
            attempts -= 1
            if error.ended == "aborted":
                return run.threw("CancelledError", "", "aborted")
            if attempts and error.retryable:
                run.rewrite(history)
                continue
            if run.setup.prompts:
                run.rewrite(history - 1)  # a run that failed is in no later one's history
            if run.streamed:
                return run.threw("RunError", error.text, error.ended)
            return run.returned(error.text, ERROR, done=False, ended=error.ended)


def attempt(run: Run, content: Content, together: bool) -> Generator[Action, Event, Outcome]:
    """The loop, from the prompt to a reply without calls."""
    run.count = 0
    while True:
        seen, calls, whole = yield from ask(run)
        content.add(text_of(seen, whole))
        message = written(run, seen, calls)
        if message.content or run.wire != ANTHROPIC:  # Claude's package leaves out a message without content
            run.history.append(message)
        if not calls:
            return run.returned(content.text, COMPLETED, dropped=True)
        content.add("" if not run.streamed else None)
        direct = yield from answer(run, calls, together)
        if direct:
            return run.returned(content.text, COMPLETED, ended="tool_result")


def ask(run: Run) -> Generator[Action, Event, tuple[Seen, tuple[SeenCall, ...], bool]]:
    """Call the model: its reply, the calls that agno reads in it, and whether its end arrived."""
    seen, whole = (yield from run.call(RETRY)), True
    if isinstance(seen, Failed):
        if seen.aborted:
            raise Breaks("", "aborted")
        if not unnoticed(run.wire, seen.fault):
            raise Breaks(error_text(run.wire, seen.fault), ending(seen))
        seen, whole = so_far(*run.partly(seen.fault)), False
    try:
        return seen, readable(seen), whole
    except Unreadable as error:
        raise Breaks(str(error), "bad_call") from None


def answer(run: Run, calls: tuple[SeenCall, ...], together: bool) -> Generator[Action, Event, bool]:
    """Answer a reply's calls; whether a tool that ended the run was among them."""
    unrun = [ToolResult(call.id, text) for call in calls if (text := problem(run, call)) is not None]
    rest = [call for call in calls if problem(run, call) is None]
    results: dict[int, ToolResult] = {}
    over: set[int] = set()  # side by side, their results come first
    due: list[tuple[int, ToRun]] = []
    for at, call in enumerate(rest):
        run.count += 1
        if run.limit is not None and run.count > run.limit:
            text = f"Tool call limit reached. Tool call {call.name} not executed. Don't try to execute it again."
            results[at] = ToolResult(call.id, text)
            over.add(at)
            continue
        given, misfit = fitted(run, call)
        if misfit is None:
            due.append((at, ToRun(call.id, call.name, given)))
        else:
            results[at] = ToolResult(call.id, misfit)
    runs = yield from run.use([one for _, one in due], batches=() if together else (1,) * len(due))
    if run.aborted:
        raise Breaks("", "aborted")
    results |= {at: ToolResult(done.call_id, str(done.output)) for (at, _), done in zip(due, runs, strict=True)}
    order = sorted(results, key=lambda at: (not (together and at in over), at))
    run.answer_with([*unrun, *(results[at] for at in order)])
    ran = {at for at, _ in due}
    return any(run.tools[call.name].return_direct for at, call in enumerate(rest) if at in ran)


def _style(name: str, together: bool) -> Style:
    return Style(
        name=name,
        sdk="agno 3.1.10",
        unit="tool call",
        knob="tool_call_limit",
        default=None,
        loop=partial(loop, together=together),
        checks="before each single call",
        at_limit='goes on: further calls are answered with "Tool call limit reached. …" and not run',
        signal='status == "COMPLETED"',
        wires=(ANTHROPIC, CHAT, RESPONSES),
        streams=None,
        options=OPTIONS,
        configure=configure,
        stops=False,
    )


STYLES = (_style("agno/Agent.run", together=False), _style("agno/Agent.arun", together=True))
