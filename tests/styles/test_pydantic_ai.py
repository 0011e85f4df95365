"""pydantic-ai: a request limit that is checked before each request, and retries for whatever does not fit."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

RUN = "pydantic-ai/Agent.run"
STREAM = "pydantic-ai/Agent.run_stream"
ALL = [RUN, "pydantic-ai/Agent.iter", STREAM, "pydantic-ai/Agent.run_stream_events"]
WIRES = ["anthropic-messages", "openai-chat", "openai-responses"]
CALL = "{tool_use: {lookup: {key: a}}}"
MISFIT = "{tool_use: {lookup: {wrong: 5}}}"
ENDLESS = "- {tool_use: {lookup: {key: a}}, repeat: forever}"
BATCH = "tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {add: {a: 1, b: 2}}]"


def limits(**values):
    return {"usage_limits": values}


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_the_last_allowed_request_s_tools_run_and_then_it_raises(style, limit):
    assert "start of each step" in claim("pydantic-ai.checked-before-the-request").says
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.error["type"]) == (limit, limit, "UsageLimitExceeded")
    assert (run.ended, run.count) == ("limit", limit)


def test_fifty_requests_by_default_and_none_is_no_limit():
    assert (played(RUN, ENDLESS).model_calls, played(RUN, ENDLESS).tool_rounds) == (50, 50)
    assert played(RUN, ENDLESS, limit=None, max_calls=60).ended == "unbounded"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_zero_or_less_raises_before_any_request(limit):
    run = played(RUN, ENDLESS, limit=limit)
    assert (run.model_requests, run.error["type"]) == (0, "UsageLimitExceeded")


def test_three_rounds_and_an_answer_need_four_requests():
    replies = "\n".join([f"- {CALL}"] * 3) + "\n- text: done"
    assert played(RUN, replies).least_limit == 4
    assert played(RUN, replies, limit=4).final_text == "done"


@pytest.mark.parametrize(("limit", "requests", "rounds"), [(1, 2, 1), (2, 3, 2), (3, 4, 3)])
def test_tool_calls_limit_lets_one_more_request_go_out_whose_calls_do_not_run(limit, requests, rounds):
    run = played(RUN, ENDLESS, options=limits(tool_calls_limit=limit))
    assert (run.model_calls, run.tool_rounds, run.ended) == (requests, rounds, "limit")


def test_tool_calls_limit_counts_single_calls_and_over_it_none_of_the_batch_runs():
    assert "none of the batch" in claim("pydantic-ai.tool-calls-count-singly").says
    run = played(RUN, f"- {BATCH}\n- text: done", options=limits(tool_calls_limit=2))
    assert (run.model_calls, run.tool_runs, run.error["type"]) == (1, (), "UsageLimitExceeded")
    run = played(RUN, f"- {{{BATCH}, repeat: forever}}", options=limits(tool_calls_limit=4))
    assert (run.model_calls, len(run.tool_runs)) == (2, 3)
    assert played(RUN, f"- {BATCH}\n- text: done", options=limits(tool_calls_limit=3)).final_text == "done"
    assert played(RUN, f"- {BATCH}\n- text: done", limit=2).final_text == "done"


def test_token_limits_are_looked_at_after_each_reply():
    def ended(**given):
        run = played(RUN, f"- {CALL}\n- text: done", options=limits(**given))
        return run.ended, run.model_calls, run.tool_rounds

    assert ended(output_tokens_limit=4) == ("limit", 1, 0)
    assert ended(output_tokens_limit=5) == ("limit", 2, 1)
    assert ended(total_tokens_limit=30) == ("answer", 2, 1)
    assert ended(input_tokens_limit=19) == ("limit", 2, 1)


def test_a_request_limit_in_the_options_is_one_more_condition():
    assert played(RUN, ENDLESS, options={"usage_limits": {"UsageLimits": {"request_limit": 2}}}).model_calls == 2
    assert played(RUN, ENDLESS, limit=1, options=limits(request_limit=2)).model_calls == 1


@pytest.mark.parametrize("style", ALL)
def test_an_exception_of_a_tool_leaves_the_run_after_its_siblings_ran(style):
    assert "leaves the run" in claim("pydantic-ai.exceptions-leave-the-run").says
    run = played(style, "- tool_use: [{lookup: {key: a}}, {boom: {}}, {nope: {}}]\n- text: done")
    assert (run.ended, run.error, [r.name for r in run.tool_runs]) == (
        "tool_error", {"type": "Exception", "message": "boom failed"}, ["lookup", "boom"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "reply",
    [
        MISFIT,
        "{tool_use: {nope: {}}}",
        """{content: [{tool_use: {name: lookup, raw: '{"key": "a'}}]}""",
    ],
)
def test_a_call_that_does_not_fit_is_an_error_result_once_and_the_end_the_second_time(reply):
    assert "second step" in claim("pydantic-ai.second-failing-step-ends").says
    once = played(RUN, f"- {reply}\n- text: done")
    assert (once.final_text, requests_of(once)[1][1]) == ("done", "user:tool_result(call_1)!")
    twice = played(RUN, f"- {reply}\n- {reply}\n- text: done")
    assert (twice.ended, twice.error["type"], twice.model_calls) == ("bad_call", "UnexpectedModelBehavior", 2)


def test_only_the_tool_s_own_success_resets_its_count():
    add = "{tool_use: {add: {a: 1, b: 2}}}"
    assert played(RUN, f"- {MISFIT}\n- {CALL}\n- {MISFIT}\n- text: done").final_text == "done"
    assert played(RUN, f"- {MISFIT}\n- {add}\n- {MISFIT}\n- text: done").ended == "bad_call"
    both = "{tool_use: [{lookup: {wrong: 5}}, {lookup: {key: a}}]}"
    assert played(RUN, f"- {both}\n- {both}\n- text: done").ended == "bad_call"


def test_three_failures_in_one_step_are_one():
    three = "{tool_use: [{lookup: {wrong: 1}}, {lookup: {wrong: 2}}, {lookup: {wrong: 3}}]}"
    assert played(RUN, f"- {three}\n- text: done").final_text == "done"


@pytest.mark.parametrize("retries", [0, 1, 2, 3])
def test_n_retries_are_n_plus_one_model_calls_on_an_endless_fault(retries):
    options = {"retries": retries}
    assert (
        played(RUN, "- {tool_use: {lookup: {wrong: 5}}, repeat: forever}", options=options).model_calls == retries + 1
    )
    assert played(RUN, "- {text: '', repeat: forever}", options=options).model_calls == retries + 1


def test_retries_of_tools_of_outputs_and_of_one_tool_are_told_apart():
    misfits = "- {tool_use: {lookup: {wrong: 5}}, repeat: forever}"
    assert played(RUN, misfits, options={"retries": {"tools": 2, "output": 0}}).model_calls == 3
    assert played(RUN, misfits, options={"tools": {"lookup": {"max_retries": 2}}}).model_calls == 3
    assert played(RUN, "- {text: '', repeat: forever}", options={"retries": {"tools": 2, "output": 0}}).model_calls == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_cut_call_is_asked_for_again_and_ends_as_incomplete_the_second_time(wire):
    cut = "{tool_use: {lookup: {key: abc}}, cut_after: 9}"
    run = played(RUN, f"- {cut}\n- {cut}\n- text: done", wire=wire)
    assert (run.ended, run.error["type"], run.tool_runs) == ("max_tokens", "IncompleteToolCall", ())
    assert played(RUN, f"- {cut}\n- text: done", wire=wire).final_text == "done"


def test_a_whole_call_in_a_reply_that_was_cut_is_run():
    run = played(RUN, "- {tool_use: {lookup: {key: a}}, stop_reason: max_tokens}\n- text: done")
    assert (run.tool_rounds, run.final_text) == (1, "done")


@pytest.mark.parametrize(
    ("reply", "finish", "ended"),
    [
        ("{text: half, stop_reason: max_tokens}", "length", "max_tokens"),
        ("{text: half, stop_reason: model_context_window_exceeded}", "length", "context_window"),
        ("{refusal: no}", "content_filter", "refusal"),
        ("{text: part, stop_reason: stop_sequence}", "stop", "answer"),
        ("{text: hm, stop_reason: tool_use}", "tool_call", "bad_call"),
    ],
)
def test_a_text_is_the_answer_whatever_the_finish_reason(reply, finish, ended):
    assert "whatever the finish reason" in claim("pydantic-ai.finish-reason-is-ignored").says
    run = played(RUN, f"- {reply}\n- text: done")
    assert (run.returned, run.finish_reason, run.ended, run.model_calls) == ("answer", finish, ended, 1)
    assert run.silent == (ended != "answer")


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_a_refusal_raises_on_openai_s_wires_and_without_words_on_claude_s(wire):
    assert played(RUN, "- {refusal: no}", wire=wire).error["type"] == "ContentFilterError"
    assert played(RUN, "- {refusal: ''}").error["type"] == "ContentFilterError"


def test_a_reply_without_output_is_asked_for_once_more():
    assert "once more" in claim("pydantic-ai.empty-is-asked-once-more").says
    run = played(RUN, "- text: ''\n- text: done")
    assert (run.final_text, requests_of(run)[1]) == ("done", ["user:text+text"])
    assert requests_of(played(RUN, "- text: ''\n- text: done", wire="openai-chat"))[1] == []
    assert played(RUN, "- text: ''\n- text: ''").error["type"] == "UnexpectedModelBehavior"
    assert played(RUN, f"- text: ''\n- {CALL}\n- text: ''").error["type"] == "UnexpectedModelBehavior"


def test_a_reply_that_was_cut_before_its_first_word_raises():
    run = played(RUN, "- {empty: true, stop_reason: max_tokens}\n- text: done")
    assert (run.error["type"], run.model_calls) == ("OutputTokenLimitExceeded", 1)


def test_a_pause_is_resumed_inside_the_request_at_most_ten_times():
    assert "aren't counted" in claim("pydantic-ai.resumes-are-not-counted").says
    replies = f"- {{text: working, stop_reason: pause_turn}}\n- {CALL}\n- text: done"
    run = played(RUN, replies, limit=2)
    assert (run.final_text, run.model_calls, run.count) == ("done", 3, 2)
    assert requests_of(run)[2] == ["assistant:text+tool_use(lookup)", "user:tool_result(call_1)"]
    endless = played(RUN, "- {text: working, stop_reason: pause_turn, repeat: forever}")
    assert (endless.model_calls, endless.error["type"], endless.ended) == (11, "UnexpectedModelBehavior", "pause")


def test_a_server_tool_s_call_is_not_sent_back_in_a_resume():
    paused = "- {text: working, server_tool_use: {search: {query: x}}, stop_reason: pause_turn}\n- text: done"
    run = played(RUN, paused)
    assert (requests_of(run)[1], run.final_text) == (["assistant:text"], "workingdone")


def test_a_token_limit_is_looked_at_before_a_pause_is_resumed():
    replies = f"- {CALL}\n- {{text: working, stop_reason: pause_turn}}\n- text: done"
    run = played(RUN, replies, options={"usage_limits": {"input_tokens_limit": 10}})
    assert (run.model_requests, run.error["type"], run.ended) == (2, "UsageLimitExceeded", "limit")


def test_a_call_in_a_paused_turn_runs_with_the_resumed_reply():
    run = played(RUN, "- {tool_use: {lookup: {key: a}}, stop_reason: pause_turn}\n- text: done\n- text: so")
    assert requests_of(run)[1:] == [
        ["assistant:tool_use(lookup)"],
        ["assistant:tool_use(lookup)+text", "user:tool_result(call_1)"],
    ]
    assert run.final_text == "so"


@pytest.mark.parametrize("stop", ["refusal", "end_turn"])
def test_calls_are_run_under_any_stop_reason(stop):
    run = played(RUN, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- text: done")
    assert (run.tool_rounds, run.final_text) == (1, "done")


def test_two_calls_of_one_id_end_the_run_and_none_runs():
    both = "content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]"
    run = played(RUN, f"- {both}\n- text: done")
    assert (run.ended, run.error["type"], run.tool_runs) == ("bad_call", "UnexpectedModelBehavior", ())


@pytest.mark.parametrize("style", ALL)
def test_the_first_reply_with_text_is_the_result_of_run_stream_alone(style):
    assert "first reply with text" in claim("pydantic-ai.first-text-ends-a-stream").says
    run = played(style, "- {text: let me look, tool_use: {lookup: {key: a}}}\n- text: done")
    assert run.tool_rounds == 1
    expected = ("let me look", 1) if style == STREAM else ("done", 2)
    assert (run.final_text, run.model_calls) == expected


def test_the_model_streams_on_claude_s_wire_even_where_run_does_not():
    broken = """- {content: [{tool_use: {name: lookup, raw: '{"key": "a'}}]}\n- text: done"""
    assert "JSON" in told(played(RUN, broken))[0] or "object" in told(played(RUN, broken))[0]
    assert played(RUN, "- text: hello").to_dict()["stream"] is True
    assert played(RUN, "- text: hello", wire="openai-chat").to_dict()["stream"] is False


@pytest.mark.parametrize(
    ("status", "requests", "error"),
    [
        (400, 1, "ModelRequestRejectedError"), (401, 1, "ModelAuthenticationError"), (404, 1, "ModelNotFoundError"),
        (429, 3, "ModelRateLimitError"), (500, 3, "ModelServerError"), (529, 3, "ModelOverloadedError"),
    ],
)  # fmt: skip
def test_an_http_error_is_an_error_of_the_sdk_s_own_after_the_client_s_retries(status, requests, error):
    run = played(RUN, f"- {{error: {status}, repeat: 9}}")
    assert (run.model_requests, run.error["type"], run.ended) == (requests, error, "http_error")


def test_a_run_that_raised_leaves_nothing_to_the_next_prompt():
    run = played(RUN, "- {tool_use: {boom: {}}}\n- text: two", more="prompt: [go, on]")
    assert requests_of(run)[1] == ["user:text"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (limits(request_limits=1), "request_limit"),
        (limits(request_limit="x"), "number or null"),
        ({"retries": "x"}, "whole number"),
        ({"retries": {"tool": 1}}, "tools"),
        ({"tools": {"lookup": {"max_retries": True}}}, "whole number"),
        ({"tools": 3}, "max_retries"),
    ],
)
def test_an_option_that_is_wrong_says_what_is_right(options, message):
    with pytest.raises(UsageError, match=message):
        played(RUN, ENDLESS, options=options)


@pytest.mark.parametrize(
    ("style", "error"), [(RUN, "IncompleteToolCall"), ("pydantic-ai/Agent.run_stream", "UnexpectedModelBehavior")]
)
def test_a_cut_call_beside_text_is_told_as_cut_but_where_the_text_is_the_result_already(style, error):
    cut = "- {content: [{text: a word}, {tool_use: {name: lookup, raw: '{'}}], stop_reason: max_tokens}\n"
    run = played(style, cut.replace("{text: a word}, ", "") + cut + "- text: done")
    assert (run.model_requests, run.error["type"]) == (2, error)
