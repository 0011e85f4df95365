"""litellm: sync on its own httpx client, async on an aiohttp transport that it hides under one."""

from __future__ import annotations

import asyncio
from typing import Any

import litellm
from story import tell

from agentsim.session import Sim

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}]


async def loop(complete: Any, model: str, sim: Sim) -> str:
    history: list[Any] = [{"role": "user", "content": sim.prompt}]
    while True:
        done = complete(model=model, messages=history, tools=TOOLS)
        reply = (await done if asyncio.iscoroutine(done) else done).choices[0].message
        history.append(reply.model_dump())
        if not reply.tool_calls:
            return str(reply.content)
        history += [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in reply.tool_calls]


def run(sim: Sim, complete: Any, model: str) -> str:
    return asyncio.run(loop(complete, model, sim))


for model in ("anthropic/claude-sonnet-5", "openai/gpt-5.1", "gemini/gemini-4-pro"):
    tell(f"{model} sync", run, complete=litellm.completion, model=model)
    tell(f"{model} async", run, complete=litellm.acompletion, model=model)
