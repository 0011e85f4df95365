"""Anthropic's tool runners, TypeScript and Python, sentence by sentence."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, PYTHON = "anthropic-js/toolRunner", "anthropic/tool_runner"
BOTH = (JS, PYTHON)
EAGER = {JS: {"runToolsEagerly": True}, PYTHON: {"run_tools_eagerly": True}}
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
CUT_SECOND = """
- content:
  - tool_use: {name: lookup, input: {key: a}}
  - tool_use: {name: lookup, raw: '{"ke'}
  stop_reason: max_tokens
"""


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize(("limit", "calls", "rounds"), [(1, 1, 1), (2, 2, 2), (3, 3, 3)])
def test_the_cap_returns_the_last_reply_after_its_tools_ran(style, limit, calls, rounds):
    assert claim("tool-runners.until-max-iterations")
    run = played(style, THREE_ROUNDS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.ended, run.returned) == (calls, rounds, "limit", "stopped")
    assert (run.finish_reason, run.final_text, run.error, run.count) == ("tool_use", "", None, limit)


@pytest.mark.parametrize("style", BOTH)
def test_the_final_reply_needs_an_iteration_of_its_own(style):
    assert claim("tool-runners.until-no-tool-use")
    run = played(style, THREE_ROUNDS, limit=4)
    assert (run.ended, run.final_text, run.count, run.least_limit) == ("answer", "done", 4, 4)


@pytest.mark.parametrize("style", BOTH)
def test_there_is_no_cap_by_default(style):
    assert claim("tool-runners.this-exact-loop").divergence
    assert played(style, ENDLESS, max_calls=40).ended == "unbounded"


def test_zero_is_no_cap_in_typescript_and_an_assertion_in_python():
    assert played(JS, ENDLESS, limit=0).ended == "unbounded"
    run = played(PYTHON, ENDLESS, limit=0)
    assert (run.model_requests, run.error, run.ended) == (0, {"type": "AssertionError", "message": ""}, "limit")


def test_a_negative_cap_allows_no_call():
    run = played(JS, ENDLESS, limit=-1)
    assert run.error["message"] == "ToolRunner concluded without a message from the server"
    assert played(PYTHON, ENDLESS, limit=-1).error["type"] == "AssertionError"


@pytest.mark.parametrize("style", BOTH)
def test_a_broken_number_is_a_cap_of_the_next_whole_one(style):
    assert played(style, ENDLESS, limit=2.5).model_calls == 3


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens"),
        ("{refusal: no}", "refusal"),
        ("{text: half, stop_reason: model_context_window_exceeded}", "context_window"),
        ("{text: hm, stop_reason: tool_use}", "bad_call"),
        ("{text: hm, stop_reason: {raw: new_reason}}", "answer"),
        ("{tool_use: {lookup: {key: a}}, stop_reason: max_tokens}", "max_tokens"),
    ],
)
def test_what_is_no_answer_returns_quietly_and_only_its_stop_reason_tells(style, reply, ended):
    run = played(style, f"- {reply}\n- text: done")
    assert (run.ended, run.returned, run.error, run.tool_runs) == (ended, "stopped", None, ())


@pytest.mark.parametrize("style", BOTH)
def test_calls_beside_end_turn_are_not_run(style):
    run = played(style, "- {text: words, tool_use: {lookup: {key: a}}, stop_reason: end_turn}\n- text: done")
    assert (run.final_text, run.ended, run.silent, run.tool_runs) == ("words", "dropped_calls", True, ())


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize("reason", ["pause_turn", "compaction"])
def test_a_pause_goes_back_as_it_is_and_costs_an_iteration(style, reason):
    assert claim("tool-runners.pause-is-continued")
    script = f"- {{text: working, tool_use: {{lookup: {{key: a}}}}, stop_reason: {reason}}}\n- text: done"
    run = played(style, script)
    assert (run.tool_runs, run.final_text, run.count) == ((), "done", 2)
    assert requests_of(run)[1] == ["assistant:text+tool_use(lookup)"]
    assert played(style, script, limit=1).ended == "limit"


@pytest.mark.parametrize("style", BOTH)
def test_each_iteration_is_a_request_but_for_retries(style):
    assert claim("tool-runners.iteration-is-a-request")
    run = played(style, "- error: 529\n- error: 500\n- tool_use: {lookup: {key: a}}\n- text: done", limit=2)
    assert (run.model_requests, run.model_calls, run.count, run.ended) == (4, 2, 2, "answer")


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize(
    ("status", "requests", "type_"),
    [
        (529, 3, "OverloadedError"),
        (429, 3, "RateLimitError"),
        (400, 1, "BadRequestError"),
        (401, 1, "AuthenticationError"),
    ],
)
def test_the_client_s_own_errors_go_out(style, status, requests, type_):
    run = played(style, f"- {{error: {status}, repeat: forever}}")
    assert (run.model_requests, run.error["type"], run.ended) == (requests, type_, "http_error")


@pytest.mark.parametrize(
    ("style", "texts"),
    [
        (JS, ["Error: Tool 'nope' not found", "Error: boom failed"]),
        (PYTHON, ["Error: Tool 'nope' not found", "Exception('boom failed')"]),
    ],
)
def test_failures_are_error_results(style, texts):
    run = played(style, "- tool_use: [{nope: {}}, {boom: {}}]\n- text: done")
    assert told(run) == texts
    assert requests_of(run)[1][1] == "user:tool_result(call_1)!+tool_result(call_2)!"


@pytest.mark.parametrize(("style", "runs"), [(JS, 1), (PYTHON, 0)])
def test_an_unknown_key_is_dropped_in_typescript_and_refused_in_python(style, runs):
    run = played(style, "- tool_use: {lookup: {key: a, more: 1}}\n- text: done")
    assert [one.input for one in run.tool_runs] == [{"key": "a"}] * runs


def test_python_refuses_what_does_not_fit_in_one_sentence():
    run = played(PYTHON, "- tool_use: {lookup: {wrong: 5}}\n- text: done")
    assert told(run) == ["ValueError('Invalid arguments for function lookup')"]


@pytest.mark.parametrize(("style", "seconds"), [(JS, 2.0), (PYTHON, 4.0)])
def test_typescript_runs_the_calls_of_a_reply_at_once_and_python_in_order(style, seconds):
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    assert played(style, "- tool_use: [{slow: {}}, {slow: {}}]\n- text: done", tools=tools).seconds == seconds


def test_python_sends_no_number_although_the_tool_ran():
    run = played(PYTHON, "- tool_use: {n: {}}\n- text: done", tools="tools: {n: {returns: 5}}")
    assert (len(run.tool_runs), told(run)) == (1, ["TypeError(\"'int' object is not iterable\")"])
    assert told(played(JS, "- tool_use: {n: {}}\n- text: done", tools="tools: {n: {returns: 5}}")) == [5]


def test_python_takes_a_mapping_for_its_keys():
    run = played(PYTHON, "- tool_use: {n: {}}\n- text: done", tools="tools: {n: {returns: {a: 1, b: 2}}}")
    assert told(run) == [["a", "b"]]


@pytest.mark.parametrize("style", BOTH)
def test_unreadable_arguments_arrive_as_none_at_all_where_nothing_streams(style):
    run = played(style, "- content: [{tool_use: {name: boom, raw: '{\"ke'}}]\n- text: done")
    assert [one.input for one in run.tool_runs] == [{}]


@pytest.mark.parametrize("style", BOTH)
def test_streamed_cut_arguments_are_completed_and_run(style):
    script = '- content: [{tool_use: {name: lookup, raw: \'{"key": "a"\'}}]\n- text: done'
    assert [one.input for one in played(style, script, stream=True).tool_runs] == [{"key": "a"}]
    assert played(style, script, stream=False).tool_runs == ()


@pytest.mark.parametrize(("style", "type_"), [(JS, "AnthropicError"), (PYTHON, "ValueError")])
def test_streamed_arguments_that_are_no_json_throw_out_of_the_run(style, type_):
    run = played(style, "- content: [{tool_use: {name: lookup, raw: not json}}]\n- text: done", stream=True)
    assert (run.error["type"], run.ended, run.count) == (type_, "bad_call", 0)
    assert run.error["message"].startswith("Unable to parse tool parameter JSON from model.")


@pytest.mark.parametrize(
    ("raw", "js", "python"),
    [('{"a": 1, "b": 2', (), ({"a": 1, "b": 2},)), ('{"a": 1, "b": 2}!', None, ({"a": 1, "b": 2},))],
)
def test_the_languages_complete_cut_arguments_each_in_its_own_way(raw, js, python):
    script = f"- content: [{{tool_use: {{name: add, raw: '{raw}'}}}}]\n- text: done"
    run = played(JS, script, stream=True)
    assert run.error is not None if js is None else tuple(one.input for one in run.tool_runs) == js
    assert tuple(one.input for one in played(PYTHON, script, stream=True).tool_runs) == python


@pytest.mark.parametrize("style", BOTH)
def test_a_repeated_id_runs_twice(style):
    call = "{tool_use: {name: lookup, input: {key: %s}, id: same}}"
    run = played(style, f"- content: [{call % 'a'}, {call % 'b'}]\n- text: done")
    assert [one.input["key"] for one in run.tool_runs] == ["a", "b"]


def test_a_stream_that_merely_ends_is_a_reply_in_python_and_an_error_in_typescript():
    script = "- content: [{text: hello there}]\n  disconnect: {after_characters: 5, how: end}"
    python, js = played(PYTHON, script, stream=True), played(JS, script, stream=True)
    assert (python.returned, python.final_text, python.finish_reason, python.ended) == (
        "stopped",
        "hello",
        None,
        "broken_stream",
    )
    assert js.error["message"] == "stream ended without producing a Message with role=assistant"


@pytest.mark.parametrize("style", BOTH)
def test_a_caller_that_gives_up_while_tools_run_sees_the_client_s_error(style):
    run = played(style, THREE_ROUNDS, more="abort: {during: lookup}")
    assert (run.ended, run.error["type"], run.tool_rounds, run.model_calls) == ("aborted", "APIUserAbortError", 1, 1)


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", BOTH)
def test_eagerly_the_first_call_of_a_reply_cut_in_its_second_runs_and_its_result_is_unused(style):
    run = played(style, CUT_SECOND, options=EAGER[style], stream=True)
    assert ([one.input for one in run.tool_runs], run.returned, run.ended) == ([{"key": "a"}], "stopped", "max_tokens")
    assert played(style, CUT_SECOND, stream=True).tool_runs == ()


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize(("stop", "runs"), [("tool_use", 2), ("end_turn", 1), ("pause_turn", 1), ("refusal", 1)])
def test_eagerly_the_last_call_runs_only_where_the_reply_stops_for_tools(style, stop, runs):
    script = f"- {{tool_use: [{{lookup: {{key: a}}}}, {{lookup: {{key: b}}}}], stop_reason: {stop}}}\n- text: done"
    assert len(played(style, script, options=EAGER[style], stream=True).tool_runs) == runs


def test_eagerly_a_repeated_id_runs_once_in_typescript_and_twice_in_python():
    call = "{tool_use: {name: lookup, input: {key: %s}, id: same}}"
    script = f"- content: [{call % 'a'}, {call % 'b'}]\n- text: done"
    js = played(JS, script, options=EAGER[JS], stream=True)
    python = played(PYTHON, script, options=EAGER[PYTHON], stream=True)
    assert (len(js.tool_runs), told(js)) == (1, ["value of a", "value of a"])
    assert (len(python.tool_runs), told(python)) == (2, ["value of b", "value of b"])


@pytest.mark.parametrize(("style", "type_"), [(JS, "TypeError"), (PYTHON, "ValueError")])
def test_eager_runs_need_streaming(style, type_):
    run = played(style, THREE_ROUNDS, options=EAGER[style], stream=False)
    assert (run.model_requests, run.error["type"]) == (0, type_)


def test_eagerly_tools_run_while_the_reply_still_streams():
    script = """
    - tool_use: [{slow: {}}, {slow: {}}]
      seconds: {first: 1, per_chunk: 0, tail: 3}
    - text: done
    """
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    late = played(JS, script, tools=tools, stream=True)
    early = played(JS, script, tools=tools, stream=True, options=EAGER[JS])
    assert early.seconds < late.seconds


@pytest.mark.parametrize("style", BOTH)
def test_without_a_thread_counts_and_outcomes_are_alike(style):
    with_thread, without = played(style, THREE_ROUNDS), played(style, THREE_ROUNDS, options={"thread": False})
    assert requests_of(with_thread) == requests_of(without)
    assert (with_thread.final_text, with_thread.count) == (without.final_text, without.count)


@pytest.mark.parametrize(
    ("style", "tree", "sentence"),
    [
        (JS, {"run_tools_eagerly": True}, "did you mean 'runToolsEagerly'"),
        (PYTHON, {"runToolsEagerly": True}, "did you mean 'run_tools_eagerly'"),
        (JS, {"thread": "no"}, "thread: expected true or false"),
    ],
)
def test_an_option_that_there_is_not_is_an_error(style, tree, sentence):
    with pytest.raises(UsageError, match=sentence):
        played(style, THREE_ROUNDS, options=tree)


@pytest.mark.parametrize("style", BOTH)
def test_a_tool_without_an_implementation_is_not_found(style):
    run = played(style, "- tool_use: [{ask: {q: x}}, {lookup: {key: a}}]\n- text: done")
    assert (told(run), run.final_text) == (["Error: Tool 'ask' not found", "value of a"], "done")
