"""LangChain's two agents, as their users make them.

``stream`` is stream mode "messages", which makes the model calls streams; mode "values" beside it
shows the final state. Neither agent has a signal of its own for "finished": every return is an answer.
"""

from __future__ import annotations

import warnings
from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.prebuilt import create_react_agent
from py_common import Failure, Json, Tools, serve

warnings.filterwarnings("ignore", category=DeprecationWarning)


def model_of(case: Json) -> BaseChatModel:
    """The chat model of a wire; retries are the client's own."""
    if case["wire"] == "anthropic-messages":
        return ChatAnthropic(model="claude-sonnet-5", base_url=case["base_url"], api_key=case["api_key"])
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="gpt-6-astra",
        base_url=case["base_url"] + "/v1",
        api_key=case["api_key"],
        use_responses_api=case["wire"] == "openai-responses",
    )


def tool_of(tools: Tools, spec: Json) -> BaseTool:
    """A tool made with the decorator; an error result is a ToolException that it handles."""
    inner = tools.function(spec)

    def function(**given: Any) -> Any:
        value = inner(**given)
        if isinstance(value, Failure):
            raise ToolException(value.text)
        return value

    for name in ("__name__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(inner, name))
    made = tool(return_direct=bool(spec.get("return_direct")))(function)
    made.handle_tool_error = True
    return made


def agent_of(case: Json, tools: Tools) -> Any:
    """The compiled graph of an entry point."""
    made = [tool_of(tools, spec) for spec in tools.specs]
    if case["style"] == "langchain/create_react_agent":
        return create_react_agent(model_of(case), made, prompt=case["system"])
    return create_agent(model_of(case), made, system_prompt=case["system"])


def finish_reason(message: BaseMessage) -> str | None:
    """The word that the last message's metadata show."""
    shown = message.response_metadata
    details = shown.get("incomplete_details") or {}
    word = shown.get("stop_reason") or shown.get("finish_reason")
    return word or details.get("reason") or shown.get("status")


def run(case: Json, tools: Tools) -> Json:
    """One invocation of the agent."""
    config = {} if case["limit"] == "default" else {"recursion_limit": case["limit"]}
    given = {"messages": [{"role": "user", "content": case["prompt"]}]}
    agent = agent_of(case, tools)
    if case["stream"]:
        state: Any = None
        for mode, chunk in agent.stream(given, config, stream_mode=["messages", "values"]):
            state = chunk if mode == "values" else state
    else:
        state = agent.invoke(given, config)
    last = state["messages"][-1]
    return {
        "returned": "answer",
        "finish_reason": finish_reason(last),
        "final_text": str(last.text),
    }


serve(run)
