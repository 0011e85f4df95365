"""What the styles say of themselves, in each SDK's own words: `agentsim styles` shows it."""

from __future__ import annotations

import pytest

from agentsim.styles import find
from agentsim.styles._langchain_thread import SORRY

AFTER_MAX = "a result of subtype error_max_turns; {}"
RECURSION = "throws GraphRecursionError, even when the answer is there"
ONE_MORE = "the text of one more call without tools is the answer; {}"


@pytest.mark.parametrize(
    ("name", "package", "knob", "at_limit"),
    [
        ("claude-agent-sdk-js/query", "@anthropic-ai/", "maxTurns", AFTER_MAX.format("query() then throws")),
        ("claude-agent-sdk/query", "claude-agent-sdk ", "max_turns", AFTER_MAX.format("query() then throws")),
        ("claude-agent-sdk/ClaudeSDKClient", "claude-agent-sdk ", "max_turns", AFTER_MAX.format("nothing is raised")),
        ("langchain-js/createAgent", "langchain 1.5.14, @langchain/", "recursionLimit", RECURSION),
        ("langchain-js/createReactAgent", "langchain 1.5.14, @langchain/", "recursionLimit", RECURSION),
        ("langchain/create_agent", "langchain 1.5.2, langgraph ", "recursion_limit", RECURSION),
        (
            "langchain/create_react_agent",
            "langchain 1.5.2, langgraph ",
            "recursion_limit",
            f'{RECURSION} (an even limit: returns "{SORRY}")',
        ),
        ("openai-agents-js/run", "@openai/agents ", "maxTurns", "throws MaxTurnsExceededError"),
        ("openai-agents/Runner.run", "openai-agents ", "max_turns", "throws MaxTurnsExceeded"),
        ("openai-agents/Runner.run_streamed", "openai-agents ", "max_turns", "throws MaxTurnsExceeded"),
        ("crewai/Crew.kickoff", "crewai ", "max_iter", ONE_MORE.format("calls in it raise ValidationError")),
        ("crewai/Agent.kickoff", "crewai ", "max_iter", ONE_MORE.format("of calls in it the repr")),
    ],
)
def test_a_style_names_its_package_its_knob_and_what_happens_at_the_limit(name, package, knob, at_limit):
    style = find(name)
    assert style.sdk.startswith(package)
    assert (style.knob, style.at_limit) == (knob, at_limit)


@pytest.mark.parametrize(
    ("name", "option", "without"),
    [
        ("langchain-js/createAgent", "maxConcurrency", "max_concurrency"),
        ("langchain/create_agent", "checkpointer", "version"),
        ("langchain-js/createReactAgent", None, "version"),
        ("langchain/create_react_agent", None, "version"),
        ("crewai/Crew.kickoff", "max_retry_limit", None),
        ("crewai/Agent.kickoff", None, None),
        ("smolagents/ToolCallingAgent.run", "final_answer", None),
        ("smolagents/CodeAgent.run", "retry", "final_answer"),
    ],
)
def test_a_style_lists_the_options_that_it_takes(name, option, without):
    style = find(name)
    assert without not in style.options
    assert option in style.options if option else not style.options
    assert (style.configure is None) == (not style.options)


def test_the_signal_of_an_agent_that_may_wait_is_that_it_does_not():
    assert find("langchain/create_agent").signal == "the state has no __interrupt__"
    assert find("langchain/create_react_agent").signal == ""
