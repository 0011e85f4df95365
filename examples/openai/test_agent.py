import agent
import chat_agent
import pytest


@pytest.mark.parametrize("ask", [agent.ask, chat_agent.ask], ids=["responses", "chat"])
@pytest.mark.agentsim("refund.yaml", "cut_refund.yaml")
def test_the_right_order_is_refunded_once(sim, ask):
    answer = ask(sim.prompt)
    assert answer == "Order 42 is refunded."
    assert [result.output for result in sim.tool_results] == ["order 42 is refunded"]
    sim.check(answer=answer)
