import agent
import pytest
from agents import MaxTurnsExceeded, ModelBehaviorError


@pytest.mark.agentsim("refund.yaml")
def test_the_order_is_refunded_once(sim):
    answer = agent.ask(sim.prompt)
    assert answer == "Order 42 is refunded."
    assert [result.output for result in sim.tool_results] == ["order 42 is refunded"]
    sim.check(answer=answer)
    assert sim.count("openai-agents/Runner.run") == 2


@pytest.mark.agentsim("cut_refund.yaml")
def test_a_cut_refund_ends_the_run_and_refunds_nothing(sim):
    with pytest.raises(ModelBehaviorError):
        agent.ask(sim.prompt)
    assert sim.tool_results == []


@pytest.mark.agentsim(
    {
        "agentsim": 1,
        "prompt": "Refund order 42",
        "replies": [{"tool_use": {"refund": {"order_id": 42}}, "repeat": "forever"}],
    }
)
def test_a_model_that_never_stops_meets_the_limit(sim):
    with pytest.raises(MaxTurnsExceeded):
        agent.ask(sim.prompt)
    assert sim.model_calls == 10
