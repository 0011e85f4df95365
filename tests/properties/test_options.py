"""What holds for every style's options: they never leak, an unknown one names the nearest, cost adds up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsim
from agentsim.errors import UsageError
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.store import jsonl
from agentsim.styles import all_styles, find
from tests.properties.scripts import scenarios, style_names

#: A tree that changes what its style does, for a style of each SDK.
TREES = {
    "ai-sdk/ToolLoopAgent.generate": {"stopWhen": {"isStepCount": 1}},
    "langchain-js/createAgent": {"middleware": [{"modelCallLimitMiddleware": {"runLimit": 1}}]},
    "langchain/create_agent": {"middleware": [{"ModelCallLimitMiddleware": {"run_limit": 1}}]},
    "mastra/Agent.generate": {"stopWhen": {"steps": {"at_least": 1}}},
    "openai-agents-js/run": {"toolUseBehavior": "stop_on_first_tool"},
    "openai-agents/Runner.run": {"tool_use_behavior": "stop_on_first_tool"},
    "tanstack-ai/chat": {"agentLoopStrategy": {"maxIterations": 1}},
    "reference": {"max_seconds": 1},
}


@settings(max_examples=40)
@given(scenarios(), style_names, st.sampled_from(sorted(TREES)))
def test_options_of_one_style_never_change_another(scenario, name, other):
    plain = prepare(scenario, find(name)).result(DEFAULT)
    prepare(scenario, find(other), options=TREES[other]).result(DEFAULT)
    assert jsonl.dumps(prepare(scenario, find(name)).result(DEFAULT).transcript) == jsonl.dumps(plain.transcript)


@pytest.mark.parametrize("name", sorted(TREES))
def test_a_tree_is_read_the_same_each_time(name):
    scenario = agentsim.load("scenarios/three_rounds.yaml")
    runs = [agentsim.run(scenario, name, options=TREES[name]).to_dict() for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", [name for name, style in all_styles().items() if style.options])
def test_an_option_that_a_style_lacks_is_an_error_that_names_the_nearest(name):
    scenario = agentsim.load("scenarios/three_rounds.yaml")
    known = next(iter(find(name).options)).split(".")[0]
    with pytest.raises(UsageError, match=known):
        agentsim.run(scenario, name, options={known[:-1] + "x": 1})


@pytest.mark.parametrize("name", [name for name, style in all_styles().items() if style.configure is None])
def test_a_style_without_options_says_so(name):
    with pytest.raises(UsageError, match="takes no options"):
        agentsim.run(agentsim.load("scenarios/three_rounds.yaml"), name, options={"anything": 1})


@given(scenarios(endless=False), style_names)
def test_cost_is_the_sum_over_replies(scenario, name):
    from dataclasses import replace

    from agentsim.scenario.model import Price

    result = prepare(replace(scenario, price=Price(2.0, 4.0)), find(name)).result(DEFAULT)
    assert result.cost_usd == pytest.approx(result.model_calls * (10 * 2.0 + 5 * 4.0) / 1e6)
