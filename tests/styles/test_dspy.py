"""dspy.ReAct, as measured: a step is a request, the answer one more, and what can't be read is asked for twice."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of

STYLE = "dspy/ReAct"
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


def with_raw(raw):
    return f"- content: [{{tool_use: {{name: lookup, raw: {raw!r}}}}}]\n- text: done"


@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_at_the_cap_the_answer_is_one_more_call(limit):
    run = played(STYLE, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds, run.count) == (limit + 1, limit, limit)
    assert (run.ended, run.returned, run.final_text) == ("limit", "stopped", "")


def test_twenty_steps_by_default():
    assert (played(STYLE, ENDLESS).model_requests, played(STYLE, ENDLESS).tool_rounds) == (21, 20)


def test_three_rounds_need_four_steps_and_five_requests():
    run = played(STYLE, ROUNDS3, limit=4)
    assert (run.model_requests, run.final_text, run.returned, run.ended) == (5, "done", "answer", "answer")
    assert run.least_limit == 4
    stopped = played(STYLE, ROUNDS3, limit=3)
    assert (stopped.model_requests, stopped.final_text, stopped.returned) == (4, "done", "stopped")


def test_an_answer_is_two_requests_finish_and_the_answer():
    run = played(STYLE, "- text: hello", limit=1)
    assert (run.model_requests, run.final_text, run.ended, run.tool_runs) == (2, "hello", "answer", ())


@pytest.mark.parametrize("limit", [0, -1])
def test_without_a_step_there_is_the_answer_s_request_only(limit):
    run = played(STYLE, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds, run.ended, run.returned) == (1, 0, "limit", "stopped")


def test_a_broken_limit_is_refused():
    run = played(STYLE, ENDLESS, limit=2.5)
    assert (run.model_requests, run.error["type"]) == (0, "TypeError")


def test_every_request_is_one_message():
    assert requests_of(played(STYLE, ROUNDS3)) == [["user:text"]] * 5


@pytest.mark.parametrize("reply", ["{tool_use: {nope: {}}}", "{text: ''}", "{empty: true}", "{refusal: I can't.}"])
def test_what_does_not_parse_is_asked_again_in_json_mode_and_then_leaves_the_run(reply):
    run = played(STYLE, f"- {reply}\n- text: done")
    assert (run.model_requests, run.returned, run.error["type"]) == (2, "error", "AdapterParseError")


def test_an_error_while_the_answer_is_extracted_leaves_the_run():
    replies = "- tool_use: {lookup: {key: a}}\n"
    assert played(STYLE, replies + "- {empty: true}", limit=1).error["type"] == "AdapterParseError"
    assert played(STYLE, replies + "- error: 400", limit=1).error["type"] == "LMInvalidRequestError"


@pytest.mark.parametrize(
    ("raw", "given"),
    [
        ('{"key": "a', {"key": "a"}),
        ('{"key": "', {"key": ""}),
        ('{"key":', {"key": ""}),
        ("{'key': 'it'}", {"key": "it"}),
        ('{"key": "a"} x', {"key": "a"}),
        ('{"key": "a"}{"key": "b"}', {"key": "b"}),
    ],
)
def test_broken_json_is_repaired_and_run(raw, given):
    assert [one.input for one in played(STYLE, with_raw(raw)).tool_runs] == [given]


@pytest.mark.parametrize("raw", ['{"ke', '{"key"', "[1]", "null", "x"])
def test_what_is_no_object_after_the_repair_does_not_parse(raw):
    assert played(STYLE, with_raw(raw)).error["type"] == "AdapterParseError"


def test_a_cut_call_runs_with_what_has_arrived():
    run = played(STYLE, "- {tool_use: {lookup: {key: abc}}, cut_after: 10}\n- text: done")
    assert [one.input for one in run.tool_runs] == [{"key": "a"}]


@pytest.mark.parametrize("arguments", ["{wrong: 5}", "{key: 5}", "{key: a, more: 1}", "{}"])
def test_arguments_that_do_not_fit_are_an_observation(arguments):
    run = played(STYLE, f"- tool_use: {{lookup: {arguments}}}\n- text: done")
    assert (run.tool_runs, run.final_text, run.model_requests) == ((), "done", 3)


def test_a_throwing_tool_is_an_observation():
    run = played(STYLE, "- tool_use: {boom: {}}\n- text: done")
    assert (run.tool_runs[0].is_error, run.final_text, run.model_requests) == (True, "done", 3)


def test_a_step_has_one_tool_so_the_first_of_several_calls_counts():
    run = played(STYLE, "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]\n- text: done")
    assert [one.input["key"] for one in run.tool_runs] == ["a"]


def test_a_call_of_finish_ends_the_steps_and_the_next_reply_is_the_answer():
    run = played(STYLE, "- tool_use: {finish: {}}\n- text: done")
    assert (run.model_requests, run.final_text, run.returned) == (2, "done", "answer")


def test_a_cut_text_is_an_answer_for_its_caller():
    run = played(STYLE, "- {text: half, stop_reason: max_tokens}")
    assert (run.ended, run.returned, run.silent, run.finish_reason) == ("max_tokens", "answer", True, None)


@pytest.mark.parametrize(("faults", "requests", "ended"), [(3, 5, "answer"), (4, 4, "http_error")])
def test_a_request_is_retried_three_times(faults, requests, ended):
    run = played(STYLE, "- error: 529\n" * faults + "- text: done")
    assert (run.model_requests, run.ended) == (requests, ended)


def test_how_often_is_the_lm_s_setting():
    run = played(STYLE, "- error: 500\n- text: done", options={"lm": {"num_retries": 0}})
    assert (run.model_requests, run.error["type"]) == (1, "LMServerError")


@pytest.mark.parametrize(
    ("status", "error"), [(400, "LMInvalidRequestError"), (401, "LMAuthError"), (409, "LMInvalidRequestError")]
)
def test_client_errors_are_not_retried(status, error):
    run = played(STYLE, f"- error: {status}\n- text: done")
    assert (run.model_requests, run.error["type"], run.ended) == (1, error, "http_error")


@pytest.mark.parametrize(
    ("tree", "word"), [({"lm": {"retries": 1}}, "num_retries"), ({"lm": {"num_retries": -1}}, "at least 0")]
)
def test_a_misspelt_option_is_named(tree, word):
    with pytest.raises(UsageError, match=word):
        played(STYLE, ENDLESS, options=tree)


# -- what the model is asked --------------------------------------------------------------------------------------------


def asked(run):
    """The text of each request."""
    return [sent.new[0].content[0].text for sent in run.requests]


def test_a_request_is_the_question_the_trajectory_and_the_fields_that_are_wanted():
    first, _, answer = asked(played(STYLE, "- tool_use: {lookup: {key: a}}\n- text: done", limit=5))
    fields = "Respond with the corresponding output fields."
    assert first == f"go\n\n{fields} next_thought, next_tool_name, next_tool_args"
    assert answer.startswith('go\n\n\nlookup\n{"key": "a"}\nvalue of a\n')
    assert answer.endswith(f"\nfinish\n{{}}\nCompleted.\n{fields} reasoning, answer")


def test_what_went_wrong_is_the_observation():
    replies = "- tool_use: {boom: {}}\n- tool_use: {finish: {key: a}}\n- text: done"
    answer = asked(played(STYLE, replies, limit=5))[-1]
    assert "\nExecution error in boom: boom failed\n" in answer
    assert '\n{"key": "a"}\nExecution error in finish\n' in answer


def test_what_can_not_be_read_is_asked_for_once_more_in_json_mode():
    first, second = asked(played(STYLE, "- {empty: true, repeat: 9}"))[:2]
    assert second == first.replace(
        "Respond with the corresponding output fields.",
        "Respond with a JSON object in the following order of fields.",
    )
