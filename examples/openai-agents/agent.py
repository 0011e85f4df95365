"""An agent of the OpenAI Agents SDK, over the Responses API."""

from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)


@function_tool
def refund(order_id: int) -> str:
    """Refund an order."""
    return f"order {order_id} is refunded"


CLERK = Agent(name="clerk", model="gpt-6-astra", tools=[refund])


def ask(prompt: str) -> str:
    return Runner.run_sync(CLERK, prompt, max_turns=10).final_output
