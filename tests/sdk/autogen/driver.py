"""AutoGen's ``AssistantAgent.run``, and a ``RoundRobinGroupChat`` of one such agent that ends with its first text.

``stream`` is ``model_client_stream``. A run returned an answer where its last message is a TextMessage; a
ToolCallSummaryMessage is a tool's output handed over.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import FunctionTool
from autogen_ext.models.anthropic import AnthropicChatCompletionClient
from autogen_ext.models.openai import OpenAIChatCompletionClient
from py_common import Failure, Json, Tools, serve

warnings.filterwarnings("ignore")

INFO: Any = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": True,
    "multiple_system_messages": False,
}
OWN = ("reflect_on_tool_use", "tool_call_summary_format")


def client_of(case: Json) -> ChatCompletionClient:
    """The model client of a wire; retries are the provider client's own."""
    key = {"api_key": case["api_key"], "model_info": INFO}
    if case["wire"] == "openai-chat":
        return OpenAIChatCompletionClient(model="gpt-6-astra", base_url=f"{case['base_url']}/v1", **key)
    return AnthropicChatCompletionClient(model="claude-sonnet-5", base_url=case["base_url"], **key)


def tool_of(tools: Tools, spec: Json) -> FunctionTool:
    """A coroutine function as a tool: these start in the order of their calls. An error result is an exception here."""
    plain = tools.function(spec)

    async def function(**given: Any) -> Any:
        value = plain(**given)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return FunctionTool(function, description=spec.get("description", spec["name"]))


def runner_of(case: Json, tools: Tools, client: ChatCompletionClient) -> Any:
    """The agent, or the team of it alone."""
    team = case["style"].endswith("RoundRobinGroupChat.run")
    given = {name: value for name, value in case["options"].items() if name in OWN}
    limit = case["options"].get("max_tool_iterations", "default") if team else case["limit"]
    if limit != "default":
        given["max_tool_iterations"] = limit
    agent = AssistantAgent(
        "assistant",
        model_client=client,
        tools=[tool_of(tools, spec) for spec in tools.specs],
        system_message=case["system"],
        model_client_stream=case["stream"],
        **given,
    )
    if not team:
        return agent
    turns = {} if case["limit"] == "default" else {"max_turns": case["limit"]}
    return RoundRobinGroupChat([agent], termination_condition=TextMessageTermination("assistant"), **turns)


async def run(case: Json, tools: Tools) -> Json:
    """All prompts on one thread; the last one's ending is told."""
    client = client_of(case)
    try:
        return await converse(runner_of(case, tools, client), case)
    finally:
        await client.close()


async def converse(runner: Any, case: Json) -> Json:
    """Every prompt is a run of its own."""
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            await runner.run(task=prompt)
    result: TaskResult = await runner.run(task=last)
    message: Any = result.messages[-1]
    text = message.content if isinstance(message.content, str) else json.dumps(message.content)
    return {
        "returned": "answer" if isinstance(message, TextMessage) else "stopped",
        "finish_reason": result.stop_reason,
        "final_text": text,
    }


serve(run)
