"""The SDKs of before: on httpx, with an API key header and the version of 2023."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
from story import tell

from agentsim.session import Sim

TOOL = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
FUNCTION = {"type": "function", "function": {"name": "get_weather", "parameters": TOOL["input_schema"]}}


def made(sim: Sim, cls: Any, door: str) -> Any:
    if door == "inject":
        return sim.client(cls, _strict_response_validation=True)
    if door == "serve":
        base = sim.loopback() + ("/v1" if cls is openai.OpenAI else "")
        return cls(base_url=base, api_key="k", _strict_response_validation=True)
    return cls(_strict_response_validation=True)


def claude(sim: Sim, door: str, *, stream: bool) -> str:
    client = made(sim, anthropic.Anthropic, door)
    history: list[Any] = [{"role": "user", "content": sim.prompt}]
    while True:
        asked = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 99,
            "messages": history,
            "tools": [TOOL],
            "temperature": 0.2,
        }
        if stream:
            with client.messages.stream(**asked) as events:
                reply = events.get_final_message()
        else:
            reply = client.messages.create(**asked)
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return str(reply.content[0].text)
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"} for call in calls]
        history += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]


def chat(sim: Sim, door: str) -> str:
    client = made(sim, openai.OpenAI, door)
    history: list[Any] = [{"role": "user", "content": sim.prompt}]
    while True:
        reply = client.chat.completions.create(model="gpt-5.1", messages=history, tools=[FUNCTION]).choices[0].message
        history.append(reply.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        if not reply.tool_calls:
            return str(reply.content)
        history += [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in reply.tool_calls]


for door in ("inject", "intercept", "serve"):
    tell(f"anthropic {door}", claude, door=door, stream=False)
    tell(f"anthropic streamed {door}", claude, door=door, stream=True)
    tell(f"openai {door}", chat, door=door)
