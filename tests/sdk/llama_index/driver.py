"""llama-index's agents: ``FunctionAgent.run``, ``ReActAgent.run`` and an ``AgentWorkflow`` of one FunctionAgent.

``stream`` is the agent's ``streaming``, its default. The ReAct agent offers no tools: the calls of a script are said as
texts. No run says that it is not finished: every return is an answer.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import warnings
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI
from py_common import Failure, Json, Tools, serve

warnings.filterwarnings("ignore")


def spoken(response: ChatResponse) -> ChatResponse:
    """A reply with calls as a model without function calling says it, in the ReAct agent's own format."""
    calls = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
    if calls:
        lines = [f"Thought: {response.message.content or 'I need a tool.'}"]
        for call in calls:
            given = call.tool_kwargs if isinstance(call.tool_kwargs, str) else json.dumps(call.tool_kwargs)
            lines += [f"Action: {call.tool_name}", f"Action Input: {given}"]
        response.message = ChatMessage(role="assistant", content="\n".join(lines))
    return response


class SpeakingOpenAI(OpenAI):
    """A model whose calls are texts."""

    async def achat(self, *args: Any, **given: Any) -> Any:
        """A whole reply."""
        return spoken(await super().achat(*args, **given))

    async def astream_chat(self, *args: Any, **given: Any) -> Any:
        """A streamed one."""
        replies = await super().astream_chat(*args, **given)

        async def said() -> Any:
            async for reply in replies:
                yield spoken(reply)

        return said()


def model_of(case: Json) -> Any:
    """The model of a wire, by a name that this version knows; retries are those that it gives its client."""
    if case["wire"] == "anthropic-messages":
        return Anthropic(model="claude-sonnet-4-0", base_url=case["base_url"], api_key=case["api_key"])
    chat: Any = SpeakingOpenAI if "ReActAgent" in case["style"] else OpenAI
    return chat(model="gpt-4o", api_base=f"{case['base_url']}/v1", api_key=case["api_key"])


def tool_of(tools: Tools, spec: Json) -> FunctionTool:
    """A coroutine function as a tool: these start in the order of their calls. An error result is an exception here."""
    plain = tools.function(spec)
    signature = inspect.signature(plain)

    async def function(**given: Any) -> Any:
        # Nobody validates arguments before: a function with these parameters would refuse others by itself.
        bound = signature.bind(**given)
        bound.apply_defaults()
        value = plain(**bound.arguments)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return FunctionTool.from_defaults(
        async_fn=function,
        name=spec["name"],
        description=spec.get("description", spec["name"]),
        return_direct=bool(spec.get("return_direct")),
    )


def runner_of(case: Json, tools: Tools) -> Any:
    """The agent, or the workflow of it alone."""
    kind: Any = ReActAgent if "ReActAgent" in case["style"] else FunctionAgent
    agent = kind(
        name="assistant",
        description="Answers.",
        system_prompt=case["system"],
        tools=[tool_of(tools, spec) for spec in tools.specs],
        llm=model_of(case),
        streaming=case["stream"],
    )
    return AgentWorkflow(agents=[agent]) if "AgentWorkflow" in case["style"] else agent


async def run(case: Json, tools: Tools) -> Json:
    """All prompts with one memory; the last one's ending is told."""
    runner = runner_of(case, tools)
    memory = ChatMemoryBuffer.from_defaults(token_limit=1_000_000)
    more = {name: value for name, value in case["options"].items() if name == "early_stopping_method"}
    if case["limit"] != "default":
        more["max_iterations"] = case["limit"]
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            await runner.run(user_msg=prompt, memory=memory, **more)
    output = await runner.run(user_msg=last, memory=memory, **more)
    return {"returned": "answer", "final_text": output.response.content}


serve(run)
