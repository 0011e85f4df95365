"""``ToolCallingAgent.run`` and ``CodeAgent.run`` of smolagents, over Chat Completions.

A scripted reply has calls and text; a CodeAgent's model writes code. So for that agent each reply is written as the code that
does what it says: a line for each call, and ``final_answer("…")`` for a text. Arguments that are no object become broken code.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import smolagents.models
from py_common import Failure, Json, Tools, error_of, serve
from smolagents import CodeAgent, LogLevel, OpenAIModel, Tool, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    agglomerate_stream_deltas,
)

smolagents.models.RETRY_WAIT = 0


def as_code(message: ChatMessage) -> str | None:
    """A scripted reply as a code blob; None and "" stay what they are."""
    if not message.tool_calls:
        return f"<code>\nfinal_answer({json.dumps(message.content)})\n</code>" if message.content else message.content
    lines = []
    for call in message.tool_calls:
        name, raw = call.function.name, call.function.arguments
        try:
            named = json.loads(raw).items()
        except (ValueError, AttributeError):
            lines.append(f"{name}({raw}")  # no code can say it: an open bracket
            continue
        lines.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in named)})")
    return f"{message.content or ''}<code>\n" + "\n".join(lines) + "\n</code>"


class CodingModel(OpenAIModel):
    """A model whose replies are code."""

    def generate(self, *given: Any, **named: Any) -> ChatMessage:
        message = super().generate(*given, **named)
        message.content, message.tool_calls = as_code(message), None
        return message

    def generate_stream(self, *given: Any, **named: Any) -> Iterator[ChatMessageStreamDelta]:
        message = agglomerate_stream_deltas(list(super().generate_stream(*given, **named)))
        yield ChatMessageStreamDelta(content=as_code(message), token_usage=message.token_usage)


def answer_call(text: str) -> ChatMessageToolCall:
    """The call of ``final_answer`` that gives a text."""
    function = ChatMessageToolCallFunction(name="final_answer", arguments=json.dumps({"answer": text}))
    return ChatMessageToolCall(function=function, id="answer_1", type="function")


class CallingModel(OpenAIModel):
    """A model that says its answer in a call of ``final_answer``, as the request's ``tool_choice: required`` makes it do."""

    def generate(self, *given: Any, tools_to_call_from: Any = None, **named: Any) -> ChatMessage:
        message = super().generate(*given, tools_to_call_from=tools_to_call_from, **named)
        if tools_to_call_from and message.content and not message.tool_calls:
            message.tool_calls = [answer_call(message.content)]
            message.content = None
        return message

    def generate_stream(self, *given: Any, **named: Any) -> Iterator[ChatMessageStreamDelta]:
        message = agglomerate_stream_deltas(list(super().generate_stream(*given, **named)))
        calls = message.tool_calls
        if message.content and not calls:
            calls = [answer_call(message.content)]
            message.content = ""
        deltas = [
            ChatMessageToolCallStreamDelta(index=at, id=call.id, type=call.type, function=call.function)
            for at, call in enumerate(calls or ())
        ]
        yield ChatMessageStreamDelta(
            content=message.content, tool_calls=deltas or None, token_usage=message.token_usage
        )


def tool(tools: Tools, spec: Json) -> Tool:
    """The tool as a class of its own, with a typed function: what is not named is the first parameter's."""
    schema = spec.get("schema") or {}
    names = list(schema.get("properties", {}))
    signature = inspect.signature(tools.function(spec))
    inputs = {
        name: {"type": kind["type"], "description": name}
        | ({} if name in schema.get("required", []) else {"nullable": True})
        for name, kind in schema.get("properties", {}).items()
    }

    def forward(self: Any, *given: Any, **named: Any) -> Any:
        bound = signature.bind(**dict(zip(names[: len(given)], given, strict=True)), **named)
        bound.apply_defaults()
        value = tools.run(spec, bound.arguments)
        return value.text if isinstance(value, Failure) else value

    body = {
        "name": spec["name"],
        "description": spec.get("description") or spec["name"],
        "inputs": inputs,
        "output_type": "any",
        "forward": forward,
        "skip_forward_signature_validation": True,
    }
    return type("Scripted", (Tool,), body)()


def handle(case: Json, tools: Tools) -> Json:
    """One run of each prompt."""
    coding = case["style"].endswith("CodeAgent.run")
    given = case["options"]
    kind: Any = CodingModel if coding else CallingModel if given.get("final_answer") else OpenAIModel
    model = kind(
        model_id="gpt-6-astra",
        api_base=f"{case['base_url']}/v1",
        api_key=case["api_key"],
        **({"retry": given["retry"]} if "retry" in given else {}),
    )
    options: Json = {} if case["limit"] == "default" else {"max_steps": case["limit"]}
    if "max_tool_threads" in given and not coding:
        options["max_tool_threads"] = given["max_tool_threads"]
    agent: Any = (CodeAgent if coding else ToolCallingAgent)(
        tools=[tool(tools, spec) for spec in tools.specs],
        model=model,
        stream_outputs=case["stream"],
        return_full_result=True,
        verbosity_level=LogLevel.OFF,
        **options,
    )
    answer: Json = {}
    for number, prompt in enumerate(case.get("prompts", [case["prompt"]])):
        try:
            result = agent.run(prompt, reset=number == 0, **given.get("run", {}))
        except Exception as error:
            answer = {"returned": "error", "error": error_of(error)}
            continue
        answer = {
            "returned": "answer" if result.state == "success" else "stopped",
            "finish_reason": result.state,
            "final_text": None if result.output is None else str(result.output),
        }
    return answer


if __name__ == "__main__":
    serve(handle)
