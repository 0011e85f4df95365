"""The article's loop, as it is printed: what it does, and where it is weak."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

STYLE = "hand-rolled/article"
THREE_ROUNDS = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""


@pytest.mark.parametrize(("limit", "calls", "rounds"), [(1, 1, 1), (2, 2, 2), (3, 3, 3)])
def test_the_cap_throws_after_the_last_step_s_tools_ran(limit, calls, rounds):
    assert claim("hand-rolled.cap-throws").divergence is None
    run = played(STYLE, THREE_ROUNDS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.ended, run.returned) == (calls, rounds, "limit", "error")
    assert run.error == {"type": "Error", "message": f"Agent hit maxSteps ({limit}) without finishing"}
    assert run.count == limit


def test_a_run_of_three_rounds_needs_a_cap_of_four():
    run = played(STYLE, THREE_ROUNDS, limit=4)
    assert (run.ended, run.final_text, run.count, run.least_limit) == ("answer", "done", 4, 4)


@pytest.mark.parametrize(("limit", "calls"), [(0, 0), (-1, 0), (2.5, 3)])
def test_odd_caps(limit, calls):
    run = played(STYLE, ENDLESS, limit=limit)
    assert (run.model_calls, run.ended) == (calls, "limit")
    assert run.error["message"] == f"Agent hit maxSteps ({limit:g}) without finishing"


def test_ten_steps_by_default():
    assert played(STYLE, ENDLESS).model_calls == 10


def test_results_go_back_in_one_message_in_call_order():
    assert claim("hand-rolled.one-message")
    run = played(STYLE, "- tool_use: [{lookup: {key: a}}, {boom: {}}, {lookup: {key: b}}]\n- text: done")
    assert requests_of(run)[1] == [
        "assistant:tool_use(lookup)+tool_use(boom)+tool_use(lookup)",
        "user:tool_result(call_1)+tool_result(call_2)!+tool_result(call_3)",
    ]


def test_an_unknown_tool_and_a_throwing_one_become_error_results():
    assert claim("hand-rolled.failures-are-results")
    run = played(STYLE, "- tool_use: [{nope: {}}, {boom: {}}]\n- text: done")
    assert told(run) == ["Unknown tool: nope", "Error: boom failed"]
    assert run.ended == "answer"


@pytest.mark.parametrize(
    ("reply", "ended", "stop"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens", "max_tokens"),
        ("{refusal: no}", "refusal", "refusal"),
        ("{text: half, stop_reason: model_context_window_exceeded}", "context_window", "model_context_window_exceeded"),
        ("{text: hm, stop_reason: {raw: new_reason}}", "answer", "new_reason"),
        ("{text: hm, stop_reason: null}", "answer", "null"),
    ],
)
def test_every_other_stop_reason_throws(reply, ended, stop):
    assert claim("hand-rolled.done-is-end-turn")
    run = played(STYLE, f"- {reply}\n- text: done")
    assert (run.ended, run.returned, run.count) == (ended, "error", 0)
    assert run.error["message"] == f"Agent stopped without finishing: stop_reason={stop}"


def test_the_calls_of_a_cut_reply_do_not_run():
    assert claim("hand-rolled.cut-reply-has-no-calls").divergence
    run = played(
        STYLE,
        "- {tool_use: [{lookup: {key: a}}, {lookup: {key: b}}], stop_reason: max_tokens}\n- text: done",
    )
    assert (run.tool_runs, run.ended, run.returned) == ((), "max_tokens", "error")


def test_a_pause_is_sent_back_unchanged_and_costs_a_step():
    assert claim("hand-rolled.pause-is-continued")
    assert claim("hand-rolled.pause-costs-a-step")
    script = "- {text: working, stop_reason: pause_turn}\n- text: done"
    assert played(STYLE, script, limit=1).ended == "limit"
    run = played(STYLE, script, limit=2)
    assert (requests_of(run)[1], run.final_text) == (["assistant:text"], "done")


def test_a_paused_reply_s_own_call_goes_back_unanswered():
    run = played(STYLE, "- {tool_use: {lookup: {key: a}}, stop_reason: pause_turn}\n- text: done")
    assert (run.tool_runs, requests_of(run)[1]) == ((), ["assistant:tool_use(lookup)"])


@pytest.mark.parametrize(
    ("name", "text", "is_error"),
    [
        ("toString", "[object Undefined]", False),
        ("constructor", {"x": 1}, False),
        ("__proto__", "TypeError: impl is not a function", True),
        ("valueOf", "TypeError: Cannot convert undefined or null to object", True),
    ],
)
def test_names_that_every_object_inherits_are_found(name, text, is_error):
    run = played(STYLE, f"- tool_use: {{{name}: {{x: 1}}}}\n- text: done")
    result = run.requests[1].new[-1].content[0]
    assert (result.output, result.is_error, run.tool_runs) == (text, is_error, ())


def test_tool_use_without_a_call_sends_an_empty_message():
    run = played(STYLE, "- {text: hm, stop_reason: tool_use}\n- text: done")
    assert requests_of(run)[1] == ["assistant:text", "user:"]


def test_calls_beside_end_turn_are_dropped_and_nothing_is_the_answer():
    run = played(STYLE, "- {tool_use: {lookup: {key: a}}, stop_reason: end_turn}")
    assert (run.final_text, run.ended, run.silent) == ("", "dropped_calls", True)


def test_an_empty_reply_is_an_answer():
    run = played(STYLE, "- empty: true")
    assert (run.final_text, run.ended, run.silent) == ("", "empty", True)


def test_arguments_are_not_checked():
    run = played(STYLE, "- tool_use: {lookup: {wrong: 5}}\n- text: done")
    assert [(one.input, one.is_error) for one in run.tool_runs] == [({"wrong": 5}, False)]


@pytest.mark.parametrize(
    ("status", "requests", "type_"),
    [(529, 3, "InternalServerError"), (429, 3, "RateLimitError"), (400, 1, "BadRequestError"), (413, 1, "APIError")],
)
def test_the_client_s_own_errors_go_out(status, requests, type_):
    run = played(STYLE, f"- {{error: {status}, repeat: forever}}")
    assert (run.model_requests, run.error["type"], run.ended) == (requests, type_, "http_error")


def test_a_caller_that_gives_up_while_tools_run_sees_the_client_s_error():
    run = played(STYLE, THREE_ROUNDS, more="abort: {during: lookup}")
    assert (run.ended, run.error["type"], run.model_calls) == ("aborted", "APIUserAbortError", 1)


def test_it_takes_no_options():
    from agentsim.errors import UsageError

    with pytest.raises(UsageError, match="takes no options"):
        played(STYLE, THREE_ROUNDS, options={"maxSteps": 3})


def test_a_tool_without_an_implementation_is_unknown():
    assert told(played(STYLE, "- tool_use: {ask: {q: x}}\n- text: done")) == ["Unknown tool: ask"]
