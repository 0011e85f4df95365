"""LangChain's two agents, as their users make them.

``stream`` is stream mode "messages", which makes the model calls streams; mode "values" beside it
shows the final state. Neither agent has a signal of its own for "finished": every return is an answer.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command
from options import decisions_of, settings_of
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
    model = model_of(case)
    agent = create_agent(model, made, system_prompt=case["system"], **settings_of(case, model))
    own = (case.get("options") or {}).get("with_config")
    return agent.with_config(own) if own else agent


def finish_reason(message: BaseMessage) -> str | None:
    """The word that the last message's metadata show."""
    shown = message.response_metadata
    details = shown.get("incomplete_details") or {}
    word = shown.get("stop_reason") or shown.get("finish_reason")
    return word or details.get("reason") or shown.get("status")


def once(agent: Any, case: Json, given: Any) -> Any:
    """One invocation: of a prompt, or of a resume."""
    config: Json = {"configurable": {"thread_id": "thread"}}
    if case["limit"] != "default":  # None would be as if it were not given; nobody reaches this many
        config["recursion_limit"] = sys.maxsize if case["limit"] is None else case["limit"]
    if workers := (case.get("options") or {}).get("max_concurrency"):
        config["max_concurrency"] = workers
    if not case["stream"]:
        return agent.invoke(given, config)
    state: Any = {}
    for mode, chunk in agent.stream(given, config, stream_mode=["messages", "values"]):
        state = state | chunk if mode == "values" else state
    return state


def prompted(agent: Any, case: Json, prompt: str, resumes: list[int]) -> Any:
    """One prompt with its resumes."""
    state = once(agent, case, {"messages": [{"role": "user", "content": prompt}]})
    while state.get("__interrupt__"):
        calls = next(m for m in reversed(state["messages"]) if m.type == "ai").tool_calls
        actions = state["__interrupt__"][0].value["action_requests"]
        decisions = decisions_of(case, actions, calls, len(resumes))
        if decisions is None or not agent_keeps(agent):
            return state
        resumes.append(1)
        state = once(agent, case, Command(resume={"decisions": decisions}))
    return state


def agent_keeps(agent: Any) -> bool:
    """Whether there is a checkpointer to resume from."""
    return getattr(getattr(agent, "bound", agent), "checkpointer", None) is not None


def run(case: Json, tools: Tools) -> Json:
    """All prompts on one thread; the last one's ending is told."""
    agent, resumes = agent_of(case, tools), list[int]()
    *earlier, last_prompt = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            prompted(agent, case, prompt, resumes)
    state = prompted(agent, case, last_prompt, resumes)
    last = state["messages"][-1]
    return {
        "returned": "stopped" if state.get("__interrupt__") else "answer",
        "finish_reason": finish_reason(last),
        "final_text": str(last.text),
    }


serve(run)
