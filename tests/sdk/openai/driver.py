"""``ResponsesToolRunner.run`` of the OpenAI SDK.

Tools are Pydantic function tools with typed executors; with the option ``registered: dict`` they are
plain declarations whose executors get the parsed object. An executor has to return text, so other
values are written as JSON, unless the option ``raw_results`` is set. A run that returns has completed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from openai import OpenAI
from openai.lib._tools import pydantic_responses_function_tool
from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner
from py_common import TYPES, Failure, Json, Tools, serve
from pydantic import BaseModel, create_model


def model_of(spec: Json) -> type[BaseModel]:
    """The Pydantic model that a user would write for the tool's input."""
    schema = spec.get("schema") or {}
    fields: Json = {}
    for name, kind in schema.get("properties", {}).items():
        hint: Any = TYPES.get(kind.get("type", ""), Any)
        required = name in schema.get("required", [])
        fields[name] = (hint, ...) if required else (hint | None, None)
    made: type[BaseModel] = create_model(spec["name"], **fields)
    return made


def executor(case: Json, tools: Tools, spec: Json) -> Callable[[Any], Any]:
    """The function behind a tool; it has no way of its own to say that it failed."""

    def execute(given: Any) -> Any:
        value = tools.run(spec, given if isinstance(given, dict) else given.model_dump())
        if isinstance(value, Failure):
            return value.text
        if isinstance(value, str) or case["options"].get("raw_results"):
            return value
        return json.dumps(value)

    return execute


def function_of(case: Json, tools: Tools, spec: Json) -> RegisteredFunction:
    """A registered function of the case's kind."""
    execute = executor(case, tools, spec)
    if case["options"].get("registered") != "dict":
        declared = pydantic_responses_function_tool(
            model_of(spec), name=spec["name"], description=spec.get("description")
        )
        return RegisteredFunction.from_tool(declared, execute=execute)
    named = {"name": spec["name"], "description": spec.get("description")}
    parameters = spec.get("schema") or {"type": "object", "properties": {}}
    return RegisteredFunction({"type": "function", **named, "parameters": parameters, "strict": False}, execute)


def run(case: Json, tools: Tools) -> Json:
    """One run of a runner; what it raises is the answer's error."""
    client = OpenAI(base_url=case["base_url"] + "/v1", api_key=case["api_key"])
    runner = ResponsesToolRunner(functions=[function_of(case, tools, spec) for spec in tools.specs])
    params: Json = {"model": "gpt-6-astra", "input": case["prompt"]}
    if case["system"]:
        params["instructions"] = case["system"]
    if any(spec.get("server") for spec in case["tools"]):
        params["tools"] = [{"type": "web_search"}]
    limit: Json = {} if case["limit"] == "default" else {"max_steps": case["limit"]}
    eager = bool(case["options"].get("eager"))
    response = runner.run(client, params, stream=case["stream"], eager=eager, **limit)
    return {
        "returned": "answer",
        "finish_reason": response.status,
        "final_text": response.output_text,
    }


serve(run)
