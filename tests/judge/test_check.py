"""`agentsim.check`: the loop rules over histories of the three wires, transcripts and simulated runs."""

from __future__ import annotations

import pytest

import agentsim
from agentsim.judge.rules import all_rules
from agentsim.scenario.catalogue import catalogue

PROMPT = {"role": "user", "content": "Go"}


def call(call_id, **given):
    return {"type": "tool_use", "id": call_id, "name": "lookup", "input": given}


def result(call_id, output="fine", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": output, **more}


def broken(history, **more):
    """Names of the rules that a history breaks."""
    try:
        agentsim.check(history, **more)
    except agentsim.RuleBroken as error:
        return {verdict.rule for verdict in error.verdicts if verdict.failed}
    return set()


CLAUDE = [
    PROMPT,
    {"role": "assistant", "content": [call("a"), call("b")]},
    {"role": "user", "content": [result("a"), result("b")]},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
]


def test_a_history_in_order_breaks_nothing():
    said = {verdict.rule: verdict.result for verdict in agentsim.check(CLAUDE)}
    assert said["every_call_is_answered"] == said["answers_are_in_one_message"] == "passed"
    assert said["limit_is_kept"] == said["refusal_is_no_answer"] == "not_applicable"


@pytest.mark.parametrize(
    ("answers", "rules"),
    [
        ([{"role": "user", "content": [result("a")]}], {"every_call_is_answered"}),
        (
            [{"role": "user", "content": [result("a")]}, {"role": "user", "content": [result("b")]}],
            {"answers_are_in_one_message"},
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "So:"}, result("a"), result("b")]}],
            {"answers_come_first"},
        ),
        ([{"role": "user", "content": [result("a"), result("b"), result("c")]}], {"no_answer_without_a_call"}),
        ([{"role": "user", "content": [result("a"), result("b"), result("b")]}], {"one_run_for_each_call"}),
        (
            [{"role": "user", "content": [result("a"), result("b")]}, {"role": "user", "content": []}],
            {"no_empty_message"},
        ),
    ],
)
def test_claude_messages(answers, rules):
    assert broken([*CLAUDE[:2], *answers, CLAUDE[3]]) == rules


def test_a_cut_call_that_got_a_success_is_named_where_the_stop_reason_is_recorded():
    history = [
        PROMPT,
        {"role": "assistant", "content": [call("a")], "stop_reason": "max_tokens"},
        {"role": "user", "content": [result("a")]},
    ]
    assert broken(history) == {"cut_call_never_runs", "cut_call_gets_an_error_result_or_none"}
    history[2] = {"role": "user", "content": [result("a", "the reply was cut", is_error=True)]}
    assert not broken(history)


CHAT = [
    PROMPT,
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": name, "type": "function", "function": {"name": "lookup", "arguments": "{}"}} for name in ("a", "b")]},
    {"role": "tool", "tool_call_id": "a", "content": "fine"},
    {"role": "tool", "tool_call_id": "b", "content": "fine"},
    {"role": "assistant", "content": "Done."},
]  # fmt: skip


def test_chat_messages():
    assert not broken(CHAT)
    assert broken([*CHAT[:3], CHAT[4]]) == {"every_call_is_answered"}
    assert broken([*CHAT[:2], {"role": "user", "content": "Now:"}, *CHAT[2:]]) == {"answers_come_first"}
    wrong = {"role": "tool", "tool_call_id": "lookup", "content": "fine"}
    assert broken([*CHAT[:3], wrong, CHAT[4]]) == {"every_call_is_answered", "no_answer_without_a_call"}


ITEMS = [
    PROMPT,
    {"type": "function_call", "call_id": "a", "name": "lookup", "arguments": "{}"},
    {"type": "function_call", "call_id": "b", "name": "lookup", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "fine"},
    {"type": "function_call_output", "call_id": "b", "output": "fine"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]


def test_responses_items():
    assert not broken(ITEMS)
    assert broken([*ITEMS[:4], ITEMS[5]]) == {"every_call_is_answered"}
    cut = {**ITEMS[1], "arguments": '{"key": '}
    assert broken([PROMPT, cut, ITEMS[3], ITEMS[5]]) == {"unreadable_arguments_never_run"}


@pytest.mark.parametrize("history", [CHAT, ITEMS], ids=["chat", "responses"])
def test_a_user_who_says_nothing_is_an_empty_message_also_where_the_provider_takes_it(history):
    nothing = {"role": "user", "content": ""}
    assert broken([*history, nothing, {"role": "assistant", "content": "And now?"}]) == {"no_empty_message"}
    assert not broken([*history[:-1], {"role": "assistant", "content": ""}])


def test_a_body_tells_of_its_tools():
    tools = [
        {
            "name": "lookup",
            "input_schema": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}},
        }
    ]
    assert broken({"model": "m", "tools": tools, "messages": CLAUDE}) == {"bad_input_gets_an_error_result"}
    assert broken({"model": "m", "tools": [{"name": "other", "input_schema": {}}], "messages": CLAUDE}) == {
        "unknown_tool_gets_an_error_result"
    }


def test_the_sdks_own_objects_are_taken():
    import anthropic

    block = anthropic.types.ToolUseBlock(type="tool_use", id="a", name="lookup", input={})
    assert broken([PROMPT, {"role": "assistant", "content": [block]}, {"role": "user", "content": "and?"}]) == {
        "every_call_is_answered"
    }


def test_one_rule_can_be_asked_for():
    assert [verdict.rule for verdict in agentsim.check(CLAUDE, "history_only_grows")] == ["history_only_grows"]
    with pytest.raises(agentsim.UsageError, match="did you mean 'limit_is_kept'"):
        agentsim.check(CLAUDE, "limit_is_kpt")
    with pytest.raises(agentsim.UsageError, match="expected a list of messages"):
        agentsim.check("hello")


def test_the_error_names_rule_source_and_run():
    with pytest.raises(agentsim.RuleBroken) as caught:
        agentsim.check([*CLAUDE[:2], {"role": "user", "content": [result("a")]}])
    text = str(caught.value)
    assert "every_call_is_answered: request 2 holds no result for b of reply 1" in text
    assert "anthropics/claude-code#5989" in text
    assert "request 2: keeps 1, new: assistant:tool_use(lookup)+tool_use(lookup), user:tool_result(a)" in text


@pytest.mark.parametrize("stem", sorted(catalogue()))
def test_the_reference_loop_breaks_no_rule_on_the_catalogue(stem):
    scenario = catalogue()[stem]
    run = agentsim.run(scenario, style="reference")
    assert broken(run, tools={name: dict(tool.schema) for name, tool in scenario.tools.items()}) == set()


def test_every_rule_has_a_sentence_a_source_and_a_scenario_of_the_catalogue():
    for rule in all_rules().values():
        assert rule.sentence.endswith(".")
        assert rule.source
        assert rule.scenarios
        assert set(rule.scenarios) <= set(catalogue())


def test_every_scenario_of_the_catalogue_provokes_a_rule():
    assert {stem for rule in all_rules().values() for stem in rule.scenarios} == set(catalogue())
