import agent
import pytest


@pytest.mark.agentsim("refund.yaml", "cut_refund.yaml", "paused.yaml")
def test_the_right_order_is_refunded_once(sim):
    answer = agent.ask(sim.prompt)
    assert answer == "Order 42 is refunded."
    assert [result.output for result in sim.tool_results] == ["order 42 is refunded"]
    sim.check(answer=answer)
