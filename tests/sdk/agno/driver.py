"""agno's ``Agent.run`` and ``Agent.arun``, as their users make them.

A run that fails is returned (its status is ERROR, its content the error's text), and with ``stream`` ends in an error event; nothing is
thrown. Several prompts share a session of an in-memory database, whose runs are put before each.
"""

from __future__ import annotations

import logging
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.anthropic import Claude
from agno.models.openai import OpenAIChat, OpenAIResponses
from agno.run.agent import RunErrorEvent, RunOutput
from agno.tools.function import Function
from py_common import Failure, Json, Tools, serve

for name in ("agno", "agno-team", "agno-workflow"):
    logging.getLogger(name).setLevel(logging.CRITICAL)


def model_of(case: Json) -> Any:
    """The model of a wire; retries are the provider client's own."""
    if case["wire"] == "anthropic-messages":
        params = {"base_url": case["base_url"]}
        return Claude(id="claude-sonnet-5", api_key=case["api_key"], client_params=params)
    kind = OpenAIChat if case["wire"] == "openai-chat" else OpenAIResponses
    return kind(id="gpt-6-astra", api_key=case["api_key"], base_url=f"{case['base_url']}/v1")


def tool_of(tools: Tools, spec: Json) -> Function:
    """A typed function as a tool. An error result is an exception here."""
    plain = tools.function(spec)

    def function(**given: Any) -> Any:
        value = plain(**given)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    made = Function.from_callable(function)
    made.stop_after_tool_call = bool(spec.get("return_direct"))
    return made


def agent_of(case: Json, tools: Tools) -> Agent:
    """The agent; its options are the case's."""
    more: Json = {} if case["limit"] == "default" else {"tool_call_limit": case["limit"]}
    if "prompts" in case:
        more |= {"db": InMemoryDb(), "add_history_to_context": True, "session_id": "thread"}
    if "retries" in case["options"]:
        more |= {"retries": case["options"]["retries"], "delay_between_retries": 0}
    made = [tool_of(tools, spec) for spec in tools.specs]
    return Agent(model=model_of(case), tools=made, system_message=case["system"], telemetry=False, **more)


async def awaited(agent: Agent, prompt: str, stream: bool) -> tuple[Any, Any]:
    """``arun``: the output, and the error event that was seen."""
    if not stream:
        return await agent.arun(prompt), None
    output = error = None
    async for event in agent.arun(prompt, stream=True, yield_run_output=True):
        output = event if isinstance(event, RunOutput) else output
        error = event if isinstance(event, RunErrorEvent) else error
    return output, error


def called(agent: Agent, prompt: str, stream: bool) -> tuple[Any, Any]:
    """``run``: the same."""
    if not stream:
        return agent.run(prompt), None
    output = error = None
    for event in agent.run(prompt, stream=True, yield_run_output=True):
        output = event if isinstance(event, RunOutput) else output
        error = event if isinstance(event, RunErrorEvent) else error
    return output, error


def told(output: Any, error: Any) -> Json:
    """The answer of a run."""
    if error is not None:
        return {"returned": "error", "error": {"type": "RunError", "message": str(error.content)}, "final_text": None}
    text = output.content
    return {
        "returned": "answer" if output.status.value == "COMPLETED" else "stopped",
        "finish_reason": output.status.value,
        "final_text": text if text is None else str(text),
    }


def run(case: Json, tools: Tools) -> Any:
    """All prompts on one session; the last one's ending is told."""
    agent = agent_of(case, tools)
    if case["style"].endswith("arun"):
        return arun(agent, case)
    answer: Json = {}
    for prompt in case.get("prompts") or [case["prompt"]]:
        answer = told(*called(agent, prompt, case["stream"]))
    return answer


async def arun(agent: Agent, case: Json) -> Json:
    """The same, awaited."""
    answer: Json = {}
    for prompt in case.get("prompts") or [case["prompt"]]:
        answer = told(*await awaited(agent, prompt, case["stream"]))
    return answer


serve(run)
