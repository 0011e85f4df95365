"""An agent of Pydantic AI, over the Messages API."""

from pydantic_ai import Agent, UsageLimits

clerk = Agent("anthropic:claude-sonnet-5")


@clerk.tool_plain
def refund(order_id: int) -> str:
    """Refund an order."""
    return f"order {order_id} is refunded"


def ask(prompt: str) -> str:
    return clerk.run_sync(prompt, usage_limits=UsageLimits(request_limit=10)).output
