"""Haystack's Agent, as measured: its cap, its exit reasons, what becomes of each kind of reply."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

STYLE = "haystack/Agent.run"
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
both_ways = pytest.mark.parametrize("stream", [False, True])


@both_ways
@pytest.mark.parametrize(("limit", "steps"), [(1, 1), (2, 2), (20, 20), (2.5, 3)])
def test_the_last_allowed_step_s_tools_run_and_their_results_are_the_last_message(limit, steps, stream):
    run = played(STYLE, ENDLESS, limit=limit, stream=stream)
    assert (run.model_requests, run.tool_rounds, run.count) == (steps, steps, steps)
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("limit", "stopped", "max_agent_steps", None)


def test_a_hundred_steps_by_default():
    assert played(STYLE, ENDLESS).model_requests == 100


def test_three_rounds_and_an_answer_need_four_steps():
    run = played(STYLE, ROUNDS3, limit=4)
    assert (run.final_text, run.finish_reason, run.returned, run.least_limit) == ("done", "text", "answer", 4)
    assert run.outcome.reported_count == 4


@pytest.mark.parametrize("limit", [0, -1])
def test_without_a_step_the_prompt_itself_is_the_last_message(limit):
    run = played(STYLE, ENDLESS, limit=limit)
    assert (run.model_requests, run.ended, run.final_text) == (0, "limit", "go")


@pytest.mark.parametrize(
    ("reply", "ended", "finish", "text"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens", "length", "half"),
        ("{empty: true, stop_reason: max_tokens}", "max_tokens", "length", None),
        ("{text: hm, stop_reason: {raw: content_filter}}", "answer", "content_filter", "hm"),
        ("{tool_use: {lookup: {key: a}}, cut_after: 9}", "max_tokens", "length", None),
    ],
)
@both_ways
def test_cut_and_filtered_replies_stop_it_and_say_so(reply, ended, finish, text, stream):
    run = played(STYLE, f"- {reply}\n- text: done", stream=stream)
    assert (run.model_requests, run.ended, run.returned) == (1, ended, "stopped")
    assert (run.finish_reason, run.final_text) == (finish, text)


@pytest.mark.parametrize("reply", ["{empty: true}", "{text: ''}", "{refusal: I can't.}"])
@both_ways
def test_a_reply_with_neither_text_nor_calls_is_asked_again_and_a_refusal_is_one(reply, stream):
    run = played(STYLE, f"- {reply}\n- text: done", stream=stream)
    assert (run.model_requests, run.final_text, run.count) == (2, "done", 2)
    assert requests_of(run)[1] == ["assistant:text"]


def test_empty_replies_for_ever_are_stopped_by_the_cap_alone():
    run = played(STYLE, "- {empty: true, repeat: forever}", limit=3)
    assert (run.model_requests, run.finish_reason, run.ended) == (3, "max_agent_steps", "limit")


@pytest.mark.parametrize(("stream", "text"), [(False, ""), (True, None)])
def test_at_the_cap_an_empty_reply_is_the_last_message_and_a_stream_shows_no_text_of_it(stream, text):
    run = played(STYLE, "- {text: ''}\n- text: done", limit=1, stream=stream)
    assert (run.finish_reason, run.final_text) == ("max_agent_steps", text)


def test_calls_of_a_broken_json_are_left_out_and_their_siblings_run():
    broken = '{tool_use: {name: lookup, raw: "{\\"key"}}'
    alone = played(STYLE, f"- content: [{broken}]\n- text: done")
    beside = played(STYLE, f"- content: [{broken}, {{tool_use: {{name: lookup, input: {{key: a}}}}}}]\n- text: done")
    assert (requests_of(alone)[1], alone.tool_runs) == (["assistant:text"], ())
    assert requests_of(beside)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_2)"]


@pytest.mark.parametrize(
    ("raw", "error"), [("[1]", "TypeError"), ("null", "AttributeError"), ("'\"x\"'", "AttributeError")]
)
def test_arguments_that_are_no_object_throw(raw, error):
    run = played(STYLE, f"- content: [{{tool_use: {{name: lookup, raw: {raw if raw[0] == chr(39) else repr(raw)}}}}}]")
    assert (run.error["type"], run.ended, run.tool_runs) == (error, "bad_call", ())


def test_values_are_never_checked_but_keywords_are():
    assert played(STYLE, "- tool_use: {lookup: {key: 5}}\n- text: done").tool_runs[0].input == {"key": 5}
    wrong = played(STYLE, "- tool_use: {lookup: {wrong: 5}}\n- text: done")
    assert (wrong.tool_runs, told(wrong)[0][:29]) == ((), "Failed to invoke Tool `lookup")


def test_results_of_unknown_tools_come_first():
    run = played(STYLE, "- tool_use: [{lookup: {key: a}}, {nope: {}}, {boom: {}}]\n- text: done")
    assert requests_of(run)[1][1] == "user:tool_result(call_2)+tool_result(call_1)+tool_result(call_3)"
    assert told(run) == [
        "Tool 'nope' not found. Available tools: lookup, add, boom, ask",
        "value of a",
        "Failed to invoke Tool `boom` with parameters {}. Error: boom failed",
    ]


def test_four_calls_run_at_once():
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    replies = "- tool_use: [{slow: {}}, {slow: {}}, {slow: {}}, {slow: {}}, {slow: {}}]\n- text: done"
    assert played(STYLE, replies, tools=tools).seconds == 4.0
    assert played(STYLE, replies, tools=tools, options={"tool_concurrency_limit": 5}).seconds == 2.0


@pytest.mark.parametrize(("faults", "requests", "ended"), [(5, 6, "answer"), (6, 6, "http_error")])
def test_the_client_retries_five_times(faults, requests, ended):
    run = played(STYLE, "- error: 529\n" * faults + "- text: done")
    assert (run.model_requests, run.ended) == (requests, ended)


def test_a_client_error_is_not_retried():
    run = played(STYLE, "- error: 400\n- text: done")
    assert (run.model_requests, run.error["type"]) == (1, "BadRequestError")


def test_a_prompt_that_was_stopped_leaves_its_messages_to_the_next():
    run = played(STYLE, "- tool_use: {lookup: {key: a}}\n- text: two", more="prompt: [go, more]", limit=1)
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_1)+text"]


# -- options ----------------------------------------------------------------------------------------------------------


def test_an_exit_condition_ends_the_run_after_its_tool_and_a_text_still_does():
    run = played(STYLE, ROUNDS3, options={"exit_conditions": ["lookup"]})
    assert (run.model_requests, run.finish_reason, run.ended, run.returned) == (
        1,
        "lookup",
        "stop_condition",
        "stopped",
    )
    assert played(STYLE, "- text: hello", options={"exit_conditions": ["lookup"]}).final_text == "hello"


def test_a_named_tool_that_failed_ends_nothing():
    replies = "- tool_use: [{lookup: {key: a}}, {boom: {}}]\n- text: done"
    assert played(STYLE, replies, options={"exit_conditions": ["lookup", "boom"]}).final_text == "done"
    assert played(STYLE, replies, options={"exit_conditions": ["lookup"]}).finish_reason == "lookup"


def test_whose_failure_it_was_is_told_by_the_tool_s_name_not_by_the_call_s_id():
    replies = """
    - content:
        - tool_use: {name: boom, input: {}, id: same}
        - tool_use: {name: lookup, input: {key: a}, id: same}
    - text: done
    """
    assert played(STYLE, replies, options={"exit_conditions": ["lookup"]}).finish_reason == "lookup"


@pytest.mark.parametrize(
    ("call", "error", "ended"),
    [
        ("{boom: {}}", "ToolInvocationError", "tool_error"),
        ("{lookup: {wrong: 5}}", "ToolInvocationError", "tool_error"),
        ("{nope: {}}", "ToolNotFoundException", "bad_call"),
    ],
)
def test_raising_a_tool_s_failure_leaves_the_run(call, error, ended):
    run = played(STYLE, f"- tool_use: {call}", options={"raise_on_tool_invocation_failure": True})
    assert (run.error["type"], run.ended) == (error, ended)


@pytest.mark.parametrize(
    ("tree", "word"),
    [
        ({"exit_condition": []}, "exit_conditions"),
        ({"exit_conditions": "text"}, "list of names"),
        ({"raise_on_tool_invocation_failure": 1}, "true or false"),
        ({"tool_concurrency_limit": "4"}, "whole number"),
    ],
)
def test_a_misspelt_option_is_named(tree, word):
    with pytest.raises(UsageError, match=word):
        played(STYLE, ENDLESS, options=tree)


@pytest.mark.parametrize(("returns", "reads"), [("a text", "a text"), ("{a: [1, é]}", '{"a": [1, "é"]}')])
def test_a_result_that_is_no_text_is_json(returns, reads):
    tools = f"tools: {{give: {{returns: {returns}}}}}"
    assert told(played(STYLE, "- tool_use: {give: {}}\n- text: done", tools=tools)) == [reads]
