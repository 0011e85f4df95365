"""``strands.Agent``, called with a prompt, over the Messages API, Chat Completions or Responses."""

from __future__ import annotations

import asyncio
from typing import Any

from py_common import Failure, Json, Tools, error_of, serve
from strands import Agent, tool
from strands.event_loop._retry import ModelRetryStrategy
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel
from strands.tools.executors import ConcurrentToolExecutor, SequentialToolExecutor

EXECUTORS = {"SequentialToolExecutor": SequentialToolExecutor, "ConcurrentToolExecutor": ConcurrentToolExecutor}


def model_of(case: Json) -> Any:
    """The provider's model, with the client as it comes."""
    key, base = case["api_key"], case["base_url"]
    if case["wire"] == "anthropic-messages":
        client = {"api_key": key, "base_url": base}
        return AnthropicModel(client_args=client, model_id="claude-sonnet-5", max_tokens=1024)
    kind: Any = OpenAIModel if case["wire"] == "openai-chat" else OpenAIResponsesModel
    return kind(client_args={"api_key": key, "base_url": f"{base}/v1"}, model_id="gpt-6-astra")


def decorated(tools: Tools, spec: Json) -> Any:
    """The tool as a user of this SDK writes it: a typed function, decorated."""
    plain = tools.function(spec)

    def function(**given: Any) -> Any:
        value = plain(**given)
        if isinstance(value, Failure):
            return {"status": "error", "content": [{"text": value.text}]}
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return tool(function)


def limits_of(case: Json) -> Json | None:
    """The caps of the call; the limit is the cap of turns."""
    limits = dict(case["options"].get("limits", {}))
    if case["limit"] != "default":
        limits["turns"] = case["limit"]
    return limits or None


def text_of(message: Json) -> str:
    """The texts of a message."""
    return "".join(block["text"] for block in message["content"] if "text" in block)


def handle(case: Json, tools: Tools) -> Json:
    """One run of each prompt, called as most users do: how deep the cycles may nest hangs on it. Back-off takes no time."""
    given = case["options"]
    retry = {"initial_delay": 0, **given.get("retry_strategy", {})}
    agent = Agent(
        model=model_of(case),
        tools=[decorated(tools, spec) for spec in tools.specs],
        tool_executor=EXECUTORS[given.get("tool_executor", "ConcurrentToolExecutor")](),
        retry_strategy=ModelRetryStrategy(**retry),
        callback_handler=None,
    )
    answer: Json = {}
    for prompt in case.get("prompts", [case["prompt"]]):
        try:
            result = agent(prompt, limits=limits_of(case))
        except (Exception, asyncio.CancelledError) as error:
            answer = {"returned": "error", "error": error_of(error)}
            continue
        finished = result.stop_reason in ("end_turn", "stop_sequence")
        invocation = agent.event_loop_metrics.latest_agent_invocation
        answer = {
            "returned": "answer" if finished else "stopped",
            "finish_reason": result.stop_reason,
            "final_text": text_of(result.message),
            "reported_count": len(invocation.cycles) if invocation else None,
        }
    return answer


if __name__ == "__main__":
    serve(handle)
