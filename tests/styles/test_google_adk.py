"""google-adk: model calls and tools until a reply has no call; reasons are shown, not acted on."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

STYLE = "google-adk/Runner.run_async"
CHAT = "openai-chat"
WIRES = ["anthropic-messages", CHAT]
CALL = "{tool_use: {lookup: {key: a}}}"
ENDLESS = "- {tool_use: {lookup: {key: a}}, repeat: forever}"
CUT = "{tool_use: {lookup: {key: abc}}, cut_after: 9}"
BROKEN = """{content: [{tool_use: {name: lookup, raw: '{"key": "a'}}]}"""


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_the_last_allowed_call_s_tools_run_and_the_next_call_raises(limit, wire):
    assert "raises before it is sent" in claim("google-adk.checked-before-the-call").says
    run = played(STYLE, ENDLESS, limit=limit, wire=wire)
    assert (run.model_calls, run.tool_rounds, run.error["type"]) == (limit, limit, "LlmCallsLimitExceededError")
    assert (run.ended, run.count) == ("limit", limit)


def test_five_hundred_calls_by_default():
    assert played(STYLE, ENDLESS, wire=CHAT).model_calls == 500


@pytest.mark.parametrize("limit", [0, -1])
def test_zero_or_less_is_no_cap(limit):
    assert "0 or less is no limit" in claim("google-adk.zero-is-no-cap").says
    assert played(STYLE, ENDLESS, limit=limit, max_calls=60).ended == "unbounded"


def test_a_cap_that_is_no_whole_number_is_refused():
    run = played(STYLE, ENDLESS, limit=2.5)
    assert (run.model_requests, run.error["type"]) == (0, "ValidationError")


def test_three_rounds_and_an_answer_need_four_calls_and_a_batch_is_one():
    replies = "\n".join([f"- {CALL}"] * 3) + "\n- text: done"
    assert played(STYLE, replies).least_limit == 4
    batch = "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {add: {a: 1, b: 2}}]\n- text: done"
    assert (played(STYLE, batch, limit=2).final_text, len(played(STYLE, batch, limit=1).tool_runs)) == ("done", 3)


def test_unknown_tools_and_missing_arguments_are_results_without_an_error_mark():
    run = played(STYLE, "- tool_use: [{nope: {}}, {lookup: {wrong: 5}}, {lookup: {key: a}}]\n- text: done")
    assert requests_of(run)[1][1] == "user:tool_result(call_1)+tool_result(call_2)+tool_result(call_3)"
    assert "not found" in told(run)[0]["error"]
    assert "mandatory input parameters" in told(run)[1]["error"]
    assert told(run)[2] == {"result": "value of a"}


def test_an_exception_of_a_tool_leaves_the_run():
    assert "leaves the run" in claim("google-adk.exceptions-leave-the-run").says
    run = played(STYLE, "- tool_use: {boom: {}}\n- text: done")
    assert (run.ended, run.error) == ("tool_error", {"type": "Exception", "message": "boom failed"})


def test_arguments_are_not_converted_and_unknown_ones_are_left_out():
    run = played(STYLE, "- tool_use: {lookup: {key: 5, more: 1}}\n- text: done")
    assert [r.input for r in run.tool_runs] == [{"key": 5}]


@pytest.mark.parametrize(
    ("reply", "finish", "returned", "ended"),
    [
        ("{text: half, stop_reason: max_tokens}", "MAX_TOKENS", "stopped", "max_tokens"),
        ("{refusal: no}", "SAFETY", "stopped", "refusal"),
        ("{text: part, stop_reason: stop_sequence}", "STOP", "answer", "answer"),
        ("{text: hm, stop_reason: tool_use}", "STOP", "answer", "bad_call"),
        ("{text: half, stop_reason: model_context_window_exceeded}", "FINISH_REASON_UNSPECIFIED", "stopped", "context_window"),
    ],
)  # fmt: skip
def test_a_finish_reason_is_shown_and_never_acted_on(reply, finish, returned, ended):
    assert "never acted on" in claim("google-adk.finish-reasons-are-shown").says
    run = played(STYLE, f"- {reply}\n- text: done")
    assert (run.finish_reason, run.returned, run.ended, run.model_calls) == (finish, returned, ended, 1)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "end_turn", "pause_turn"])
def test_calls_are_run_under_any_stop_reason(stop):
    run = played(STYLE, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- text: done")
    assert (run.tool_rounds, run.final_text) == (1, "done")


def test_a_paused_turn_is_taken_for_the_answer():
    assert "taken for a finished one" in claim("google-adk.a-pause-is-an-answer").says
    run = played(STYLE, "- {text: working, stop_reason: pause_turn}\n- text: done")
    assert (run.final_text, run.finish_reason, run.ended, run.silent) == ("working", "STOP", "pause", True)


def test_a_server_tool_s_block_leaves_the_run_where_replies_do_not_stream():
    paused = "- {text: working, server_tool_use: {search: {query: x}}, stop_reason: pause_turn}\n- text: done"
    assert played(STYLE, paused).error["type"] == "NotImplementedError"
    assert played(STYLE, paused, stream=True).final_text == "working"


def test_broken_arguments_are_an_empty_object_on_claude_s_wire_and_leave_the_run_where_it_streams():
    run = played(STYLE, f"- {BROKEN}\n- text: done")
    assert (run.final_text, run.tool_runs) == ("done", ())
    streamed = played(STYLE, f"- {BROKEN}\n- text: done", stream=True)
    assert (streamed.error["type"], streamed.ended) == ("ValueError", "bad_call")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("reply", "reason"), [(BROKEN, "MALFORMED_FUNCTION_CALL"), (CUT, "MAX_TOKENS")])
def test_lite_llm_leaves_a_broken_call_out_and_the_run_ends(reply, reason, stream):
    assert "leaves a call out" in claim("google-adk.broken-calls-vanish").says
    run = played(STYLE, f"- {reply}\n- text: done", wire=CHAT, stream=stream)
    assert (run.finish_reason, run.returned, run.model_calls, run.tool_runs) == (reason, "stopped", 1, ())


def test_of_two_calls_the_whole_one_runs_and_the_cut_one_is_gone_but_streamed_none_runs():
    replies = "- {tool_use: [{lookup: {key: a}}, {lookup: {key: abc}}], cut_after: 9}\n- text: done"
    run = played(STYLE, replies, wire=CHAT)
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_1)"]
    assert played(STYLE, replies, wire=CHAT, stream=True).tool_runs == ()


def test_an_empty_reply_has_an_error_code():
    run = played(STYLE, "- text: ''\n- text: done")
    assert (run.finish_reason, run.returned, run.model_calls) == ("MODEL_RETURNED_NO_CONTENT", "stopped", 1)


@pytest.mark.parametrize(("status", "requests"), [(400, 1), (429, 3), (500, 3), (529, 3)])
def test_http_errors_are_retried_by_the_client_alone(status, requests):
    run = played(STYLE, f"- {{error: {status}, repeat: 9}}")
    assert (run.model_requests, run.ended) == (requests, "http_error")


def test_calls_that_share_an_id_both_run():
    both = "content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]"
    run = played(STYLE, f"- {both}\n- text: done")
    assert [r.input["key"] for r in run.tool_runs] == ["a", "b"]
    assert requests_of(run)[1][1] == "user:tool_result(x)+tool_result(x)"
