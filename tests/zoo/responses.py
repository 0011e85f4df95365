"""A careful loop over the Responses API, in parts that the broken ones replace one at a time."""

from __future__ import annotations

from typing import Any

import openai

from tests.zoo.tools import RESPONSES_TOOLS, LoopError, parsed, run_tool

CLIENT = openai.OpenAI(api_key="zoo", base_url="https://api.openai.com/v1")
ASYNC_CLIENT = openai.AsyncOpenAI(api_key="zoo", base_url="https://api.openai.com/v1")


class Responses:
    """One run of the careful loop; the history goes with each request."""

    limit = 8
    stored = False

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.items: list[Any] = [{"role": "user", "content": prompt}]
        self.parent: str | None = None
        self.broken = 0

    def settings(self) -> dict[str, Any]:
        more = {"previous_response_id": self.parent} if self.stored and self.parent else {}
        return {"model": "gpt-6-astra", "input": self.items, "tools": RESPONSES_TOOLS, **more}

    def ask(self) -> Any:
        return CLIENT.responses.create(**self.settings())

    def run(self) -> Any:
        for _ in range(self.limit):
            done, answer = self.step(self.ask())
            if done:
                return answer
        return self.at_limit()

    def step(self, reply: Any) -> tuple[bool, Any]:
        """What follows on a reply: (True, the answer) or (False, None) to go on."""
        calls = [item for item in reply.output if item.type == "function_call"]
        if self.refusal(reply):
            return self.on_refusal(reply)
        if reply.status != "completed":
            return self.on_cut(reply, calls)
        if calls:
            return self.on_calls(reply, calls)
        if not reply.output_text:
            return self.on_empty(reply)
        return True, reply.output_text

    def refusal(self, reply: Any) -> bool:
        parts = [part for item in reply.output if item.type == "message" for part in item.content]
        details = reply.incomplete_details
        filtered = details is not None and details.reason == "content_filter"
        return filtered or any(part.type == "refusal" for part in parts)

    def keep(self, reply: Any) -> None:
        self.parent = reply.id
        if self.stored:
            self.items = []
        else:
            self.items = [*self.items, *(item.to_dict() for item in reply.output)]

    def on_refusal(self, reply: Any) -> tuple[bool, Any]:
        raise LoopError("the model refused")

    def on_cut(self, reply: Any, calls: list[Any]) -> tuple[bool, Any]:
        raise LoopError(f"the reply was cut: {reply.status}")

    def on_empty(self, reply: Any) -> tuple[bool, Any]:
        raise LoopError("the model answered nothing")

    def on_calls(self, reply: Any, calls: list[Any]) -> tuple[bool, Any]:
        self.keep(reply)
        self.items = [*self.items, *(self.result(call) for call in calls)]
        return False, None

    def result(self, call: Any) -> dict[str, Any]:
        output, _ = self.run_tool(call.name, parsed(call.arguments))
        return {"type": "function_call_output", "call_id": call.call_id, "output": output}

    def run_tool(self, name: str, given: Any) -> tuple[str, bool]:
        return run_tool(name, given)

    def at_limit(self) -> Any:
        raise LoopError(f"{self.limit} model calls were not enough")


class StreamedResponses(Responses):
    """The same with streaming; a stream that breaks is asked for again, and so is, once, an empty reply."""

    asked_again = False

    def ask(self) -> Any:
        try:
            for event in CLIENT.responses.create(**self.settings(), stream=True):
                if event.type in ("response.completed", "response.incomplete"):
                    return event.response
        except openai.APIStatusError:
            raise
        except openai.APIError:
            pass
        return self.on_broken()

    def on_broken(self) -> Any:
        self.broken += 1
        if self.broken > 2:
            raise LoopError("the stream broke off, again and again")
        return self.ask()

    def on_empty(self, reply: Any) -> tuple[bool, Any]:
        if self.asked_again:
            raise LoopError("the model answered nothing, twice")
        self.asked_again = True
        self.keep(reply)
        self.items = [*self.items, {"role": "user", "content": "Your reply was empty. Please answer."}]
        return False, None


class AsyncResponses(Responses):
    """The same, asynchronous."""

    async def arun(self) -> Any:
        for _ in range(self.limit):
            reply = await ASYNC_CLIENT.responses.create(**self.settings())
            done, answer = self.step(reply)
            if done:
                return answer
        return self.at_limit()
