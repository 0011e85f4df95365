"""Strands Agents: a cycle is a model call and its tools; only limits, errors and Python's recursion limit end a run early."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

STYLE = "strands/Agent"
WIRES = ["anthropic-messages", "openai-chat", "openai-responses"]
CALL = "{tool_use: {lookup: {key: a}}}"
ENDLESS = "- {tool_use: {lookup: {key: a}}, repeat: forever}"
ROUND = f"- {CALL}\n- text: done"
TURN_CUT = """
- text: let me
  tool_use: {lookup: {key: a}}
  stop_reason: max_tokens
- text: done
"""


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_the_last_allowed_cycle_s_tools_run_and_the_run_returns(limit, wire):
    assert "run to completion" in claim("strands.last-tools-run").says
    run = played(STYLE, ENDLESS, limit=limit, wire=wire)
    assert (run.model_calls, run.tool_rounds, run.ended, run.returned) == (limit, limit, "limit", "stopped")
    assert (run.finish_reason, run.final_text, run.count) == ("limit_turns", "", limit)


def test_three_rounds_and_an_answer_need_four_turns():
    replies = "\n".join([f"- {CALL}"] * 3) + "\n- text: done"
    assert [played(STYLE, replies, limit=n).returned for n in (3, 4)] == ["stopped", "answer"]
    assert played(STYLE, replies).least_limit == 4


def test_a_parallel_batch_is_one_turn():
    run = played(
        STYLE, "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {add: {a: 1, b: 2}}]\n- text: done", limit=2
    )
    assert (run.model_calls, len(run.tool_runs), run.ended) == (2, 3, "answer")


@pytest.mark.parametrize("limit", [0, -1, 2.5])
def test_a_cap_that_is_no_positive_whole_number_is_a_type_error_before_any_request(limit):
    run = played(STYLE, ROUND, limit=limit)
    assert (run.model_requests, run.error["type"], run.ended) == (0, "TypeError", "limit")


@pytest.mark.parametrize(
    ("wire", "cycles", "error"),
    [
        ("anthropic-messages", 314, "EventLoopException"),
        ("openai-chat", 313, "CancelledError"),
        ("openai-responses", 313, "CancelledError"),
    ],
)
def test_without_a_cap_python_s_recursion_limit_ends_the_run(wire, cycles, error):
    assert "recursion limit" in (claim("strands.no-cap-by-default").divergence or "")
    run = played(STYLE, ENDLESS, wire=wire, max_calls=400)
    assert (run.model_calls, run.tool_rounds, run.error["type"]) == (cycles, cycles, error)
    assert played(STYLE, ENDLESS, wire=wire, max_calls=60).ended == "unbounded"


@pytest.mark.parametrize(("cap", "calls"), [(1, 1), (5, 1), (6, 2), (10, 2), (20, 4)])
def test_a_cap_of_output_tokens_is_looked_at_between_cycles(cap, calls):
    assert "overshoot" in claim("strands.tokens-overshoot").says
    run = played(STYLE, ENDLESS, options={"limits": {"output_tokens": cap}})
    assert (run.model_calls, run.tool_rounds, run.finish_reason) == (calls, calls, "limit_output_tokens")


def test_of_several_caps_turns_come_first_then_all_tokens_then_output_tokens():
    def reason(**limits):
        return played(STYLE, ENDLESS, options={"limits": limits}).finish_reason

    assert reason(turns=2, total_tokens=30, output_tokens=10) == "limit_turns"
    assert reason(total_tokens=30, output_tokens=10) == "limit_total_tokens"
    assert reason(output_tokens=10) == "limit_output_tokens"
    assert played(STYLE, ENDLESS, limit=1, options={"limits": {"turns": 2}}).model_calls == 1
    assert played(STYLE, ENDLESS, limit=3, options={"limits": {"turns": 2}}).model_calls == 2


def test_caps_hold_for_one_call_of_the_agent():
    assert "next call counts anew" in claim("strands.caps-are-of-one-call").says
    replies = f"- {CALL}\n- text: one\n- {CALL}\n- text: two"
    run = played(STYLE, replies, more="prompt: [go, on]", limit=2, options={"limits": {"output_tokens": 10}})
    assert (run.final_text, run.model_calls) == ("two", 4)


def test_failing_calls_are_results_that_say_so_on_claude_s_wire():
    calls = "- tool_use: [{nope: {}}, {boom: {}}, {lookup: {wrong: 5}}, {lookup: {key: a}}]\n- text: done"
    run = played(STYLE, calls)
    assert (
        requests_of(run)[1][1]
        == "user:tool_result(call_1)!+tool_result(call_2)!+tool_result(call_3)!+tool_result(call_4)"
    )
    assert told(run)[:2] == ["Unknown tool: nope", "Error: Exception - boom failed"]
    assert "!" not in requests_of(played(STYLE, calls, wire="openai-chat"))[1][1]


def test_arguments_that_are_no_json_become_an_empty_object_which_then_misses_the_key():
    run = played(STYLE, """- content: [{tool_use: {name: lookup, raw: '{"key": "a'}}]\n- text: done""")
    assert (run.tool_runs, run.ended) == ((), "answer")
    assert "required" in told(run)[0]


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_that_max_tokens_cut_raises_and_its_calls_become_texts(wire):
    assert "none of its calls runs" in claim("strands.cut-reply-raises").says
    run = played(STYLE, TURN_CUT, more="prompt: [go, on]", wire=wire)
    assert requests_of(run)[1] == ["assistant:text+text", "user:text"]
    alone = played(STYLE, TURN_CUT, wire=wire)
    assert (alone.ended, alone.error["type"], alone.tool_runs) == ("max_tokens", "MaxTokensReachedException", ())


def test_a_pause_is_resumed_inside_the_model_call_and_costs_no_turn():
    assert "no cycle of its own" in claim("strands.pause-costs-nothing").says
    replies = f"- {{text: working, stop_reason: pause_turn}}\n- {CALL}\n- text: done"
    run = played(STYLE, replies, limit=2)
    assert (run.final_text, run.model_calls, run.count) == ("done", 3, 2)
    assert requests_of(run)[1] == ["assistant:text"]
    assert requests_of(run)[2] == ["assistant:text+tool_use(lookup)", "user:tool_result(call_1)"]


def test_an_endless_pause_ends_after_ten_resumes():
    run = played(STYLE, "- {text: working, stop_reason: pause_turn, repeat: forever}")
    assert (run.model_calls, run.error["type"], run.ended) == (11, "RuntimeError", "pause")


def test_a_call_in_a_paused_turn_runs_after_the_turn_and_the_resumed_request_lacks_its_result():
    run = played(STYLE, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: pause_turn}}\n- {CALL}\n- text: done")
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)"]
    assert (len(run.tool_runs), run.tool_rounds, run.model_calls) == (2, 2, 3)


def test_server_tools_are_resent_in_a_resume_but_not_kept():
    replies = """
    - {text: working, server_tool_use: {search: {query: x}}, stop_reason: pause_turn}
    - tool_use: {lookup: {key: a}}
    - text: done
    """
    run = played(STYLE, replies)
    assert requests_of(run)[1] == ["assistant:text+server_tool_use(search)"]
    assert requests_of(run)[2][0] == "assistant:text+tool_use(lookup)"


@pytest.mark.parametrize("stop", ["refusal", "stop_sequence", "model_context_window_exceeded"])
def test_calls_under_another_stop_reason_are_not_run(stop):
    run = played(STYLE, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- text: done")
    assert (run.tool_runs, run.model_calls, run.finish_reason) == ((), 1, stop)


def test_the_next_prompt_answers_calls_that_were_never_run():
    run = played(STYLE, "- {tool_use: {lookup: {key: a}}, stop_reason: refusal}\n- text: two", more="prompt: [go, on]")
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_1)!+text"]


def test_calls_beside_end_turn_are_run():
    run = played(STYLE, "- {tool_use: {lookup: {key: a}}, stop_reason: end_turn}\n- text: done")
    assert (run.final_text, run.tool_rounds) == ("done", 1)


def test_tool_use_without_a_call_asks_again_with_nothing_new():
    assert "nothing new" in claim("strands.tool-use-without-calls-asks-again").says
    run = played(STYLE, "- {text: hm, stop_reason: tool_use}\n- text: done")
    assert (run.final_text, requests_of(run)[1]) == ("done", ["assistant:text"])


def test_a_refusal_is_returned_on_claude_s_wire_and_lost_on_openai_s():
    said = played(STYLE, "- {refusal: no}")
    assert (said.returned, said.finish_reason, said.final_text) == ("stopped", "refusal", "no")
    lost = played(STYLE, "- {refusal: no}", wire="openai-chat")
    assert (lost.returned, lost.finish_reason, lost.final_text, lost.silent) == ("answer", "end_turn", "", True)


def test_an_empty_reply_is_an_answer_and_is_sent_back_as_blank_text():
    run = played(STYLE, "- {empty: true}\n- text: two", more="prompt: [go, on]")
    assert requests_of(run)[1] == ["assistant:text", "user:text"]
    assert played(STYLE, "- {empty: true}").silent


def test_calls_that_share_an_id_both_run_but_on_responses_the_last_one_alone():
    both = "- content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]"
    runs = {
        wire: [r.input["key"] for r in played(STYLE, f"{both}\n- text: done", wire=wire).tool_runs] for wire in WIRES
    }
    assert runs == {"anthropic-messages": ["a", "b"], "openai-chat": ["a", "b"], "openai-responses": ["b"]}


@pytest.mark.parametrize(("status", "requests"), [(400, 1), (500, 3), (529, 3), (429, 18)])
def test_a_throttled_request_is_tried_six_times_around_the_client_s_three(status, requests):
    assert "6 times" in claim("strands.throttling-is-retried-around-the-client").says
    run = played(STYLE, f"- {{error: {status}, repeat: 20}}")
    assert (run.model_requests, run.ended) == (requests, "http_error")
    assert (run.error["type"] == "ModelThrottledException") == (status == 429)


def test_retries_never_count_against_a_cap_and_max_attempts_is_an_option():
    assert played(STYLE, "- {error: 429, repeat: 17}\n- text: done", limit=1).final_text == "done"
    run = played(STYLE, "- {error: 429, repeat: 20}", options={"retry_strategy": {"max_attempts": 2}})
    assert run.model_requests == 6


def test_an_error_in_a_nested_cycle_is_wrapped():
    assert played(STYLE, "- {error: 400}").error["type"] == "BadRequestError"
    assert played(STYLE, f"- {CALL}\n- {{error: 400}}").error["type"] == "EventLoopException"


def test_a_stream_that_merely_ends_is_taken_for_a_reply():
    run = played(STYLE, "- {text: a long answer, disconnect: {after_characters: 13, how: end}}")
    assert (run.returned, run.final_text, run.ended, run.silent) == ("answer", "a long answer", "broken_stream", True)
    assert played(STYLE, "- {text: a long answer, disconnect: {after_characters: 5, how: end}}").final_text == ""
    run = played(
        STYLE,
        "- {tool_use: {lookup: {key: a}}, disconnect: {after_characters: 6, how: end}}\n- text: done",
        wire="openai-chat",
    )
    assert (run.tool_runs, run.final_text) == ((), "done")


def test_tools_run_side_by_side_or_in_order():
    slow = "tools: {slow: {returns: x, seconds: 2}}"
    replies = "- tool_use: [{slow: {}}, {slow: {}}]\n- text: done"
    assert played(STYLE, replies, tools=slow).seconds == 2
    assert played(STYLE, replies, tools=slow, options={"tool_executor": "SequentialToolExecutor"}).seconds == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {"turn": 1}}, "turns"),
        ({"retry_strategy": {"max_attempts": "x"}}, "whole number"),
        ({"tool_executor": "Sequential"}, "SequentialToolExecutor"),
    ],
)
def test_an_option_that_is_wrong_says_what_is_right(options, message):
    from agentsim.errors import UsageError

    with pytest.raises(UsageError, match=message):
        played(STYLE, ROUND, options=options)


def test_a_cap_in_the_options_is_checked_as_strands_checks_it():
    run = played(STYLE, ROUND, options={"limits": {"output_tokens": 0}})
    assert (run.error["type"], run.model_requests) == ("TypeError", 0)


def test_a_blank_reply_goes_back_as_words_that_say_so_and_any_other_as_it_is():
    run = played(STYLE, '- text: " "\n- text: hello\n- text: done', more="prompt: [one, two, three]")
    assert [m.content[0].text for m in (run.requests[1].new[0], run.requests[2].new[0])] == ["[blank text]", "hello"]
