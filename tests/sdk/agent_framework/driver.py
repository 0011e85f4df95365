"""Microsoft Agent Framework's ``Agent.run`` over its Responses, Chat Completions and Claude clients; ``stream`` is ``stream=True``.

Tools are coroutine functions, which start in the order of their calls. A run that returned is an answer, unless its text is the
framework's own about the limit or it was left with calls.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from typing import Any

from agent_framework import Agent, AgentResponse, FunctionTool
from agent_framework.anthropic import AnthropicClient
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from anthropic import AsyncAnthropic
from py_common import Failure, Json, Tools, serve

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
LIMIT = "Function invocation limit reached before a final answer could be produced."


def client_of(case: Json) -> Any:
    """The chat client of a wire, with the loop's settings; retries are the provider client's own.

    A limit beside `max_iterations` in the settings is one more condition.
    """
    settings = dict(case["options"].get("function_invocation_configuration", {}))
    if case["limit"] != "default":
        settings["max_iterations"] = min(case["limit"], settings.get("max_iterations", case["limit"]))
    own = {"function_invocation_configuration": settings}
    if case["wire"] == "anthropic-messages":
        provider = AsyncAnthropic(base_url=case["base_url"], api_key=case["api_key"])
        return AnthropicClient(model="claude-sonnet-5", anthropic_client=provider, **own)
    made = OpenAIChatClient if case["wire"] == "openai-responses" else OpenAIChatCompletionClient
    return made(model="gpt-6-astra", api_key=case["api_key"], base_url=f"{case['base_url']}/v1", **own)


def tool_of(tools: Tools, spec: Json) -> FunctionTool:
    """A function tool; without an implementation on this side it is a declaration. An error result is an exception here."""
    named = {"name": spec["name"], "description": spec.get("description", "")}
    if spec.get("execute") == "client":
        return FunctionTool(**named, func=None, input_model=spec.get("schema"))
    plain = tools.function(spec)

    async def function(**given: Any) -> Any:
        value = plain(**given)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return FunctionTool(**named, func=function)


async def once(agent: Agent[Any], case: Json, prompt: str, session: Any) -> AgentResponse[Any]:
    """One prompt."""
    if not case["stream"]:
        answer: AgentResponse[Any] = await agent.run(prompt, session=session)
        return answer
    stream = agent.run(prompt, session=session, stream=True)
    async for _ in stream:
        pass
    final: AgentResponse[Any] = await stream.get_final_response()
    return final


async def run(case: Json, tools: Tools) -> Json:
    """All prompts in one session; the last one's ending is told."""
    choice = case["options"].get("default_options")
    own = {} if choice is None else {"default_options": choice}
    made = [tool_of(tools, spec) for spec in tools.specs]
    agent: Agent[Any] = Agent(client=client_of(case), instructions=case["system"], tools=made, **own)
    *earlier, last = case.get("prompts") or [case["prompt"]]
    session = agent.create_session() if earlier else None
    for prompt in earlier:
        with contextlib.suppress(Exception):
            await once(agent, case, prompt, session)
    answer = await once(agent, case, last, session)
    return {
        "returned": "stopped" if LIMIT in answer.text or left_open(answer) else "answer",
        "finish_reason": answer.finish_reason,
        "final_text": answer.text,
    }


def left_open(answer: AgentResponse[Any]) -> bool:
    """Whether a call was handed back; those of a provider's own tools are only told of."""
    contents = [content for message in answer.messages for content in message.contents]
    calls = [one for one in contents if one.type == "function_call" and not one.informational_only]
    return bool({one.call_id for one in calls} - {one.call_id for one in contents if one.type == "function_result"})


serve(run)
