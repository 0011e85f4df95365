"""A step of smolagents' agents: what the model said, and what became of its calls or its code."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event
from agentsim.core.messages import Refusal, Text
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import Seen, parse
from agentsim.styles._smolagents_options import Options

ANSWER = "final_answer"
_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its arguments as smolagents reads them: a JSON value, or the text itself where it is no JSON."""

    id: str
    name: str
    arguments: Any
    raw: str

    def as_code(self) -> str:
        """A line of code that makes this call; arguments that are no object become an open bracket."""
        if not isinstance(self.arguments, dict) or not all(key.isidentifier() for key in self.arguments):
            return f"{self.name}({self.raw}"
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.arguments.items())})"


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply as smolagents has it. `content` None: the message has no text at all."""

    content: str | None
    calls: tuple[Call, ...]

    def as_code(self) -> str | None:
        """The reply as a model that writes code says it."""
        if self.calls:
            lines = "\n".join(call.as_code() for call in self.calls)
            return f"{self.content or ''}<code>\n{lines}\n</code>"
        return f"<code>\n{ANSWER}({json.dumps(self.content)})\n</code>" if self.content else self.content


@dataclass(frozen=True, slots=True)
class Step:
    """What a step leaves.

    Args:
        words: the model's text; None where it had none.
        calls: the calls that were made, as text; None where the step failed before.
        observation: their results; None where they are lost.
        error: why the step failed.
        answered, answer: whether the run is over, and with what.
    """

    words: str | None
    calls: str | None = None
    observation: str | None = None
    error: str | None = None
    answered: bool = False
    answer: str | None = None


Steps = Generator[Action, Event, Step]


def heard(run: Run, retry: Retry, *, whole: bool = False) -> Generator[Action, Event, Heard | Failed]:
    """Call the model. A stream that merely ends is a reply like any other.

    Args:
        run: the run.
        retry: which faults are sent again.
        whole: ask for the reply in one piece, also where the run streams.
    """
    seen = yield from run.call(retry, whole=whole)
    if isinstance(seen, Failed):
        if seen.fault.disconnect != "end" or not seen.fault.in_stream:
            return seen
        seen, _ = run.partly(seen.fault)
    return as_heard(seen, run.streamed and not whole)


def as_heard(seen: Seen, streamed: bool) -> Heard:
    """The message: its text is None where there is none, but "" where it was streamed."""
    blocks = seen.reply.blocks
    words = any(isinstance(block, Text) for block in blocks)
    if seen.refusal is not None and not any(isinstance(block, Refusal) for block in blocks):
        words = False  # the text is the refusal
    content = seen.text if words else None
    calls = tuple(
        Call(call.id, call.name, call.raw if call.broken else call.arguments, call.raw) for call in seen.calls
    )
    return Heard((content or "") if streamed else content, calls)


# -- ToolCallingAgent -------------------------------------------------------------------------------------------------


def calling_step(run: Run, options: Options, said: Heard) -> Steps:
    """Run the calls of a reply; one error is the step's."""
    calls, words = said.calls, said.content
    if not calls and options.final_answer and said.content:
        calls, words = (Call("answer", ANSWER, {"answer": said.content}, ""),), "" if run.streamed else None
    if not calls:
        found = call_in_text(said.content)
        if found is None:
            return Step(words, error="Error while parsing tool call from model output")
        calls = (found,)
    due = list({call.id: call for call in calls}.values())
    given = [(call, *fitted(run, call)) for call in due]
    runs = yield from run.use(
        [
            ToRun(call.id, call.name, input_)
            for call, input_, problem in given
            if problem is None and call.name != ANSWER
        ],
        workers=options.workers,
    )
    errors = [problem for _, _, problem in given if problem is not None]
    errors += [f"Error executing tool '{done.name}': {done.output}" for done in runs if done.raised]
    answers = [input_["answer"] for call, input_, problem in given if call.name == ANSWER and problem is None]
    if answers and len(calls) > 1:
        errors.append("If you want to return an answer, please do not perform any other tool calls!")
    if errors:
        return Step(words, error=errors[0])
    listed = "; ".join(f"{call.id}: {call.name}({call.arguments})" for call in due)
    outputs = [str(done.output).strip() for done in runs] + [str(answer).strip() for answer in answers]
    return Step(
        words, listed, "\n".join(outputs), answered=bool(answers), answer=shown(answers[0]) if answers else None
    )


def shown(answer: Any) -> str | None:
    """The answer as text."""
    return None if answer is None else str(answer)


def call_in_text(text: str | None) -> Call | None:
    """The call that a text spells as JSON, from its first brace to its last; None where there is none."""
    if text is None or "}" not in text:
        return None
    try:
        blob = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
        arguments = blob.get("arguments")
        name = blob["name"]
    except (ValueError, KeyError, AttributeError, RecursionError):
        return None
    if isinstance(arguments, str):
        value, broken = parse(arguments)
        arguments = arguments if broken else value
    return Call("parsed", str(name), arguments, "")


def fitted(run: Run, call: Call) -> tuple[dict[str, Any], str | None]:
    """What the tool's function gets, and why it is not called."""
    spec = FINAL if call.name == ANSWER else run.tools.get(call.name)
    if spec is None or spec.client:
        return {}, f"Unknown tool {call.name}, should be one of: {', '.join([*run.tools, ANSWER])}."
    arguments = call.arguments or {}
    known: Mapping[str, Any] = spec.schema.get("properties", {})
    required = set(spec.schema.get("required", ()))
    if not isinstance(arguments, dict):
        name = next(iter(known), None)
        if name is None or (wrong := misfit(known[name], arguments, nullable=False)):
            return {}, f"Argument has type '{type(arguments).__name__}' but should be '{wrong if name else None}'"
        arguments = {name: arguments}
    else:
        for key, value in arguments.items():
            if key not in known:
                return {}, f"Argument {key} is not in the tool's input schema"
            if wrong := misfit(known[key], value, nullable=key not in required):
                return {}, f"Argument {key} has type '{_TYPES[type(value)]}' but should be '{wrong}'"
    missing = [key for key in known if key in required and key not in arguments]
    if missing:
        return {}, f"Argument {missing[0]} is required"
    return {key: arguments.get(key) for key in known}, None


def misfit(schema: Mapping[str, Any], value: Any, *, nullable: bool) -> str | None:
    """The type that was wanted, where the value's is another; a whole number is a number too."""
    wanted, came = schema.get("type", "any"), _TYPES[type(value)]
    if wanted in ("any", came) or (came == "null" and nullable) or (came == "integer" and wanted == "number"):
        return None
    return str(wanted)


#: The SDK's own tool.
FINAL = ToolSpec(ANSWER, schema={"type": "object", "properties": {"answer": {}}, "required": ["answer"]})


# -- CodeAgent --------------------------------------------------------------------------------------------------------


def code_step(run: Run, options: Options, said: Heard) -> Steps:
    """Run the code that a reply is: call after call, up to the first error or the answer."""
    code = said.as_code()
    if code is None:
        return Step(None, error="Error in code parsing")
    if not said.calls:
        answer = said.content
        return Step(code, code, f"Last output from code snippet:\n{answer}", answered=bool(answer), answer=answer)
    if not all(is_object(call) for call in said.calls):
        return Step(code, code, error="Code parsing failed due to: SyntaxError")
    return (yield from run_lines(run, code, said.calls))


def is_object(call: Call) -> bool:
    """Whether code can say the call's arguments."""
    return isinstance(call.arguments, dict) and all(key.isidentifier() for key in call.arguments)


def run_lines(run: Run, code: str, calls: Sequence[Call]) -> Steps:
    """The lines one after the other."""
    started = False
    for call in calls:
        spec = FINAL if call.name == ANSWER else run.tools.get(call.name)
        if spec is None or spec.client:
            return Step(code, code, error=f"Forbidden function evaluation: '{call.name}'")
        known, required = spec.schema.get("properties", {}), spec.schema.get("required", ())
        if any(key not in known for key in call.arguments) or any(key not in call.arguments for key in required):
            return Step(code, code, error=f"{call.name}() got wrong arguments")
        if call.name == ANSWER:
            answer = shown(call.arguments["answer"])
            return Step(code, code, f"Last output from code snippet:\n{answer}", answered=True, answer=answer)
        input_ = {key: call.arguments.get(key) for key in known}
        runs = yield from run.use([ToRun(call.id, call.name, input_)], same_round=started)
        started = True
        if run.aborted or any(done.raised for done in runs):
            return Step(code, code, error=f"Code execution failed: {call.name}")
        output = runs[0].output
    return Step(code, code, f"Last output from code snippet:\n{output}")
