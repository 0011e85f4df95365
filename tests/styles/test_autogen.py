"""AutoGen: the tables of what was measured of autogen-agentchat 0.7.5, line by line."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

AGENT = "autogen/AssistantAgent.run"
TEAM = "autogen/RoundRobinGroupChat.run"
CLAUDE, CHAT = "anthropic-messages", "openai-chat"
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
REFLECT = {"reflect_on_tool_use": True}


# -- the cap on tool iterations -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_at_the_cap_the_last_tools_have_run_and_their_results_are_returned(limit):
    run = played(AGENT, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds) == (limit, limit)
    assert (run.ended, run.returned, run.final_text) == ("limit", "stopped", "value of a")
    assert not run.silent


def test_the_default_cap_is_one_iteration():
    run = played(AGENT, ENDLESS)
    assert (run.model_requests, run.tool_rounds, run.returned) == (1, 1, "stopped")


def test_three_rounds_need_a_cap_of_four():
    assert played(AGENT, ROUNDS3, limit=3).ended == "limit"
    enough = played(AGENT, ROUNDS3, limit=4)
    assert (enough.ended, enough.model_calls, enough.final_text) == ("answer", 4, "done")
    assert enough.least_limit == 4


def test_a_parallel_batch_counts_once():
    assert played(AGENT, PARALLEL3, limit=2).returned == "answer"
    cut = played(AGENT, PARALLEL3, limit=1)
    assert (len(cut.tool_runs), cut.final_text) == (3, "value of a\nvalue of b\n3")


def test_a_cap_of_one_lets_an_answer_through():
    assert played(AGENT, "- {text: hello}", limit=1).ended == "answer"


@pytest.mark.parametrize("limit", [0, -1])
def test_caps_below_one_are_refused_before_any_call(limit):
    run = played(AGENT, ENDLESS, limit=limit)
    assert (run.model_requests, run.ended, run.error["type"]) == (0, "limit", "ValueError")
    assert run.error["message"].endswith(f"greater than or equal to 1, got {limit}")


def test_a_fraction_as_a_cap_dies_after_the_first_reply():
    run = played(AGENT, "- {text: hello}", limit=2.5)
    assert (run.model_requests, run.error["type"]) == (1, "TypeError")


# -- reflection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_reflection_is_one_more_call_after_the_last_tools(limit):
    run = played(AGENT, ENDLESS, limit=limit, options=REFLECT)
    assert (run.model_requests, run.tool_rounds) == (limit + 1, limit)


def test_a_reflection_without_text_is_an_error():
    run = played(AGENT, ENDLESS, options=REFLECT)
    assert run.error == {"type": "RuntimeError", "message": "Reflect on tool use produced no valid text response."}


def test_the_text_of_a_reflection_is_returned_as_an_answer_although_the_cap_forced_it():
    run = played(AGENT, ROUNDS3, limit=3, options=REFLECT)
    assert (run.returned, run.final_text, run.ended, run.silent) == ("answer", "done", "limit", True)


def test_an_answer_without_tools_is_not_reflected_on():
    assert played(AGENT, "- {text: hello}", options=REFLECT).model_calls == 1


def test_an_empty_reflection_is_a_text():
    run = played(AGENT, "- {tool_use: {lookup: {key: a}}}\n- {empty: true}", options=REFLECT)
    assert (run.returned, run.final_text) == ("answer", "")


# -- the summary ----------------------------------------------------------------------------------------------------


def test_the_summary_has_a_line_for_each_call_in_the_format_of_the_user():
    run = played(
        AGENT,
        "- {tool_use: [{lookup: {key: a}}, {boom: {}}, {nope: {}}]}",
        options={"tool_call_summary_format": "{tool_name}({arguments}) = {result} {is_error}"},
    )
    assert run.final_text == (
        'lookup({"key": "a"}) = value of a False\n'
        "boom({}) = boom failed True\n"
        "nope({}) = Error: tool 'nope' not found in any workbench True"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"reflect_on_tool_use": 1}, "expected true or false"),
        ({"tool_call_summary_format": "{nothing}"}, "it may hold {tool_name}"),
        ({"reflect": True}, "did you mean 'reflect_on_tool_use'"),
        ({"max_tool_iterations": 3}, "unknown option"),
    ],
)
def test_options_that_it_does_not_have_are_named(options, says):
    with pytest.raises(UsageError, match=says):
        played(AGENT, ENDLESS, options=options)


# -- calls that fail ------------------------------------------------------------------------------------------------


def test_an_unknown_tool_gets_an_error_text():
    run = played(AGENT, "- {tool_use: {nope: {x: 1}}}\n- {text: done}", limit=2)
    assert told(run) == ["Error: tool 'nope' not found in any workbench"]
    assert run.ended == "answer"


def test_a_throwing_tool_gets_its_message_as_result():
    assert told(played(AGENT, "- {tool_use: {boom: {}}}\n- {text: done}", limit=2)) == ["boom failed"]


def test_arguments_that_do_not_fit_get_pydantics_words():
    run = played(AGENT, "- {tool_use: {lookup: {wrong: 5}}}")
    assert not run.tool_runs
    assert run.final_text == (
        "1 validation error for lookupargs\nkey\n"
        "  Field required [type=missing, input_value={'wrong': 5}, input_type=dict]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/missing"
    )


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("lookup", "{key: 5}", "Input should be a valid string [type=string_type, input_value=5, input_type=int]"),
        (
            "add",
            "{a: x, b: 1}",
            "unable to parse string as a number [type=float_parsing, input_value='x', input_type=str]",
        ),
        ("add", "{a: null, b: 1}", "Input should be a valid number [type=float_type, input_value=None"),
        ("count", "{n: 1.5}", "got a number with a fractional part [type=int_from_float, input_value=1.5"),
        ("count", "{n: one}", "unable to parse string as an integer [type=int_parsing, input_value='one'"),
        ("flag", "{on: maybe}", "unable to interpret input [type=bool_parsing, input_value='maybe'"),
        ("flag", "{on: []}", "Input should be a valid boolean [type=bool_type, input_value=[], input_type=list]"),
        ("many", "{of: x}", "Input should be a valid list [type=list_type, input_value='x', input_type=str]"),
        ("map", "{of: x}", "Input should be a valid dictionary [type=dict_type, input_value='x', input_type=str]"),
        ("lookup", f"{{key: [{'1, ' * 30}1]}}", "input_value=[1, 1, 1, 1, 1, 1, 1, 1, ... 1, 1, 1, 1, 1, 1, 1, 1], "),
    ],
)
def test_each_kind_of_misfit_has_its_own_words(tool, given, says):
    tools = """
    tools:
      lookup: {input: {key: string}}
      add: {input: {a: number, b: number}}
      count: {input: {n: integer}}
      flag: {input: {on: boolean}}
      many: {input: {of: array}}
      map: {input: {of: object}}
    """
    assert says in played(AGENT, f"- {{tool_use: {{{tool}: {given}}}}}", tools=tools).final_text


@pytest.mark.parametrize(("wire", "stream"), [(CHAT, False), (CHAT, True), (CLAUDE, True)])
def test_broken_json_gets_the_parsers_words(wire, stream):
    run = played(AGENT, '- {content: [{tool_use: {name: lookup, raw: \'{"key": "a\'}}]}', wire=wire, stream=stream)
    assert run.final_text == "Error: Unterminated string starting at: line 1 column 9 (char 8)"


def test_on_claudes_wire_a_broken_call_arrives_empty_without_streaming():
    run = played(AGENT, '- {content: [{tool_use: {name: lookup, raw: \'{"key": "a\'}}]}', wire=CLAUDE)
    assert "Field required [type=missing, input_value={}" in run.final_text


def test_no_error_mark_is_sent():
    run = played(AGENT, "- {tool_use: {boom: {}}}\n- {text: done}", limit=2, wire=CLAUDE)
    assert requests_of(run)[1] == ["assistant:tool_use(boom)", "user:tool_result(call_1)"]


def test_it_never_stops_by_itself_on_repeats():
    assert played(AGENT, "- {tool_use: {nope: {}}, repeat: forever}", limit=30).model_calls == 30


# -- stop reasons ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "ended", "text"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens", "half"),
        ("{text: working, stop_reason: pause_turn}", "pause", "working"),
        ("{text: I can't., stop_reason: refusal}", "refusal", "I can't."),
        ("{text: half, stop_reason: model_context_window_exceeded}", "context_window", "half"),
        ("{text: hm, stop_reason: tool_use}", "bad_call", "hm"),
        ("{empty: true}", "empty", ""),
    ],
)
def test_the_stop_reason_is_never_read_and_the_caller_is_told_that_it_is_done(reply, ended, text):
    run = played(AGENT, f"- {reply}", wire=CLAUDE)
    assert (run.returned, run.ended, run.final_text, run.silent) == ("answer", ended, text, True)


def test_a_refusal_on_openais_wire_is_an_empty_answer():
    run = played(AGENT, "- {refusal: I can't.}", wire=CHAT)
    assert (run.returned, run.final_text, run.ended) == ("answer", "", "refusal")


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn", "refusal", "end_turn", "tool_use"])
def test_calls_are_run_whatever_the_stop_reason_says(stop):
    run = played(AGENT, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}", wire=CLAUDE)
    assert [r.name for r in run.tool_runs] == ["lookup"]


def test_a_cut_call_beside_a_whole_one_gets_an_error_and_the_whole_one_runs():
    run = played(AGENT, "- {tool_use: [{lookup: {key: a}}, {lookup: {key: b}}], cut_after: 4}", wire=CHAT)
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]
    assert run.final_text.startswith("value of a\nError: Unterminated string")


# -- history, ids, faults -------------------------------------------------------------------------------------------


def test_a_text_beside_calls_is_sent_back_with_them():
    run = played(AGENT, "- {text: let me look, tool_use: {lookup: {key: a}}}\n- {text: done}", limit=2)
    assert requests_of(run)[1] == ["assistant:text+tool_use(lookup)", "user:tool_result(call_1)"]
    assert run.final_text == "done"


def test_thinking_is_sent_back_as_a_text_in_place_of_the_reply_s():
    reply = (
        "- {content: [{thinking: hm, signature: s}, {text: let me look}, {tool_use: {name: lookup, input: {key: a}}}]}"
    )
    run = played(AGENT, reply + "\n- {text: done}", limit=2, wire=CLAUDE)
    assert requests_of(run)[1][0] == "assistant:text+tool_use(lookup)"
    assert run.requests[1].new[0].content[0].text == "hm"


DUPLICATE = """
- content: [{tool_use: {name: lookup, id: same, input: {key: a}}}, {tool_use: {name: lookup, id: same, input: {key: b}}}]
"""


def test_calls_that_share_an_id_are_both_run():
    assert len(played(AGENT, DUPLICATE, wire=CLAUDE).tool_runs) == 2
    assert len(played(AGENT, DUPLICATE, wire=CHAT, stream=True).tool_runs) == 2


def test_in_claudes_stream_the_last_call_of_an_id_replaces_the_others():
    assert [r.input for r in played(AGENT, DUPLICATE, wire=CLAUDE, stream=True).tool_runs] == [{"key": "b"}]


@pytest.mark.parametrize(("status", "type_"), [(429, "RateLimitError"), (500, "InternalServerError")])
def test_transient_errors_are_tried_three_times(status, type_):
    run = played(AGENT, f"- {{error: {status}, repeat: forever}}")
    assert (run.model_requests, run.error["type"], run.ended) == (3, type_, "http_error")


def test_a_client_error_is_not_tried_again():
    run = played(AGENT, "- {error: 400}\n- {text: done}")
    assert (run.model_requests, run.error["type"]) == (1, "BadRequestError")


def test_retries_never_count_against_the_cap():
    run = played(AGENT, "- {error: 529}\n- {tool_use: {lookup: {key: a}}}\n- {error: 500}\n- {text: done}", limit=2)
    assert (run.model_requests, run.model_calls, run.ended) == (4, 2, "answer")


def test_a_stream_that_merely_ends_is_taken_for_an_answer():
    run = played(AGENT, "- {text: half an answer, disconnect: {after_characters: 4, how: end}}", stream=True)
    assert (run.returned, run.final_text) == ("answer", "half")


def test_several_prompts_share_the_agent_s_context_and_count_anew():
    run = played(AGENT, ROUNDS3, more="prompt: [go, more]", limit=2)
    assert [len(new) for new in requests_of(run)] == [1, 2, 2, 2]
    assert (run.model_calls, run.final_text) == (4, "done")


# -- the team -------------------------------------------------------------------------------------------------------


def test_a_team_goes_on_with_turns_until_a_text_comes():
    run = played(TEAM, ROUNDS3)
    assert (run.model_calls, run.ended, run.finish_reason) == (4, "answer", "Text message received from 'assistant'")


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_team_stops_after_max_turns(limit):
    run = played(TEAM, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds, run.ended, run.returned) == (limit, limit, "limit", "stopped")
    assert run.finish_reason == f"Maximum number of turns {limit} reached."


def test_a_team_without_max_turns_never_ends():
    assert played(TEAM, ENDLESS, max_calls=60).ended == "unbounded"


def test_each_turn_of_a_team_has_its_own_tool_iterations():
    run = played(TEAM, ENDLESS, limit=2, options={"max_tool_iterations": 3})
    assert (run.model_requests, run.tool_rounds, run.count) == (6, 6, 2)


def test_an_error_of_an_agent_leaves_the_team_as_a_runtime_error():
    assert played(TEAM, "- {error: 400}").error["type"] == "RuntimeError"


# -- texts and arguments as they are ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "shown"), [('{"key":"a"}', '{"key": "a"}'), ("[1,2]", "[1,2]"), ('{"key', '{"key')])
def test_the_summary_shows_an_object_of_arguments_as_python_writes_it_and_all_else_as_it_came(given, shown):
    call = f"- content: [{{tool_use: {{name: lookup, raw: '{given}'}}}}]"
    run = played(AGENT, call, wire=CHAT, options={"tool_call_summary_format": "{tool_name}({arguments})"})
    assert run.final_text == f"lookup({shown})"


@pytest.mark.parametrize(("given", "sent"), [("{{", '{"text": "{{"}'), ("  ", '{"text": " "}')])
def test_claude_reads_arguments_that_are_no_json_as_a_text_never_an_empty_one(given, sent):
    call = f"- content: [{{tool_use: {{name: lookup, raw: '{given}'}}}}]"
    run = played(AGENT, f"{call}\n- text: done", limit=2, wire=CLAUDE, stream=True)
    assert [part.arguments for part in run.requests[1].new[0].content] == [sent]


def test_what_a_tool_throws_is_stripped_and_what_it_returns_is_not():
    tools = 'tools: {give: {returns: " a "}, throw: {raises: " b "}}'
    run = played(AGENT, "- tool_use: [{give: {}}, {throw: {}}]\n- text: done", limit=2, tools=tools)
    assert told(run) == [" a ", "b"]
