"""``dspy.ReAct`` over Chat Completions: a text protocol, in which a reply names its tool in fields of text.

A scripted reply has calls and text, so an adapter writes it as such a text before dspy reads it: its first call as the tool of the step,
a text as a call of ``finish`` and as the answer, all fields at once. It does so in JSON mode too, as a model that does not obey.
``finish`` and the answer are two requests, which one reply of the script answers (``says_twice`` in ``entries.json``).
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
from typing import Any

import dspy
from dspy._vendor.lm15.providers import openai_chat
from py_common import Failure, Json, Tools, serve

logging.disable(logging.CRITICAL)
AS_IT_CAME = "as it came"
#: The client would read the arguments and forget their text.
openai_chat.parse_json_object = lambda text: {AS_IT_CAME: text}


def as_fields(output: Any) -> Any:
    """A reply as the fields of a step and of the answer; one that says nothing stays as it is."""
    text, calls = (output.get("text"), output.get("tool_calls")) if isinstance(output, dict) else (output, None)
    if not text and not calls:
        return output
    name, raw = ("finish", "{}") if not calls else name_and_arguments(calls[0])
    thought = text or ""
    fields = {
        "next_thought": thought,
        "next_tool_name": name,
        "next_tool_args": raw,
        "reasoning": "",
        "answer": thought,
    }
    return "\n\n".join(f"[[ ## {key} ## ]]\n{value}" for key, value in [*fields.items(), ("completed", "")])


def name_and_arguments(call: Any) -> tuple[str, str]:
    """Name and arguments of a call as they arrived."""
    function = call["function"]
    return function["name"], json.loads(function["arguments"])[AS_IT_CAME]


class Fields:
    """What is done to the outputs before either adapter reads them."""

    def _call_postprocess(self, processed: Any, original: Any, outputs: list[Any], *more: Any) -> Any:
        return super()._call_postprocess(processed, original, [as_fields(one) for one in outputs], *more)  # type: ignore[misc]


class JsonFields(Fields, dspy.JSONAdapter):
    """JSON mode."""


class ChatFields(Fields, dspy.ChatAdapter):
    """The default adapter."""

    def _make_json_adapter_fallback(self) -> dspy.JSONAdapter:
        return JsonFields(use_native_function_calling=self.use_native_function_calling)


def tool_of(tools: Tools, spec: Json) -> dspy.Tool:
    """A tool of a typed function, which takes its own keywords only; it has no error result but an exception."""
    plain = tools.function(spec)
    takes = inspect.signature(plain)

    def function(**given: Any) -> Any:
        value = plain(**takes.bind(**given).arguments)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return dspy.Tool(function, name=spec["name"], desc=spec.get("description"))


def run(case: Json, tools: Tools) -> Json:
    """Every prompt is a run that knows nothing of the others; the last one's ending is told."""
    lm = dspy.LM(
        "openai/gpt-6-astra",
        api_key=case["api_key"],
        api_base=f"{case['base_url']}/v1",
        cache=False,
        **case["options"].get("lm", {}),
    )
    limit = {} if case["limit"] == "default" else {"max_iters": case["limit"]}
    react = dspy.ReAct("question -> answer", tools=[tool_of(tools, spec) for spec in tools.specs], **limit)
    with dspy.context(lm=lm, adapter=ChatFields()):
        *earlier, last = case.get("prompts") or [case["prompt"]]
        for prompt in earlier:
            with contextlib.suppress(Exception):
                react(question=prompt)
        prediction = react(question=last)
    trajectory = prediction.trajectory
    names = [value for key, value in trajectory.items() if key.startswith("tool_name_")]
    return {
        "returned": "answer" if names and names[-1] == "finish" else "stopped",
        "finish_reason": None,
        "final_text": prediction.answer,
    }


serve(run)
