"""TanStack AI's chat(): model turns, a strategy that is asked after each, and what its documentation says otherwise."""

from __future__ import annotations

import pytest

from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from agentsim.styles import select
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

STYLE = "tanstack-ai/chat"
DOCS = "tanstack-ai/chat@docs"
ROUND = """
- tool_use: {lookup: {key: a}}
- text: done
"""
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
THREE = """
- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {lookup: {key: c}}]
- text: done
"""
CUT_CALL = """
- content: [{tool_use: {name: lookup, raw: '{"ke'}}]
  stop_reason: max_tokens
- tool_use: {lookup: {key: a}}
- text: done
"""
ALWAYS_CUT = """
- content: [{tool_use: {name: lookup, raw: '{"ke'}}]
  stop_reason: max_tokens
  repeat: forever
"""
CUT_TEXT = """
- text: so far
  stop_reason: max_tokens
- text: done
"""


def test_five_turns_by_default_and_the_fifth_one_s_tools_run():
    claim("tanstack-ai.five-turns")
    run = played(STYLE, ENDLESS)
    assert (run.model_calls, run.tool_rounds, run.count) == (5, 5, 5)
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("limit", "stopped", "tool_calls", None)


@pytest.mark.parametrize(("limit", "calls"), [(0, 1), (-1, 1), (1, 1), (2.5, 3), (7, 7)])
def test_at_least_one_call_whatever_the_limit(limit, calls):
    assert played(STYLE, ENDLESS, limit=limit).model_calls == calls


def test_iterations_are_turns_and_not_calls():
    claim("tanstack-ai.iterations-are-not-calls")
    run = played(STYLE, THREE, limit=1)
    assert (run.model_calls, len(run.tool_runs)) == (1, 3)


def test_a_turn_s_calls_run_one_after_the_other():
    slow = "tools: {lookup: {input: {key: string}, returns: x, seconds: 2}}"
    assert played(STYLE, THREE, tools=slow).seconds == 6


def test_only_tool_calls_go_on():
    claim("tanstack-ai.goes-on-with-tool-calls")
    claim("tanstack-ai.ends-at-stop")
    assert played(STYLE, ROUND).ended == "answer"
    stop = played(STYLE, "- tool_use: {lookup: {key: a}}\n  stop_reason: end_turn")
    assert (stop.model_calls, stop.tool_rounds, stop.ended, stop.returned) == (1, 0, "dropped_calls", "answer")
    assert stop.silent


@pytest.mark.parametrize("reason", ["pause_turn", "refusal"])
def test_a_pause_and_a_refusal_can_t_be_told_from_an_answer_on_claude(reason):
    run = played(STYLE, f"- text: hm\n  stop_reason: {reason}")
    assert (run.returned, run.finish_reason, run.silent) == ("answer", "stop", True)


def test_a_cut_reply_is_a_run_error_on_claude_and_responses():
    claim("tanstack-ai.default-stops-on-length")
    claim("tanstack-ai.cut-run-ends-with-length")
    for wire, message in ((ANTHROPIC, "The response was cut off because"), (RESPONSES, "max_output_tokens")):
        run = played(STYLE, CUT_TEXT, wire=wire)
        assert (run.ended, run.returned, run.error["type"]) == ("max_tokens", "error", "RUN_ERROR")
        assert run.error["message"].startswith(message)
        assert run.final_text == "so far"
    chat = played(STYLE, CUT_TEXT, wire=CHAT)
    assert (chat.returned, chat.finish_reason, chat.final_text) == ("stopped", "length", "so far")


def test_a_cut_call_runs_on_chat_completions():
    """The arguments that can't be read are {}, which the schema refuses; where all are optional the tool runs."""
    claim("tanstack-ai.cut-call-never-runs")
    claim("tanstack-ai.cut-call-is-sent-again")
    claim("tanstack-ai.cut-turn-counts")
    claim("tanstack-ai.going-on-says-tool-calls")
    run = played(STYLE, ALWAYS_CUT, wire=CHAT)
    assert (run.model_calls, run.ended, run.finish_reason) == (5, "limit", "tool_calls")
    assert told(run)[0].startswith('{"error":"Input validation failed for tool lookup: Validation failed: ')
    free = played(STYLE, ALWAYS_CUT, wire=CHAT, tools="tools: {lookup: {returns: x}}", limit=1)
    assert [r.input for r in free.tool_runs] == [{}]
    assert played(STYLE, ALWAYS_CUT).error["type"] == "RUN_ERROR"


def test_a_cut_call_asks_for_an_approval_on_chat_completions():
    claim("tanstack-ai.cut-call-asks-nobody")
    tools = "tools: {refund: {approval: required, returns: x}, ask: {execute: client}}"
    cut = "- content: [{{tool_use: {{name: {name}, raw: '{{}}'}}}}]\n  stop_reason: max_tokens"
    assert played(STYLE, cut.format(name="refund"), tools=tools, wire=CHAT).ended == "approval"
    assert played(STYLE, cut.format(name="ask"), tools=tools, wire=CHAT).ended == "handed_back"
    for name in ("refund", "ask"):
        run = played(DOCS, cut.format(name=name), tools=tools, wire=CHAT)
        assert (run.ended, run.tool_rounds) == ("max_tokens", 0)


def test_failures_are_results_without_an_error_mark():
    run = played(
        STYLE,
        """
        - tool_use: [{nope: {}}, {boom: {}}, {lookup: {wrong: 1}}]
        - text: done
        """,
    )
    assert told(run)[:2] == ['{"error":"Unknown tool: nope"}', '{"error":"boom failed"}']
    assert requests_of(run)[1][1] == "user:tool_result(call_1)+tool_result(call_2)+tool_result(call_3)"


def test_a_text_that_is_json_is_read_and_written_again():
    run = played(STYLE, ROUND, tools="""tools: {lookup: {input: {key: string}, returns: '{"n":  5.5}'}}""")
    assert told(run) == ['{"n":5.5}']


def test_two_calls_of_one_id_are_one_call_with_the_last_arguments():
    run = played(
        STYLE,
        """
        - content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]
        - text: done
        """,
    )
    assert [r.input for r in run.tool_runs] == [{"key": "b"}]


def test_a_client_tool_interrupts_and_its_siblings_run():
    run = played(STYLE, "- tool_use: [{lookup: {key: a}}, {ask: {q: why}}]")
    assert (run.ended, run.returned, run.finish_reason) == ("handed_back", "stopped", "tool_calls")
    assert [r.name for r in run.tool_runs] == ["lookup"]


APPROVED = """
tools:
  lookup: {input: {key: string}, returns: found}
  refund: {input: {id: integer}, returns: refunded, approval: required}
"""
TWO = """
- tool_use: [{lookup: {key: a}}, {refund: {id: 1}}]
- text: done
"""


def test_where_somebody_is_asked_free_calls_wait_too():
    run = played(STYLE, TWO, tools=APPROVED)
    assert (run.ended, run.returned, run.tool_rounds) == ("approval", "stopped", 0)


def test_a_resume_runs_what_waited_before_any_request():
    run = played(STYLE, TWO, tools=APPROVED, more="approvals: [[{approve: call_2}]]")
    assert (run.ended, run.model_calls, [r.name for r in run.tool_runs]) == ("answer", 2, ["lookup", "refund"])


def test_a_denied_call_gets_one_and_the_same_result():
    run = played(STYLE, TWO, tools=APPROVED, more="approvals: [[{reject: call_2, message: too dear}]]")
    assert told(run) == ["found", '{"error":"User declined tool execution"}']


def test_an_edited_call_runs_with_the_edit_and_is_sent_back_as_it_was():
    run = played(STYLE, TWO, tools=APPROVED, more="approvals: [[{edit: call_2, input: {id: 7}}]]")
    assert run.tool_runs[1].input == {"id": 7}
    assert run.requests[1].new[0].content[1].arguments == '{"id":1}'


def test_each_resume_has_a_limit_of_its_own():
    rounds = """
    - tool_use: {refund: {id: 1}}
    - tool_use: {refund: {id: 2}}
    - text: done
    """
    more = "approvals: [[{approve: call_1}], [{approve: call_2}]]"
    run = played(STYLE, rounds, tools=APPROVED, more=more, limit=1)
    assert (run.ended, run.model_calls, run.count) == ("answer", 3, 3)


def test_a_resume_has_to_answer_everything_that_is_open():
    both = "- tool_use: [{refund: {id: 1}}, {refund: {id: 2}}]\n- text: done"
    run = played(STYLE, both, tools=APPROVED, more="approvals: [[{approve: call_1}]]")
    assert (run.returned, run.error["type"], run.model_calls) == ("error", "RUN_ERROR", 1)
    assert "Missing resume entry for interrupt approval_call_2." in run.error["message"]
    again = played(STYLE, both, tools=APPROVED, more="approvals: [[], [{approve: call_1}, {approve: call_2}]]")
    assert again.ended == "answer"


GIVEN = """
messages:
  - user: go
  - assistant: {tool_use: {lookup: {key: a}}}
"""


def test_unanswered_calls_of_the_given_messages_run_first_and_are_no_iteration():
    run = played(STYLE, "- text: done", more=GIVEN)
    assert (run.model_calls, run.count, len(run.tool_runs), run.ended) == (1, 1, 1, "answer")
    assert requests_of(run)[0] == ["user:text", "assistant:tool_use(lookup)", "user:tool_result(call_1)"]


def test_a_cut_call_of_a_transcript_runs():
    claim("tanstack-ai.cut-call-of-a-transcript")
    more = """
    messages:
      - user: go
      - assistant: {content: [{tool_use: {name: lookup, raw: '{"ke'}}], stop_reason: max_tokens}
    """
    tools = "tools: {lookup: {returns: x}}"
    measured = played(STYLE, "- text: done", more=more, tools=tools)
    assert told(measured) == ['{"error":"Failed to parse tool arguments as JSON: {\\"ke"}']
    documented = played(DOCS, "- text: done", more=more, tools=tools)
    assert (documented.tool_runs, documented.ended) == ((), "answer")
    assert '"code":"max_tokens"' in told(documented)[0]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 529])
def test_three_requests_a_turn(status):
    run = played(STYLE, f"- error: {status}\n  repeat: 2\n- text: done")
    assert (run.model_requests, run.ended) == (3, "answer")
    lost = played(STYLE, f"- error: {status}\n  repeat: 3\n- text: done")
    assert (lost.model_requests, lost.ended, lost.error["type"]) == (3, "http_error", "RUN_ERROR")


def test_a_stream_that_merely_ends_has_no_finish_on_claude_and_is_an_answer_elsewhere():
    broken = "- text: hello there\n  disconnect: {after_characters: 5, how: end}"
    claude, chat = (played(STYLE, broken, wire=wire) for wire in (ANTHROPIC, CHAT))
    assert (claude.ended, claude.returned, claude.finish_reason) == ("broken_stream", "stopped", None)
    assert (chat.ended, chat.returned, chat.final_text, chat.silent) == ("broken_stream", "answer", "hello", True)


def test_a_further_prompt_s_request_has_the_answer_before_it():
    run = played(STYLE, "- tool_use: {lookup: {key: a}}\n- text: one\n- text: two", more="prompt: [first, second]")
    assert requests_of(run)[-1] == ["assistant:text", "user:text"]
    assert (run.final_text, run.count) == ("two", 3)


# -- as the documentation describes it ------------------------------------------------------------------------------


def test_the_documented_style_is_only_taken_when_it_is_named():
    names = [style.name for style in select([])]
    assert STYLE in names
    assert not any("@" in name for name in names)
    assert [style.name for style in select(["tanstack-ai"])] == [STYLE]
    docs, measured = select([DOCS, "tanstack-ai/chat@0.58.0"])
    assert (docs.name, docs.sdk) == (DOCS, "@tanstack/ai (documentation)")
    assert measured.sdk == select([STYLE])[0].sdk


@pytest.mark.parametrize("wire", [ANTHROPIC, RESPONSES, CHAT])
def test_documented_a_cut_call_gets_an_error_result_and_the_run_ends_with_length(wire):
    run = played(DOCS, CUT_CALL, wire=wire)
    assert (run.model_calls, run.tool_rounds) == (1, 0)
    assert (run.ended, run.returned, run.finish_reason) == ("max_tokens", "stopped", "length")


@pytest.mark.parametrize("wire", [ANTHROPIC, RESPONSES, CHAT])
def test_documented_a_strategy_without_length_lets_the_model_send_the_call_again(wire):
    run = played(DOCS, CUT_CALL, wire=wire, options={"agentLoopStrategy": {"maxIterations": 5}})
    assert (run.model_calls, run.count, run.ended) == (3, 3, "answer")
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]
    assert '"code":"max_tokens"' in told(run)[0]


def test_documented_a_limit_is_such_a_strategy_even_the_default_s_value():
    assert played(DOCS, CUT_CALL, limit=5).ended == "answer"
    run = played(DOCS, ALWAYS_CUT, limit=5)
    assert (run.model_calls, run.ended, run.finish_reason) == (5, "limit", "length")


def test_documented_a_cut_text_is_no_answer():
    for options in ({}, {"agentLoopStrategy": {"maxIterations": 5}}):
        run = played(DOCS, CUT_TEXT, options=options)
        assert (run.model_calls, run.ended, run.finish_reason) == (1, "max_tokens", "length")


def test_documented_the_rest_is_as_measured():
    for replies in (ENDLESS, ROUND, THREE):
        docs, measured = played(DOCS, replies), played(STYLE, replies)
        assert docs.to_dict() | {"style": "", "sdk": ""} == measured.to_dict() | {"style": "", "sdk": ""}
