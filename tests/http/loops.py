"""Plain agent loops over the official SDKs, as the providers' guides write them. They do what they are told and no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentsim.errors import UsageError
from agentsim.scenario.model import Scenario
from agentsim.scenario.runs import ToolScripts
from agentsim.session import Sim

#: A loop gives up after so many requests: scripts may be endless.
MOST = 30


class Tools:
    """A scenario's tools as a client runs them."""

    def __init__(self, scenario: Scenario) -> None:
        self.scripts = ToolScripts(scenario)
        self.specs = [tool for tool in scenario.tools.values() if not tool.server]

    def run(self, name: str, given: Any) -> tuple[str, bool]:
        """What a call gives, and whether that is an error."""
        try:
            outcome, _ = self.scripts.outcome(name, given)
        except UsageError:
            return f"there is no tool {name}", True
        text = outcome.value if isinstance(outcome.value, str) else json.dumps(outcome.value)
        return text, outcome.kind != "returns"


def wanted(sim: Sim) -> bool:
    """Whether the script still has something to say."""
    return sim.unused_replies > 0 and len(sim.requests) < MOST


def claude(sim: Sim, send: Callable[..., Any]) -> str:
    """The Messages API's loop; `send` gives a finished Message."""
    tools = Tools(sim.scenario)
    offered = [{"name": t.name, "description": t.description, "input_schema": dict(t.schema)} for t in tools.specs]
    messages: list[Any] = [{"role": "user", "content": sim.prompt}]
    text = ""
    while wanted(sim):
        more = {"tools": offered} if offered else {}
        reply = send(model="claude-sonnet-5", max_tokens=1024, messages=messages, **more)
        if reply is None:
            continue
        text = "".join(block.text for block in reply.content if block.type == "text")
        calls = [block for block in reply.content if block.type == "tool_use"]
        blank = [b for b in reply.content if b.type == "text" and not b.text.strip()]
        content = [block for block in reply.content if block not in blank]
        if content:
            messages.append({"role": "assistant", "content": content})
        if reply.stop_reason == "pause_turn" and not calls:
            continue
        results = []
        for call in calls:
            output, failed = tools.run(call.name, call.input)
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": output, "is_error": failed})
        messages.append({"role": "user", "content": results or "Go on."})
    return text


def responses(sim: Sim, send: Callable[..., Any], *, stored: bool) -> str:
    """The Responses API's loop, with the history in each request or kept at the provider."""
    tools = Tools(sim.scenario)
    offered = [
        {
            "type": "function",
            "name": t.name,
            "description": t.description,
            "parameters": dict(t.schema),
            "strict": False,
        }
        for t in tools.specs
    ]
    history: list[Any] = [{"role": "user", "content": sim.prompt}]
    parent, text = None, ""
    while wanted(sim):
        more = {"previous_response_id": parent} if stored and parent else {}
        reply = send(model="gpt-6-astra", input=history, tools=offered, **more)
        if reply is None:
            continue
        parent, text = reply.id, reply.output_text
        new: list[Any] = []
        for item in reply.output:
            if item.type == "function_call":
                output, _ = tools.run(item.name, _parsed(item.arguments))
                new.append({"type": "function_call_output", "call_id": item.call_id, "output": output})
        new = new or [{"role": "user", "content": "Go on."}]
        history = new if stored else [*history, *(item.to_dict() for item in reply.output), *new]
    return text


def chat(sim: Sim, send: Callable[..., Any]) -> str:
    """Chat Completions' loop."""
    tools = Tools(sim.scenario)
    offered = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": dict(t.schema)}}
        for t in tools.specs
    ]
    messages: list[Any] = [{"role": "user", "content": sim.prompt}]
    text = ""
    while wanted(sim):
        more = {"tools": offered} if offered else {}
        completion = send(model="gpt-6-astra", messages=messages, **more)
        if completion is None:
            continue
        message = completion.choices[0].message
        text = message.content or ""
        if message.content is not None or message.tool_calls or message.refusal:
            sent = message.to_dict()
            messages.append({key: sent[key] for key in ("role", "content", "refusal", "tool_calls") if sent.get(key)})
            if not message.tool_calls:
                messages[-1].setdefault("content", "")
        for call in message.tool_calls or ():
            output, _ = tools.run(call.function.name, _parsed(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
        if not message.tool_calls:
            messages.append({"role": "user", "content": "Go on."})
    return text


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return {}
