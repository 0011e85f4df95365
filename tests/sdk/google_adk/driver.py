"""``Runner.run_async`` of google-adk with an ``LlmAgent``, over its own Anthropic model or LiteLlm (Chat Completions)."""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types
from py_common import Failure, Json, Tools, error_of, serve

litellm.suppress_debug_info = True


def model_of(case: Json) -> Any:
    """The provider's model, with the client as it comes."""
    key, base = case["api_key"], case["base_url"]
    if case["wire"] == "openai-chat":
        return LiteLlm(model="openai/gpt-6-astra", api_key=key, api_base=f"{base}/v1")
    client = AsyncAnthropic(api_key=key, base_url=base)

    class Model(AnthropicLlm):
        async def _get_anthropic_client(self) -> Any:
            return client

    return Model(model="claude-sonnet-5")


def function(tools: Tools, spec: Json) -> FunctionTool:
    """The tool as a user of this SDK writes it: a typed function; an error result is a mapping that says so."""
    plain = tools.function(spec)

    def function(**given: Any) -> Any:
        value = plain(**given)
        return {"error": value.text} if isinstance(value, Failure) else value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return FunctionTool(function)


def told(event: Any) -> Json:
    """What the last event says."""
    finish = event.error_code or (event.finish_reason.name if event.finish_reason else None)
    parts = (event.content.parts or []) if event.content else []
    texts = [part.text for part in parts if part.text is not None and not part.thought]
    finished = event.error_code is None and finish in (None, "STOP")
    return {
        "returned": "answer" if finished else "stopped",
        "finish_reason": finish,
        "final_text": "".join(texts) if texts else None,
    }


async def handle(case: Json, tools: Tools) -> Json:
    """One run of each prompt."""
    agent = LlmAgent(name="A", model=model_of(case), tools=[function(tools, spec) for spec in tools.specs])
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    runner = Runner(app_name="app", agent=agent, session_service=sessions)
    config: Json = {} if case["limit"] == "default" else {"max_llm_calls": case["limit"]}
    if case["stream"]:
        config["streaming_mode"] = StreamingMode.SSE
    answer: Json = {}
    for prompt in case.get("prompts", [case["prompt"]]):
        message = types.Content(role="user", parts=[types.Part(text=prompt)])
        last = None
        try:
            run = runner.run_async(
                user_id="user", session_id=session.id, new_message=message, run_config=RunConfig(**config)
            )
            async for event in run:
                last = event
            answer = told(last)
        except Exception as error:
            answer = {"returned": "error", "error": error_of(error)}
    return answer


if __name__ == "__main__":
    serve(handle)
