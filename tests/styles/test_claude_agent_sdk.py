"""The Claude Agent SDK's loop: what a turn is, what is asked again, and how it ends."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, QUERY, CLIENT = "claude-agent-sdk-js/query", "claude-agent-sdk/query", "claude-agent-sdk/ClaudeSDKClient"
ALL = [JS, QUERY, CLIENT]
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
PARALLEL = """
- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]
- tool_use: {lookup: {key: c}}
- text: done
"""


# -- turns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("limit", [1, 2, 10])
def test_n_turns_are_n_model_calls_and_the_last_ones_tools_run(style, limit):
    assert claim("claude-agent-sdk.last-tools-run")
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.count, run.ended) == (limit, limit, limit, "limit")


@pytest.mark.parametrize("style", ALL)
def test_the_final_text_needs_a_turn_of_its_own(style):
    assert claim("claude-agent-sdk.turn-is-a-round-trip").divergence
    assert [played(style, THREE_ROUNDS, limit=n).ended for n in (3, 4)] == ["limit", "answer"]
    assert played(style, THREE_ROUNDS).least_limit == 4


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("limit", ["none", 0, "default"])
def test_without_a_limit_nothing_ends_an_endless_script(style, limit):
    assert claim("claude-agent-sdk.no-default-cap")
    assert played(style, ENDLESS, limit=limit).ended == "unbounded"


def test_minus_one_is_one_call_and_its_tools():
    run = played(JS, ENDLESS, limit=-1)
    assert (run.model_calls, run.tool_rounds, run.finish_reason) == (1, 1, "error_max_turns")


def test_a_turn_more_than_two_and_a_half_is_the_third():
    run = played(JS, ENDLESS, limit=2.5)
    assert (run.model_calls, run.outcome.reported_count) == (2, 3)
    assert run.error["message"].endswith("Reached maximum number of turns (2.5)")


def test_num_turns_counts_user_messages_and_parallel_results_are_one_each():
    assert claim("claude-agent-sdk.num-turns-on-every-result").divergence
    done, stopped = played(JS, PARALLEL), played(JS, PARALLEL, limit=2)
    assert (done.model_calls, done.outcome.reported_count) == (3, 4)
    assert (stopped.finish_reason, stopped.outcome.reported_count) == ("error_max_turns", 3)


def test_a_query_throws_after_an_error_result():
    assert claim("claude-agent-sdk.single-shot-throws")
    assert claim("claude-agent-sdk.caps-are-error-results")
    text = "Claude Code returned an error result: Reached maximum number of turns (1)"
    js, python = played(JS, ENDLESS, limit=1), played(QUERY, ENDLESS, limit=1)
    assert (js.returned, js.finish_reason, js.error) == ("error", "error_max_turns", {"type": "Error", "message": text})
    assert python.error == {"type": "ResultError", "message": f"{text} (exit code: 1)"}


def test_the_client_hands_an_error_result_over():
    assert claim("claude-agent-sdk.client-never-raises")
    run = played(CLIENT, ENDLESS, limit=1)
    assert (run.returned, run.finish_reason, run.error, run.final_text) == ("stopped", "error_max_turns", None, None)


def test_the_five_subtypes():
    assert claim("claude-agent-sdk.subtypes")
    output = "output: {schema: {type: object, properties: {n: {type: integer}}, required: [n]}}"
    runs = [
        played(JS, "- text: done"),
        played(JS, ENDLESS, limit=1),
        played(JS, "- text: done", options={"maxBudgetUsd": 1}, more="price: {input: 100000, output: 0}"),
        played(JS, "- {empty: true, stop_reason: pause_turn}"),
        played(JS, "- {output: {n: no}, repeat: forever}", more=output),
    ]
    assert [run.finish_reason for run in runs] == [
        "success",
        "error_max_turns",
        "error_max_budget_usd",
        "error_during_execution",
        "error_max_structured_output_retries",
    ]
    assert [run.final_text for run in runs] == ["done", None, None, None, None]


def test_every_prompt_has_turns_of_its_own():
    replies = "- tool_use: {lookup: {key: a}}\n- text: one\n- tool_use: {lookup: {key: b}}\n- text: two"
    run = played(JS, replies, more="prompt: [first, second]", limit=2)
    assert (run.final_text, run.count, run.outcome.reported_count) == ("two", 4, 2)


# -- what the blocks and the stop reason say --------------------------------------------------------------------------


def test_it_goes_on_as_long_as_a_reply_has_calls_whatever_it_stopped_on():
    assert claim("claude-agent-sdk.cut-reply-has-no-calls").divergence
    for stop in ("end_turn", "max_tokens", "pause_turn", "{raw: new_reason}"):
        run = played(JS, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- text: done")
        assert (run.final_text, run.tool_rounds) == ("done", 1)


def test_a_pause_is_taken_for_the_end():
    assert claim("claude-agent-sdk.pause-means-continue").divergence
    run = played(JS, "- {text: working, stop_reason: pause_turn}\n- text: done")
    assert (run.model_calls, run.returned, run.ended, run.silent, run.final_text) == (
        1,
        "answer",
        "pause",
        True,
        "working",
    )


def test_a_pause_that_ends_in_a_server_tools_call_is_an_error():
    run = played(
        JS,
        "- {content: [{server_tool_use: {name: web_search, input: {}}}], stop_reason: pause_turn}",
        tools="tools: {web_search: {server: true}}",
    )
    assert (run.returned, run.finish_reason, run.ended) == ("error", "error_during_execution", "pause")


def test_an_unknown_stop_reason_is_success():
    assert claim("claude-agent-sdk.only-clean-stops-are-done").divergence
    run = played(JS, "- {text: done, stop_reason: {raw: brand_new}}")
    assert (run.returned, run.finish_reason, run.final_text) == ("answer", "success", "done")


def test_only_the_last_blocks_text_is_the_result():
    assert played(JS, "- content: [{text: one}, {text: two}]").final_text == "two"
    lost = played(JS, "- content: [{text: one}, {thinking: hm}]")
    assert (lost.final_text, lost.ended, lost.silent) == ("", "empty", True)


# -- recoveries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_a_cut_text_is_resumed_three_times_in_a_row_without_a_turn(stop):
    cut = f"- {{text: half, stop_reason: {stop}, repeat: 3}}\n- text: done"
    run = played(JS, cut, limit=1)
    assert (run.final_text, run.model_calls, run.count, run.outcome.reported_count) == ("done", 4, 1, 4)
    lost = played(JS, f"- {{text: half, stop_reason: {stop}, repeat: 4}}\n- text: done")
    assert (lost.model_calls, lost.returned, lost.finish_reason) == (4, "error", "success")
    assert lost.ended == {"max_tokens": "max_tokens"}.get(stop, "context_window")


def test_a_tool_round_lets_the_resumes_begin_anew():
    replies = "- {text: half, stop_reason: max_tokens, repeat: 3}\n" * 2
    run = played(JS, replies.replace("\n", "\n- tool_use: {lookup: {key: a}}\n", 1) + "- text: done")
    assert (run.final_text, run.model_calls) == ("done", 8)


def test_a_refusal_is_asked_again_once_a_message():
    assert claim("claude-agent-sdk.until-no-tool-calls").divergence
    assert played(JS, "- refusal: no\n- text: done").final_text == "done"
    run = played(JS, "- refusal: no\n- tool_use: {lookup: {key: a}}\n- refusal: no\n- text: done")
    assert (run.model_calls, run.ended, run.finish_reason) == (3, "refusal", "success")


def test_a_refusal_stops_the_calls_that_have_not_started_and_hides_what_the_others_gave():
    replies = "- {tool_use: [{lookup: {key: a}}, {lookup: {key: b}}], stop_reason: refusal}\n- text: done"
    run = played(JS, replies)
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]
    assert set(told(run)) == {"Interrupted: the response was stopped by a safety classifier."}


def test_an_empty_reply_is_asked_again_once():
    assert played(JS, "- text: ''\n- text: done").final_text == "done"
    run = played(JS, "- {text: '', repeat: 2}\n- text: done")
    assert (run.model_calls, run.returned, run.final_text, run.silent) == (2, "answer", "", True)


@pytest.mark.parametrize(("style", "calls"), [(JS, 2), (QUERY, 3)])
def test_tool_use_without_a_call_is_asked_again(style, calls):
    run = played(style, "- {text: hm, stop_reason: tool_use, repeat: forever}")
    assert (run.model_calls, run.ended, run.finish_reason) == (calls, "bad_call", "success")


# -- tools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("boom: {}", "boom failed"),
        ("nope: {}", "<tool_use_error>Error: No such tool available: nope</tool_use_error>"),
        ("lookup: {wrong: 1}", 'Input validation error: "key" is a required property'),
    ],
)
def test_failures_are_results_and_the_loop_goes_on(call, text):
    assert claim("claude-agent-sdk.failures-are-results")
    run = played(QUERY, f"- tool_use: {{{call}}}\n- text: done")
    assert (told(run)[0], run.final_text) == (text, "done")
    assert requests_of(run)[1][1] == "user:tool_result(call_1)!"


def test_of_one_id_both_calls_run_and_only_the_first_goes_back():
    run = played(
        JS,
        "- content: [{tool_use: {id: x, name: lookup, input: {key: a}}}, {tool_use: {id: x, name: lookup, input: {key: b}}}]\n"
        "  stop_reason: tool_use\n- text: done",
    )
    assert ([r.input["key"] for r in run.tool_runs], told(run)) == (["a", "b"], ["value of a"])


def test_calls_of_the_history_that_nobody_answered_get_an_error():
    history = "messages: [{user: hi}, {assistant: {tool_use: {lookup: {key: a}}}}, {user: well}]"
    run = played(JS, "- text: done", more=history)
    assert requests_of(run)[0][2] == "user:tool_result(call_1)!+text"
    assert run.refused_requests == []


@pytest.mark.parametrize(("style", "given"), [(JS, {"key": "a"}), (QUERY, {"key": "a", "more": 1})])
def test_keys_that_a_schema_does_not_name_reach_a_tool_in_python_only(style, given):
    assert played(style, "- tool_use: {lookup: {key: a, more: 1}}\n- text: done").tool_runs[0].input == given


def test_an_id_that_came_before_runs_and_leaves_placeholders():
    replies = "- content: [{tool_use: {id: x, name: lookup, input: {key: a}}}]\n  repeat: 2\n- text: done"
    run = played(JS, replies)
    assert (len(run.tool_runs), requests_of(run)[2]) == (2, ["assistant:text", "user:text"])


def test_texts_are_read_as_the_values_that_the_schema_wants():
    run = played(JS, "- tool_use: {add: {a: '1', b: '2.5'}}\n- text: done")
    assert run.tool_runs[0].input == {"a": 1, "b": 2.5}


SLOW = """
tools:
  read: {input: {n: integer}, returns: ok, read_only: true, seconds: 1}
  write: {input: {n: integer}, returns: ok, seconds: 1}
"""


def test_custom_tools_run_one_after_the_other():
    assert claim("claude-agent-sdk.custom-tools-are-sequential")
    assert (
        played(JS, "- tool_use: [{write: {n: 1}}, {write: {n: 2}}, {write: {n: 3}}]\n- text: k", tools=SLOW).seconds
        == 3
    )


def test_read_only_tools_run_side_by_side():
    assert claim("claude-agent-sdk.read-only-tools-overlap")
    calls = "- tool_use: [{read: {n: 1}}, {read: {n: 2}}, {write: {n: 3}}, {read: {n: 4}}, {read: {n: 5}}]\n- text: k"
    assert played(JS, calls, tools=SLOW).seconds == 3


def test_a_tool_starts_before_the_reply_has_ended():
    assert claim("claude-agent-sdk.tools-start-early")
    assert played(JS, "- {tool_use: {write: {n: 1}}, seconds: {tail: 0.75}}\n- text: k", tools=SLOW).seconds == 1
    assert played(JS, "- {tool_use: {write: {n: 1}}, seconds: {tail: 2}}\n- text: k", tools=SLOW).seconds == 2


# -- faults -----------------------------------------------------------------------------------------------------------


def test_an_api_error_is_an_error_result_of_subtype_success():
    assert claim("claude-agent-sdk.only-success-has-a-result").divergence
    run = played(CLIENT, "- {error: {status: 400, message: bad}, repeat: forever}")
    assert (run.returned, run.finish_reason, run.ended) == ("stopped", "success", "http_error")
    assert run.final_text == "API Error: 400 bad"


@pytest.mark.parametrize(
    ("status", "requests"), [(400, 2), (401, 11), (403, 1), (404, 2), (429, 11), (500, 11), (529, 3)]
)
def test_how_often_a_request_is_sent(status, requests):
    run = played(JS, f"- {{error: {status}, repeat: forever}}")
    assert (run.model_requests, run.ended) == (requests, "http_error")


@pytest.mark.parametrize(("style", "requests", "ended"), [(JS, 3, "http_error"), (QUERY, 4, "answer")])
def test_a_bad_request_is_made_simpler_once_a_session_or_twice_by_the_newer_cli(style, requests, ended):
    run = played(style, "- error: 400\n- tool_use: {lookup: {key: a}}\n- error: 400\n- text: done")
    assert (run.model_requests, run.ended) == (requests, ended)


@pytest.mark.parametrize(("how", "requests"), [("end", 3), ("reset", 6)])
def test_a_stream_that_breaks_before_a_block_is_whole_is_asked_for_anew(how, requests):
    replies = f"- {{content: [{{text: hello there}}], disconnect: {{after_characters: 5, how: {how}}}, repeat: 5}}\n- text: done"
    run = played(JS, replies)
    assert (run.model_requests, run.final_text) == (requests, {"end": "hello there"}.get(how, "done"))


def test_of_a_stream_that_breaks_later_the_whole_blocks_count():
    broken = (
        "- {content: [{tool_use: {name: lookup, input: {key: a}}}], disconnect: {after_characters: 99}}\n- text: done"
    )
    run = played(JS, broken)
    assert (run.tool_rounds, run.final_text, run.model_requests) == (1, "done", 2)
    text = "- {content: [{text: half}], disconnect: {after_characters: 99}, repeat: forever}"
    lost = played(JS, text)
    assert (lost.model_requests, lost.ended, lost.returned) == (4, "broken_stream", "error")


TOO_LONG = "{error: {status: 400, type: invalid_request_error, message: 'prompt is too long: 9 tokens > 8 maximum'}}"


def test_a_history_that_is_too_long_is_summarised_by_one_more_call():
    assert claim("claude-agent-sdk.compacts")
    run = played(JS, f"- tool_use: {{lookup: {{key: a}}}}\n- {TOO_LONG}\n- text: summary\n- text: done", limit=2)
    assert (run.final_text, run.model_calls, run.count) == ("done", 3, 2)
    assert requests_of(run)[-1] == ["user:text"]


def test_of_a_longer_history_the_newest_rounds_stay_as_they_are():
    rounds = "".join(f"- tool_use: {{lookup: {{key: {key}}}}}\n" for key in "abc")
    run = played(JS, f"{rounds}- {TOO_LONG}\n- text: summary\n- text: done")
    assert requests_of(run)[-2] == ["user:tool_result(call_1)+text"]
    assert [len(sent.new) for sent in run.requests[-1:]] == [5]


def test_the_newer_cli_asks_again_for_a_summary_that_is_not_marked_as_one():
    replies = f"- tool_use: {{lookup: {{key: a}}}}\n- {TOO_LONG}\n- text: plain\n- text: again\n- text: done"
    assert played(QUERY, replies).model_calls == 4
    assert played(JS, replies).model_calls == 3


def test_a_history_that_is_still_too_long_ends_the_run():
    run = played(JS, f"- tool_use: {{lookup: {{key: a}}}}\n- {TOO_LONG}\n- text: s\n- {TOO_LONG}\n- text: done")
    assert (run.model_calls, run.ended, run.error["message"].split(": ")[-1]) == (
        2,
        "context_window",
        "Prompt is too long",
    )


def test_a_prompt_that_is_too_long_is_not():
    run = played(JS, f"- {TOO_LONG}\n- text: done")
    assert (run.model_requests, run.ended, run.returned) == (1, "context_window", "error")


# -- giving up --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "returned", "error"),
    [(JS, "error", "AbortError"), (QUERY, "error", "CancelledError"), (CLIENT, "stopped", None)],
)
@pytest.mark.parametrize("abort", ["{before_reply: 2}", "{during: lookup}"])
def test_when_the_caller_gives_up(style, returned, error, abort):
    run = played(style, THREE_ROUNDS, more=f"abort: {abort}")
    assert (run.ended, run.returned, len(run.tool_runs)) == ("aborted", returned, 1)
    assert (run.error["type"] if run.error else None) == error


def test_a_reply_that_broke_off_is_continued_in_other_words_than_one_that_was_cut():
    lost = "- {content: [{text: half}, {text: more}], disconnect: {after_characters: 99}}\n- text: done"
    cut = "- {text: half, stop_reason: max_tokens}\n- text: done"
    words = [played(JS, replies).requests[-1].new[-1].content[-1].text for replies in (lost, cut)]
    assert words == [
        "Your response was cut off by a lost connection. Continue from where it stopped.",
        "Output token limit hit. Resume directly — no apology, no recap of what you were doing.",
    ]
