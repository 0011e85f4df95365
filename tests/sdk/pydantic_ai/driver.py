"""``Agent.run``, ``iter``, ``run_stream`` and ``run_stream_events`` of pydantic-ai, over Messages, Chat Completions or Responses."""

from __future__ import annotations

from typing import Any

from py_common import Failure, Json, Tools, error_of, serve
from pydantic_ai import Agent, AgentRunResultEvent, ModelRetry, Tool, UsageLimits
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

LIMITS = ("tool_calls_limit", "input_tokens_limit", "output_tokens_limit", "total_tokens_limit")


def model_of(case: Json) -> Any:
    """The provider's model, with the client as it comes."""
    key, base = case["api_key"], case["base_url"]
    if case["wire"] == "anthropic-messages":
        return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(api_key=key, base_url=base))
    provider = OpenAIProvider(api_key=key, base_url=f"{base}/v1")
    kind: Any = OpenAIChatModel if case["wire"] == "openai-chat" else OpenAIResponsesModel
    return kind("gpt-6-astra", provider=provider)


def function(tools: Tools, spec: Json, options: Json) -> Any:
    """A typed coroutine function as a tool: what MCP would mark as an error is asked for again.

    These start in the order of their calls. Plain functions run in threads, and when one throws it is a race which of those
    behind it have started.
    """
    plain = tools.function(spec)

    async def function(**given: Any) -> Any:
        value = plain(**given)
        if isinstance(value, Failure):
            raise ModelRetry(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return Tool(function, takes_ctx=False, **options)


def limits_of(case: Json) -> UsageLimits | None:
    """The limits of the run; the limit is the one of requests."""
    given = dict(case["options"].get("usage_limits", {}))
    if case["limit"] != "default":
        given["request_limit"] = case["limit"]
    return UsageLimits(**given) if given else None


def finished(text: Any, usage: Any, messages: list[Any]) -> Json:
    """The answer of a run that returned."""
    last = next(message for message in reversed(messages) if isinstance(message, ModelResponse))
    return {
        "returned": "answer",
        "finish_reason": last.finish_reason,
        "final_text": None if text is None else str(text),
        "reported_count": usage.requests,
    }


async def run(agent: Any, prompt: str, named: Json) -> tuple[Any, Json]:
    """``Agent.run``."""
    result = await agent.run(prompt, **named)
    return result, finished(result.output, result.usage, result.all_messages())


async def iterate(agent: Any, prompt: str, named: Json) -> tuple[Any, Json]:
    """``Agent.iter``, node by node."""
    async with agent.iter(prompt, **named) as nodes:
        async for _ in nodes:
            pass
    result = nodes.result
    return result, finished(result.output, result.usage, result.all_messages())


async def run_stream(agent: Any, prompt: str, named: Json) -> tuple[Any, Json]:
    """``Agent.run_stream``, its output read when the stream is at its end."""
    async with agent.run_stream(prompt, **named) as result:
        output = await result.get_output()
    return result, finished(output, result.usage, result.all_messages())


async def run_stream_events(agent: Any, prompt: str, named: Json) -> tuple[Any, Json]:
    """``Agent.run_stream_events``, read to its end."""
    result = None
    async with agent.run_stream_events(prompt, **named) as events:
        async for event in events:
            if isinstance(event, AgentRunResultEvent):
                result = event.result
    assert result is not None
    return result, finished(result.output, result.usage, result.all_messages())


RUNS = {"run": run, "iter": iterate, "run_stream": run_stream, "run_stream_events": run_stream_events}


async def handle(case: Json, tools: Tools) -> Json:
    """One run of each prompt."""
    given = case["options"]
    per_tool = given.get("tools", {})
    agent = Agent(
        model_of(case),
        tools=[function(tools, spec, per_tool.get(spec["name"], {})) for spec in tools.specs],
        **{name: given[name] for name in ("retries", "end_strategy") if name in given},
    )
    answer: Json = {}
    history: Any = None
    for prompt in case.get("prompts", [case["prompt"]]):
        named: Json = {"usage_limits": limits_of(case), "message_history": history}
        try:
            result, answer = await RUNS[case["style"].rpartition(".")[2]](agent, prompt, named)
            history = result.all_messages()
        except Exception as error:
            answer = {"returned": "error", "error": error_of(error)}
    return answer


if __name__ == "__main__":
    serve(handle)
