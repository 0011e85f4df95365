"""Semantic Kernel's ``ChatCompletionAgent``, its functions in one plugin.

The tools' names reach the model as ``sim-NAME``. ``stream`` is ``invoke_stream``. Functions are coroutines, so
``seconds`` passes without holding the others up. A reply that is handed back with calls in it is no answer.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI
from py_common import Failure, Json, Tools, serve
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.contents import ChatMessageContent, FunctionCallContent, FunctionResultContent
from semantic_kernel.filters import FilterTypes
from semantic_kernel.functions import kernel_function

logging.disable(logging.CRITICAL)
PLUGIN = "sim"


def function_of(tools: Tools, spec: Json) -> Callable[..., Any]:
    """A kernel function; it has no error result but an exception."""
    plain = tools.function(spec)

    async def function(**given: Any) -> Any:
        if spec.get("seconds"):
            await asyncio.sleep(spec["seconds"])
        value = plain(**given)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return kernel_function(name=spec["name"], description=spec.get("description"))(function)


def kernel_of(case: Json, tools: Tools) -> Kernel:
    """The kernel with its service, plugin and filter."""
    kernel = Kernel()
    client = AsyncOpenAI(api_key=case["api_key"], base_url=f"{case['base_url']}/v1")
    kernel.add_service(OpenAIChatCompletion(ai_model_id="gpt-6-astra", async_client=client, service_id="model"))
    for spec in tools.specs:
        kernel.add_function(PLUGIN, function_of(tools, spec))
    script = case["options"].get("filters", {}).get("auto_function_invocation")
    if script:
        kernel.add_filter(FilterTypes.AUTO_FUNCTION_INVOCATION, filter_of(script["scripted"]))
    return kernel


def filter_of(values: list[Any]) -> Callable[..., Any]:
    """A filter that calls the function, then does what its script says."""
    calls = 0

    async def scripted(context: Any, next: Callable[..., Any]) -> None:  # noqa: A002 - SK goes by the name
        nonlocal calls
        said = values[min(calls, len(values) - 1)] or {}
        calls += 1
        if "raises" in said:
            raise getattr(builtins, said["raises"]["type"])(said["raises"]["message"])
        await next(context)
        context.terminate = bool(said.get("terminate", False))

    return scripted


def behavior_of(case: Json) -> FunctionChoiceBehavior | None:
    """The function choice behavior; None where nobody sets it. A limit beside attempts of its own is one more condition."""
    tree = case["options"].get("function_choice_behavior")
    if case["limit"] == "default" and tree is None:
        return None
    name, given = next(iter(tree.items())) if isinstance(tree, dict) else (tree or "Auto", {})
    if case["limit"] != "default":
        own = given.get("maximum_auto_invoke_attempts", case["limit"])
        given = {**given, "maximum_auto_invoke_attempts": min(own, case["limit"])}
    made: FunctionChoiceBehavior = getattr(FunctionChoiceBehavior, name)(**given)
    return made


def shown(message: ChatMessageContent) -> Json:
    """What the caller sees of the last message: calls in it were handed back; a filter that ends the run hands results back."""
    left = any(isinstance(item, FunctionCallContent) for item in message.items)
    results = "".join(str(item.result) for item in message.items if isinstance(item, FunctionResultContent))
    return {
        "returned": "stopped" if left else "answer",
        "finish_reason": message.finish_reason.value if message.finish_reason else None,
        "final_text": results or message.content,
    }


async def once(agent: ChatCompletionAgent, case: Json, prompt: str, thread: ChatHistoryAgentThread) -> Json:
    """One prompt. The pieces of a stream never show why it ended, nor calls or results."""
    if not case["stream"]:
        message = (await agent.get_response(prompt, thread=thread)).message
        return shown(message)
    texts = [item.message.content async for item in agent.invoke_stream(prompt, thread=thread)]
    return {"returned": "answer", "finish_reason": None, "final_text": "".join(texts)}


async def run(case: Json, tools: Tools) -> Json:
    """All prompts on one thread; the last one's ending is told."""
    behavior = behavior_of(case)
    own = {} if behavior is None else {"function_choice_behavior": behavior}
    agent = ChatCompletionAgent(kernel=kernel_of(case, tools), name="agent", instructions=case["system"], **own)
    thread = ChatHistoryAgentThread()
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            await once(agent, case, prompt, thread)
    return await once(agent, case, last, thread)


serve(run)
