"""OpenAI's ResponsesToolRunner: everything that is not quite right is a ToolRunnerError."""

from __future__ import annotations

import pytest

from tests.styles.playing import played, requests_of, told

STYLE = "openai/ResponsesToolRunner"
ROUND = """
- tool_use: {lookup: {key: a}}
- text: done
"""
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("limit", "calls", "rounds"), [(1, 1, 0), (2, 2, 1), (20, 20, 19)])
def test_the_last_allowed_step_s_tools_do_not_run(limit, calls, rounds, stream):
    run = played(STYLE, ENDLESS, limit=limit, stream=stream)
    assert (run.model_calls, run.tool_rounds, run.ended) == (calls, rounds, "limit")
    assert run.error["type"] == "ToolRunnerError"
    assert run.count == limit


def test_twenty_steps_by_default():
    assert played(STYLE, ENDLESS).model_calls == 20


def test_one_round_and_an_answer_need_two_steps():
    run = played(STYLE, ROUND, limit=2)
    assert (run.final_text, run.finish_reason, run.count, run.least_limit) == ("done", "completed", 2, 2)


@pytest.mark.parametrize("limit", [0, -1, 2.5])
def test_a_limit_that_is_no_positive_whole_number_is_refused(limit):
    run = played(STYLE, ROUND, limit=limit)
    assert (run.model_requests, run.error["type"], run.ended) == (0, "ValueError", "limit")


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens"),
        ("{empty: true}", "empty"),
        ("{tool_use: {nope: {}}}", "bad_call"),
        ("{tool_use: {lookup: {wrong: 5}}}", "bad_call"),
        ("{tool_use: [{lookup: {key: a}}, {nope: {}}]}", "bad_call"),
        ("{tool_use: [{lookup: {key: a}}, {lookup: {wrong: 5}}]}", "bad_call"),
    ],
)
def test_a_reply_with_anything_wrong_throws_and_none_of_it_runs(reply, ended):
    run = played(STYLE, f"- {reply}\n- text: done")
    assert (run.ended, run.returned, run.tool_runs, run.model_calls) == (ended, "error", (), 1)
    assert run.error["type"] == "ToolRunnerError"


def test_an_id_that_came_before_throws():
    call = "{content: [{tool_use: {name: lookup, input: {key: a}, id: same}}]}"
    run = played(STYLE, f"- {call}\n- {call}\n- text: done")
    assert (run.ended, run.model_calls, run.tool_rounds) == ("bad_call", 2, 1)


def test_a_throwing_tool_ends_the_run_after_those_before_it():
    run = played(STYLE, "- tool_use: [{lookup: {key: a}}, {boom: {}}, {lookup: {key: b}}]\n- text: done")
    assert ([one.name for one in run.tool_runs], run.ended) == (["lookup", "boom"], "tool_error")
    assert run.error["message"] == "Tool run stopped before completion."


def test_calls_run_one_after_the_other_and_the_whole_input_is_sent():
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    run = played(STYLE, "- tool_use: [{slow: {}}, {slow: {}}]\n- text: done", tools=tools)
    assert (run.seconds, told(run)) == (4.0, ["ok", "ok"])
    assert requests_of(run)[1] == [
        "assistant:tool_use(slow)+tool_use(slow)",
        "user:tool_result(call_1)+tool_result(call_2)",
    ]


def test_a_refusal_is_a_completed_message():
    run = played(STYLE, "- refusal: I can't help.\n- text: done")
    assert (run.ended, run.returned, run.silent) == ("refusal", "answer", True)


def test_a_provider_s_tool_has_to_be_declared():
    search = "- {server_tool_use: {search: {query: x}}, text: found}"
    declared = "tools: {search: {server: true}}"
    assert played(STYLE, search, tools=declared).final_text == "found"
    assert played(STYLE, search).error["message"].startswith("Server tool did not complete")


def test_client_errors_are_hidden():
    run = played(STYLE, "- {error: 400}")
    assert (run.ended, run.error["message"]) == ("http_error", "Tool run stopped before completion.")


def test_a_function_without_an_executor_is_not_registered():
    assert played(STYLE, "- tool_use: {ask: {q: x}}").error["message"].startswith("Function was not registered")


@pytest.mark.parametrize(("returns", "reads"), [("a text", "a text"), ("{a: [1, é]}", '{"a": [1, "é"]}')])
def test_a_result_that_is_no_text_is_json(returns, reads):
    tools = f"tools: {{give: {{returns: {returns}}}}}"
    assert told(played(STYLE, "- tool_use: {give: {}}\n- text: done", tools=tools)) == [reads]
