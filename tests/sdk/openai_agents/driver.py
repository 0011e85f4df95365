"""``Runner.run`` and ``Runner.run_streamed`` of openai-agents, over the Responses API or Chat Completions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from agents import (
    Agent,
    AgentsException,
    GuardrailFunctionOutput,
    InputGuardrail,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    OutputGuardrail,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    ToolsToFinalOutputResult,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from py_common import TYPES, Failure, Json, Tools, error_of, serve
from pydantic import create_model

set_tracing_disabled(True)

TOOL_OPTIONS = ("failure_error_function", "timeout")


def scripted(tree: Json, make: Callable[[Any], Any]) -> Any:
    """A coroutine function of an option tree; `make` makes the object that the SDK wants of a value."""
    calls = 0

    async def function(*_: Any) -> Any:
        nonlocal calls
        await asyncio.sleep(tree.get("seconds", 0))
        value = tree["scripted"][min(calls, len(tree["scripted"]) - 1)]
        calls += 1
        if isinstance(value, dict) and "raises" in value:
            raise Exception(value["raises"])
        return None if value is None else make(value)

    return function


def guardrail(tree: Json, kind: Any, **more: Any) -> Any:
    """An input or output guardrail."""
    judge = scripted(
        tree["guardrail_function"],
        lambda value: GuardrailFunctionOutput(value.get("output_info"), value["tripwire_triggered"]),
    )

    async def function(context: Any, agent: Any, given: Any) -> Any:
        return await judge()

    return kind(guardrail_function=function, **more)


def tool(tools: Tools, spec: Json, options: Json) -> Any:
    """A decorated coroutine function: these start in the order of their calls.

    A tool has no error result here: what MCP would mark as an error is a text like any other.
    """
    plain = tools.function(spec)

    async def function(**given: Any) -> Any:
        value = plain(**given)
        entry = tools.runs[-1]
        if spec.get("aborts"):
            spec["task"].cancel()
        try:
            await asyncio.sleep(spec.get("seconds", 0))
        except asyncio.CancelledError:
            if "timeout" in options:
                entry.update(output=None, is_error=True)
            raise
        return value.text if isinstance(value, Failure) else value

    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__signature__"):
        setattr(function, name, getattr(plain, name))
    asks = {"needs_approval": True} if spec.get("approval") == "required" else {}
    return function_tool(function, **asks, **{name: options[name] for name in TOOL_OPTIONS if name in options})


class Agents:
    """The case's agents, made when they are first spoken of: they may hand over to each other."""

    def __init__(self, case: Json, tools: Tools, model: Any) -> None:
        self.case, self.tools, self.model = case, tools, model
        self.made: dict[str, Agent[Any]] = {}

    def main(self) -> Agent[Any]:
        """The agent that the run starts with; the options are its own."""
        case, given = self.case, self.case["options"]
        agent = self.make("A", {"handoffs": case.get("handoffs", [])})
        if "tool_use_behavior" in given:
            behaviour = given["tool_use_behavior"]
            is_function = isinstance(behaviour, dict) and "scripted" in behaviour
            agent.tool_use_behavior = (
                scripted(behaviour, lambda value: ToolsToFinalOutputResult(**value)) if is_function else behaviour
            )
        agent.input_guardrails = [
            guardrail(tree, InputGuardrail, run_in_parallel=tree.get("run_in_parallel", True))
            for tree in given.get("input_guardrails", [])
        ]
        agent.output_guardrails = [guardrail(tree, OutputGuardrail) for tree in given.get("output_guardrails", [])]
        if "output" in case:
            fields: Json = {
                name: (TYPES[kind["type"]], ...) for name, kind in case["output"]["schema"]["properties"].items()
            }
            agent.output_type = create_model("Output", **fields)
        return agent

    def make(self, name: str, spec: Json) -> Agent[Any]:
        """One agent, and those that it needs."""
        if name in self.made:
            return self.made[name]
        agent: Agent[Any] = Agent(name=name, model=self.model)
        self.made[name] = agent
        mine = spec.get("tools", [one["name"] for one in self.tools.specs if not one.get("of")])
        agent.tools = [self.tool(one) for one in self.tools.specs if one["name"] in mine]
        agent.handoffs = [self.named(other) for other in spec.get("handoffs", [])]
        return agent

    def named(self, name: str) -> Agent[Any]:
        """An agent of the case."""
        return self.make(name, self.case.get("agents", {}).get(name, {}))

    def tool(self, spec: Json) -> Any:
        """A tool, or an agent as one."""
        if "agent" not in spec:
            return tool(self.tools, spec, self.case["options"].get("tools", {}).get(spec["name"], {}))
        limit = self.case["agents"][spec["agent"]].get("limit")
        more: Json = {} if limit is None else {"max_turns": limit}
        return self.named(spec["agent"]).as_tool(spec["name"], spec.get("description", spec["name"]), **more)


def threw(error: BaseException, count: int | None = None) -> Json:
    """The answer of a run that raised; the SDK's own errors carry what the run had done."""
    if count is None and isinstance(error, AgentsException) and error.run_data is not None:
        count = error.run_data.context_wrapper.usage.requests
    return {"returned": "error", "error": error_of(error), "reported_count": count}


def text_of(output: Any) -> Any:
    """The final output as text."""
    if hasattr(output, "model_dump"):
        return json.dumps(output.model_dump())
    return output if output is None else str(output)


async def plain_run(agent: Agent[Any], given: Any, options: Json) -> tuple[Any, Json]:
    """``Runner.run``."""
    try:
        result = await Runner.run(agent, given, **options)
    except (Exception, asyncio.CancelledError) as error:
        return None, threw(error)
    count = result.context_wrapper.usage.requests
    return result, {"returned": "answer", "final_text": text_of(result.final_output), "reported_count": count}


async def streamed_run(agent: Agent[Any], given: Any, options: Json) -> tuple[Any, Json]:
    """``Runner.run_streamed``, read to its end."""
    result = Runner.run_streamed(agent, given, **options)
    try:
        async for _ in result.stream_events():
            pass
    except (Exception, asyncio.CancelledError) as error:
        return None, threw(error, result.current_turn)
    count = result.current_turn
    return result, {"returned": "answer", "final_text": text_of(result.final_output), "reported_count": count}


def answered(result: Any, case: Json, resume: int) -> RunState[Any] | None:
    """The state to resume with; None where nobody answers."""
    waiting, state = result.interruptions, result.to_state()
    if "approvals" in case:
        if resume >= len(case["approvals"]):
            return None
        for said in case["approvals"][resume]:
            for item in waiting:
                if item.raw_item.call_id == said.get("approve"):
                    state.approve(item)
                elif item.raw_item.call_id == said.get("reject"):
                    state.reject(item, rejection_message=said.get("message"))
        return state
    specs = {spec["name"]: spec.get("approved") for spec in case["tools"]}
    known = [item for item in waiting if specs.get(item.name) is not None]
    for item in known:
        if specs[item.name] is True:
            state.approve(item)
        else:
            said = specs[item.name] or {}
            state.reject(item, rejection_message=said.get("reject"))
    return state if known else None


async def handle(case: Json, tools: Tools) -> Json:
    """One run of each prompt, with its resumes."""
    base_url = f"{case['base_url']}/v1"
    async with AsyncOpenAI(api_key=case["api_key"], base_url=base_url) as client:
        return await converse(client, case, tools)


async def converse(client: AsyncOpenAI, case: Json, tools: Tools) -> Json:
    """Make the agents and run them the way that the case asks for."""
    chat = case["wire"] == "openai-chat"
    kind: Any = OpenAIChatCompletionsModel if chat else OpenAIResponsesModel
    given = case["options"]
    for spec in tools.specs:
        spec |= {"aborts": case.get("abort", {}).get("during") == spec["name"], "task": asyncio.current_task()}
    agent = Agents(case, tools, kind(openai_client=client, model="gpt-6-astra")).main()
    options: Json = {"run_config": RunConfig(**given.get("run_config", {}))}
    if "error_handlers" in given:
        options["error_handlers"] = {
            name: scripted(tree, lambda value: value) for name, tree in given["error_handlers"].items()
        }
    if case["limit"] != "default":
        options["max_turns"] = case["limit"]
    run = streamed_run if case["style"].endswith("run_streamed") else plain_run
    if "prompts" in case:
        options["session"] = SQLiteSession("thread")
    answer: Json = {}
    for prompt in case.get("prompts", [case["prompt"]]):
        said: Any = prompt
        resume = 0
        while said is not None:
            result, answer = await run(agent, said, options)
            said = answered(result, case, resume) if result is not None and result.interruptions else None
            resume += 1
    return answer


if __name__ == "__main__":
    serve(handle)
