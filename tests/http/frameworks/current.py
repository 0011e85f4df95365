"""Frameworks on the current SDKs: intercepted as they stand, nothing in them told of it."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent as OpenAIAgent
from agents import Runner, function_tool
from google import genai
from google.genai import types
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
from story import tell

from agentsim.session import Sim


def get_weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


def langchain(sim: Sim, make: Any, *, stream: bool) -> str:
    bound, weather = make().bind_tools([tool(get_weather)]), tool(get_weather)
    history: list[Any] = [HumanMessage(sim.prompt)]
    while True:
        reply = None
        if stream:
            for chunk in bound.stream(history):
                reply = chunk if reply is None else reply + chunk
        else:
            reply = bound.invoke(history)
        history.append(reply)
        if not reply.tool_calls:
            return str(reply.text)
        history += [weather.invoke(call) for call in reply.tool_calls]


async def agents_streamed(sim: Sim) -> str:
    run = Runner.run_streamed(
        OpenAIAgent(name="a", tools=[function_tool(get_weather)], model="gpt-6-astra"), sim.prompt
    )
    async for _ in run.stream_events():
        pass
    return str(run.final_output)


def agents_sdk(sim: Sim) -> str:
    agent = OpenAIAgent(name="a", tools=[function_tool(get_weather)], model="gpt-6-astra")
    return str(Runner.run_sync(agent, sim.prompt).final_output)


def pydantic_ai(sim: Sim, model: str) -> str:
    return str(Agent(model, tools=[get_weather]).run_sync(sim.prompt).output)


def google(client: Any, sim: Sim) -> str:
    asked = {
        "model": "gemini-4-pro",
        "contents": sim.prompt,
        "config": types.GenerateContentConfig(tools=[get_weather]),
    }
    return str(client.models.generate_content(**asked).text)


async def google_streamed(sim: Sim) -> str:
    asked = {
        "model": "gemini-4-pro",
        "contents": sim.prompt,
        "config": types.GenerateContentConfig(tools=[get_weather]),
    }
    client = genai.Client(api_key="k")
    texts = [chunk.text or "" async for chunk in await client.aio.models.generate_content_stream(**asked)]
    return "".join(texts).removeprefix("Let me see.")


def agents_sdk_streamed(sim: Sim) -> str:
    return asyncio.run(agents_streamed(sim))


def google_plain(sim: Sim) -> str:
    return google(genai.Client(api_key="k"), sim)


def google_injected(sim: Sim) -> str:
    return google(sim.client(genai.Client), sim)


def google_over_aiohttp(sim: Sim) -> str:
    return asyncio.run(google_streamed(sim))


def claude() -> Any:
    return ChatAnthropic(model="claude-sonnet-5")


def gpt() -> Any:
    return ChatOpenAI(model="gpt-5.1")


for stream in (False, True):
    tell(f"langchain-anthropic, stream {stream}", langchain, make=claude, stream=stream)
    tell(f"langchain-openai, stream {stream}", langchain, make=gpt, stream=stream)
tell("openai-agents", agents_sdk)
tell("openai-agents streamed", agents_sdk_streamed)
for model in ("anthropic:claude-sonnet-5", "openai:gpt-6-astra", "openai-chat:gpt-6-astra", "google:gemini-4-pro"):
    tell(f"pydantic-ai {model}", pydantic_ai, model=model)
tell("google-genai", google_plain)
tell("google-genai injected", google_injected)
tell("google-genai over aiohttp", google_over_aiohttp)
