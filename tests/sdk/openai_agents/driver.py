"""``Runner.run`` and ``Runner.run_streamed`` of openai-agents, over the Responses API or Chat Completions."""

from __future__ import annotations

from typing import Any

from agents import (
    Agent,
    AgentsException,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from py_common import Failure, Json, Tools, error_of, serve

set_tracing_disabled(True)

AGENT_OPTIONS = ("tool_use_behavior", "reset_tool_choice")
TOOL_OPTIONS = ("failure_error_function", "timeout")


def chosen(options: Json, names: tuple[str, ...]) -> Json:
    """The options that are meant for one place; cases carry those of both languages."""
    return {name: options[name] for name in names if name in options}


def tool(tools: Tools, spec: Json, options: Json) -> Any:
    """A decorated coroutine function: these start in the order of their calls.

    A tool has no error result here: what MCP would mark as an error is a text like any other.
    """
    plain = tools.function(spec)

    async def function(**given: Any) -> Any:
        value = plain(**given)
        return value.text if isinstance(value, Failure) else value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return function_tool(function, **chosen(options, TOOL_OPTIONS))


def threw(error: Exception, count: int | None = None) -> Json:
    """The answer of a run that raised; the SDK's own errors carry what the run had done."""
    if count is None and isinstance(error, AgentsException) and error.run_data is not None:
        count = error.run_data.context_wrapper.usage.requests
    return {"returned": "error", "error": error_of(error), "reported_count": count}


async def plain_run(agent: Agent[Any], prompt: str, options: Json) -> Json:
    """``Runner.run``."""
    try:
        result = await Runner.run(agent, prompt, **options)
    except Exception as error:
        return threw(error)
    count = result.context_wrapper.usage.requests
    return {"returned": "answer", "final_text": result.final_output, "reported_count": count}


async def streamed_run(agent: Agent[Any], prompt: str, options: Json) -> Json:
    """``Runner.run_streamed``, read to its end."""
    result = Runner.run_streamed(agent, prompt, **options)
    try:
        async for _ in result.stream_events():
            pass
    except Exception as error:
        return threw(error, result.current_turn)
    count = result.current_turn
    return {"returned": "answer", "final_text": result.final_output, "reported_count": count}


async def handle(case: Json, tools: Tools) -> Json:
    """One run."""
    base_url = f"{case['base_url']}/v1"
    async with AsyncOpenAI(api_key=case["api_key"], base_url=base_url) as client:
        return await run(client, case, tools)


async def run(client: AsyncOpenAI, case: Json, tools: Tools) -> Json:
    """Make the agent and run it the way that the case asks for."""
    chat = case["wire"] == "openai-chat"
    model: Any = OpenAIChatCompletionsModel if chat else OpenAIResponsesModel
    given = case["options"]
    by_tool = given.get("tools", {})
    agent = Agent(
        name="A",
        model=model(openai_client=client, model="gpt-6-astra"),
        tools=[tool(tools, spec, by_tool.get(spec["name"], {})) for spec in tools.specs],
        **chosen(given, AGENT_OPTIONS),
    )
    options: Json = {"run_config": RunConfig(**given.get("run_config", {}))}
    if case["limit"] != "default":
        options["max_turns"] = case["limit"]
    entry = streamed_run if case["style"].endswith("run_streamed") else plain_run
    return await entry(agent, case["prompt"], options)


if __name__ == "__main__":
    serve(handle)
