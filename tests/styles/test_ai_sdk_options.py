"""The AI SDK's options: each statement about one, as it was measured."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from agentsim.judge.simulate import prepare
from agentsim.scenario.load import loads
from agentsim.styles import find
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

AGENT, AGENT_STREAM = "ai-sdk/ToolLoopAgent.generate", "ai-sdk/ToolLoopAgent.stream"
GENERATE, STREAM = "ai-sdk/generateText", "ai-sdk/streamText"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
THREE_ROUNDS = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""
ONE_ROUND = """
- tool_use: {lookup: {key: a}}
- text: done
"""


# -- stopWhen ---------------------------------------------------------------------------------------------------------


def test_stop_when_alone_replaces_the_default():
    run = played(GENERATE, ENDLESS, options={"stopWhen": {"isStepCount": 5}})
    assert (run.model_calls, run.ended, run.limit, run.limit_is_default) == (5, "limit", None, True)


def test_a_limit_beside_it_is_one_more_condition():
    options = {"stopWhen": {"isStepCount": 5}}
    assert played(AGENT, ENDLESS, options=options, limit=3).model_calls == 3
    assert played(AGENT, ENDLESS, options=options, limit=9).model_calls == 5


@pytest.mark.parametrize("stop_when", [{"isStepCount": 0}, {"isStepCount": 2.5}, []])
def test_a_count_that_is_never_equal_and_no_condition_are_no_cap(stop_when):
    assert played(AGENT, ENDLESS, options={"stopWhen": stop_when}).ended == "unbounded"


def test_is_loop_finished_removes_the_cap():
    assert claim("ai-sdk.loop-finished-removes-cap")
    assert played(AGENT, ENDLESS, options={"stopWhen": "isLoopFinished"}).ended == "unbounded"
    assert played(GENERATE, THREE_ROUNDS, options={"stopWhen": "isLoopFinished"}).final_text == "done"


def test_a_sure_condition_bounds_an_endless_script_beyond_the_patience_with_endless_ones():
    run = played(AGENT, ENDLESS, options={"stopWhen": {"isStepCount": 150}}, max_calls=20)
    assert (run.ended, run.model_calls) == ("limit", 150)


def test_a_condition_is_asked_after_the_tools_ran():
    assert claim("ai-sdk.exits-on-stop-condition")
    assert claim("ai-sdk.stop-rule-before-tools").divergence
    calls = "- tool_use: [{lookup: {key: a}}, {add: {a: 1, b: 2}}]\n- text: done"
    run = played(AGENT, calls, options={"stopWhen": {"hasToolCall": "lookup"}})
    assert (run.ended, run.returned, len(run.tool_runs)) == ("stop_condition", "stopped", 2)


def test_a_condition_is_not_asked_after_a_final_answer():
    run = played(AGENT, "- text: done", options={"stopWhen": {"scripted": [{"raises": "asked"}]}})
    assert run.returned == "answer"


def test_has_tool_call_takes_several_names_and_counts_invalid_calls_too():
    options = {"stopWhen": {"hasToolCall": ["nope", "other"]}}
    run = played(AGENT, "- tool_use: {nope: {}}\n- text: done", options=options)
    assert (run.ended, run.tool_runs) == ("stop_condition", ())


def test_any_true_condition_of_a_list_stops():
    assert claim("ai-sdk.any-condition-stops")
    run = played(AGENT, ENDLESS, options={"stopWhen": [{"isStepCount": 9}, {"steps": {"at_least": 2}}]})
    assert (run.model_calls, run.ended) == (2, "stop_condition")


def test_all_conditions_of_a_list_are_called_each_time():
    first, second = {"scripted": [False, False, False, True]}, {"scripted": [False, False, True]}
    assert played(AGENT, ENDLESS, options={"stopWhen": [first, second]}).model_calls == 3


def test_an_async_condition_is_awaited():
    options = {"stopWhen": {"scripted": [False], "async": True}}
    assert played(AGENT, THREE_ROUNDS, options=options).final_text == "done"


@pytest.mark.parametrize("style", [AGENT, AGENT_STREAM])
def test_a_condition_that_throws_is_the_runs_error(style):
    options = {"stopWhen": {"scripted": [{"raises": {"type": "TypeError", "message": "no stop"}}]}}
    run = played(style, ONE_ROUND, options=options)
    assert (run.error, run.final_text) == ({"type": "TypeError", "message": "no stop"}, None)


def test_a_token_budget_overshoots_by_up_to_a_step():
    assert claim("ai-sdk.token-budget").divergence
    run = played(AGENT, ENDLESS, options={"stopWhen": {"totalTokens": {"at_least": 40}}})
    assert run.model_calls == 3  # 15 a step: 45


def test_what_is_given_to_the_call_wins_over_the_agents():
    options = {"stopWhen": {"isStepCount": 3}, "generate": {"stopWhen": {"isStepCount": 2}}}
    assert played(AGENT, ENDLESS, options=options).model_calls == 2
    assert played(AGENT_STREAM, ENDLESS, options=options).model_calls == 3


# -- prepareStep, toolChoice ------------------------------------------------------------------------------------------


def test_prepare_step_is_asked_before_every_step_the_first_too():
    assert claim("ai-sdk.prepare-step-before-every-step")
    run = played(AGENT, "- text: done", options={"prepareStep": {"scripted": [{"raises": "asked"}]}})
    assert (run.error["message"], run.model_requests) == ("asked", 0)


def test_its_messages_are_the_base_of_all_later_steps():
    assert claim("ai-sdk.prepared-messages-persist")
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    run = played(AGENT, THREE_ROUNDS, options={"prepareStep": {"scripted": [{"messages": messages}, {}]}})
    assert requests_of(run)[0] == ["user:text", "assistant:text", "user:text"]
    assert [sent.kept for sent in run.requests] == [0, 3, 5, 7]


def test_its_tool_choice_lasts_one_step():
    options = {"prepareStep": {"scripted": [{"toolChoice": "required"}, {}]}}
    assert played(AGENT, ONE_ROUND, options=options).final_text == "done"


def test_without_active_tools_any_call_is_an_unknown_tool():
    run = played(AGENT, ONE_ROUND, options={"prepareStep": {"scripted": [{"activeTools": []}, {}]}})
    assert run.tool_runs == ()
    assert told(run)[0].endswith("unavailable tool 'lookup'. Available tools: .")


def test_active_tools_last_one_step():
    calls = "- tool_use: [{add: {a: 1, b: 2}}, {lookup: {key: a}}]\n- tool_use: {lookup: {key: b}}\n- text: done"
    run = played(AGENT, calls, options={"prepareStep": {"scripted": [{"activeTools": ["add"]}, {}]}})
    assert [r.name for r in run.tool_runs] == ["add", "lookup"]


def test_required_and_a_good_answer_is_an_error():
    run = played(AGENT, ONE_ROUND, options={"toolChoice": "required"})
    assert (run.error["type"], run.final_text, run.model_calls) == ("AI_ToolChoiceViolationError", None, 2)
    streamed = played(AGENT_STREAM, ONE_ROUND, options={"toolChoice": "required"})
    assert (streamed.finish_reason, streamed.final_text, streamed.outcome.reported_count) == ("error", "done", 2)


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_another_choice_is_only_sent(choice):
    assert played(AGENT, ONE_ROUND, options={"toolChoice": choice}).final_text == "done"


def test_the_example_with_a_done_tool_ends_when_it_is_called():
    assert claim("ai-sdk.done-tool-example")
    options = {
        "stopWhen": [{"isStepCount": 10}, {"hasToolCall": "ask"}],
        "prepareStep": {"scripted": [{"toolChoice": "required"}, {}]},
    }
    run = played(
        AGENT, "- tool_use: {lookup: {key: a}}\n- tool_use: {ask: {q: all done}}\n- text: more", options=options
    )
    assert (run.model_calls, run.ended, run.finish_reason) == (2, "handed_back", "tool-calls")


# -- toolApproval -----------------------------------------------------------------------------------------------------


def test_a_rule_that_denies_gives_a_result_and_the_loop_goes_on():
    run = played(AGENT, ONE_ROUND, options={"toolApproval": {"lookup": "denied"}})
    assert (told(run), run.tool_runs, run.final_text) == (["Tool call execution denied."], (), "done")


def test_user_approval_is_as_the_tools_own():
    run = played(AGENT, ONE_ROUND, options={"toolApproval": {"lookup": "user-approval"}})
    assert (run.ended, run.returned, run.tool_runs) == ("approval", "stopped", ())
    answered = played(
        AGENT, ONE_ROUND, options={"toolApproval": {"lookup": "user-approval"}}, more="approvals: [[{approve: call_1}]]"
    )
    assert (answered.final_text, len(answered.tool_runs)) == ("done", 1)


def test_approved_overrules_the_tools_own_need():
    tools = "tools: {lookup: {input: {key: string}, returns: ok, approval: required}}"
    run = played(AGENT, ONE_ROUND, tools=tools, options={"toolApproval": {"lookup": "approved"}})
    assert (run.final_text, len(run.tool_runs), run.model_calls) == ("done", 1, 2)


# -- tools ------------------------------------------------------------------------------------------------------------

SLOW = "tools: {one: {returns: 1, seconds: 2}, two: {returns: 2, seconds: 3}}"
BOTH = "- tool_use: [{one: {}}, {two: {}}]\n- text: done"


def test_a_steps_tools_run_together():
    assert claim("ai-sdk.tools-run-together")
    assert played(AGENT, BOTH, tools=SLOW).seconds == 3


def test_with_a_concurrency_of_one_they_run_in_order_and_a_throw_does_not_stop_the_rest():
    assert claim("ai-sdk.concurrency-one-is-sequential")
    assert played(AGENT, BOTH, tools=SLOW, options={"toolCallConcurrency": 1}).seconds == 5
    run = played(
        AGENT, "- tool_use: [{boom: {}}, {lookup: {key: a}}]\n- text: done", options={"toolCallConcurrency": 1}
    )
    assert [(r.name, r.is_error) for r in run.tool_runs] == [("boom", True), ("lookup", False)]


def test_repair_is_asked_once_for_each_invalid_call():
    calls = "- tool_use: [{lookup: {wrong: 1}}, {lookup: {wrong: 2}}]\n- text: done"
    run = played(AGENT, calls, options={"repairToolCall": {"scripted": [{"input": '{"key":"a"}'}, None]}})
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]
    assert requests_of(run)[1][1] == "user:tool_result(call_1)+tool_result(call_2)!"


def test_repair_may_rename_a_call_of_an_unknown_tool():
    options = {"repairToolCall": {"scripted": [{"toolName": "lookup"}]}}
    run = played(AGENT, "- tool_use: {look: {key: a}}\n- text: done", options=options)
    assert [r.name for r in run.tool_runs] == ["lookup"]
    assert requests_of(run)[1][0] == "assistant:tool_use(lookup)"


def test_a_repair_that_throws_or_does_not_fit_is_the_result():
    for entry, text in (
        ({"raises": "no"}, "AI_ToolCallRepairError: Error repairing tool call: Error: no"),
        ({"toolName": "add"}, "Invalid input for tool add"),
    ):
        run = played(AGENT, "- tool_use: {nope: {}}\n- text: done", options={"repairToolCall": {"scripted": [entry]}})
        assert text in told(run)[0]


def test_a_repaired_cut_call_is_not_run_and_the_loop_stops():
    cut = "- {tool_use: {lookup: {key: a}}, cut_after: 4}\n- text: done"
    null = played(AGENT_STREAM, cut, options={"repairToolCall": {"scripted": [None]}})
    repaired = played(AGENT_STREAM, cut, options={"repairToolCall": {"scripted": [{"input": '{"key":"a"}'}]}})
    assert (null.final_text, null.model_calls) == ("done", 2)
    assert (repaired.ended, repaired.model_calls, repaired.tool_runs) == ("max_tokens", 1, ())


def test_a_tool_that_is_given_up_after_its_time_is_an_error_result():
    run = played(AGENT, BOTH, tools=SLOW, options={"timeout": {"toolMs": 2500}})
    assert told(run) == ["1", "TimeoutError: The operation was aborted due to timeout"]
    assert (run.final_text, run.seconds) == ("done", 2.5)


# -- maxRetries, timeout, onStepEnd -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retries", "requests", "error", "message"),
    [
        (0, 1, "AI_APICallError", "Overloaded"),
        (1, 2, "AI_RetryError", "Failed after 2 attempts. Last error: AI_APICallError: Overloaded"),
        (2, 3, "AI_RetryError", "Failed after 3 attempts. Last error: AI_APICallError: Overloaded"),
    ],
)
def test_max_retries(retries, requests, error, message):
    run = played(AGENT, "- {error: 529, repeat: forever}", options={"maxRetries": retries})
    assert (run.model_requests, run.error) == (requests, {"type": error, "message": message})


@pytest.mark.parametrize(("style", "seconds"), [(AGENT, 3), (AGENT_STREAM, 1)])
def test_the_whole_calls_time_out_throws_and_only_generate_waits_for_its_tools(style, seconds):
    run = played(style, BOTH, tools=SLOW, options={"timeout": {"totalMs": 1000}})
    assert (run.ended, run.error["type"], run.final_text, run.seconds) == ("timeout", "TimeoutError", None, seconds)
    assert len(run.tool_runs) == 2


@pytest.mark.parametrize("style", [AGENT, AGENT_STREAM])
def test_it_throws_while_the_model_is_waited_for_too(style):
    run = played(style, "- {text: done, seconds: 5}", options={"timeout": {"totalMs": 1000}})
    assert (run.ended, run.error["type"], run.seconds) == ("timeout", "TimeoutError", 1)


def test_what_on_step_end_throws_is_swallowed():
    assert played(AGENT, ONE_ROUND, options={"onStepEnd": {"scripted": [{"raises": "oops"}]}}).final_text == "done"


def test_functions_take_their_time():
    options = {"prepareStep": {"scripted": [None], "seconds": 0.5}, "onStepEnd": {"scripted": [None], "seconds": 0.25}}
    assert played(AGENT, ONE_ROUND, options=options).seconds == 1.5
    repair = {"repairToolCall": {"scripted": [None], "seconds": 2}}
    assert played(AGENT, "- tool_use: {nope: {}}\n- text: done", options=repair).seconds == 2


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stopwhen": []}, "unknown option 'stopwhen'; did you mean 'stopWhen'?"),
        ({"stopWhen": {"isStepsCount": 1}}, "stopWhen: unknown name 'isStepsCount'; did you mean 'isStepCount'?"),
        ({"stopWhen": [{"isStepCount": "3"}]}, "stopWhen[0].isStepCount: expected a number, but '3' came"),
        (
            {"stopWhen": {"hasToolCall": 3}},
            "stopWhen.hasToolCall: expected a tool's name or a list of names, but 3 came",
        ),
        ({"stopWhen": {"step": {"at_least": 1}}}, "stopWhen: unknown name 'step'; did you mean 'steps'?"),
        ({"prepareStep": {"scripted": [{"toolchoice": "auto"}]}}, "did you mean 'toolChoice'?"),
        ({"prepareStep": {"scripted": [{"messages": [{"role": "tool", "content": "x"}]}]}}, "unknown value 'tool'"),
        ({"toolChoice": "any"}, "toolChoice: unknown value 'any'"),
        ({"toolApproval": {"lookup": "deny"}}, "toolApproval.lookup: unknown value 'deny'; did you mean 'denied'?"),
        ({"toolCallConcurrency": 0}, "toolCallConcurrency: expected a whole number, at least 1, but 0 came"),
        ({"maxRetries": -1}, "maxRetries: expected a whole number, at least 0, but -1 came"),
        ({"timeout": {"total": 3}}, "timeout: unknown option 'total'; did you mean 'totalMs'?"),
        ({"repairToolCall": {"scripted": [{"input": {}}]}}, "expected texts (input is JSON text)"),
        ({"generate": {"stopwhen": []}}, "generate: unknown option 'stopwhen'"),
    ],
)
def test_a_wrong_tree_is_refused_with_the_place_and_the_nearest_word(options, message):
    with pytest.raises(UsageError) as refused:
        prepare(loads("agentsim: 1\nprompt: go\nreplies: [{text: hi}]"), find(AGENT), options=options)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{AGENT}: ")
