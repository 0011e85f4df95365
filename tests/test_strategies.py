"""The Hypothesis strategies: what they make can be played, fits its schemas, and shrinks to the smallest script."""

from __future__ import annotations

import json

import anthropic
import pytest
from hypothesis import find, given, settings

import agentsim
from agentsim import strategies
from agentsim.core.messages import ToolCall
from agentsim.judge.rules import judge
from agentsim.scenario.inputs import input_check
from tests.zoo.claude import Claude
from tests.zoo.tools import CLAUDE_TOOLS, LoopError

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 3, "maximum": 9},
        "kind": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 4}, "minItems": 1},
        "where": {"$ref": "#/$defs/place"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["id", "tags", "where"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
}


@given(strategies.arguments(SCHEMA))
def test_arguments_fit_the_schema(given_arguments):
    assert input_check(SCHEMA)(given_arguments) is None


def test_the_smallest_arguments_are_those_of_the_catalogue():
    found = find(strategies.arguments(SCHEMA), lambda value: True)
    assert found == {"id": 3, "tags": ["a"], "where": {"x": 1}}


@given(strategies.scenarios(CLAUDE_TOOLS))
@settings(max_examples=25)
def test_a_scenario_shows_itself_as_a_file_that_means_the_same(scenario):
    text = repr(scenario).removeprefix("agentsim.loads('''").removesuffix("''')")
    again = agentsim.loads(text)
    assert again.script == scenario.script
    assert again.prompts == scenario.prompts


@given(strategies.scenarios(CLAUDE_TOOLS))
@settings(max_examples=50)
def test_a_careful_loop_keeps_every_rule_on_any_script(scenario):
    with agentsim.play(scenario, intercept=False) as sim:
        loop = Claude(sim.prompt)
        loop.client = sim.client(anthropic.Anthropic)
        try:
            answer = loop.run()
        except (LoopError, anthropic.APIStatusError):
            answer = None
    sim.check(answer=answer)


def test_a_failure_shrinks_to_the_smallest_script():
    class Cuts(Claude):
        def on_cut(self, reply, calls):
            return self.on_calls(reply, calls) if calls else super().on_cut(reply, calls)

    def runs_a_cut_call(scenario):
        with agentsim.play(scenario, intercept=False) as sim:
            loop = Cuts(sim.prompt)
            loop.client = sim.client(anthropic.Anthropic)
            try:
                loop.run()
            except (LoopError, anthropic.APIStatusError):
                return False
        return any(verdict.failed for verdict in judge(sim.case(), ["cut_call_gets_an_error_result_or_none"]))

    tools = strategies.replies(CLAUDE_TOOLS).map(
        lambda reply: (
            reply
            if reply.stop_reason != "max_tokens"
            else type(reply)(
                tuple(ToolCall("", "lookup", '{"key": "a"}') if isinstance(b, ToolCall) else b for b in reply.blocks),
                "max_tokens",
            )
        )
    )
    found = find(
        strategies.scenarios(CLAUDE_TOOLS, entries=tools), runs_a_cut_call, settings=settings(derandomize=True)
    )
    assert len(found.script) == 2
    assert [type(block) for block in found.script[0].reply.blocks] == [ToolCall]


@given(strategies.catalogues())
@settings(max_examples=10)
def test_the_catalogue_is_made_of_scenarios_that_play_to_any_agent(scenario):
    assert scenario.prompts == ("Please do the task.",)
    assert scenario.unused_replies_allowed


@given(strategies.tool_calls(CLAUDE_TOOLS, unknown=False, unreadable=False, unfit=False))
def test_calls_can_be_asked_to_be_in_order(call):
    assert call.name == "lookup"
    assert isinstance(json.loads(call.arguments)["key"], str)


def test_a_falsifying_example_is_a_file_to_paste(capsys):
    @given(strategies.scenarios(CLAUDE_TOOLS))
    @settings(database=None)
    def fails(scenario):
        raise AssertionError("always")

    with pytest.raises(AssertionError) as caught:
        fails()
    notes = "\n".join(getattr(caught.value, "__notes__", ()))
    assert "scenario=agentsim.loads('''\nagentsim: 1" in notes
    assert "text: Done." in notes


def test_a_tool_needs_a_name():
    with pytest.raises(KeyError):
        strategies.tools_of([{"input_schema": {}}])
