"""Which provider stands behind an SDK: the first that it speaks and that can say the whole scenario."""

from __future__ import annotations

import pytest

import agentsim


def play(replies: str, style: str, more: str = "", **settings):
    return agentsim.run(agentsim.loads(f"agentsim: 1\nprompt: go\nreplies: [{replies}]\n{more}"), style, **settings)


def test_the_first_wire_of_the_style_is_taken():
    assert play("{text: hi}", "openai-agents/Runner.run").wire == "openai-responses"
    assert play("{text: hi}", "ai-sdk/generateText").wire == "anthropic-messages"


def test_a_wire_that_cannot_say_the_scenario_is_passed_over():
    assert play("{text: hi, stop_reason: {raw: new}}", "openai-agents/Runner.run").wire == "openai-chat"


def test_a_handoff_is_a_call_that_every_wire_can_say():
    more = "handoffs: [other]\nagents: {other: {replies: [{text: done}]}}"
    assert play("{handoff: other}", "openai-agents/Runner.run", more).wire == "openai-responses"


def test_where_no_wire_can_say_it_no_call_is_made_and_nobody_is_misled():
    result = play("{text: working, stop_reason: pause_turn}", "openai-agents/Runner.run")
    assert (result.ended, result.model_requests, result.silent) == ("cannot_express", 0, False)
    assert "no way to say stop_reason 'pause_turn'" in result.error["message"]
    assert result.least_limit is None


def test_a_wire_that_the_style_does_not_speak_is_an_error_that_names_those_it_does():
    with pytest.raises(agentsim.UsageError, match="it speaks openai-responses, openai-chat"):
        play("{text: hi}", "openai-agents/Runner.run", wire="anthropic-messages")


def test_a_stream_value_that_the_style_does_not_have_is_an_error():
    with pytest.raises(agentsim.UsageError, match="never calls the model with streaming"):
        play("{text: hi}", "ai-sdk/generateText", stream=True)
