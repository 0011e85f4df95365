"""Semantic Kernel's ChatCompletionAgent, as measured: its cap, its extra call, what becomes of each kind of reply."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

STYLE = "semantic-kernel/ChatCompletionAgent"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
ROUNDS3 = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20])
def test_at_the_cap_there_is_one_more_call_whose_calls_are_handed_back_unrun(limit):
    run = played(STYLE, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds, run.count) == (limit + 1, limit, limit)
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("limit", "stopped", "tool_calls", "")


def test_the_extra_call_offers_no_tools():
    offered = [sent.offered for sent in played(STYLE, ENDLESS, limit=1).transcript if hasattr(sent, "offered")]
    assert offered == [None, ()]


def test_five_attempts_by_default():
    assert (played(STYLE, ENDLESS).model_requests, played(STYLE, ENDLESS).tool_rounds) == (6, 5)


@pytest.mark.parametrize("limit", [1, 2, 20])
def test_streamed_there_is_no_extra_call(limit):
    run = played(STYLE, ENDLESS, limit=limit, stream=True)
    assert (run.model_requests, run.tool_rounds, run.ended, run.silent) == (limit, limit, "limit", True)


def test_three_attempts_are_enough_for_three_rounds_and_an_answer():
    run = played(STYLE, ROUNDS3, limit=3)
    assert (run.model_requests, run.tool_rounds, run.final_text, run.returned) == (4, 3, "done", "answer")
    assert run.least_limit == 3


def test_text_of_the_extra_call_is_still_the_limit_s():
    assert (played(STYLE, ROUNDS3, limit=3).ended, played(STYLE, ROUNDS3, limit=4).ended) == ("limit", "answer")


def test_streamed_four_attempts_are_needed():
    assert played(STYLE, ROUNDS3, stream=True).least_limit == 4


@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize("stream", [False, True])
def test_without_attempts_one_request_is_made_and_its_calls_are_handed_back(limit, stream):
    run = played(STYLE, ENDLESS, limit=limit, stream=stream)
    assert (run.model_requests, run.tool_rounds, run.ended) == (1, 0, "limit")
    assert run.returned == ("answer" if stream else "stopped")


@pytest.mark.parametrize("limit", [0, 1, None])
def test_an_answer_needs_no_attempt(limit):
    run = played(STYLE, "- text: hello", limit=limit)
    assert (run.model_requests, run.ended, run.final_text, run.count) == (1, "answer", "hello", 0)


def test_a_broken_number_is_refused():
    run = played(STYLE, ENDLESS, limit=2.5)
    assert (run.model_requests, run.ended, run.error["type"]) == (0, "limit", "ValidationError")


def test_a_parallel_batch_counts_once():
    run = played(STYLE, "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]\n- text: done", limit=1)
    assert (run.count, len(run.tool_runs), run.tool_rounds) == (1, 2, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("{nope: {}}", "The tool call with name `nope` is not part of the provided tools"),
        ("{boom: {}}", "An error occurred while invoking the function boom: boom failed"),
        ("{lookup: {wrong: 5}}", "Missing required argument(s): ['key']. Received unexpected argument(s): ['wrong']."),
    ],
)
def test_errors_are_results_without_a_mark(call, text):
    run = played(STYLE, f"- tool_use: {call}\n- text: done")
    assert told(run)[0].startswith(text)
    assert (run.model_requests, run.ended, requests_of(run)[1][1]) == (2, "answer", "user:tool_result(call_1)")


def test_broken_json_is_a_result_and_single_quotes_are_read():
    call = '- content: [{{tool_use: {{name: lookup, raw: "{raw}"}}}}]\n- text: done'
    broken = played(STYLE, call.format(raw='{\\"key\\": \\"a'))
    assert told(broken)[0].startswith("The tool call arguments are malformed.")
    assert played(STYLE, call.format(raw="{'key': 'a'}")).tool_runs[0].input == {"key": "a"}


@pytest.mark.parametrize(("given", "got"), [("5", "5"), ("null", "None"), ("[1]", "[1]")])
def test_a_value_is_given_to_the_parameter_s_type(given, got):
    assert played(STYLE, f"- tool_use: {{lookup: {{key: {given}}}}}\n- text: done").tool_runs[0].input == {"key": got}


def test_results_are_written_as_python_shows_them():
    tools = "tools: {give: {returns: {a: [1, null]}}}"
    assert told(played(STYLE, "- tool_use: {give: {}}\n- text: done", tools=tools)) == ["{'a': [1, None]}"]


def test_errors_never_stop_it_before_the_cap():
    run = played(STYLE, "- tool_use: {nope: {}}\n  repeat: forever")
    assert (run.model_requests, run.tool_rounds, run.count, run.ended) == (6, 0, 5, "limit")


@pytest.mark.parametrize(
    ("reply", "ended", "finish", "text"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens", "length", "half"),
        ("{refusal: I can't.}", "refusal", "stop", "I can't."),
        ("{empty: true}", "empty", "stop", ""),
        ("{text: ''}", "empty", "stop", ""),
        ("{text: hm, stop_reason: tool_use}", "bad_call", "tool_calls", "hm"),
    ],
)
def test_a_reply_without_calls_is_the_answer_whatever_stopped_it(reply, ended, finish, text):
    run = played(STYLE, f"- {reply}\n- text: done")
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == (ended, "answer", finish, text)
    assert run.model_requests == 1


def test_streamed_a_refusal_s_words_and_the_finish_reason_are_lost():
    run = played(STYLE, "- refusal: I can't.", stream=True)
    assert (run.final_text, run.finish_reason, run.ended, run.silent) == ("", None, "refusal", True)


def test_a_whole_call_of_a_cut_reply_runs_and_a_cut_one_is_an_error_result():
    whole = played(STYLE, "- {tool_use: {lookup: {key: a}}, stop_reason: max_tokens}\n- text: done")
    cut = played(STYLE, "- {tool_use: {lookup: {key: a}}, cut_after: 9}\n- text: done")
    assert (len(whole.tool_runs), len(cut.tool_runs)) == (1, 0)
    assert (whole.final_text, cut.final_text) == ("done", "done")


def test_a_text_beside_calls_is_not_sent_back_and_only_a_stream_returns_it():
    replies = "- {text: let me look, tool_use: {lookup: {key: a}}}\n- text: done"
    assert requests_of(played(STYLE, replies))[1][0] == "assistant:tool_use(lookup)"
    assert played(STYLE, replies).final_text == "done"
    assert played(STYLE, replies, stream=True).final_text == "let me lookdone"


def test_calls_run_side_by_side_and_results_are_sent_as_they_come_in():
    tools = "tools: {slow: {seconds: 3, returns: late}, quick: {seconds: 1, returns: soon}}"
    run = played(STYLE, "- tool_use: [{slow: {}}, {quick: {}}, {nope: {}}]\n- text: done", tools=tools)
    assert run.seconds == 3.0
    assert requests_of(run)[1][1] == "user:tool_result(call_3)+tool_result(call_2)+tool_result(call_1)"


def test_calls_that_share_an_id_both_run():
    call = "{{tool_use: {{name: lookup, input: {{key: {key}}}, id: same}}}}"
    both = ", ".join(call.format(key=key) for key in "ab")
    run = played(STYLE, f"- content: [{both}]\n- text: done")
    assert (len(run.tool_runs), requests_of(run)[1][1]) == (2, "user:tool_result(same)+tool_result(same)")


@pytest.mark.parametrize(("faults", "requests", "ended"), [(2, 3, "answer"), (3, 3, "http_error")])
def test_the_client_retries_twice(faults, requests, ended):
    run = played(STYLE, "- error: 529\n" * faults + "- text: done")
    assert (run.model_requests, run.ended) == (requests, ended)


def test_a_client_error_is_wrapped_and_not_retried():
    run = played(STYLE, "- error: 400\n- text: done")
    assert (run.model_requests, run.ended, run.error["type"]) == (1, "http_error", "ServiceResponseException")


def test_a_stream_that_merely_ends_is_a_reply_and_one_that_fails_throws():
    end = "- {text: half an answer, disconnect: {after_characters: 4, how: end}}"
    fails = "- {text: half, error: {status: 529, message: sorry, after_characters: 4}}"
    assert (played(STYLE, end, stream=True).final_text, played(STYLE, end, stream=True).returned) == ("half", "answer")
    assert played(STYLE, fails, stream=True).error["type"] == "APIError"


def test_a_finish_reason_that_its_enumeration_lacks_throws():
    run = played(STYLE, "- {text: hm, stop_reason: {raw: odd}}")
    assert (run.returned, run.error["type"]) == ("error", "ValueError")


def test_each_prompt_has_its_own_attempts_and_a_failed_one_leaves_nothing_but_itself():
    replies = "- tool_use: {lookup: {key: a}}\n- error: 400\n- text: two"
    run = played(STYLE, replies, more="prompt: [go, more]")
    assert requests_of(run)[2] == ["user:text+text"]
    assert requests_of(played(STYLE, replies, more="prompt: [go, more]", stream=True))[2] == [
        "user:tool_result(call_1)+text"
    ]


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behavior", "requests", "rounds"),
    [("Auto", 4, 3), ({"Auto": {"maximum_auto_invoke_attempts": 2}}, 3, 2), ("Required", 2, 1)],
)
def test_the_behavior_s_own_attempts_replace_the_default(behavior, requests, rounds):
    run = played(STYLE, ROUNDS3, options={"function_choice_behavior": behavior})
    assert (run.model_requests, run.tool_rounds) == (requests, rounds)


def test_a_limit_beside_the_behavior_is_one_more_condition():
    options = {"function_choice_behavior": {"Auto": {"maximum_auto_invoke_attempts": 3}}}
    assert played(STYLE, ENDLESS, options=options, limit=2).tool_rounds == 2
    assert played(STYLE, ENDLESS, options=options, limit=9).tool_rounds == 3


@pytest.mark.parametrize("behavior", ["NoneInvoke", {"Auto": {"auto_invoke": False}}])
def test_by_hand_calls_are_handed_back(behavior):
    run = played(STYLE, ROUNDS3, options={"function_choice_behavior": behavior})
    assert (run.model_requests, run.ended, run.returned, run.silent) == (1, "handed_back", "stopped", False)


def test_a_filter_ends_the_run_after_the_round_with_the_results_as_its_text():
    options = {"filters": {"auto_function_invocation": {"scripted": [None, {"terminate": True}]}}}
    run = played(STYLE, ROUNDS3, options=options)
    assert (run.model_requests, run.tool_rounds, run.ended) == (2, 2, "stop_condition")
    assert (run.final_text, run.returned) == ("value of b", "answer")


def test_what_a_filter_throws_leaves_the_run():
    tree = {"raises": {"type": "KeyError", "message": "no"}}
    run = played(STYLE, ROUNDS3, options={"filters": {"auto_function_invocation": {"scripted": [tree]}}})
    assert (run.error["type"], run.tool_runs, run.ended) == ("KeyError", (), "guardrail")


@pytest.mark.parametrize(
    ("tree", "word"),
    [
        ({"function_choice_behaviour": "Auto"}, "function_choice_behavior"),
        ({"function_choice_behavior": "auto"}, "Auto"),
        ({"function_choice_behavior": {"Auto": {"attempts": 1}}}, "maximum_auto_invoke_attempts"),
        ({"function_choice_behavior": {"Auto": {"auto_invoke": 1}}}, "true or false"),
        ({"function_choice_behavior": {"Auto": {"maximum_auto_invoke_attempts": "3"}}}, "whole number"),
        ({"filters": {"auto_function_invocation": True}}, "scripted"),
        ({"filters": {"auto_function_invocation": {"scripted": [{"end": True}]}}}, "terminate"),
    ],
)
def test_a_misspelt_option_is_named(tree, word):
    with pytest.raises(UsageError, match=word):
        played(STYLE, ENDLESS, options=tree)
