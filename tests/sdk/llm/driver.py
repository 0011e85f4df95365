"""llm's ``Conversation.chain`` and ``AsyncConversation.chain`` over its OpenAI plugin's models: Chat Completions and, its own default, Responses.

``Model.chain`` is the former on a conversation of its own, without a way to set the limit. A chain has no signal but that it returns.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["LLM_USER_PATH"] = str(
    Path(sys.prefix) / "llm-user"
)  # else the keys of whoever runs this are looked through

import llm
from llm.default_plugins.openai_models import AsyncChat, AsyncResponses, Chat, Responses
from py_common import Failure, Json, Tools, serve

MODELS = {"openai-chat": (Chat, AsyncChat), "openai-responses": (Responses, AsyncResponses)}


def tool_of(case: Json, tools: Tools, spec: Json) -> llm.Tool:
    """A tool of a plain function, which takes its own keywords only; it has no error result but an exception."""
    if spec.get("execute") == "client":
        return llm.Tool(spec["name"], spec["description"], spec["schema"])
    plain = tools.function(spec)
    takes = plain.__signature__  # type: ignore[attr-defined]

    def called(**given: Any) -> Any:
        arguments = takes.bind(**given).arguments
        if spec["name"] in case["options"].get("pause", ()):
            raise llm.PauseChain("paused")
        value = plain(**arguments)
        if isinstance(value, Failure):
            raise RuntimeError(value.text)
        return value

    async def awaited(**given: Any) -> Any:
        return called(**given)

    function: Any = awaited if case["style"].startswith("llm/Async") else called
    for name in ("__name__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return llm.Tool.function(function)


def hook(tree: Json | None) -> Callable[..., Any] | None:
    """A ``before_call`` or ``after_call`` that raises where its script says so."""
    if tree is None:
        return None
    calls = iter(range(10**6))

    def function(*_: Any) -> None:
        value = tree["scripted"][min(next(calls), len(tree["scripted"]) - 1)]
        if value is not None:
            name, message = value["raises"]["type"], value["raises"]["message"]
            raised: type[Exception] = getattr(llm, name, None) or getattr(builtins, name)
            raise raised(message)

    async def awaited(*_: Any) -> None:
        function()

    return awaited if tree.get("async") else function


def conversation_of(case: Json, tools: Tools) -> Any:
    """The conversation, with tools and hooks; whether it is async is the model's."""
    kind = MODELS[case["wire"]][case["style"].startswith("llm/Async")]
    reasons = {"reasoning": True} if case["wire"] == "openai-responses" else {}
    model = kind("gpt-6-astra", key=case["api_key"], api_base=f"{case['base_url']}/v1", supports_tools=True, **reasons)
    return model.conversation(
        tools=[tool_of(case, tools, spec) for spec in tools.specs],
        before_call=hook(case["options"].get("before_call")),
        after_call=hook(case["options"].get("after_call")),
    )


def settings_of(case: Json) -> Json:
    """What every ``chain`` is called with."""
    limit = {} if case["limit"] == "default" else {"chain_limit": case["limit"]}
    return {"system": case["system"], "stream": case["stream"]} | limit


def told(case: Json, conversation: Any, before: int, text: str) -> Json:
    """The answer of a chain that returned: its text, and what the conversation knows of its last response."""
    ending = conversation.responses[-1].response_json or {}
    choice = (ending.get("choices") or [ending])[0]
    return {
        "returned": "answer",
        "finish_reason": choice.get("status" if case["wire"] == "openai-responses" else "finish_reason"),
        "final_text": text,
        "reported_count": len(conversation.responses) - before,
    }


def run(case: Json, tools: Tools) -> Any:
    """All prompts in one conversation; the last one's ending is told."""
    if case["style"].startswith("llm/Async"):
        return arun(case, tools)
    conversation, settings = conversation_of(case, tools), settings_of(case)
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            conversation.chain(prompt, **settings).text()
    before = len(conversation.responses)
    return told(case, conversation, before, conversation.chain(last, **settings).text())


async def arun(case: Json, tools: Tools) -> Json:
    """The same, awaited."""
    conversation, settings = conversation_of(case, tools), settings_of(case)
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            await conversation.chain(prompt, **settings).text()
    before = len(conversation.responses)
    return told(case, conversation, before, await conversation.chain(last, **settings).text())


serve(run)
