"""Haystack's ``Agent.run`` over its Chat Completions generator; ``stream`` is a streaming callback.

Tools run in threads. A run returned an answer where its ``exit_reason`` is "text".
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret
from py_common import Failure, Json, Tools, serve

logging.disable(logging.CRITICAL)
OWN = ("exit_conditions", "raise_on_tool_invocation_failure", "tool_concurrency_limit")


def tool_of(tools: Tools, spec: Json) -> Tool:
    """A tool of a plain function, which takes its own keywords only; it has no error result but an exception."""
    plain = tools.function(spec)
    takes = inspect.signature(plain)

    def function(**given: Any) -> Any:
        value = plain(**takes.bind(**given).arguments)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    parameters = spec.get("schema") or {"type": "object", "properties": {}}
    return Tool(spec["name"], spec.get("description") or spec["name"], parameters, function)


def run(case: Json, tools: Tools) -> Json:
    """All prompts on one list of messages; the last one's ending is told."""
    generator = OpenAIChatGenerator(
        model="gpt-6-astra",
        api_key=Secret.from_token(case["api_key"]),
        api_base_url=f"{case['base_url']}/v1",
        streaming_callback=(lambda chunk: None) if case["stream"] else None,
    )
    own = {name: case["options"][name] for name in OWN if name in case["options"]}
    if case["limit"] != "default":
        own["max_agent_steps"] = case["limit"]
    made = [tool_of(tools, spec) for spec in tools.specs]
    agent = Agent(chat_generator=generator, tools=made, system_prompt=case["system"], **own)
    messages: list[ChatMessage] = []
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            result = agent.run(messages=[*messages, ChatMessage.from_user(prompt)])
            messages = [message for message in result["messages"] if message.role.value != "system"]
    result = agent.run(messages=[*messages, ChatMessage.from_user(last)])
    return {
        "returned": "answer" if result["exit_reason"] == "text" else "stopped",
        "finish_reason": result["exit_reason"],
        "final_text": result["last_message"].text,
        "reported_count": result["step_count"],
    }


serve(run)
