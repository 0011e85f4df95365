"""Agent Framework's Agent.run, as measured: its caps, its extra call, what each wire makes of each kind of reply."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

STYLE = "agent-framework/Agent.run"
WIRES = ["openai-responses", "openai-chat", "anthropic-messages"]
OPENAI = WIRES[:2]
CLAUDE = WIRES[2]
LIMIT = "Function invocation limit reached before a final answer could be produced."
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
THREE_ENDLESS = """
- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {lookup: {key: c}}]
  repeat: forever
"""
ROUNDS3 = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""


def settings(**given):
    return {"function_invocation_configuration": given}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_at_the_cap_there_is_one_more_call_whose_calls_are_dropped(wire, limit):
    run = played(STYLE, ENDLESS, limit=limit, wire=wire)
    assert (run.model_requests, run.tool_rounds, run.count) == (limit + 1, limit, limit)
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("limit", "stopped", "tool_calls", LIMIT)


def test_the_extra_call_still_offers_the_tools():
    offered = [sent.offered for sent in played(STYLE, ENDLESS, limit=1).transcript if hasattr(sent, "offered")]
    assert offered == [None, None]


def test_forty_iterations_by_default():
    assert (played(STYLE, ENDLESS).model_requests, played(STYLE, ENDLESS).tool_rounds) == (41, 40)


def test_streamed_it_counts_the_same_and_the_own_text_has_its_own_finish_reason():
    run = played(STYLE, ENDLESS, limit=2, wire="openai-chat", stream=True)
    assert (run.model_requests, run.tool_rounds, run.finish_reason, run.final_text) == (3, 2, "stop", LIMIT)


def test_three_iterations_are_enough_for_three_rounds_and_an_answer():
    run = played(STYLE, ROUNDS3, limit=3)
    assert (run.model_requests, run.tool_rounds, run.final_text, run.returned) == (4, 3, "done", "answer")
    assert run.least_limit == 3
    assert (run.ended, played(STYLE, ROUNDS3, limit=4).ended) == ("limit", "answer")


@pytest.mark.parametrize(
    ("limit", "error"), [(0, "ValueError"), (-1, "ValueError"), (2.5, "TypeError"), (0.5, "ValueError")]
)
def test_a_limit_below_one_or_broken_is_refused(limit, error):
    run = played(STYLE, ENDLESS, limit=limit)
    assert (run.model_requests, run.error["type"], run.ended) == (0, error, "limit")


def test_an_answer_needs_one_iteration():
    run = played(STYLE, "- text: hello", limit=1)
    assert (run.model_requests, run.ended, run.count, run.finish_reason) == (1, "answer", 1, "stop")


def test_a_parallel_batch_is_one_iteration():
    run = played(STYLE, THREE_ENDLESS, limit=2)
    assert (run.model_requests, len(run.tool_runs)) == (3, 6)


# -- the other caps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("calls", "requests", "runs"), [(2, 2, 3), (4, 3, 6), (7, 4, 9)])
def test_max_function_calls_is_looked_at_after_the_whole_batch(calls, requests, runs):
    run = played(STYLE, THREE_ENDLESS, options=settings(max_function_calls=calls))
    assert (run.model_requests, len(run.tool_runs), run.ended) == (requests, runs, "limit")


def test_max_function_calls_three_are_enough_for_three_rounds():
    assert played(STYLE, ROUNDS3, options=settings(max_function_calls=3)).final_text == "done"
    assert played(STYLE, ROUNDS3, options=settings(max_function_calls=2)).final_text == LIMIT


@pytest.mark.parametrize("call", ["{nope: {}}", "{boom: {}}", "{lookup: {wrong: 5}}"])
@pytest.mark.parametrize("wire", WIRES)
def test_three_rounds_in_a_row_with_an_error_are_the_end(call, wire):
    run = played(STYLE, f"- tool_use: {call}\n  repeat: forever", wire=wire)
    assert (run.model_requests, run.ended, run.final_text) == (4, "limit", LIMIT)


def test_one_success_in_the_batch_does_not_reset_the_errors_but_one_clean_batch_does():
    half = "- tool_use: [{lookup: {key: a}}, {nope: {}}]\n"
    clean = "- tool_use: {lookup: {key: a}}\n"
    assert played(STYLE, half * 5 + "- text: done").model_requests == 4
    assert played(STYLE, half * 2 + clean + half * 2 + "- text: done").final_text == "done"


@pytest.mark.parametrize(("errors", "requests"), [(1, 2), (0, 2), (5, 6)])
def test_how_many_errors_in_a_row_is_a_setting(errors, requests):
    run = played(
        STYLE, "- tool_use: {boom: {}}\n  repeat: forever", options=settings(max_consecutive_errors_per_request=errors)
    )
    assert run.model_requests == requests


def test_max_duration_is_looked_at_after_each_batch():
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    run = played(
        STYLE,
        "- tool_use: {slow: {}}\n  repeat: forever",
        tools=tools,
        options=settings(max_duration_seconds=3),
    )
    assert (run.model_requests, run.tool_rounds, run.seconds, run.ended) == (3, 2, 4.0, "limit")


def test_the_last_reply_s_text_is_kept_and_its_calls_are_dropped():
    replies = "- tool_use: {lookup: {key: a}}\n- {text: hm, tool_use: {lookup: {key: b}}}"
    run = played(STYLE, replies, limit=1)
    assert (run.final_text, run.returned, len(run.tool_runs), run.silent) == ("hm", "answer", 1, True)


# -- calls --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("{nope: {}}", 'Error: Requested function "nope" not found.'),
        ("{boom: {}}", "Error: Function failed."),
        ("{lookup: {wrong: 5}}", "Error: Argument parsing failed."),
    ],
)
def test_errors_are_results_without_detail_and_only_claude_s_wire_marks_them(call, text):
    replies = f"- tool_use: {call}\n- text: done"
    assert told(played(STYLE, replies)) == [text]
    assert requests_of(played(STYLE, replies))[1][1] == "user:tool_result(call_1)"
    assert requests_of(played(STYLE, replies, wire=CLAUDE))[1][1] == "user:tool_result(call_1)!"


def test_include_detailed_errors_tells_the_model():
    replies = "- tool_use: {boom: {}}\n- text: done"
    run = played(STYLE, replies, options=settings(include_detailed_errors=True))
    assert told(run) == ["Error: Function failed. Exception: boom failed"]


def test_broken_json_does_not_run_unless_the_tool_takes_nothing():
    broken = '- content: [{{tool_use: {{name: {name}, raw: "{{\\"key"}}}}]\n- text: done'
    tools = "tools: {lookup: {input: {key: string}}, give: {returns: x}}"
    assert told(played(STYLE, broken.format(name="lookup"), tools=tools)) == ["Error: Argument parsing failed."]
    assert played(STYLE, broken.format(name="give"), tools=tools).tool_runs[0].input == {}


def test_unknown_arguments_are_dropped_and_numbers_converted():
    run = played(STYLE, '- tool_use: {add: {a: "1", b: 2, c: 3}}\n- text: done')
    assert run.tool_runs[0].input == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize("reply", ["tool_use: {lookup: {key: a}}", "tool_use: {lookup: {key: a}}, cut_after: 9"])
def test_calls_under_max_tokens_throw_on_claude_and_are_treated_as_ever_on_openai(reply):
    replies = f"- {{{reply}, stop_reason: max_tokens}}\n- text: done"
    run = played(STYLE, replies, wire=CLAUDE)
    assert (run.model_requests, run.error["type"], run.ended) == (1, "ResponseInvalidatedException", "max_tokens")
    for wire in OPENAI:
        run = played(STYLE, replies, wire=wire)
        assert (run.model_requests, len(run.tool_runs), run.final_text) == (2, "cut_after" not in reply, "done")


@pytest.mark.parametrize("stop", ["pause_turn", "refusal", "end_turn"])
def test_calls_under_any_stop_reason_but_tool_use_throw_on_claude(stop):
    run = played(STYLE, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- text: done", wire=CLAUDE)
    assert (run.tool_runs, run.error["type"]) == ((), "ResponseInvalidatedException")


def test_calls_that_share_an_id_both_run_but_for_a_responses_stream_which_keeps_the_last():
    call = "{{tool_use: {{name: lookup, input: {{key: {key}}}, id: same}}}}"
    replies = f"- content: [{', '.join(call.format(key=key) for key in 'ab')}]\n- text: done"
    for wire in WIRES:
        for stream in (False, True):
            keys = [one.input["key"] for one in played(STYLE, replies, wire=wire, stream=stream).tool_runs]
            assert keys == (["b"] if stream and wire == "openai-responses" else ["a", "b"])


def test_calls_run_side_by_side_unless_forbidden():
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    replies = "- tool_use: [{slow: {}}, {slow: {}}]\n- text: done"
    assert played(STYLE, replies, tools=tools).seconds == 2.0
    assert played(STYLE, replies, tools=tools, options=settings(allow_concurrent_invocation=False)).seconds == 4.0


@pytest.mark.parametrize("wire", WIRES)
def test_terminate_on_unknown_calls_throws_before_anything_of_the_batch_runs(wire):
    replies = "- tool_use: [{lookup: {key: a}}, {nope: {}}]\n- text: done"
    run = played(STYLE, replies, wire=wire, options=settings(terminate_on_unknown_calls=True))
    assert (run.tool_runs, run.error["type"], run.ended) == ((), "_UnknownFunctionCallError", "bad_call")
    assert run.model_requests == (2 if wire == "openai-responses" else 1)  # the provider's conversation is settled


def test_a_declaration_is_handed_back_while_its_siblings_run():
    run = played(STYLE, "- tool_use: [{ask: {q: x}}, {lookup: {key: a}}]\n- text: done")
    assert (run.ended, run.returned, [one.name for one in run.tool_runs]) == ("handed_back", "stopped", ["lookup"])


def test_disabled_calls_are_handed_back():
    run = played(STYLE, ROUNDS3, options=settings(enabled=False))
    assert (run.model_requests, run.ended, run.returned, run.tool_runs) == (1, "handed_back", "stopped", ())


# -- endings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "wire", "ended", "finish", "text"),
    [
        ("{text: half, stop_reason: max_tokens}", CLAUDE, "max_tokens", "length", "half"),
        ("{text: half, stop_reason: max_tokens}", "openai-responses", "max_tokens", "length", "half"),
        ("{text: working, stop_reason: pause_turn}", CLAUDE, "pause", "stop", "working"),
        ("{refusal: I can't.}", CLAUDE, "refusal", "content_filter", "I can't."),
        ("{refusal: I can't.}", "openai-chat", "refusal", "stop", "I can't."),
        ("{refusal: ''}", CLAUDE, "refusal", "content_filter", ""),
        ("{text: half, stop_reason: model_context_window_exceeded}", CLAUDE, "context_window",
         "model_context_window_exceeded", "half"),
        ("{text: part, stop_reason: stop_sequence}", CLAUDE, "answer", "stop", "part"),
        ("{text: hm, stop_reason: tool_use}", CLAUDE, "bad_call", "tool_calls", "hm"),
        ("{empty: true}", "openai-chat", "empty", "stop", ""),
    ],
)  # fmt: skip
def test_a_reply_without_calls_is_the_answer_whatever_stopped_it(reply, wire, ended, finish, text):
    run = played(STYLE, f"- {reply}\n- text: done", wire=wire)
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == (ended, "answer", finish, text)
    assert run.model_requests == 1


def test_the_text_of_a_run_is_all_its_texts_joined():
    assert played(STYLE, "- {text: let me look, tool_use: {lookup: {key: a}}}\n- text: done").final_text == (
        "let me lookdone"
    )


@pytest.mark.parametrize(
    ("wire", "stream", "text"),
    [
        ("anthropic-messages", False, "one two"),
        ("anthropic-messages", True, "onetwo"),
        ("openai-responses", False, "one two"),
        ("openai-responses", True, "two"),
        ("openai-chat", False, "onetwo"),
    ],
)
def test_two_texts_of_one_reply_are_joined_in_a_way_of_each_wire(wire, stream, text):
    assert played(STYLE, "- content: [{text: one}, {text: two}]", wire=wire, stream=stream).final_text == text


@pytest.mark.parametrize(("faults", "requests", "ended"), [(2, 3, "answer"), (3, 3, "http_error")])
def test_the_client_retries_twice(faults, requests, ended):
    run = played(STYLE, "- error: 529\n" * faults + "- text: done")
    assert (run.model_requests, run.ended) == (requests, ended)


@pytest.mark.parametrize(
    ("status", "wire", "name"),
    [
        (400, "openai-chat", "ChatClientException"),
        (400, CLAUDE, "ChatClientInvalidRequestException"),
        (401, CLAUDE, "ChatClientInvalidAuthException"),
    ],
)
def test_client_errors_are_wrapped(status, wire, name):
    run = played(STYLE, f"- error: {status}\n- text: done", wire=wire)
    assert (run.model_requests, run.error["type"], run.ended) == (1, name, "http_error")


def test_a_stream_that_breaks_off_in_a_call_runs_nothing_but_a_chat_stream_that_merely_ends_does():
    replies = "- {tool_use: {lookup: {key: a}}, disconnect: {after_characters: 12, how: end}}\n- text: done"
    claude = played(STYLE, replies, wire=CLAUDE, stream=True)
    assert (claude.error["type"], claude.tool_runs) == ("ResponseInvalidatedException", ())
    assert len(played(STYLE, replies, wire="openai-chat", stream=True).tool_runs) == 1


# -- several prompts ----------------------------------------------------------------------------------------------------


def test_a_prompt_that_failed_leaves_nothing_behind_but_on_responses_where_the_provider_remembers():
    replies = "- tool_use: {lookup: {key: a}}\n- error: 400\n- text: two"
    prompts = "prompt: [go, more]"
    assert requests_of(played(STYLE, replies, more=prompts, wire=CLAUDE))[2] == ["user:text"]
    run = played(STYLE, replies, more=prompts, wire="openai-responses")
    assert (run.requests[2].kept, requests_of(run)[2]) == (2, ["user:text"])


# -- options ------------------------------------------------------------------------------------------------------------


def test_max_iterations_in_the_settings_replaces_the_default_and_a_limit_is_one_more_condition():
    assert played(STYLE, ENDLESS, options=settings(max_iterations=2)).tool_rounds == 2
    assert played(STYLE, ENDLESS, options=settings(max_iterations=2), limit=1).tool_rounds == 1


@pytest.mark.parametrize("name", ["max_iterations", "max_function_calls"])
def test_settings_below_one_are_refused_by_the_client(name):
    run = played(STYLE, ENDLESS, options=settings(**{name: 0}))
    assert (run.model_requests, run.error["type"], run.ended) == (0, "ValueError", "limit")


@pytest.mark.parametrize(
    ("tree", "word"),
    [
        (settings(max_iteration=3), "max_iterations"),
        ({"function_invocation": {}}, "function_invocation_configuration"),
        (settings(max_function_calls="3"), "whole number or null"),
        (settings(enabled=1), "true or false"),
        (settings(max_duration_seconds="1"), "a number or null"),
        (settings(max_iterations=None), "whole number"),
    ],
)
def test_a_misspelt_option_is_named(tree, word):
    with pytest.raises(UsageError, match=word):
        played(STYLE, ENDLESS, options=tree)


# -- what goes back to the model ----------------------------------------------------------------------------------------


def arguments_of(run):
    """The arguments of every call that the last request carries."""
    return [part.arguments for m in run.requests[-1].new for part in m.content if hasattr(part, "arguments")]


@pytest.mark.parametrize(("given", "sent"), [("", "{}"), ("[1]", '{"raw": [1]}'), ('{"key":"a"}', '{"key":"a"}')])
def test_claude_reads_its_arguments_as_they_came_and_what_is_no_object_under_the_key_raw(given, sent):
    call = f"- content: [{{tool_use: {{name: lookup, raw: '{given}'}}}}]"
    run = played(STYLE, f"{call}\n- text: done", wire=CLAUDE, stream=True)
    assert arguments_of(run) == [sent]


def test_a_further_prompt_finds_the_framework_s_text_behind_the_last_reply():
    run = played(STYLE, ENDLESS, limit=1, wire=CLAUDE, more="prompt: [go, again]")
    said = [part.text for m in run.requests[2].new for part in m.content if hasattr(part, "text")]
    assert said == [LIMIT, "again"]


@pytest.mark.parametrize(
    ("returns", "reads"), [("null", ""), ("plain", "plain"), ("{a: [1, é]}", '{"a": [1, "\\u00e9"]}')]
)
def test_a_result_is_a_text_nothing_or_json_in_ascii(returns, reads):
    tools = f"tools: {{give: {{returns: {returns}}}}}"
    assert told(played(STYLE, "- tool_use: {give: {}}\n- text: done", tools=tools)) == [reads]
