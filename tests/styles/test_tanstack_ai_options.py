"""TanStack AI's options, statement by statement."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, told

STYLE = "tanstack-ai/chat"
DOCS = "tanstack-ai/chat@docs"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
THREE_ENDLESS = """
- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {lookup: {key: c}}]
  repeat: forever
"""
ROUND = """
- tool_use: {lookup: {key: a}}
- text: done
"""
THREE = """
- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {lookup: {key: c}}]
- text: done
"""


def strategy(tree, replies=ENDLESS, **more):
    return played(STYLE, replies, options={"agentLoopStrategy": tree}, **more)


def hooks(*middleware, replies=ROUND, **more):
    return played(more.pop("style", STYLE), replies, options={"middleware": list(middleware)}, **more)


def says(*values, **more):
    return {"scripted": list(values), **more}


# -- strategies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "calls"), [(0, 1), (2, 2), (2.5, 3), (7, 7)])
def test_max_iterations_replaces_the_default(number, calls):
    run = strategy({"maxIterations": number})
    assert (run.model_calls, run.ended) == (calls, "limit")


@pytest.mark.parametrize(("limit", "calls"), [(2, 2), (6, 4)])
def test_a_limit_beside_a_strategy_is_one_more_strategy(limit, calls):
    assert strategy({"maxIterations": 4}, limit=limit).model_calls == calls


def test_until_finish_reason():
    claim("tanstack-ai.until-finish-reason")
    assert strategy({"untilFinishReason": ["tool_calls"]}).model_calls == 1
    assert strategy({"untilFinishReason": ["stop", "length"]}, max_calls=12).ended == "unbounded"


def test_combine_strategies_is_and_and_the_rest_is_not_asked_after_a_no():
    claim("tanstack-ai.combine-is-and")
    tree = {"combineStrategies": [{"maxIterations": 3}, {"messages": {"below": 6}}]}
    run = strategy(tree)
    assert (run.model_calls, run.ended) == (3, "limit")
    short = strategy({"combineStrategies": [says(True, False, True), says(True, False)]})
    assert (short.model_calls, short.ended) == (2, "stop_condition")


def test_an_empty_combination_is_no_cap():
    assert strategy({"combineStrategies": []}, max_calls=12).ended == "unbounded"


@pytest.mark.parametrize(
    ("replies", "tree", "calls"),
    [
        (ENDLESS, {"iterationCount": {"below": 3}}, 3),
        (ENDLESS, {"messages": {"below": 7}}, 3),
        (THREE_ENDLESS, {"messages": {"below": 9}}, 2),
        (THREE_ENDLESS, {"toolCallCount": {"below": 6}}, 2),
        (THREE_ENDLESS, {"lastTurnToolCallCount": {"below": 3}}, 1),
    ],
)
def test_what_a_strategy_sees(replies, tree, calls):
    claim("tanstack-ai.strategy-state")
    run = strategy(tree, replies)
    assert (run.model_calls, run.ended) == (calls, "stop_condition")


def test_an_id_that_was_seen_before_is_not_counted_again():
    same = "- content: [{tool_use: {name: lookup, input: {key: a}, id: same}}]\n  repeat: 6\n- text: done"
    assert strategy({"toolCallCount": {"below": 3}}, same).model_calls == 7


def test_a_strategy_is_asked_after_the_answer_too_and_cannot_prolong():
    assert strategy(says(True), "- text: done\n- text: more").model_calls == 1
    late = strategy(says({"raises": "late"}), "- text: done")
    assert (late.returned, late.error) == ("error", {"type": "Error", "message": "late"})


@pytest.mark.parametrize("value", [None, False, 0, ""])
def test_undefined_and_other_falsy_values_stop(value):
    assert strategy(says(value)).model_calls == 1


@pytest.mark.parametrize("slow", [{"async": True}, {"seconds": 1}])
def test_an_async_strategy_never_stops(slow):
    run = strategy(says(False, **slow), max_calls=12)
    assert (run.ended, run.seconds) == ("unbounded", 0)


@pytest.mark.parametrize("sure", [{"maxIterations": 30}, says(*[True] * 29, False)])
def test_a_strategy_that_surely_stops_bounds_an_endless_script_beyond_the_patience_with_endless_ones(sure):
    assert strategy(sure, max_calls=12).model_calls == 30


def test_a_throwing_strategy_throws_after_the_tools_ran():
    run = strategy(says({"raises": {"type": "TypeError", "message": "no"}}))
    assert (run.returned, run.error["type"], run.tool_rounds, run.final_text) == ("error", "TypeError", 1, None)


# -- hooks ----------------------------------------------------------------------------------------------------------


def test_on_should_continue_stops_with_false_only():
    assert hooks({"onShouldContinue": says(None, True, False)}, replies=ENDLESS).model_calls == 3


def test_on_should_continue_cannot_overrule_the_strategy():
    options = {"middleware": [{"onShouldContinue": says(True)}], "agentLoopStrategy": {"maxIterations": 2}}
    assert played(STYLE, ENDLESS, options=options).model_calls == 2


def test_hooks_run_in_list_order_and_a_no_is_the_last_word():
    run = hooks({"onShouldContinue": says(None, False)}, {"onShouldContinue": says(None, None)}, replies=ENDLESS)
    assert (run.model_calls, run.ended) == (2, "stop_condition")


def test_skip_sends_its_result_and_is_no_run():
    claim("tanstack-ai.before-hook-skips")
    run = hooks({"onBeforeToolCall": says({"type": "skip", "result": "later"})})
    assert (run.tool_runs, told(run), run.ended) == ((), ["later"], "answer")


def test_a_skipped_call_counts():
    claim("tanstack-ai.skipped-calls-count")
    options = {
        "middleware": [{"onBeforeToolCall": says({"type": "skip", "result": "later"})}],
        "agentLoopStrategy": {"toolCallCount": {"below": 6}},
    }
    run = played(STYLE, THREE_ENDLESS, options=options)
    assert (run.model_calls, run.tool_runs) == (2, ())


def test_transform_args_runs_with_others_unchecked():
    run = hooks({"onBeforeToolCall": says({"type": "transformArgs", "args": {"key": "z", "more": 1}})})
    assert [r.input for r in run.tool_runs] == [{"key": "z", "more": 1}]


def test_abort_ends_the_run_with_no_finish_and_no_error():
    run = hooks({"onBeforeToolCall": says({"type": "abort", "reason": "stop"})})
    assert (run.ended, run.returned, run.finish_reason, run.error) == ("guardrail", "stopped", None, None)


def test_the_hook_is_asked_for_valid_calls_with_an_implementation_only():
    replies = "- tool_use: [{nope: {}}, {lookup: {wrong: 1}}, {ask: {q: why}}, {lookup: {key: a}}]\n- text: done"
    run = hooks({"onBeforeToolCall": says({"type": "skip", "result": "s"}, {"raises": "asked twice"})}, replies=replies)
    assert run.ended == "handed_back"


def test_what_on_after_tool_call_returns_is_not_used():
    claim("tanstack-ai.after-hook-replaces-result")
    replaced = {"onAfterToolCall": says({"type": "replaceResult", "result": "other"})}
    assert told(hooks(replaced)) == ["value of a"]
    assert told(hooks(replaced, style=DOCS)) == ["other"]


def test_documented_on_after_tool_call_replaces_the_result_of_a_cut_call():
    cut = "- content: [{tool_use: {name: lookup, raw: '{'}}]\n  stop_reason: max_tokens\n- text: done"
    options = {
        "middleware": [{"onAfterToolCall": says({"type": "replaceResult", "result": "in parts, please"})}],
        "agentLoopStrategy": {"maxIterations": 5},
    }
    assert told(played(DOCS, cut, options=options)) == ["in parts, please"]


def test_a_throwing_on_after_tool_call_is_a_second_result():
    run = hooks({"onAfterToolCall": says({"raises": "after"}, None)}, wire="openai-chat")
    assert told(run) == ["value of a", '{"error":"after"}']


def test_the_budget_for_each_turn():
    run = hooks({"toolCallBudget": {"maxPerTurn": 1}}, replies=THREE)
    skipped = '{"error":"Skipped: exceeded maxToolCallsPerTurn (1)"}'
    assert told(run) == ["value of a", skipped, skipped]


def test_the_budget_of_the_run_stops_after_the_turn_that_reached_it():
    claim("tanstack-ai.budget-stops-later-turns")
    run = hooks({"toolCallBudget": {"maxPerTurn": 1, "max": 4}}, replies=THREE_ENDLESS)
    assert (run.model_calls, len(run.tool_runs), run.ended) == (2, 2, "stop_condition")


def test_hooks_take_their_time():
    assert (
        hooks({"onBeforeToolCall": says(None, seconds=0.5), "onShouldContinue": says(None, seconds=1)}).seconds == 2.5
    )


# -- the rest -------------------------------------------------------------------------------------------------------


def test_a_client_function_in_the_server_s_list_runs_on_the_server():
    run = played(STYLE, "- tool_use: {ask: {q: why}}\n- text: done", options={"tools": {"ask": "client"}})
    assert ([r.name for r in run.tool_runs], run.ended) == (["ask"], "answer")


def test_without_a_stream_all_turns_texts_are_one_and_every_return_is_an_answer():
    replies = "- text: 'one, '\n  tool_use: {lookup: {key: a}}\n  repeat: forever"
    run = played(STYLE, replies, options={"stream": False}, limit=2)
    assert (run.final_text, run.returned, run.finish_reason, run.silent) == ("one, one, ", "answer", None, True)
    cut = played(STYLE, "- text: so\n  stop_reason: max_tokens", options={"stream": False})
    assert (cut.returned, cut.error["type"], cut.final_text) == ("error", "Error", None)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"agentLoopStrategi": 1}, "'agentLoopStrategy'"),
        ({"agentLoopStrategy": {"maxIteration": 1}}, "'maxIterations'"),
        ({"agentLoopStrategy": {"maxIterations": "2"}}, "expected a number"),
        ({"agentLoopStrategy": {"messages": {"over": 1}}}, "at_least"),
        ({"agentLoopStrategy": {"combineStrategies": [{"maxIterations": None}]}}, "combineStrategies[0]"),
        ({"middleware": {"onShouldContinue": {}}}, "expected a list"),
        ({"middleware": [{"onBeforeTool": says(None)}]}, "'onBeforeToolCall'"),
        ({"middleware": [{"onBeforeToolCall": says({"type": "skipp"})}]}, "'skip'"),
        ({"middleware": [{"toolCallBudget": {"maxPerRun": 1}}]}, "'maxPerTurn'"),
        ({"tools": {"lookup": "server"}}, "expected client"),
        ({"stream": "no"}, "expected true or false"),
    ],
)
def test_a_wrong_tree_is_named(tree, said):
    with pytest.raises(UsageError) as error:
        played(STYLE, ROUND, options=tree)
    assert said in str(error.value)
