"""A careful loop over Chat Completions, in parts that the broken ones replace one at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import openai

from tests.zoo.tools import CHAT_TOOLS, LoopError, parsed, run_tool

CLIENT = openai.OpenAI(api_key="zoo", base_url="https://api.openai.com/v1")
ASYNC_CLIENT = openai.AsyncOpenAI(api_key="zoo", base_url="https://api.openai.com/v1")


class Chat:
    """One run of the careful loop."""

    limit = 8

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.messages: list[Any] = [{"role": "user", "content": prompt}]
        self.broken = 0

    def settings(self) -> dict[str, Any]:
        return {"model": "gpt-6-astra", "messages": self.messages, "tools": CHAT_TOOLS}

    def ask(self) -> Any:
        """(the message, its finish reason)"""
        choice = CLIENT.chat.completions.create(**self.settings()).choices[0]
        return choice.message, choice.finish_reason

    def run(self) -> Any:
        for _ in range(self.limit):
            done, answer = self.step(*self.ask())
            if done:
                return answer
        return self.at_limit()

    def step(self, message: Any, finish: str | None) -> tuple[bool, Any]:
        """What follows on a reply: (True, the answer) or (False, None) to go on."""
        calls = message.tool_calls or []
        if message.refusal or finish == "content_filter":
            return self.on_refusal(message)
        if finish == "length":
            return self.on_cut(message, calls)
        if finish == "tool_calls" and not calls:
            raise LoopError("the reply stopped for a tool but calls none")
        if calls:
            return self.on_calls(message, calls)
        if not message.content:
            return self.on_empty(message)
        return True, message.content

    def keep(self, message: Any) -> None:
        kept: dict[str, Any] = {"role": "assistant", "content": message.content}
        if message.tool_calls:
            kept["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function.name, "arguments": call.function.arguments},
                }
                for call in message.tool_calls
            ]
        self.messages.append(kept)

    def on_refusal(self, message: Any) -> tuple[bool, Any]:
        raise LoopError("the model refused")

    def on_cut(self, message: Any, calls: list[Any]) -> tuple[bool, Any]:
        raise LoopError("the reply was cut")

    def on_empty(self, message: Any) -> tuple[bool, Any]:
        raise LoopError("the model answered nothing")

    def on_calls(self, message: Any, calls: list[Any]) -> tuple[bool, Any]:
        self.keep(message)
        self.messages += [self.result(call) for call in calls]
        return False, None

    def result(self, call: Any) -> dict[str, Any]:
        output, _ = self.run_tool(call.function.name, parsed(call.function.arguments))
        return {"role": "tool", "tool_call_id": call.id, "content": output}

    def run_tool(self, name: str, given: Any) -> tuple[str, bool]:
        return run_tool(name, given)

    def at_limit(self) -> Any:
        raise LoopError(f"{self.limit} model calls were not enough")


class StreamedChat(Chat):
    """The same with streaming, put together by hand; a stream that breaks is asked for again, and so is, once, an empty reply."""

    asked_again = False

    def ask(self) -> Any:
        try:
            message, finish = self.collect(CLIENT.chat.completions.create(**self.settings(), stream=True))
        except openai.APIStatusError:
            raise
        except openai.APIError:
            return self.on_broken()
        return self.on_broken() if finish is None else (message, finish)

    def collect(self, stream: Any) -> tuple[Any, str | None]:
        content, refusal, finish = None, None, None
        calls: dict[int, Any] = {}
        for chunk in stream:
            for choice in chunk.choices:
                delta = choice.delta
                finish = choice.finish_reason or finish
                content = delta.content if content is None else content + (delta.content or "")
                refusal = delta.refusal if refusal is None else refusal + (delta.refusal or "")
                for part in delta.tool_calls or ():
                    call = calls.setdefault(
                        part.index, SimpleNamespace(id="", function=SimpleNamespace(name="", arguments=""))
                    )
                    call.id += part.id or ""
                    call.function.name += part.function.name or ""
                    call.function.arguments += part.function.arguments or ""
        return SimpleNamespace(content=content, refusal=refusal, tool_calls=list(calls.values()) or None), finish

    def on_broken(self) -> Any:
        self.broken += 1
        if self.broken > 2:
            raise LoopError("the stream broke off, again and again")
        return self.ask()

    def on_empty(self, message: Any) -> tuple[bool, Any]:
        if self.asked_again:
            raise LoopError("the model answered nothing, twice")
        self.asked_again = True
        self.messages.append({"role": "user", "content": "Your reply was empty. Please answer."})
        return False, None


class AsyncChat(Chat):
    """The same, asynchronous."""

    async def arun(self) -> Any:
        for _ in range(self.limit):
            completion = await ASYNC_CLIENT.chat.completions.create(**self.settings())
            choice = completion.choices[0]
            done, answer = self.step(choice.message, choice.finish_reason)
            if done:
                return answer
        return self.at_limit()
