"""A careful loop over the Messages API, in parts that the broken ones replace one at a time."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2

from tests.zoo.tools import CLAUDE_TOOLS, LoopError, run_tool

CLIENT = anthropic.Anthropic(api_key="zoo", base_url="https://api.anthropic.com")
ASYNC_CLIENT = anthropic.AsyncAnthropic(api_key="zoo", base_url="https://api.anthropic.com")
CUT = ("max_tokens", "model_context_window_exceeded")


class Claude:
    """One run of the careful loop."""

    limit = 8
    client = CLIENT

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.messages: list[Any] = [{"role": "user", "content": prompt}]
        self.asked_again = False
        self.broken = 0

    def settings(self) -> dict[str, Any]:
        return {"model": "claude-sonnet-5", "max_tokens": 1024, "messages": self.messages, "tools": CLAUDE_TOOLS}

    def ask(self) -> Any:
        return self.client.messages.create(**self.settings())

    def run(self) -> Any:
        for _ in range(self.limit):
            done, answer = self.step(self.ask())
            if done:
                return answer
        return self.at_limit()

    def step(self, reply: Any) -> tuple[bool, Any]:
        """What follows on a reply: (True, the answer) or (False, None) to go on."""
        calls = [block for block in reply.content if block.type == "tool_use"]
        if reply.stop_reason == "pause_turn" and not calls:
            return self.on_pause(reply)
        if reply.stop_reason == "refusal":
            return self.on_refusal(reply)
        if reply.stop_reason in CUT:
            return self.on_cut(reply, calls)
        if reply.stop_reason == "tool_use" and not calls:
            return self.on_nothing_to_run(reply)
        if calls:
            return self.on_calls(reply, calls)
        text = self.text(reply)
        if not text:
            return self.on_empty(reply)
        return True, text

    def text(self, reply: Any) -> str:
        return "".join(block.text for block in reply.content if block.type == "text")

    def keep(self, reply: Any) -> None:
        self.messages.append({"role": "assistant", "content": reply.content})

    def on_pause(self, reply: Any) -> tuple[bool, Any]:
        self.keep(reply)
        return False, None

    def on_refusal(self, reply: Any) -> tuple[bool, Any]:
        raise LoopError("the model refused")

    def on_cut(self, reply: Any, calls: list[Any]) -> tuple[bool, Any]:
        raise LoopError(f"the reply was cut: {reply.stop_reason}")

    def on_nothing_to_run(self, reply: Any) -> tuple[bool, Any]:
        raise LoopError("the reply stopped for a tool but calls none")

    def on_empty(self, reply: Any) -> tuple[bool, Any]:
        if self.asked_again:
            raise LoopError("the model answered nothing, twice")
        self.asked_again = True
        self.messages.append({"role": "user", "content": "Your reply was empty. Please answer."})
        return False, None

    def on_calls(self, reply: Any, calls: list[Any]) -> tuple[bool, Any]:
        self.keep(reply)
        self.answer([self.result(call) for call in calls])
        return False, None

    def result(self, call: Any) -> dict[str, Any]:
        output, failed = self.run_tool(call.name, call.input)
        return {"type": "tool_result", "tool_use_id": call.id, "content": output, "is_error": failed}

    def run_tool(self, name: str, given: Any) -> tuple[str, bool]:
        return run_tool(name, given)

    def answer(self, results: list[dict[str, Any]]) -> None:
        self.messages.append({"role": "user", "content": results})

    def at_limit(self) -> Any:
        raise LoopError(f"{self.limit} model calls were not enough")


class StreamedClaude(Claude):
    """The same with streaming; a stream that breaks is asked for again."""

    def ask(self) -> Any:
        try:
            with self.client.messages.stream(**self.settings()) as stream:
                reply = stream.get_final_message()
        except anthropic.APIStatusError as error:
            if error.status_code != 200:  # an error event within a stream comes with the stream's own status
                raise
            return self.on_broken()
        except httpx2.TransportError:
            return self.on_broken()
        return self.on_broken() if reply.stop_reason is None else reply

    def on_broken(self) -> Any:
        self.broken += 1
        if self.broken > 2:
            raise LoopError("the stream broke off, again and again")
        return self.ask()


class AsyncClaude(Claude):
    """The same, asynchronous."""

    async def arun(self) -> Any:
        for _ in range(self.limit):
            reply = await ASYNC_CLIENT.messages.create(**self.settings())
            done, answer = self.step(reply)
            if done:
                return answer
        return self.at_limit()
