"""agno: the tables of what was measured of agno 3.1.10, line by line."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

RUN, ARUN = "agno/Agent.run", "agno/Agent.arun"
CLAUDE, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
WIRES = (CLAUDE, CHAT, RESPONSES)
ENDLESS = "- {tool_use: {lookup: {key: a}}, repeat: forever}"
ROUNDS3 = """
- {tool_use: {lookup: {key: a}}}
- {tool_use: {lookup: {key: b}}}
- {tool_use: {lookup: {key: c}}}
- {text: done}
"""
PARALLEL3 = """
- {tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {add: {a: 1, b: 2}}]}
- {text: done}
"""


# -- the cap --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_cap_stops_tools_but_never_the_loop(wire, limit):
    run = played(RUN, ENDLESS, limit=limit, wire=wire, max_calls=60)
    assert (run.ended, run.model_requests, len(run.tool_runs)) == ("unbounded", 60, limit)


def test_there_is_no_cap_by_default():
    run = played(RUN, ENDLESS, max_calls=60)
    assert (run.ended, len(run.tool_runs)) == ("unbounded", 60)


@pytest.mark.parametrize(("limit", "runs"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_over_the_cap_the_model_is_told_and_answers(limit, runs):
    run = played(RUN, ROUNDS3, limit=limit)
    assert (run.model_calls, len(run.tool_runs), run.ended, run.final_text) == (4, runs, "answer", "done")


def test_a_call_over_the_cap_has_an_error_text_as_its_result():
    text = "Tool call limit reached. Tool call lookup not executed. Don't try to execute it again."
    assert told(played(RUN, ROUNDS3, limit=1)) == ["value of a", text, text]


@pytest.mark.parametrize(("limit", "runs"), [(1, 1), (2, 2), (3, 3)])
def test_single_calls_count_also_within_a_batch(limit, runs):
    assert len(played(RUN, PARALLEL3, limit=limit).tool_runs) == runs


def test_side_by_side_the_refused_calls_results_come_first():
    assert requests_of(played(ARUN, PARALLEL3, limit=1))[1][1] == (
        "user:tool_result(call_2)+tool_result(call_3)+tool_result(call_1)"
    )
    assert requests_of(played(RUN, PARALLEL3, limit=1))[1][1] == (
        "user:tool_result(call_1)+tool_result(call_2)+tool_result(call_3)"
    )


@pytest.mark.parametrize("limit", [0, -1])
def test_a_cap_of_zero_or_less_runs_no_tool_and_bounds_nothing(limit):
    run = played(RUN, ENDLESS, limit=limit, max_calls=60)
    assert (run.ended, len(run.tool_runs)) == ("unbounded", 0)


def test_no_limit_is_the_least_since_none_ends_the_run():
    assert played(RUN, ROUNDS3).least_limit is None


def test_unknown_tools_and_unreadable_arguments_do_not_count():
    replies = """
    - {tool_use: [{nope: {}}, {lookup: {key: a}}]}
    - {text: done}
    """
    run = played(RUN, replies, limit=1)
    assert ([r.name for r in run.tool_runs], run.count) == (["lookup"], 1)


# -- calls that fail ------------------------------------------------------------------------------------------------


def test_an_unknown_tool_gets_a_result_without_an_error_mark():
    run = played(RUN, "- {tool_use: {nope: {x: 1}}}\n- {text: done}", wire=CLAUDE)
    assert told(run) == ["Error: The requested tool does not exist or is not available."]
    assert requests_of(run)[1][1] == "user:tool_result(call_1)"


def test_a_throwing_tool_gets_its_message_without_an_error_mark():
    run = played(RUN, "- {tool_use: {boom: {}}}\n- {text: done}", wire=CLAUDE)
    assert told(run) == ["boom failed"]
    assert requests_of(run)[1][1] == "user:tool_result(call_1)"


def test_results_of_calls_that_were_not_tried_come_before_all_others():
    run = played(RUN, "- {tool_use: [{lookup: {key: a}}, {nope: {}}, {boom: {}}]}\n- {text: done}")
    assert requests_of(run)[1][1] == "user:tool_result(call_2)+tool_result(call_1)+tool_result(call_3)"


def test_arguments_that_do_not_fit_get_a_result_and_the_tool_is_not_run():
    run = played(RUN, "- {tool_use: {lookup: {wrong: 5}}}\n- {text: done}")
    assert not run.tool_runs
    assert told(run)[0].startswith("1 validation error for lookup")


BROKEN = '- {content: [{tool_use: {name: lookup, raw: \'{"key": "a\'}}]}\n- {text: done}'


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
def test_broken_json_is_told_on_openais_wires(wire):
    run = played(RUN, BROKEN, wire=wire)
    assert not run.tool_runs
    assert told(run)[0].startswith("Error while decoding function arguments: ")


@pytest.mark.parametrize("stream", [False, True])
def test_broken_json_is_an_empty_input_on_claudes_wire(stream):
    run = played(RUN, BROKEN, wire=CLAUDE, stream=stream)
    assert not run.tool_runs
    assert told(run)[0].startswith("1 validation error for lookup")


def test_python_literals_are_read_too():
    replies = "- {content: [{tool_use: {name: lookup, raw: \"{'key': 'a'}\"}}]}\n- {text: done}"
    assert [r.input for r in played(RUN, replies, wire=CHAT).tool_runs] == [{"key": "a"}]


def test_words_such_as_true_and_none_are_read_as_values():
    run = played(RUN, "- {tool_use: [{add: {a: 'true', b: '2'}}, {lookup: {key: 'None'}}]}\n- {text: done}")
    assert [r.input for r in run.tool_runs] == [{"a": 1.0, "b": 2.0}]


def test_it_never_stops_by_itself_on_repeats():
    assert played(RUN, "- {tool_use: {nope: {}}, repeat: forever}", max_calls=60).ended == "unbounded"


# -- stop reasons on Claude's wire ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn", "refusal", "end_turn"])
def test_without_streaming_calls_vanish_unless_the_reply_stopped_for_them(stop):
    run = played(RUN, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}", wire=CLAUDE)
    assert (run.model_calls, run.returned, run.final_text) == (1, "answer", None)
    assert not run.tool_runs
    assert run.silent


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn", "refusal", "end_turn"])
def test_streamed_calls_are_run_whatever_the_reply_stopped_for(stop):
    replies = f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- {{text: done}}"
    run = played(RUN, replies, wire=CLAUDE, stream=True)
    assert (len(run.tool_runs), run.final_text) == (1, "done")


def test_on_openais_wires_a_cut_but_complete_call_is_run():
    replies = "- {tool_use: {lookup: {key: a}}, stop_reason: max_tokens}\n- {text: done}"
    assert len(played(RUN, replies, wire=CHAT).tool_runs) == 1


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens"),
        ("{text: half, stop_reason: pause_turn}", "pause"),
        ("{text: half, stop_reason: refusal}", "refusal"),
        ("{text: half, stop_reason: model_context_window_exceeded}", "context_window"),
        ("{text: half, stop_reason: tool_use}", "bad_call"),
    ],
)
def test_a_text_is_completed_whatever_it_stopped_for(reply, ended):
    run = played(RUN, f"- {reply}", wire=CLAUDE)
    assert (run.returned, run.finish_reason, run.final_text, run.ended) == ("answer", "COMPLETED", "half", ended)
    assert run.silent


def test_an_empty_reply_is_completed():
    assert played(RUN, "- {empty: true}", wire=CLAUDE).final_text is None
    assert played(RUN, "- {empty: true}", wire=CLAUDE, stream=True).final_text == ""
    assert played(RUN, "- {text: ''}", wire=CHAT).final_text == ""


def test_a_refusal_on_openais_wire_has_no_content():
    run = played(RUN, "- {refusal: I can't.}", wire=CHAT)
    assert (run.returned, run.final_text, run.ended) == ("answer", None, "refusal")


# -- the rest -------------------------------------------------------------------------------------------------------


def test_the_content_is_all_texts_run_together():
    run = played(RUN, "- {text: let me look, tool_use: {lookup: {key: a}}}\n- {text: done}")
    assert run.final_text == "let me lookdone"


def test_calls_that_share_an_id_are_both_run():
    reply = (
        "{tool_use: {name: lookup, id: same, input: {key: a}}}, {tool_use: {name: lookup, id: same, input: {key: b}}}"
    )
    run = played(RUN, f"- content: [{reply}]\n- text: done")
    assert len(run.tool_runs) == 2
    assert requests_of(run)[1][1] == "user:tool_result(same)+tool_result(same)"


@pytest.mark.parametrize("status", [429, 500, 529])
def test_transient_errors_are_tried_three_times_and_returned(status):
    run = played(RUN, f"- {{error: {{status: {status}, message: sorry}}, repeat: forever}}", wire=CHAT)
    assert (run.model_requests, run.returned, run.finish_reason, run.final_text) == (3, "stopped", "ERROR", "sorry")
    assert (run.error, run.ended, run.silent) == (None, "http_error", False)


def test_a_client_error_is_returned_with_its_text():
    run = played(RUN, "- {error: {status: 400, type: invalid_request_error, message: bad}}", wire=CLAUDE)
    assert (run.model_requests, run.returned) == (1, "stopped")
    assert run.final_text.startswith("Error code: 400 - {'type': 'error'")


def test_streamed_an_error_is_an_event():
    run = played(RUN, "- {error: {status: 400, message: bad}}", wire=CHAT, stream=True)
    assert run.error == {"type": "RunError", "message": "bad"}


def test_retries_begin_the_run_anew():
    replies = "- {tool_use: {lookup: {key: a}}}\n- {error: 500, repeat: 3}\n- {text: done}"
    run = played(RUN, replies, options={"retries": 1})
    assert (run.final_text, requests_of(run)[-1]) == ("done", [])
    assert run.requests[-1].kept == 1


def test_a_stream_that_merely_ends_is_completed():
    run = played(RUN, "- {text: half an answer, disconnect: {after_characters: 4, how: end}}", stream=True)
    assert (run.finish_reason, run.final_text) == ("COMPLETED", "half")


def test_a_return_direct_tool_ends_the_run_with_the_texts_so_far():
    tools = "tools: {last: {returns: the end, return_direct: true}}"
    run = played(RUN, "- {text: so, tool_use: {last: {}}}\n- {text: done}", tools=tools)
    assert (run.ended, run.model_calls, run.final_text) == ("tool_result", 1, "so")


def test_a_failed_run_is_in_no_later_prompts_history():
    run = played(RUN, "- {error: 400}\n- {text: two}", more="prompt: [go, more]")
    assert requests_of(run) == [["user:text"], ["user:text"]]
    assert run.requests[1].kept == 0


def test_an_option_that_it_does_not_have_is_named():
    with pytest.raises(UsageError, match="did you mean 'retries'"):
        played(RUN, ENDLESS, options={"retry": 1})
    with pytest.raises(UsageError, match="expected an integer, at least 0"):
        played(RUN, ENDLESS, options={"retries": -1})


@pytest.mark.parametrize(("style", "seconds"), [(RUN, 4), (ARUN, 2)])
def test_a_reply_s_tools_run_side_by_side_in_arun_alone(style, seconds):
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    assert played(style, "- tool_use: [{slow: {}}, {slow: {}}]\n- text: done", tools=tools).seconds == seconds
