"""An agent of a few lines that speaks each wire in plain JSON: what it sends depends on nothing but what it was told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import Block, Reply, Text, Thinking, ToolCall
from agentsim.core.messages import Refusal as RefusalBlock
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, parse
from agentsim.errors import UsageError
from agentsim.http.codecs import CODECS
from agentsim.scenario.model import Scenario
from agentsim.scenario.runs import ToolScripts
from agentsim.wire.base import HttpRequest, HttpResponse, dumps

Send = Callable[[HttpRequest], HttpResponse]
PATHS = {ANTHROPIC: "/v1/messages", CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses"}
HEADERS = {"x-api-key": "dummy-key-0123", "authorization": "Bearer dummy-key-0123", "anthropic-version": "2023-06-01"}
KEPT = ("pause_turn", "compaction")
OVER = ("refusal", "model_context_window_exceeded")


class Agent:
    """Runs a scenario's tools, and asks again where a request failed in a way that may pass.

    Args:
        scenario: whose prompts it is given and whose tools it has.
        wire, stream: how it speaks.
        send: answers its requests.
    """

    def __init__(self, scenario: Scenario, wire: str, send: Send, *, stream: bool) -> None:
        self.scenario, self.wire, self.send, self.stream = scenario, wire, send, stream
        self.tools = ToolScripts(scenario)
        self.history: list[Any] = []
        self.bodies: list[Any] = []
        self.most = 20

    def run(self, most: int = 20) -> None:
        """All prompts, one after the other, until `most` requests were sent."""
        self.most = most
        for prompt in self.scenario.prompts:
            self.history.append({"role": "user", "content": prompt})
            while len(self.bodies) < self.most:
                reply = self._ask()
                if reply is None or not self._goes_on(reply):
                    break

    def _goes_on(self, reply: Reply) -> bool:
        if reply.blocks:
            self.history += self._said(reply)
        if reply.stop_reason in OVER:
            return False
        if not reply.calls:
            return reply.stop_reason in KEPT
        results = [(call.id, *self._ran(call, reply)) for call in reply.calls]
        self.history += self._answered(results)
        return True

    def _ask(self) -> Reply | None:
        for _ in range(min(3, self.most - len(self.bodies))):
            body = self._body()
            self.bodies.append(json.loads(json.dumps(body)))
            request = HttpRequest("POST", PATHS[self.wire], HEADERS, dumps(body).encode())
            response = self.send(request)
            said: Reply | Fault = Fault(None) if response.headless else CODECS[self.wire].decode_reply(response)
            if isinstance(said, Reply):
                return said
            if said.status is not None and said.status < 500 and said.status not in (200, 408, 409, 429):
                return None
        return None

    def _ran(self, call: ToolCall, reply: Reply) -> tuple[str, bool]:
        value, broken = parse(call.arguments)
        if broken or not isinstance(value, dict) or reply.stop_reason == "max_tokens":
            return "these arguments can't be read", True
        tool = self.scenario.tools.get(call.name)
        if tool is None:
            return f"there is no tool {call.name}", True
        if tool.problem is not None and (problem := tool.problem(value)):
            return f"bad input: {problem}", True
        try:
            outcome, _ = self.tools.outcome(call.name, value)
        except UsageError as error:
            return str(error), True
        text = outcome.value if isinstance(outcome.value, str) else json.dumps(outcome.value)
        return text, outcome.kind != "returns"

    # -- the wires ------------------------------------------------------------------------------------------------

    def _body(self) -> dict[str, Any]:
        tools = [(t.name, t.description, dict(t.schema)) for t in self.scenario.tools.values() if not t.server]
        system = self.scenario.system
        body: dict[str, Any] = {"model": "some-model", "stream": self.stream}
        if self.wire == ANTHROPIC:
            body |= {"max_tokens": 99, "messages": self.history}
            body["tools"] = [{"name": n, "description": d, "input_schema": s} for n, d, s in tools]
            return body | ({"system": system} if system else {})
        if self.wire == CHAT:
            first = [{"role": "system", "content": system}] if system else []
            functions = [{"name": n, "description": d, "parameters": s} for n, d, s in tools]
            body |= {
                "messages": first + self.history,
                "tools": [{"type": "function", "function": f} for f in functions],
            }
            return body | ({"stream_options": {"include_usage": True}} if self.stream else {})
        body |= {"input": self.history, "store": False, "include": ["reasoning.encrypted_content"]}
        body["tools"] = [{"type": "function", "name": n, "description": d, "parameters": s} for n, d, s in tools]
        return body | ({"instructions": system} if system else {})

    def _said(self, reply: Reply) -> list[Any]:
        if self.wire == ANTHROPIC:
            return [{"role": "assistant", "content": [self._claude(block) for block in reply.blocks]}]
        if self.wire == RESPONSES:
            return [item for block in reply.blocks if (item := self._item(block))]
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in reply.calls
        ]
        said: dict[str, Any] = {"role": "assistant", "content": "".join(_texts(reply)) or None}
        refusals = [block.text for block in reply.blocks if isinstance(block, RefusalBlock)]
        if refusals:
            said["refusal"] = "".join(refusals)
        return [said | ({"tool_calls": calls} if calls else {})]

    @staticmethod
    def _claude(block: Block) -> dict[str, Any]:
        if isinstance(block, ToolCall):
            value, broken = parse(block.arguments)
            given = value if isinstance(value, dict) and not broken else {}
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": given}
        if isinstance(block, Thinking):
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
        return {"type": "text", "text": getattr(block, "text", "")}

    @staticmethod
    def _item(block: Block) -> dict[str, Any] | None:
        if isinstance(block, ToolCall):
            return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": block.arguments}
        if isinstance(block, Text):
            return {"role": "assistant", "content": [{"type": "output_text", "text": block.text}]}
        if isinstance(block, RefusalBlock):
            return {"role": "assistant", "content": [{"type": "refusal", "refusal": block.text}]}
        return None

    def _answered(self, results: list[tuple[str, str, bool]]) -> list[Any]:
        if self.wire == ANTHROPIC:
            made = [
                {"type": "tool_result", "tool_use_id": i, "content": text, **({"is_error": True} if bad else {})}
                for i, text, bad in results
            ]
            return [{"role": "user", "content": made}]
        if self.wire == CHAT:
            return [{"role": "tool", "tool_call_id": i, "content": text} for i, text, _ in results]
        return [{"type": "function_call_output", "call_id": i, "output": text} for i, text, _ in results]


def _texts(reply: Reply) -> list[str]:
    return [block.text for block in reply.blocks if isinstance(block, Text)]
