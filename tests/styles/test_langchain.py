"""LangChain's loop: super-steps, what a limit buys, what a reply becomes."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, REACT_JS = "langchain-js/createAgent", "langchain-js/createReactAgent"
PY, REACT_PY = "langchain/create_agent", "langchain/create_react_agent"
ALL = (JS, REACT_JS, PY, REACT_PY)
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
ONE_ROUND = """
- tool_use: {lookup: {key: a}}
- text: done
"""
THREE_ROUNDS = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""

# -- the budget -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [JS, REACT_JS, PY])
@pytest.mark.parametrize(
    ("limit", "calls", "rounds"),
    [
        (1, 1, 0),
        (2, 1, 1),
        (3, 2, 1),
        (4, 2, 2),
        (5, 3, 2),
        (6, 3, 3),
        (7, 4, 3),
        (10, 5, 5),
        (20, 10, 10),
        (25, 13, 12),
    ],
)
def test_a_limit_buys_half_as_many_round_trips_and_throws(style, limit, calls, rounds):
    assert claim("langchain.ten-allows-five")
    assert claim("langchain.ten-buys-five-calls")
    assert claim("langchain.round-trip-costs-two")
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.count) == (calls, rounds, limit)
    assert (run.ended, run.returned, run.error["type"]) == ("limit", "error", "GraphRecursionError")


@pytest.mark.parametrize("style", [JS, REACT_JS, PY])
def test_at_exactly_the_steps_that_it_needs_everything_has_run_and_it_still_throws(style):
    run = played(style, THREE_ROUNDS, limit=7)
    assert (run.model_calls, run.tool_rounds, run.returned, run.final_text) == (4, 3, "error", None)
    assert run.least_limit == 8
    assert played(style, THREE_ROUNDS, limit=8).final_text == "done"


@pytest.mark.parametrize("style", ALL)
def test_a_limit_of_one_throws_on_a_one_reply_answer(style):
    assert played(style, "- text: hello", limit=1).returned == "error"
    assert played(style, "- text: hello", limit=2).final_text == "hello"


def test_a_limit_below_one_is_refused_before_any_call():
    refused = {style: played(style, "- text: hello", limit=0) for style in ALL}
    assert {run.model_requests for run in refused.values()} == {0}
    assert refused[JS].error == {"type": "Error", "message": 'Passed "recursionLimit" must be at least 1.'}
    assert refused[PY].error == {"type": "ValueError", "message": "recursion_limit must be at least 1"}


def test_a_fraction_acts_as_the_integer_below():
    assert played(JS, ENDLESS, limit=2.5).model_calls == played(JS, ENDLESS, limit=2).model_calls


def test_the_defaults():
    assert claim("langchain.default-25").divergence
    assert claim("langchain.cap-throws").divergence
    run = played(JS, ENDLESS)
    assert (run.model_calls, run.tool_rounds, run.limit, run.error["type"]) == (13, 12, 25, "GraphRecursionError")
    run = played(PY, ENDLESS)
    assert (run.model_calls, run.tool_rounds, run.limit) == (5000, 4999, 9_999)
    assert played(REACT_PY, "- text: hello").limit == 10_007


def test_the_error_says_what_to_do():
    js, py = played(JS, ENDLESS, limit=3), played(PY, ENDLESS, limit=3)
    assert js.error["message"].startswith("Recursion limit of 3 reached without hitting a stop condition.")
    assert '"recursionLimit" config key' in js.error["message"]
    assert "`recursion_limit` config key" in py.error["message"]


@pytest.mark.parametrize("style", ALL)
def test_parallel_calls_cost_one_super_step(style):
    assert claim("langchain.parallel-nodes-share")
    assert claim("langchain.at-least-two")
    run = played(style, "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {add: {a: 1, b: 2}}]\n- text: done")
    assert (run.count, len(run.tool_runs), run.final_text) == (3, 3, "done")


@pytest.mark.parametrize(
    ("limit", "calls", "rounds", "sorry"),
    [(1, 1, 0, False), (2, 1, 0, True), (3, 2, 1, False), (4, 2, 1, True), (5, 3, 2, False), (10, 5, 4, True), (25, 13, 12, False)],
)  # fmt: skip
def test_pythons_react_agent_says_sorry_under_an_even_limit_and_throws_under_an_odd_one(limit, calls, rounds, sorry):
    run = played(REACT_PY, ENDLESS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.ended) == (calls, rounds, "limit")
    text = "Sorry, need more steps to process this request."
    assert (run.returned, run.final_text) == (("answer", text) if sorry else ("error", None))
    assert run.silent is sorry


# -- what a reply becomes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(
    ("stop", "ended"),
    [("max_tokens", "max_tokens"), ("refusal", "refusal"), ("pause_turn", "pause"), ("tool_use", "bad_call")],
)
def test_no_calls_is_the_only_end_and_the_stop_reason_is_never_read(style, stop, ended):
    assert claim("langchain.router")
    run = played(style, f"- {{text: working, stop_reason: {stop}}}")
    assert (run.returned, run.final_text, run.finish_reason) == ("answer", "working", stop)
    assert (run.ended, run.silent) == (ended, True)


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("stop", ["end_turn", "refusal", "pause_turn", "max_tokens"])
def test_any_stop_reason_beside_a_call_runs_it(style, stop):
    run = played(style, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- text: done")
    assert (run.final_text, len(run.tool_runs)) == ("done", 1)


@pytest.mark.parametrize("style", ALL)
def test_a_cut_call_is_repaired_and_run_when_streamed(style):
    run = played(
        style,
        '- content: [{tool_use: {name: lookup, raw: \'{"key": "a\'}}]\n  stop_reason: max_tokens\n- text: done',
        stream=True,
    )
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]
    run = played(
        style,
        '- content: [{tool_use: {name: add, raw: \'{"a": 1, "b": 23\'}}]\n  stop_reason: max_tokens\n- text: done',
        stream=True,
    )
    assert [r.input for r in run.tool_runs] == [{"a": 1, "b": 23}]


@pytest.mark.parametrize("style", ALL)
def test_a_cut_call_that_is_not_streamed_ends_the_run_on_openai_and_is_a_schema_error_on_claude(style):
    cut = '- content: [{tool_use: {name: lookup, raw: \'{"key": "a\'}}]\n  stop_reason: max_tokens\n- text: done'
    run = played(style, cut, wire="openai-chat")
    assert (run.model_calls, run.final_text, run.ended) == (1, "", "max_tokens")
    run = played(style, cut)
    assert (run.model_calls, run.final_text, len(run.tool_runs)) == (2, "done", 0)


def test_the_words_that_the_model_reads():
    replies = "- tool_use: [{nope: {}}, {boom: {}}, {lookup: {key: 5}}]\n- text: done"
    unknown, thrown, unfit = told(played(JS, replies))
    assert unknown == "Error: nope is not a valid tool, try one of [lookup, add, boom, ask]."
    assert thrown == "Error: boom failed\n Please fix your mistakes."
    assert unfit.startswith("Error invoking tool 'lookup' with kwargs {\"key\":5} with error: ")
    assert told(played(REACT_JS, replies))[0] == 'Error: Tool "nope" not found.\n Please fix your mistakes.'
    unfit = told(played(PY, "- tool_use: {lookup: {}}\n- text: done"))[0]
    assert (
        unfit
        == "Error invoking tool 'lookup' with kwargs {} with error:\n key: Field required\n Please fix the error and try again."
    )


def test_a_throwing_tool_is_a_message_in_javascript_and_leaves_the_run_in_python():
    replies = "- tool_use: [{boom: {}}, {lookup: {key: a}}]\n- text: done"
    assert played(JS, replies).final_text == "done"
    run = played(PY, replies)
    assert (run.ended, run.error, len(run.tool_runs)) == (
        "tool_error",
        {"type": "Exception", "message": "boom failed"},
        2,
    )


def test_only_python_marks_errors_on_claudes_wire():
    replies = "- tool_use: {nope: {}}\n- text: done"
    assert requests_of(played(JS, replies))[1][-1] == "user:tool_result(call_1)"
    assert requests_of(played(PY, replies))[1][-1] == "user:tool_result(call_1)!"


def test_python_answers_unreadable_calls_before_all_others():
    replies = (
        "- content: [{tool_use: {name: lookup, raw: words}}, {tool_use: {name: lookup, input: {key: a}}}]\n- text: done"
    )
    run = played(PY, replies, stream=True)
    assert requests_of(run)[1][-1] == "user:tool_result(call_1)!+tool_result(call_2)"


@pytest.mark.parametrize("style", ALL)
def test_a_call_without_any_tools(style):
    run = played(style, ENDLESS.replace("repeat: forever", "repeat: 1") + "- text: done", tools="")
    assert len(run.tool_runs) == 0
    assert (run.model_calls, run.final_text) == ((2, "done") if style == REACT_JS else (1, ""))


def test_javascript_forgets_only_the_unreadable_one_of_two_calls_that_share_an_id():
    replies = """
    - content: [{tool_use: {name: lookup, input: {key: a}, id: call_dup}}, {tool_use: {name: lookup, raw: "{", id: call_dup}}]
    - text: done
    """
    result = played("langchain-js/createAgent", replies, wire="openai-chat")
    assert requests_of(result)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_dup)"]


def test_shared_ids_run_each_and_python_sends_each_block_twice_on_claudes_wire():
    twice = "- content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]\n- text: done"
    assert len(played(JS, twice).tool_runs) == len(played(PY, twice).tool_runs) == 2
    assert requests_of(played(PY, twice))[1][0].count("tool_use") == 4
    assert requests_of(played(JS, twice))[1][0].count("tool_use") == 2


def test_javascripts_react_agent_runs_no_id_twice():
    same = (
        "\n".join("- content: [{tool_use: {name: lookup, input: {key: a}, id: x}}]" for _ in range(2))
        + "\n- text: done"
    )
    assert len(played(REACT_JS, same).tool_runs) == 1
    assert len(played(JS, same).tool_runs) == 2


# -- failures ---------------------------------------------------------------------------------------------------------


def test_javascript_retries_six_times_python_twice():
    forever = "- {error: 529, repeat: 9}\n- text: done"
    assert played(JS, forever).model_requests == 7
    assert played(PY, forever).model_requests == 3
    assert played(JS, "- {error: 529, repeat: 6}\n- text: done").final_text == "done"


def test_409_is_retried_in_python_only():
    assert played(JS, "- error: 409\n- text: done").ended == "http_error"
    assert played(PY, "- error: 409\n- text: done").final_text == "done"


def test_javascript_waits_for_a_rate_limit_of_a_minute_and_gives_up_on_more():
    run = played(JS, "- error: {status: 429, retry_after: 60}\n- text: done")
    assert (run.final_text, run.seconds) == ("done", 60)
    run = played(JS, "- error: {status: 429, retry_after: 61}\n- text: done")
    assert (run.error["type"], run.model_requests) == ("RateLimitCapacityError", 1)
    run = played(JS, "- error: {status: 429, message: You exceeded your current quota}\n- text: done")
    assert (run.error["type"], run.model_requests) == ("RateLimitQuotaExhaustedError", 1)


@pytest.mark.parametrize("style", [JS, PY])
def test_a_stream_that_just_ends_is_taken_for_a_whole_reply(style):
    run = played(style, "- disconnect: {after_characters: 5, how: end}\n  content: [{text: hello world}]", stream=True)
    assert (run.returned, run.final_text, run.ended, run.silent) == ("answer", "hello", "broken_stream", True)


@pytest.mark.parametrize("style", [JS, PY])
def test_a_stream_that_fails_is_not_retried_and_runs_nothing(style):
    cut = "- error: {type: overloaded_error, after_characters: 12}\n  content: [{tool_use: {name: lookup, input: {key: abc}}}]\n- text: done"
    run = played(style, cut, stream=True)
    assert (run.returned, run.ended, run.model_requests, len(run.tool_runs)) == ("error", "broken_stream", 1, 0)


@pytest.mark.parametrize(
    ("style", "wire", "about", "helps"),
    [
        (JS, "anthropic-messages", "tool", True),
        (JS, "openai-chat", "tool", False),
        (JS, "openai-chat", "tool_calls", True),
        (PY, "anthropic-messages", "tool", False),
    ],
)
def test_javascript_adds_a_page_to_a_bad_request_that_is_about_tools(style, wire, about, helps):
    run = played(style, f"- error: {{status: 400, message: no {about} there}}", wire=wire)
    assert ("errors/INVALID_TOOL_RESULTS/" in run.error["message"]) is helps


@pytest.mark.parametrize(("style", "type_"), [(JS, "AbortError"), (PY, "CancelledError")])
def test_who_gives_up_in_a_tool_gets_the_language_s_own_error(style, type_):
    run = played(style, ONE_ROUND, more="abort: {during: lookup}")
    assert (run.ended, run.error["type"]) == ("aborted", type_)


@pytest.mark.parametrize(("style", "reads"), [(JS, '{"a":[1,2]}'), (PY, '{"a": [1, 2]}')])
def test_a_result_that_is_no_text_is_json_as_the_language_writes_it(style, reads):
    assert told(
        played(style, "- tool_use: {give: {}}\n- text: done", tools="tools: {give: {returns: {a: [1, 2]}}}")
    ) == [reads]


def test_javascript_s_streamed_calls_of_one_id_go_back_with_the_first_one_s_arguments():
    twice = "- content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]\n- text: done"
    for stream, sent in ((True, ['{"key": "a"}'] * 2), (False, ['{"key": "a"}', '{"key": "b"}'])):
        run = played(JS, twice, wire="anthropic-messages", stream=stream)
        assert [part.arguments for part in run.requests[1].new[0].content] == sent


def test_in_javascript_s_react_agent_a_direct_tool_ends_the_run_by_its_result_not_by_its_call():
    direct = "tools: {now: {returns: it is now, return_direct: true}, lookup: {input: {key: string}, returns: ok}}"
    replies = """
    - content: [{tool_use: {name: lookup, input: {key: a}, id: x}}]
    - content: [{tool_use: {name: now, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: y}}]
    - text: done
    """
    assert played(REACT_JS, replies, tools=direct).final_text == "done"
    assert played(REACT_PY, replies, tools=direct).ended == "tool_result"


def test_python_takes_null_for_an_optional_key_and_names_only_what_is_wrong():
    schema = "{type: object, properties: {n: {type: integer}, o: {type: string}}, required: [n]}"
    run = played(PY, "- tool_use: {t: {n: one, o: null}}\n- text: done", tools=f"tools: {{t: {{schema: {schema}}}}}")
    assert "n: Input should be a valid integer" in told(run)[0]
    assert "o: " not in told(run)[0]
