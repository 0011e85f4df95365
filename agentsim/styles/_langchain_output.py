"""Structured output: a tool of its own, whose call ends the run inside the model step, or the provider's format.

one output call, fitting:   the result is there; JavaScript drops the reply's other calls, Python runs them first
not fitting, or several:    an error message, and the model is asked again (one super-step each), or thrown
none:                       a plain answer (Python without any other tool asks again)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentsim.core.wires import SeenCall
from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_messages import Said, ai, tool

if TYPE_CHECKING:
    from agentsim.styles._langchain_thread import Thread


def output_name(title: str | None, python: bool) -> str:
    """Name of the output tool: the schema's title, else one that LangChain counts (JavaScript) or draws (Python)."""
    return title or ("response_format" if python else "extract-1")


def by_tool(thread: Thread, reply: Said) -> list[Said]:
    """What a reply becomes under the tool strategy.

    Raises:
        Leaves: the output does not fit and errors are not handled.
    """
    outputs = [call for call in reply.calls if call.name == thread.run.output_tool]
    if not outputs:
        return [reply]
    if len(outputs) > 1:
        names = ", ".join(call.name for call in outputs)
        return _wrong(
            thread, reply, outputs, _SEVERAL[thread.python].format(names=names), "MultipleStructuredOutputsError"
        )
    call = outputs[0]
    assert thread.run.setup.output is not None
    problem = thread.run.setup.output(call.arguments)
    if problem is not None:
        text = _UNFIT[thread.python].format(name=call.name, problem=problem)
        type_ = "StructuredOutputValidationError" if thread.python else "StructuredOutputParsingError"
        return _wrong(thread, reply, outputs, text, type_)
    thread.structured = True
    if thread.python:
        told = " ".join(f"{key}={value!r}" for key, value in call.arguments.items())
        return [reply, tool(thread.run, call, f"Returning structured response: {told}", python=True)]
    value = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return [reply, tool(thread.run, call, value, python=False), ai(f"Returning structured response: {value}")]


_SEVERAL = {
    True: "Model incorrectly returned multiple structured responses ({names}) when only one is expected.",
    False: "The model has called multiple tools: {names} to return a structured output. This is not supported. Please provide a "
    "single structured output.",
}
_UNFIT = {
    True: "Failed to parse structured output for tool '{name}': {problem}.",
    False: "Failed to parse structured output for tool '{name}':\n  - {problem}.",
}


def _wrong(thread: Thread, reply: Said, calls: list[SeenCall], text: str, type_: str) -> list[Said]:
    """Error messages, and the model is asked again; JavaScript answers the first call alone."""
    if not thread.options.handle_errors:
        raise Leaves(type_ if thread.python else "Error", text, "bad_call")
    thread.asks_again = True
    if thread.python:
        told = f"Error: {text}\n Please fix your mistakes."
        return [reply, *(tool(thread.run, call, told, python=True) for call in calls)]
    return [reply, tool(thread.run, calls[0], text, python=False, name="")]


def by_provider(thread: Thread, reply: Said) -> list[Said]:
    """The reply's text is the output.

    Raises:
        Leaves: it is no JSON, or does not fit.
    """
    if reply.calls:
        return [reply]
    problem = _problem(thread, reply.text)
    if problem is None:
        thread.structured = True
        return [reply]
    if thread.python:
        text = f"Failed to parse structured output for tool 'response_format': {problem}."
        raise Leaves("StructuredOutputValidationError", text, None)
    text = "Failed to parse structured output for tool 'providerStrategy':\n  - Model output did not satisfy the provided response schema.."
    raise Leaves("Error", text, None)


def _problem(thread: Thread, text: str) -> str | None:
    assert thread.run.setup.output is not None
    try:
        value = json.loads(text)
    except ValueError as error:
        return str(error)
    return thread.run.setup.output(value)
