import agent
import pytest


@pytest.mark.agentsim("refund.yaml", "cut_refund.yaml")
def test_the_right_order_is_refunded_once(sim):
    answer = agent.ask(sim.prompt)
    assert answer == "Order 42 is refunded."
    assert "order 42 is refunded" in [result.output for result in sim.tool_results]
    sim.check("cut_call_never_runs", "every_call_is_answered", answer=answer)
