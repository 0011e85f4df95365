"""One run of ten tool rounds and an answer, with a fake model, in three Python libraries: `loops.py agentsim|pydantic_ai|langgraph`.

Each calls a Python function as its tool and keeps its whole history, as its users would have it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

from worker import Step, serve

warnings.simplefilter("ignore")
ROUNDS = 10


def get_weather(city: str) -> str:
    """Weather of a city."""
    return "sunny"


def agentsim() -> Step:
    """The reference loop over a scenario."""
    import agentsim as sim

    scenario = sim.loads(
        """
        agentsim: 1
        name: ten rounds
        prompt: go
        tools: {get_weather: {input: {city: string}}}
        replies:
          - {tool_use: {get_weather: {city: Paris}}, repeat: 10}
          - text: done
        """
    )

    def step() -> None:
        result = sim.run(scenario, limit=None, tools={"get_weather": get_weather})
        assert result.final_text == "done"

    return step


def pydantic_ai() -> Step:
    """An Agent with a FunctionModel."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    def model(messages: Any, info: Any) -> ModelResponse:
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if done < ROUNDS:
            return ModelResponse(parts=[ToolCallPart("get_weather", {"city": "Paris"})])
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model))
    agent.tool_plain(get_weather)
    limits = UsageLimits(request_limit=None)

    def step() -> None:
        assert agent.run_sync("go", usage_limits=limits).output == "done"

    return step


def langgraph() -> Step:
    """LangChain's agent, which is a LangGraph graph, with its fake chat model."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Fake(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **more: Any) -> Any:
            return self

    def script() -> Iterator[AIMessage]:
        while True:
            for number in range(ROUNDS):
                call = {"name": "get_weather", "args": {"city": "Paris"}, "id": f"call_{number}"}
                yield AIMessage(content="", tool_calls=[call])
            yield AIMessage(content="done")

    agent = create_agent(Fake(messages=script()), tools=[get_weather])

    def step() -> None:
        answer = agent.invoke({"messages": [{"role": "user", "content": "go"}]}, {"recursion_limit": 100})
        assert answer["messages"][-1].content == "done"

    return step


if __name__ == "__main__":
    serve({"agentsim": agentsim, "pydantic_ai": pydantic_ai, "langgraph": langgraph}[sys.argv[1]]())
