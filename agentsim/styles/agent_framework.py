"""Microsoft Agent Framework: Agent.run, over its Responses, Chat Completions and Claude clients, streamed or not.

Measured on agent-framework-core 1.23.0, agent-framework-openai 1.17.0, agent-framework-anthropic 1.0.0b261022:

    last = false
    for i in range(max_iterations):                       # default 40
      reply = model call (Claude: calls under any stop reason but tool_use throw ResponseInvalidatedException)
      last: drop the calls of the reply
      no calls: return
      run all calls of the reply at once; every error becomes a result
      errors_in_a_row = errors_in_a_row + 1 if any failed else 0
      calls so far >= max_function_calls, time so far >= max_duration_seconds, or an error and errors_in_a_row >= 3:
        last = true                                       # tool_choice "none"; the tools are still offered
    reply = model call with tool_choice "none"; drop its calls; return

A reply whose calls were dropped and that has no text left gets one of the framework's own. The text of a run is all its texts joined.
On Responses the provider keeps the conversation, so that what it said stays in it as it was.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Refused, Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, SeenCall
from agentsim.styles._agent_framework_options import OPTIONS, Options, configure
from agentsim.styles._agent_framework_reply import Answer, arguments_of, read, written
from agentsim.styles._python_clients import RETRY, client_error, ending

LIMIT = "Function invocation limit reached before a final answer could be produced."
UNPARSED = "Error: Argument parsing failed."
FAILED = "Error: Function failed."
INVALIDATED = "Anthropic invalidated partial response output; local function calls must not execute."


class Leaves(Exception):
    """An error that leaves the run. `ended`: the contract's word; None: the last reply's fate."""

    def __init__(self, type_: str, message: str, ended: str | None = None, *, bad_call: bool = False) -> None:
        super().__init__(message)
        self.type, self.message, self.ended, self.bad_call = type_, message, ended, bad_call


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of a prompt."""
    talk = Talk(run)
    try:
        if talk.options.refused is not None:
            raise Leaves("ValueError", talk.options.refused, "limit")
        return (yield from talk.iterations())
    except Leaves as error:
        talk.forget()
        return run.threw(error.type, error.message, error.ended, bad_call=error.bad_call, dropped=True)


class Talk:
    """One prompt's exchange with the model.

    Attributes:
        text: the texts of the run so far.
        truncated: the next reply is the last: a cap was reached, or too many errors came in a row.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.options = run, run.options or Options()
        self.begun = len(run.history) - bool(run.setup.prompts)
        run.memory.setdefault("kept", 0)
        self.text = ""
        self.truncated = False
        self.function_calls = self.errors_in_a_row = 0
        self.started = run.ledger.clock

    def iterations(self) -> Generator[Action, Event, Outcome]:
        """The loop: see the module."""
        run, limit = self.run, self.options.limit(self.run.limit)
        while limit is None or run.count < limit:
            answer = yield from self.call()
            run.count += 1
            if self.truncated:
                return self.last(answer)
            if not answer.calls or not run.tools or not self.options.enabled:
                return self.returned(answer, "handed_back" if answer.calls and not self.options.enabled else None)
            waiting = yield from self.answer(answer)
            if waiting:
                return self.returned(answer, "handed_back", left=True)
        return self.last((yield from self.call()))

    def call(self) -> Generator[Action, Event, Answer]:
        """The reply as a message. A Chat stream that merely ends is one."""
        run = self.run
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            partly = run.partly(seen.fault)[0] if seen.fault.in_stream else None
            if run.wire == ANTHROPIC and partly is not None and partly.calls:
                raise Leaves("ResponseInvalidatedException", INVALIDATED, "broken_stream")
            if partly is None or seen.fault.disconnect != "end":
                raise failure(run, seen)
            seen = partly
        if run.wire == ANTHROPIC and seen.calls and seen.stop != "tool_use":
            raise Leaves("ResponseInvalidatedException", INVALIDATED)
        answer = read(seen)
        self.text += answer.text
        return answer

    def answer(self, answer: Answer) -> Generator[Action, Event, bool]:
        """Run the reply's calls, and say whether the next reply is the last. Returns whether calls wait for the caller."""
        run, calls = self.run, answer.calls
        run.history += written(answer)
        run.memory["kept"] = len(run.history)
        if self.options.terminate_on_unknown_calls:
            yield from self.refuse_unknown(calls)
        client = [call for call in calls if call.name in run.tools and run.tools[call.name].client]
        known = [call for call in calls if call.name in run.tools and call not in client]
        if client and len(run.setup.prompts) > 1:
            known = []  # a session's siblings wait for the caller's results
        results = yield from self.results(known if client else calls)
        if client:
            return True
        run.answer_with(results if run.wire == ANTHROPIC else unmarked(results))
        self.function_calls += len(results)
        failed = any(result.is_error for result in results)
        self.errors_in_a_row = self.errors_in_a_row + 1 if failed else 0
        self.truncated = self.reached(failed)
        return False

    def reached(self, failed: bool) -> bool:
        """Whether anything but the iterations is used up."""
        options = self.options
        too_many = options.max_function_calls is not None and self.function_calls >= options.max_function_calls
        too_long = (
            options.max_duration_seconds is not None
            and self.run.ledger.clock - self.started >= options.max_duration_seconds
        )
        return too_many or too_long or (failed and self.errors_in_a_row >= options.max_consecutive_errors_per_request)

    def results(self, calls: list[SeenCall]) -> Generator[Action, Event, list[ToolResult]]:
        """The calls' results, in their order; errors are marked."""
        run, options = self.run, self.options
        refused: list[ToolResult | None] = []
        due: list[ToRun] = []
        for call in calls:
            if call.name not in run.tools:
                text = f'Error: Requested function "{call.name}" not found.'
                refused.append(ToolResult(call.id, text, True))
                continue
            try:
                due.append(ToRun(call.id, call.name, fitted(run, call)))
                refused.append(None)
            except Unfit as problem:
                text = f"{UNPARSED} Exception: {problem}" if options.include_detailed_errors else UNPARSED
                refused.append(ToolResult(call.id, text, True))
        batches = () if options.allow_concurrent_invocation else (1,) * len(due)
        runs = yield from run.use(due, batches=batches)
        if run.aborted:
            raise Leaves("CancelledError", "", "aborted")
        done = iter([self.rendered(one) for one in runs])
        return [result if result is not None else next(done) for result in refused]

    def rendered(self, done: ToolRun) -> ToolResult:
        """A run's result. What went wrong is the framework's secret, unless it is asked to tell."""
        if done.is_error:
            text = f"{FAILED} Exception: {done.output}" if self.options.include_detailed_errors else FAILED
            return ToolResult(done.call_id, text, True)
        return ToolResult(done.call_id, as_text(done.output))

    def refuse_unknown(self, calls: list[SeenCall]) -> Generator[Action, Event, None]:
        """An unknown tool throws; on Responses the provider's conversation first gets a result for each call."""
        run = self.run
        unknown = next((call.name for call in calls if call.name not in run.tools), None)
        if unknown is None:
            return
        problem = f'Error: Requested function "{unknown}" not found.'
        if run.wire == RESPONSES:
            text = f"Error: Tool execution was aborted before a result was produced. {problem}"
            run.answer_with([ToolResult(call.id, text) for call in calls])
            yield from run.call(RETRY)
        raise Leaves("_UnknownFunctionCallError", repr(problem), "bad_call")

    # -- the end ----------------------------------------------------------------------------------------------------

    def last(self, answer: Answer) -> Outcome:
        """The reply that a cap forced: its calls are dropped, and an own text stands in where none is left."""
        more = "" if answer.text.strip() else LIMIT
        self.run.history += written(answer, without_calls=True, more=more)
        self.run.memory["kept"] = len(self.run.history)
        finish = "stop" if more and self.run.streamed else answer.finish
        return self.run.returned(self.text + more, finish, done=not more, ended="limit")

    def returned(self, answer: Answer, ended: str | None, *, left: bool = False) -> Outcome:
        """The reply is the run's last. Calls in it were handed back."""
        if not left:
            self.run.history += written(answer)
        self.run.memory["kept"] = len(self.run.history)
        return self.run.returned(self.text, answer.finish, done=not answer.calls, ended=ended, dropped=True)

    def forget(self) -> None:
        """A run that threw leaves nothing in the session; on Responses what the provider has said stays."""
        run = self.run
        run.rewrite(run.memory["kept"] if run.wire == RESPONSES else self.begun)


def unmarked(results: list[ToolResult]) -> list[ToolResult]:
    """The results as wires carry them that know no mark of errors."""
    return [ToolResult(result.call_id, result.output) for result in results]


def fitted(run: Run, call: SeenCall) -> dict[str, Any]:
    """What the function receives: pydantic's conversion, without the parameters that the model left out.

    Raises:
        Unfit: the arguments don't fit.
    """
    given = arguments_of(call)
    known = lax(run.tools[call.name].schema, given)
    return {key: value for key, value in known.items() if key in given}


def as_text(value: Any) -> str:
    """A tool's output as text: JSON, where it is none."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def failure(run: Run, failed: Failed) -> Leaves:
    """The framework's names for the clients' errors: the OpenAI clients know only one."""
    if failed.aborted:
        return Leaves("CancelledError", "", "aborted")
    fault = failed.fault
    _, message = client_error(run.wire, fault, openai=3)
    name = "ChatClientException"
    if run.wire == ANTHROPIC and not fault.in_stream:
        name = _claude_name(fault)
    return Leaves(name, message, ending(failed))


def _claude_name(fault: Fault) -> str:
    if fault.status in (401, 403):
        return "ChatClientInvalidAuthException"
    return "ChatClientInvalidRequestException" if 400 <= (fault.status or 0) < 500 else "ChatClientException"


def read_limit(value: Any) -> float | Refused | None:
    """Anything below 1 is refused when the client is made, a broken number when the loop begins."""
    if not isinstance(value, int | float):
        return Refused("TypeError", f"'<' not supported between instances of '{type(value).__name__}' and 'int'")
    if value < 1:
        return Refused("ValueError", "max_iterations must be at least 1.")
    if isinstance(value, float):
        return Refused("TypeError", "'float' object cannot be interpreted as an integer")
    return value


STYLES = (
    Style(
        name="agent-framework/Agent.run",
        sdk="agent-framework-core 1.23.0",
        unit="iteration",
        knob="max_iterations",
        default=40,
        loop=loop,
        checks='before each call: once the iterations are used up, one more call with tool_choice "none"',
        at_limit=f'the text of that call, its calls dropped; without text "{LIMIT}"',
        signal="the text is not the framework's own about the limit, and no calls are left",
        wires=(RESPONSES, CHAT, ANTHROPIC),
        streams=None,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
    ),
)
