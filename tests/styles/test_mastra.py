"""Mastra's Agent.generate and Agent.stream: steps whose tools run whatever the finish reason."""

from __future__ import annotations

import pytest

from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

GENERATE, STREAM = "mastra/Agent.generate", "mastra/Agent.stream"
BOTH = pytest.mark.parametrize("style", [GENERATE, STREAM])
ROUND = """
- text: let me look
  tool_use: {lookup: {key: a}}
- text: done
"""
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""


@BOTH
def test_five_steps_by_default_and_the_fifth_one_s_tools_run(style):
    claim("mastra.default-five")
    claim("mastra.returns-quietly")
    claim("mastra.step-is-call-and-tools")
    run = played(style, ENDLESS)
    assert (run.model_calls, run.tool_rounds, run.count, run.outcome.reported_count) == (5, 5, 5, 5)
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("limit", "stopped", "tool-calls", "")


@pytest.mark.parametrize(("limit", "calls"), [(1, 1), (3, 3), (20, 20), (0, 5)])
def test_max_steps_caps_model_calls_and_zero_is_the_default(limit, calls):
    claim("mastra.caps-model-calls")
    assert played(GENERATE, ENDLESS, limit=limit).model_calls == calls


@pytest.mark.parametrize("limit", [-1, 1.5, 2.5, "none"])
def test_a_limit_that_no_number_of_steps_equals_never_fires(limit):
    assert played(GENERATE, ENDLESS, limit=limit, max_calls=12).ended == "unbounded"


def test_it_goes_on_until_a_final_answer():
    claim("mastra.until-final-answer")
    assert (played(GENERATE, ROUND).ended, played(GENERATE, ROUND).returned) == ("answer", "answer")
    for reason, finish in (("max_tokens", "length"), ("refusal", "content-filter")):
        run = played(GENERATE, f"- text: hm\n  stop_reason: {reason}\n- text: done")
        assert (run.model_calls, run.returned, run.finish_reason) == (1, "stopped", finish)


def test_generate_joins_the_texts_of_all_steps_and_stream_only_without_calls():
    assert played(GENERATE, ROUND).final_text == "let me lookdone"
    assert played(STREAM, ROUND).final_text == "done"
    asked_again = "- text: 'one, '\n  stop_reason: tool_use\n- text: two"
    assert played(STREAM, asked_again).final_text == "one, two"


def test_a_cut_reply_s_whole_call_runs_and_ends_the_run():
    run = played(GENERATE, "- tool_use: {lookup: {key: a}}\n  stop_reason: max_tokens\n- text: done")
    assert (run.model_calls, run.tool_rounds, run.ended, run.finish_reason) == (1, 1, "max_tokens", "length")


@BOTH
def test_a_call_that_ended_in_an_error_makes_it_go_on_whatever_the_reason(style):
    for call in ("boom", "nope"):
        run = played(style, f"- tool_use: {{{call}: {{}}}}\n  stop_reason: max_tokens\n- text: done")
        assert (run.model_calls, run.ended) == (2, "answer")


def test_a_pause_is_an_answer_that_says_it_is_done():
    run = played(GENERATE, "- text: working\n  stop_reason: pause_turn\n- text: done")
    assert (run.model_calls, run.ended, run.returned, run.silent) == (1, "pause", "answer", True)


def test_tool_use_without_a_call_asks_again_with_no_new_message():
    run = played(GENERATE, "- text: hm\n  stop_reason: tool_use\n  repeat: forever")
    assert (run.model_calls, run.ended) == (5, "limit")
    assert requests_of(run)[1:3] == [["assistant:text"], []]


def test_an_unknown_reason_asks_again_and_without_content_it_is_an_error():
    assert played(GENERATE, "- text: hm\n  stop_reason: {raw: new}\n- text: done").ended == "answer"
    run = played(GENERATE, "- empty: true\n  stop_reason: {raw: new}\n- text: done")
    assert run.error["message"] == (
        'Agent stream finished with finishReason "other" (provider reported "new") without producing any output'
    )


@pytest.mark.parametrize(("wire", "mark"), [(ANTHROPIC, "!"), (CHAT, ""), (RESPONSES, "")])
def test_errors_are_marked_where_the_wire_can_and_bad_input_never_is(wire, mark):
    replies = "- tool_use: [{nope: {}}, {boom: {}}, {lookup: {key: 5}}]\n- text: done"
    run = played(GENERATE, replies, wire=wire)
    results = requests_of(run)[1][1]
    assert results == f"user:tool_result(call_1){mark}+tool_result(call_2){mark}+tool_result(call_3)"
    assert told(run)[1] == "boom failed"
    assert told(run)[2].startswith('{"error":true,"message":"Tool input validation failed for lookup.')


def test_an_unknown_call_is_told_the_tools_there_are():
    run = played(GENERATE, "- tool_use: {nope: {}}\n- text: done", tools="tools: {a: {}, b: {}}")
    assert told(run)[0] == (
        'Tool "nope" not found. Available tools: a, b. Call tools by their exact name only '
        "— never add prefixes, namespaces, or colons."
    )


def test_null_for_an_optional_key_is_taken_out():
    tools = "tools: {t: {schema: {type: object, properties: {n: {type: integer}, o: {type: string}}, required: [n]}}}"
    run = played(GENERATE, "- tool_use: {t: {n: 1, o: null}}\n- text: done", tools=tools)
    assert [r.input for r in run.tool_runs] == [{"n": 1}]


def test_broken_arguments_that_can_be_repaired_run_in_generate_and_not_in_stream():
    replies = """
    - content: [{tool_use: {name: lookup, raw: "{key: 'a',}"}}]
    - text: done
    """
    assert [r.input for r in played(GENERATE, replies, wire=CHAT).tool_runs] == [{"key": "a"}]
    assert played(STREAM, replies, wire=CHAT).tool_runs == ()


def test_one_invocation_for_an_id_in_the_whole_run():
    replies = """
    - content: [{tool_use: {name: lookup, input: {key: a}, id: same}}]
    - content: [{tool_use: {name: lookup, input: {key: b}, id: same}}]
    - text: done
    """
    run = played(GENERATE, replies)
    assert len(run.tool_runs) == 2
    assert requests_of(run)[2] == ["user:tool_result(same)"]


def test_a_text_that_was_said_before_is_not_sent_again_but_on_responses():
    replies = ROUND + ROUND.replace("done", "end").replace("- text: end", "- text: all")
    first = "- text: hm\n  tool_use: {lookup: {key: a}}\n  repeat: 2\n- text: done"
    assert requests_of(played(GENERATE, first))[2][0] == "assistant:tool_use(lookup)"
    assert requests_of(played(GENERATE, first, wire=RESPONSES))[2][0] == "assistant:text+tool_use(lookup)"
    assert played(GENERATE, replies).ended == "answer"


def test_what_stands_behind_a_call_comes_after_its_result():
    run = played(GENERATE, "- content: [{tool_use: {name: lookup, input: {key: a}}}, {text: and}]\n- text: done")
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_1)", "assistant:text"]


@BOTH
def test_no_retry_by_default(style):
    run = played(style, ROUND.replace("- text: done", "- error: 529\n- text: done"))
    assert (run.model_requests, run.ended, run.returned) == (2, "http_error", "error")
    assert run.error["type"] == "AI_APICallError"
    assert (run.finish_reason, run.final_text) == (("error", "") if style == STREAM else (None, None))
    assert run.outcome.reported_count == (2 if style == STREAM else None)


def test_a_stream_that_breaks_off_has_run_its_whole_calls():
    broken = "- tool_use: {lookup: {key: a}}\n  disconnect: {after_characters: 99, how: reset}\n- text: done"
    run = played(STREAM, broken)
    assert (run.ended, run.returned, len(run.tool_runs)) == ("broken_stream", "error", 1)
    assert played(STREAM, broken, wire=CHAT).tool_runs == ()


def test_a_stream_that_merely_ends_stops_on_claude_and_asks_again_elsewhere():
    ends = "- text: hello there\n  disconnect: {after_characters: 5, how: end}\n- text: done"
    claude = played(STREAM, ends)
    assert (claude.ended, claude.returned, claude.finish_reason) == ("broken_stream", "stopped", None)
    assert played(STREAM, ends, wire=CHAT).final_text == "hellodone"


TWELVE = "- tool_use: [" + ", ".join("{lookup: {key: a}}" for _ in range(12)) + "]\n- text: done"


def test_ten_tools_at_once():
    claim("mastra.ten-at-once")
    assert played(GENERATE, TWELVE, tools="tools: {lookup: {input: {key: string}, seconds: 1}}").seconds == 2


def test_an_unknown_call_beside_them_makes_it_one_at_a_time():
    replies = "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {nope: {}}]\n- text: done"
    assert played(GENERATE, replies, tools="tools: {lookup: {input: {key: string}, seconds: 1}}").seconds == 2


@BOTH
def test_a_tool_without_an_implementation_ends_the_run_and_its_siblings_run(style):
    run = played(style, "- tool_use: [{lookup: {key: a}}, {ask: {q: why}}]\n- text: done")
    assert (run.ended, run.returned, run.finish_reason) == ("handed_back", "stopped", "tool-calls")
    assert [r.name for r in run.tool_runs] == ["lookup"]


def test_an_error_beside_a_client_call_does_not_go_on():
    run = played(GENERATE, "- tool_use: [{ask: {q: why}}, {nope: {}}]\n- text: done")
    assert (run.ended, run.model_calls) == ("handed_back", 1)


OUTPUT = "output: {schema: {type: object, properties: {city: {type: string}}, required: [city]}}"


@BOTH
@pytest.mark.parametrize("text", ['{"town": 1}', "Paris, I think"])
def test_an_output_that_does_not_fit_is_an_error_and_not_asked_again(style, text):
    run = played(style, f"- text: '{text}'\n- text: '{{\"city\": \"Paris\"}}'", more=OUTPUT)
    assert (run.model_calls, run.returned, run.error["type"]) == (1, "error", "Error")
    assert run.error["message"].startswith("Structured output validation failed: - ")
    assert run.final_text == (text if style == STREAM else None)


def test_a_cut_output_is_an_error_of_its_own():
    run = played(GENERATE, "- text: '{'\n  stop_reason: max_tokens", more=OUTPUT)
    assert run.error["message"] == 'Structured output was truncated because the model finished with reason "length".'
    assert run.ended == "max_tokens"


def test_an_output_that_fits_is_the_text():
    assert played(GENERATE, '- text: \'{"city": "Paris"}\'', more=OUTPUT).ended == "answer"


@BOTH
def test_who_gives_up_gets_what_there_was(style):
    run = played(style, ROUND, more="abort: {during: lookup}")
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == (
        "aborted",
        "stopped",
        "aborted",
        "let me look",
    )


def test_a_further_prompt_has_the_answer_before_it_but_nothing_of_a_run_that_threw():
    run = played(GENERATE, "- text: one\n- text: two", more="prompt: [first, second]")
    assert requests_of(run)[1] == ["assistant:text", "user:text"]
    lost = played(GENERATE, ROUND.replace("- text: done", "- error: 400\n- text: two"), more="prompt: [first, second]")
    assert requests_of(lost)[2] == ["user:text+text"]


def test_a_long_run_stays_cheap_and_right():
    run = played(GENERATE, ENDLESS, limit=300)
    assert (run.model_calls, run.ended) == (300, "limit")
    assert requests_of(run)[299] == ["assistant:tool_use(lookup)", "user:tool_result(call_299)"]


def test_a_given_call_without_a_result_is_left_out():
    more = """
    messages:
      - user: go
      - assistant: {text: hm, tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]}
      - tool_result: {for: call_1, content: found}
      - user: and now
    """
    run = played(GENERATE, "- text: done", more=more)
    assert requests_of(run)[0] == ["user:text", "assistant:text+tool_use(lookup)", "user:tool_result(call_1)+text"]
    assert (run.tool_runs, run.ended) == ((), "answer")


@pytest.mark.parametrize(("wire", "sent"), [(CHAT, "{}"), (RESPONSES, '"words"'), (ANTHROPIC, '"words"')])
def test_arguments_that_are_json_but_no_object_go_back_as_they_came_but_on_chat_completions(wire, sent):
    run = played(STREAM, "- content: [{tool_use: {name: lookup, raw: '\"words\"'}}]\n- text: done", wire=wire)
    assert run.requests[1].new[0].content[0].arguments == sent


@pytest.mark.parametrize(("result", "reads"), [("found", "found"), ("[{title: é}]", '[{"title":"é"}]')])
def test_a_server_tool_that_nobody_declared_goes_back_as_the_client_s_with_its_result_as_text(result, reads):
    replies = f"""
    - content:
      - server_tool_use: {{name: search, input: {{q: a}}}}
      - server_tool_result: {{for: srvtoolu_1, content: {result}}}
      - tool_use: {{name: lookup, input: {{key: a}}}}
    - text: done
    """
    assert told(played(STREAM, replies, wire=ANTHROPIC))[0] == reads


@pytest.mark.parametrize(
    ("how", "says"), [("refuse", "connect ECONNREFUSED"), ("reset", "read ECONNRESET"), ("end", "other side closed")]
)
@BOTH
def test_a_connection_that_gives_no_headers_is_an_error_that_says_how_it_went_away(style, how, says):
    run = played(style, f"- disconnect: {{before: headers, how: {how}}}\n- text: done")
    assert run.error == {"type": "AI_APICallError", "message": f"Cannot connect to API: {says}"}
