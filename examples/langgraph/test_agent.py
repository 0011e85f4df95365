import agent
import pytest


@pytest.mark.agentsim("refund.yaml", "cut_refund.yaml")
def test_the_right_order_is_refunded_once(sim):
    assert agent.ask(sim.prompt) == "Order 42 is refunded."
    assert [result.output for result in sim.tool_results] == ["order 42 is refunded"]
    sim.check()


@pytest.mark.agentsim("refund.yaml")
def test_one_tool_round_costs_three_super_steps(sim):
    agent.ask(sim.prompt)
    assert sim.count("langchain/create_agent") == 3
