"""``client.beta.messages.tool_runner``, consumed the short way: ``until_done()``."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic, beta_tool
from anthropic.lib.tools import ToolError
from py_common import Failure, Json, Tools, serve

OPTIONS = ("run_tools_eagerly", "thread")


def runnable(tools: Tools, spec: Json) -> Any:
    """The tool as a user of this SDK writes it: a typed function, decorated."""
    if spec.get("execute") == "client":
        return {"name": spec["name"], "description": spec["description"], "input_schema": spec["schema"]}
    plain = tools.function(spec)

    def function(**given: Any) -> Any:
        value = plain(**given)
        if isinstance(value, Failure):
            raise ToolError(value.text)
        return value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    return beta_tool(function)


def settings(case: Json, tools: Tools) -> Json:
    """What the caller of the runner chooses."""
    given: Json = {"stream": True} if case["stream"] else {}
    if case["limit"] != "default":
        given["max_iterations"] = case["limit"]
    given |= {name: case["options"][name] for name in OPTIONS if name in case["options"]}
    offered = [runnable(tools, spec) for spec in tools.specs]
    if any(spec.get("server") for spec in case["tools"]):
        offered.append({"type": "web_search_20250305", "name": "web_search"})
    return {**given, "tools": offered}


def handle(case: Json, tools: Tools) -> Json:
    """One run."""
    client = Anthropic(api_key=case["api_key"], base_url=case["base_url"])
    runner = client.beta.messages.tool_runner(
        model="claude-sonnet-5",
        max_tokens=1024,
        messages=[{"role": "user", "content": case["prompt"]}],
        **settings(case, tools),
    )
    message = runner.until_done()
    finished = message.stop_reason in ("end_turn", "stop_sequence")
    texts = [block.text for block in message.content if block.type == "text"]
    return {
        "returned": "answer" if finished else "stopped",
        "finish_reason": message.stop_reason,
        "final_text": "".join(texts),
    }


if __name__ == "__main__":
    serve(handle)
