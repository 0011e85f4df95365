"""dspy.ReAct: a text protocol over Chat Completions. Each step is one request, and the answer is one more, whatever ended the steps.

Measured on dspy 3.4.1 with dspy.LM (Chat Completions):

    for i in range(max_iters):                      # default 20
      thought, tool, arguments = predict(question, trajectory)
      run the tool; every error becomes its observation
      tool is finish: break
    answer = extract(question, trajectory)          # always: its error leaves the run

    predict, extract: reply = request, with the LM's own retries
      the fields can't be read: the same once more in JSON mode; not either: AdapterParseError leaves the run

There is no history: each request is one message that holds the question and the trajectory so far. A step has one tool, so of several calls in a
reply the first counts. What of a scripted reply stands for which field is told in _dspy_fields; a text is both the call of `finish` and the
answer, so that one reply answers two requests. No model is taken to obey in JSON mode.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Text, user_text
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.scripted import check_keys
from agentsim.core.style import Refused, Style
from agentsim.core.wires import CHAT, Seen
from agentsim.styles._dspy_fields import FINISH, Step, Unparsed, answer_of, received, step_of
from agentsim.styles._python_clients import ending

#: Error classes by status; from 500 on LMServerError, else LMInvalidRequestError.
ERRORS = {
    401: "LMAuthError", 403: "LMAuthError", 402: "LMBillingError", 408: "LMTimeoutError", 429: "LMRateLimitError",
    504: "LMTimeoutError",
}  # fmt: skip
JSON_MODE = "Respond with a JSON object in the following order of fields."


@dataclass(frozen=True, slots=True)
class Options:
    """Args: retries: `num_retries` of the LM, of one request."""

    retries: int = 3


class Leaves(Exception):
    """An error that leaves the run. `ended`: the contract's word; None: the last reply's fate."""

    def __init__(self, type_: str, message: str, ended: str | None = None, *, bad_call: bool = False) -> None:
        super().__init__(message)
        self.type, self.message, self.ended, self.bad_call = type_, message, ended, bad_call


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of a question."""
    try:
        return (yield from Talk(run).steps())
    except Leaves as error:
        return run.threw(error.type, error.message, error.ended, bad_call=error.bad_call)


class Talk:
    """One question.

    Attributes:
        trajectory: what the steps so far came to, as text.
        said: the reply before has no calls, so that it answers the next request too.
    """

    def __init__(self, run: Run) -> None:
        options: Options = run.options or Options()
        self.run, self.retry = run, Retry(options.retries, frozenset({408, 429}))
        self.question = "".join(part.text for part in run.history[-1].content if isinstance(part, Text))
        self.trajectory = ""
        self.said = False

    def steps(self) -> Generator[Action, Event, Outcome]:
        """The steps, and the answer."""
        run, finished = self.run, False
        while not finished and (run.limit is None or run.count < run.limit):
            step = yield from self.step()
            observation = yield from self.observe(step)
            self.trajectory += f"\n{step.thought}\n{step.name}\n{json.dumps(step.arguments)}\n{observation}"
            run.count += 1
            finished = step.name == FINISH
        answer = yield from self.extract()
        return run.returned(answer, done=finished, ended=None if finished else "limit")

    def step(self) -> Generator[Action, Event, Step]:
        """What the model wants to do next."""
        for json_mode in (False, True):
            seen = yield from self.ask("next_thought, next_tool_name, next_tool_args", json_mode)
            try:
                read = step_of(seen, self.run.tools)
            except Unparsed as problem:
                failure = problem
                continue
            if not json_mode:
                return read
            failure = Unparsed(
                "Expected to find output fields in the LM response: [next_thought, next_tool_name, next_tool_args]"
            )
        raise self.unparsed(failure, seen)

    def extract(self) -> Generator[Action, Event, str]:
        """The answer out of the trajectory."""
        for json_mode in (False, True):
            seen = yield from self.ask("reasoning, answer", json_mode)
            try:
                read = answer_of(seen)
            except Unparsed as problem:
                failure = problem
                continue
            if not json_mode:
                return read
            failure = Unparsed("Expected to find output fields in the LM response: [reasoning, answer]")
        raise self.unparsed(failure, seen)

    def unparsed(self, failure: Unparsed, seen: Seen) -> Leaves:
        """Neither way of asking was understood."""
        message = f"Adapter JSONAdapter failed to parse the LM response. {failure.message}"
        return Leaves("AdapterParseError", message, bad_call=bool(seen.calls or seen.text))

    def ask(self, fields: str, json_mode: bool) -> Generator[Action, Event, Seen]:
        """One request: a message of its own."""
        wanted = f"{JSON_MODE if json_mode else 'Respond with the corresponding output fields.'} {fields}"
        self.run.rewrite(0, [user_text(f"{self.question}\n{self.trajectory}\n{wanted}")])
        seen = yield from self.run.call(self.retry, same=self.said)
        if isinstance(seen, Failed):
            raise failure_of(seen)
        self.said = not seen.calls and not self.said
        return seen

    def observe(self, step: Step) -> Generator[Action, Event, Any]:
        """What the tool gave, or what went wrong."""
        if step.name == FINISH:
            return f"Execution error in {FINISH}" if step.arguments else "Completed."
        try:
            arguments = received(self.run.tools[step.name], step.arguments)
        except Unfit as problem:
            return f"Execution error in {step.name}: {problem}"
        runs = yield from self.run.use([ToRun(step.call_id, step.name, arguments)])
        if self.run.aborted:
            raise Leaves("KeyboardInterrupt", "", "aborted")
        return f"Execution error in {step.name}: {runs[0].output}" if runs[0].is_error else runs[0].output


def failure_of(failed: Failed) -> Leaves:
    """The LM's own names for what a request ended in."""
    fault = failed.fault
    if failed.aborted:
        return Leaves("KeyboardInterrupt", "", "aborted")
    name = "LMTransportError" if fault.status is None else error_of(fault.status)
    return Leaves(name, fault.message, ending(failed))


def error_of(status: int) -> str:
    """The class of an HTTP error."""
    other = "LMServerError" if status >= 500 else "LMInvalidRequestError"
    return ERRORS.get(status, other)


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as options.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", ("lm",))
    settings = check_keys(tree.get("lm", {}), "lm", ("num_retries",))
    retries = settings.get("num_retries", 3)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"lm.num_retries: expected a whole number, at least 0, but {retries!r} came")
    return Options(retries)


def read_limit(value: Any) -> float | Refused | None:
    """Python's range: 0 and below are no step, a broken number is refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        return Refused("TypeError", f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return value


STYLES = (
    Style(
        name="dspy/ReAct",
        sdk="dspy 3.4.1",
        unit="step",
        knob="max_iters",
        default=20,
        loop=loop,
        checks="before each step; the answer is one more call in any case",
        at_limit="the answer of that call; the trajectory does not end with finish",
        signal="the trajectory ends with finish",
        wires=(CHAT,),
        streams=False,
        read_limit=read_limit,
        options={"lm.num_retries": "retries of a request, 3"},
        configure=configure,
    ),
)
