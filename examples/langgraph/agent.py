"""A LangChain agent, which is a LangGraph graph."""

from collections.abc import Callable

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_anthropic import ChatAnthropic


class Unfinished(Exception):
    """The run ended without an answer."""


def refund(order_id: int) -> str:
    """Refund an order."""
    return f"order {order_id} is refunded"


class WholeReplies(AgentMiddleware):
    """Asks again, with more room, for a reply that the output limit cut: streamed, a cut call looks whole."""

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        for room in (1024, 4096, 16384):
            response = handler(request.override(model_settings={"max_tokens": room}))
            stop = response.result[-1].response_metadata.get("stop_reason")
            if stop != "max_tokens":
                return response
        raise Unfinished("the reply did not fit")


def ask(prompt: str) -> str:
    model = ChatAnthropic(model="claude-sonnet-5", streaming=True)
    agent = create_agent(model, [refund], middleware=[WholeReplies()])
    state = agent.invoke({"messages": [("user", prompt)]}, {"recursion_limit": 25})
    return state["messages"][-1].text
