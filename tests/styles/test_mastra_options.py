"""Mastra's options, statement by statement."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

GENERATE, STREAM = "mastra/Agent.generate", "mastra/Agent.stream"
BOTH = pytest.mark.parametrize("style", [GENERATE, STREAM])
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
HELLO = "- text: hello\n  repeat: forever"
ROUND = "- tool_use: {lookup: {key: a}}\n- text: done"
THREE = "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {lookup: {key: c}}]\n- text: done"


def says(*values, **more):
    return {"scripted": list(values), **more}


def generate(replies, options, **more):
    return played(more.pop("style", GENERATE), replies, options=options, **more)


# -- maxSteps and stopWhen ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "calls"), [("default", 7), (3, 3), (9, 7)])
def test_stop_when_replaces_the_five_and_beside_a_limit_whichever_is_first(limit, calls):
    claim("mastra.combined-with-stop-when")
    run = generate(ENDLESS, {"stopWhen": {"steps": {"at_least": 7}}}, limit=limit)
    assert (run.model_calls, run.ended) == (calls, "limit" if calls == 3 else "stop_condition")


@pytest.mark.parametrize("conditions", [[], {"steps": {"is": 0}}])
def test_a_condition_that_never_fires_is_no_cap(conditions):
    assert generate(ENDLESS, {"stopWhen": conditions}, max_calls=12).ended == "unbounded"


def test_has_tool_call_looks_at_the_last_step():
    replies = "- tool_use: {lookup: {key: a}}\n- tool_use: {boom: {}}\n- text: done"
    assert generate(replies, {"stopWhen": {"hasToolCall": "boom"}}).model_calls == 2


def test_a_token_budget_overshoots_by_up_to_a_step():
    assert generate(ENDLESS, {"stopWhen": {"totalTokens": {"at_least": 40}}}).model_calls == 3


def test_async_conditions_are_awaited_and_all_are_asked():
    assert generate(ENDLESS, {"stopWhen": says(False, True, **{"async": True})}).model_calls == 2
    assert generate(ENDLESS, {"stopWhen": [says(False, True), says(False, False, True)]}).model_calls == 2


def test_a_condition_is_not_asked_on_a_natural_end():
    assert generate("- text: hello", {"stopWhen": says({"raises": "asked"})}).ended == "answer"
    run = generate(ROUND, {"stopWhen": says({"raises": "asked"})})
    assert (run.returned, run.error["message"]) == ("error", "asked")


def test_a_stream_whose_condition_throws_never_ends():
    run = generate(ROUND, {"stopWhen": says({"raises": "asked"})}, style="mastra/Agent.stream")
    assert (run.ended, run.model_requests, len(run.tool_runs)) == ("unbounded", 1, 1)


@pytest.mark.parametrize(("limit", "calls"), [("default", 3), (2, 2), (6, 6), (0, 5)])
def test_the_agent_s_max_steps_and_the_call_s_wins(limit, calls):
    assert generate(ENDLESS, {"defaultOptions": {"maxSteps": 3}}, limit=limit).model_calls == calls


# -- onIterationComplete --------------------------------------------------------------------------------------------


def hook(*values, **more):
    return {"onIterationComplete": says(*values, **more)}


def test_nothing_said_changes_nothing():
    claim("mastra.hook-after-each-iteration")
    assert generate(ROUND, hook(None)).to_dict() == generate(ROUND, {}).to_dict()
    assert generate(ROUND, hook({"raises": "swallowed"})).ended == "answer"


@BOTH
def test_continue_true_restarts_a_finished_run_up_to_max_steps(style):
    run = generate(HELLO, hook({"continue": True}), limit=8, style=style)
    assert (run.model_calls, run.final_text, run.ended) == (8, "hello" * 8, "answer")


def test_continue_true_without_max_steps_goes_on_for_ever_whatever_stop_when_says():
    for options in ({}, {"stopWhen": {"steps": {"is": 2}}}):
        assert generate(HELLO, hook({"continue": True}) | options, max_calls=12).ended == "unbounded"
        assert generate(ENDLESS, hook({"continue": True}) | options, max_calls=12).ended == "unbounded"


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
def test_continue_true_asks_again_after_a_cut_reply_and_a_refusal(reason):
    run = generate(f"- text: hm\n  stop_reason: {reason}\n  repeat: forever", hook({"continue": True}), limit=3)
    assert run.model_calls == 3


def test_continue_false_stops():
    claim("mastra.continue-false-stops")
    run = generate(ENDLESS, hook(None, {"continue": False}))
    assert (run.model_calls, run.ended, run.finish_reason) == (2, "stop_condition", "tool-calls")
    later = generate(ENDLESS, hook({"continue": False, "feedback": "stop now"}))
    assert (later.model_calls, later.tool_rounds, later.ended) == (2, 2, "stop_condition")


def test_feedback_is_an_assistant_message_behind_the_replies():
    claim("mastra.feedback-needs-another-iteration")
    run = generate("- tool_use: {lookup: {key: a}}\n  repeat: 2\n- text: done", hook({"feedback": "be brief"}, None))
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_1)", "assistant:text"]
    assert requests_of(run)[2][-1] == "assistant:text"


def test_feedback_on_a_final_step_is_lost():
    run = generate(HELLO, hook({"continue": True, "feedback": "more"}), limit=3)
    assert (run.model_calls, requests_of(run)[1:]) == (3, [["assistant:text"], []])


def test_the_article_s_example_asks_a_finished_model_seven_times():
    claim("mastra.nudge-then-stop")
    go = {"continue": True}
    options = hook(go, go, go, go, {"continue": True, "feedback": "wrap up"}, go, {"continue": False})
    run = generate(HELLO, options, limit=8)
    assert (run.model_calls, run.final_text, run.ended) == (7, "hello" * 7, "answer")


# -- isTaskComplete -------------------------------------------------------------------------------------------------


def task(*scorers, **more):
    return {"isTaskComplete": {"scorers": list(scorers), **more}}


@BOTH
def test_a_failing_check_asks_again_up_to_the_cap_and_nothing_shows_it(style):
    run = generate(HELLO, task(says(0)), style=style)
    assert (run.model_calls, run.finish_reason, run.returned) == (5, "stop", "answer")
    assert generate(HELLO, task(says(0, 1)), style=style).model_calls == 2


def test_all_or_any_scorer():
    claim("mastra.task-scorers")
    assert generate(HELLO, task(says(1), says(0, 0, 1))).model_calls == 3
    assert generate(HELLO, task(says(0), says(0, 1), strategy="any")).model_calls == 2
    assert generate(HELLO, task(says(0.5, 1))).model_calls == 2
    assert generate(HELLO, task(says({"raises": "no"}, 1))).model_calls == 2


def test_a_check_is_asked_on_natural_ends_only():
    assert generate(ROUND, task(says(1, {"raises": "asked twice"}))).model_calls == 2
    assert generate("- tool_use: {ask: {q: why}}\n- text: done", task(says(0))).ended == "handed_back"


FAULTS = "- error: {status: 400, message: one}\n- error: {status: 400, message: two}\n- text: hello"


@pytest.mark.parametrize("options", [task(says(0, 0, 1)), hook({"continue": True}, {"continue": True}, None)])
def test_a_check_or_a_hook_goes_on_after_failed_requests_and_the_caller_is_told_of_one_at_the_end(options):
    run = generate(FAULTS, options)
    assert (run.model_requests, run.model_calls, run.outcome.error_message, run.final_text) == (3, 1, "one", None)
    run = generate(FAULTS, options, style=STREAM)
    assert (run.model_requests, run.outcome.error_message, run.finish_reason, run.final_text) == (
        3,
        "two",
        "stop",
        "hello",
    )
    assert run.outcome.reported_count == 3


# -- approvals ------------------------------------------------------------------------------------------------------

ALL = {"requireToolApproval": True}


@BOTH
def test_every_call_suspends_before_any_tool_runs(style):
    claim("mastra.approval-suspends")
    run = generate(ROUND, ALL, style=style)
    assert (run.ended, run.returned, run.finish_reason, run.outcome.reported_count) == (
        "approval",
        "stopped",
        "suspended",
        0,
    )
    assert run.tool_rounds == 0


@BOTH
def test_an_approved_call_runs_and_the_loop_goes_on(style):
    run = generate(ROUND, ALL, style=style, more="approvals: [[{approve: call_1}]]")
    assert (run.ended, run.model_calls, run.tool_rounds, run.outcome.reported_count) == ("answer", 2, 1, 2)


def test_a_declined_call_gets_the_reason():
    run = generate(ROUND, ALL, more="approvals: [[{reject: call_1}]]")
    assert told(run) == ["Tool call was not approved by the user"]
    why = generate(ROUND, ALL, more="approvals: [[{reject: call_1, message: too dear}]]")
    assert told(why) == ["too dear"]


def test_of_parallel_calls_the_first_waits_alone_and_a_bare_word_then_settles_the_rest():
    one = generate(THREE, ALL, more="approvals: [[approve]]")
    assert (one.ended, len(one.tool_runs)) == ("approval", 1)
    two = generate(THREE, ALL, more="approvals: [[approve], [approve]]")
    assert (two.ended, len(two.tool_runs)) == ("answer", 3)
    mixed = generate(THREE, ALL, more="approvals: [[approve], [reject]]")
    assert (mixed.ended, len(mixed.tool_runs)) == ("answer", 1)


def test_answered_by_id_generate_throws_while_one_still_waits_and_stream_does_not():
    more = "approvals: [[{approve: call_1}], [{approve: call_2}], [{approve: call_3}]]"
    thrown = generate(THREE, ALL, more=more)
    assert (thrown.returned, thrown.ended, len(thrown.tool_runs)) == ("error", "approval", 2)
    assert thrown.error["message"].startswith("promise 'suspendPayload' was not resolved")
    assert generate(THREE, ALL, more=more, style=STREAM).ended == "answer"


def test_the_cap_is_not_kept_over_a_resume():
    rounds = "- tool_use: {lookup: {key: a}}\n  repeat: 8\n- text: done"
    more = "approvals: [" + ", ".join("[approve]" for _ in range(8)) + "]"
    for limit in (1, 2):
        assert generate(rounds, ALL, limit=limit, more=more).ended == "answer"
    capped = generate(rounds, ALL | {"approveToolCall": {"maxSteps": 1}}, more=more)
    assert (capped.model_calls, capped.ended) == (1, "limit")


ONE_TOOL = """
tools:
  lookup: {input: {key: string}, returns: found}
  refund: {input: {id: integer}, returns: refunded, approval: required}
"""
THEN_ENDLESS = "- tool_use: {refund: {id: 1}}\n- tool_use: {lookup: {key: a}}\n  repeat: forever"


@pytest.mark.parametrize("limit", [2, 7, "default"])
def test_a_resume_counts_anew_with_five(limit):
    run = generate(THEN_ENDLESS, {}, tools=ONE_TOOL, limit=limit, more="approvals: [[approve]]")
    assert (run.model_calls, run.ended) == (5, "limit")


def test_a_resume_keeps_the_agent_s_options_and_none_of_the_call_s():
    kept = generate(THEN_ENDLESS, {"defaultOptions": {"maxSteps": 3}}, tools=ONE_TOOL, more="approvals: [[approve]]")
    assert kept.model_calls == 3
    for lost in ({"stopWhen": {"steps": {"at_least": 2}}}, hook({"continue": False})):
        assert generate(THEN_ENDLESS, lost, tools=ONE_TOOL, more="approvals: [[approve]]").model_calls == 5


def test_calls_before_the_one_that_needs_an_approval_run_and_those_behind_it_wait():
    replies = "- tool_use: [{lookup: {key: a}}, {refund: {id: 1}}, {lookup: {key: b}}]\n- text: done"
    waiting = generate(replies, {}, tools=ONE_TOOL)
    assert ([r.input for r in waiting.tool_runs], waiting.ended) == ([{"key": "a"}], "approval")
    assert len(generate(replies, {}, tools=ONE_TOOL, more="approvals: [[approve]]").tool_runs) == 3


# -- concurrency, time-outs, retries --------------------------------------------------------------------------------

SLOW = "tools: {lookup: {input: {key: string}, seconds: 1}, refund: {approval: required}}"
FREE = "tools: {lookup: {input: {key: string}, seconds: 1}}"


@pytest.mark.parametrize(
    ("value", "seconds"), [(1, 3), (2, 2), (0, 1), (20, 1), ({"limit": 2}, 2), ({"strategy": "called"}, 1)]
)
def test_tool_call_concurrency(value, seconds):
    assert generate(THREE, {"toolCallConcurrency": value}, tools=FREE).seconds == seconds


def test_one_at_a_time_where_any_tool_needs_an_approval_unless_called():
    claim("mastra.one-with-approval")
    assert generate(THREE, {}, tools=SLOW).seconds == 3
    assert generate(THREE, {"toolCallConcurrency": {"strategy": "called"}}, tools=SLOW).seconds == 1


@BOTH
def test_the_total_time_out_throws_and_a_started_tool_has_run(style):
    claim("mastra.total-timeout")
    run = generate(ROUND, {"modelSettings": {"timeout": {"totalMs": 200}}}, tools=FREE, style=style)
    assert (run.ended, run.returned, run.error["type"], run.seconds) == ("timeout", "error", "MastraTimeoutError", 0.2)
    assert run.error["message"] == "Agent execution timed out after 200ms (modelSettings.timeout.totalMs)"
    assert len(run.tool_runs) == 1


def test_the_step_time_out_does_not_cover_tools_but_the_model():
    options = {"modelSettings": {"timeout": {"stepMs": 200}}}
    assert generate(ROUND, options, tools=FREE).ended == "answer"
    slow = generate("- text: done\n  seconds: 1", options)
    assert (slow.ended, slow.error["message"]) == (
        "timeout",
        "Model call timed out after 200ms (modelSettings.timeout.stepMs)",
    )


def test_a_bare_number_as_time_out_is_refused_before_any_call():
    run = generate(ROUND, {"modelSettings": {"timeout": 200}})
    assert (run.model_requests, run.returned) == (0, "error")
    assert run.error["message"].startswith("`modelSettings.timeout` must be an object")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 529])
@pytest.mark.parametrize("options", [{"maxRetries": 1}, {"modelSettings": {"maxRetries": 1}}])
def test_a_retry_is_one_more_request(options, status):
    assert generate(f"- error: {status}\n- text: done", options).model_requests == 2
    lost = generate(f"- error: {status}\n  repeat: 2\n- text: done", options)
    assert (lost.model_requests, lost.ended) == (2, "http_error")


def test_what_is_no_transient_error_is_not_sent_again_and_the_agent_s_retries_win():
    assert generate("- error: 400\n- text: done", {"maxRetries": 1}).model_requests == 1
    both = {"maxRetries": 3, "modelSettings": {"maxRetries": 1}}
    assert generate("- error: 529\n  repeat: 9\n- text: done", both).model_requests == 4


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"stopWen": 1}, "'stopWhen'"),
        ({"stopWhen": {"hasToolCal": "x"}}, "'hasToolCall'"),
        ({"stopWhen": {"step": {"is": 1}}}, "'steps'"),
        ({"defaultOptions": {"maxStep": 1}}, "'maxSteps'"),
        ({"onIterationComplete": says({"continu": True})}, "'continue'"),
        ({"onIterationComplete": says({"continue": 1})}, "expected true or false"),
        ({"isTaskComplete": {"scorers": 1}}, "expected a list"),
        ({"isTaskComplete": {"scorers": [says(1)], "strategy": "most"}}, "(known: all, any)"),
        ({"requireToolApproval": "yes"}, "expected true or false"),
        ({"toolCallConcurrency": "two"}, "expected an integer"),
        ({"toolCallConcurrency": {"strategy": "call"}}, "'called'"),
        ({"modelSettings": {"timeout": {"total": 1}}}, "'totalMs'"),
        ({"modelSettings": {"timeout": {"totalMs": -1}}}, "expected milliseconds"),
        ({"maxRetries": -1}, "at least 0"),
    ],
)
def test_a_wrong_tree_is_named(tree, said):
    with pytest.raises(UsageError) as error:
        generate(ROUND, tree)
    assert said in str(error.value)


@pytest.mark.parametrize(("limit", "calls"), [("default", 100), (150, 151)])
def test_approvals_that_are_always_given_never_end_an_endless_run(limit, calls):
    tools = "tools: {refund: {input: {id: integer}, approval: required, approved: true}}"
    run = generate("- tool_use: {refund: {id: 1}}\n  repeat: forever", {}, tools=tools, limit=limit)
    assert (run.ended, run.model_calls) == ("unbounded", calls)


def test_other_arguments_can_t_be_given_so_the_run_stays_suspended():
    tools = "tools: {refund: {input: {id: integer}, approval: required, approved: {edit: {id: 2}}}}"
    assert generate("- tool_use: {refund: {id: 1}}\n- text: done", {}, tools=tools).ended == "approval"
