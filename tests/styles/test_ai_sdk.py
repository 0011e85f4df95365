"""The AI SDK's loop, sentence by sentence: what it counts, when it stops, what the caller and the model are told."""

from __future__ import annotations

import pytest

from agentsim.core.messages import ToolCall
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

AGENT, AGENT_STREAM = "ai-sdk/ToolLoopAgent.generate", "ai-sdk/ToolLoopAgent.stream"
GENERATE, STREAM = "ai-sdk/generateText", "ai-sdk/streamText"
WORKFLOW = "ai-sdk/WorkflowAgent.stream"
ALL = (GENERATE, STREAM, AGENT, AGENT_STREAM)
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


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(
    ("limit", "calls", "rounds", "returned"),
    [(1, 1, 1, "stopped"), (2, 2, 2, "stopped"), (3, 3, 3, "stopped"), (4, 4, 3, "answer"), (20, 4, 3, "answer")],
)
def test_the_cap_counts_model_calls_and_the_last_ones_tools_run(style, limit, calls, rounds, returned):
    run = played(style, THREE_ROUNDS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.returned) == (calls, rounds, returned)
    assert run.count == run.outcome.reported_count == calls
    assert run.ended == ("answer" if returned == "answer" else "limit")


def test_what_stops_at_the_cap_says_so_by_its_finish_reason_alone():
    assert claim("ai-sdk.limit-returns-normally").divergence is None
    run = played(AGENT, ENDLESS, limit=3)
    assert (run.finish_reason, run.final_text, run.error) == ("tool-calls", "", None)


@pytest.mark.parametrize("style", [AGENT, AGENT_STREAM])
def test_an_agent_stops_after_twenty_steps_by_default(style):
    assert claim("ai-sdk.agent-default-is-20")
    run = played(style, ENDLESS)
    assert (run.model_calls, run.tool_rounds, run.limit) == (20, 20, 20)


@pytest.mark.parametrize("style", [GENERATE, STREAM])
def test_the_functions_make_one_call_by_default_and_run_its_tools(style):
    assert claim("ai-sdk.function-default-is-1")
    run = played(style, THREE_ROUNDS)
    assert (run.model_calls, run.tool_rounds, run.unused_replies) == (1, 1, 3)


@pytest.mark.parametrize("limit", [0, -1, 2.5, None])
def test_a_number_that_no_count_of_steps_equals_never_fires(limit):
    assert played(AGENT, ENDLESS, limit=limit).ended == "unbounded"


def test_the_least_limit_is_one_more_than_the_rounds():
    assert played(AGENT, THREE_ROUNDS).least_limit == 4


@pytest.mark.parametrize(
    ("reply", "finish", "ended", "returned", "runs", "calls"),
    [
        ("{text: hi}", "stop", "answer", "answer", 0, 1),
        ("{text: hi, stop_reason: stop_sequence}", "stop", "answer", "answer", 0, 1),
        ("{tool_use: {lookup: {key: a}}, stop_reason: end_turn}", "stop", "answer", "answer", 1, 2),
        ("{text: hi, stop_reason: tool_use}", "tool-calls", "bad_call", "stopped", 0, 1),
        ("{text: half, stop_reason: max_tokens}", "length", "max_tokens", "stopped", 0, 1),
        ("{tool_use: {lookup: {key: a}}, stop_reason: max_tokens}", "length", "max_tokens", "stopped", 0, 1),
        ("{text: half, stop_reason: model_context_window_exceeded}", "length", "context_window", "stopped", 0, 1),
        ("{refusal: no}", "content-filter", "refusal", "stopped", 0, 1),
        ("{text: half, stop_reason: pause_turn}", "stop", "pause", "answer", 0, 1),
        ("{tool_use: {lookup: {key: a}}, stop_reason: pause_turn}", "stop", "answer", "answer", 1, 2),
        ("{empty: true}", "stop", "empty", "answer", 0, 1),
        ("{text: hi, stop_reason: {raw: new}}", "other", "answer", "stopped", 0, 1),
        ("{tool_use: {lookup: {key: a}}, stop_reason: {raw: new}}", "other", "dropped_calls", "stopped", 0, 1),
        ("{text: hi, stop_reason: null}", "other", "answer", "stopped", 0, 1),
    ],
)
@pytest.mark.parametrize("style", [AGENT, AGENT_STREAM])
def test_what_becomes_of_each_stop_reason(style, reply, finish, ended, returned, runs, calls):
    run = played(style, f"- {reply}\n- {{text: done}}", wire="anthropic-messages")
    assert (run.finish_reason, run.ended, run.returned) == (finish, ended, returned)
    assert (len(run.tool_runs), run.model_calls) == (runs, calls)


def test_the_loop_does_not_exit_on_every_other_finish_reason():
    assert claim("ai-sdk.exits-on-other-finish-reasons").divergence
    stop = played(AGENT, "- {tool_use: {lookup: {key: a}}, stop_reason: end_turn}\n- {text: done}")
    length = played(
        AGENT, "- {content: [{tool_use: {name: lookup, raw: '{\"ke'}}], stop_reason: max_tokens}\n- {text: done}"
    )
    assert (stop.final_text, length.final_text, len(length.tool_runs)) == ("done", "done", 0)


def test_a_half_turn_that_paused_is_shown_as_an_answer():
    assert claim("ai-sdk.pause-turn-is-not-done")
    run = played(AGENT, "- {text: half, stop_reason: pause_turn}\n- {text: done}")
    assert (run.final_text, run.returned, run.silent) == ("half", "answer", True)


def test_a_paused_call_of_a_declared_provider_tool_is_resumed_until_its_result_comes():
    search = "- {text: working, server_tool_use: {search: {query: x}}, stop_reason: pause_turn}\n"
    result = "- {content: [{server_tool_result: {for: srvtoolu_1, content: []}}, {text: found}]}"
    declared = played(AGENT, search + result, tools="tools: {search: {server: true}}")
    undeclared = played(AGENT, search + result, tools="")
    assert (declared.final_text, declared.model_calls) == ("found", 2)
    assert (undeclared.final_text, undeclared.ended, undeclared.silent) == ("working", "pause", True)


def test_what_was_cut_or_refused_is_returned_like_anything_else():
    assert claim("ai-sdk.cut-and-refused-are-no-answers").divergence
    for reply, finish in (("{text: half, stop_reason: max_tokens}", "length"), ("{refusal: no}", "content-filter")):
        run = played(AGENT, f"- {reply}")
        assert (run.error, run.finish_reason, run.returned) == (None, finish, "stopped")


def test_a_whole_call_beside_a_broken_one_of_a_cut_reply_stops_the_loop():
    run = played(AGENT_STREAM, "- {tool_use: [{lookup: {key: a}}, {lookup: {key: b}}], cut_after: 5}\n- {text: done}")
    assert (run.ended, run.tool_runs, run.model_calls) == ("max_tokens", (), 1)


@pytest.mark.parametrize(
    ("wire", "mark"), [("anthropic-messages", True), ("openai-responses", False), ("openai-chat", False)]
)
def test_failures_become_results(wire, mark):
    assert claim("ai-sdk.failures-become-results").divergence
    calls = "[{nope: {}}, {boom: {}}, {lookup: {wrong: 5}}, {lookup: {key: a}}]"
    run = played(AGENT, f"- tool_use: {calls}\n- text: done", wire=wire)
    bang = "!" if mark else ""
    results = "+".join([f"tool_result(call_{n}){bang}" for n in (1, 2, 3)] + ["tool_result(call_4)"])
    assert requests_of(run)[1][-1] == f"user:{results}"
    texts = told(run)
    unknown = (
        "AI_NoSuchToolError: Model tried to call unavailable tool 'nope'. Available tools: lookup, add, boom, ask."
    )
    assert texts[0] == (unknown if mark else f'{{"error":"{unknown}"}}')
    assert "Error: boom failed" in texts[1]
    assert "AI_InvalidToolInputError: Invalid input for tool lookup: AI_TypeValidationError" in texts[2]
    assert texts[3] == "value of a"


def test_without_any_tool_the_model_reads_that_there_is_none():
    run = played(AGENT, "- tool_use: {lookup: {key: a}}\n- text: done", tools="")
    assert told(run)[0].endswith("unavailable tool 'lookup'. No tools are available.")


def test_arguments_that_are_no_json_are_sent_back_as_an_empty_object():
    run = played(AGENT_STREAM, '- content: [{tool_use: {name: lookup, raw: \'{"key": "a\'}}]\n- text: done')
    resent = [part for part in run.requests[1].new[0].content if isinstance(part, ToolCall)]
    assert resent[0].arguments == "{}"
    assert 'AI_JSONParseError: JSON parsing failed: Text: {"key": "a.' in told(run)[0]


def test_a_tool_never_sees_keys_that_its_schema_does_not_name():
    run = played(AGENT, "- tool_use: {lookup: {key: a, more: 1}}\n- text: done")
    assert run.tool_runs[0].input == {"key": "a"}


def test_a_tool_without_execute_ends_the_loop_after_its_siblings_ran():
    assert claim("ai-sdk.exits-on-tool-without-execute")
    run = played(AGENT, "- tool_use: [{ask: {q: '?'}}, {lookup: {key: a}}]\n- text: done")
    assert (run.ended, run.returned, run.finish_reason) == ("handed_back", "stopped", "tool-calls")
    assert [r.name for r in run.tool_runs] == ["lookup"]


REFUND = "tools: {refund: {input: {id: integer}, returns: refunded, approval: required%s}, free: {returns: ok}}"


def test_a_tool_that_needs_approval_ends_the_run_and_free_siblings_run():
    assert claim("ai-sdk.exits-on-approval")
    run = played(AGENT, "- tool_use: [{refund: {id: 1}}, {free: {}}]\n- text: done", tools=REFUND % "")
    assert (run.ended, run.returned, [r.name for r in run.tool_runs]) == ("approval", "stopped", ["free"])


def test_an_approved_call_runs_in_a_run_of_its_own_before_any_request_and_is_no_step():
    run = played(AGENT, "- tool_use: {refund: {id: 1}}\n- text: done", tools=REFUND % ", approved: true")
    assert (run.ended, run.outcome.reported_count, run.count) == ("answer", 1, 2)
    assert requests_of(run)[1] == ["assistant:tool_use(refund)", "user:tool_result(call_1)"]


@pytest.mark.parametrize(("said", "reads"), [("false", "Tool call execution denied."), ("{reject: no}", "no")])
def test_a_denied_call_is_answered_without_an_error_mark(said, reads):
    run = played(AGENT, "- tool_use: {refund: {id: 1}}\n- text: done", tools=REFUND % f", approved: {said}")
    assert (told(run), run.tool_runs, run.refused_requests) == ([reads], (), [])


def test_a_resume_that_leaves_a_call_unanswered_is_never_sent():
    more = "approvals: [[{approve: call_1}]]"
    run = played(
        AGENT, "- tool_use: [{refund: {id: 1}}, {refund: {id: 2}}]\n- text: done", more=more, tools=REFUND % ""
    )
    assert run.error == {
        "type": "AI_MissingToolResultsError",
        "message": "Tool result is missing for tool call call_2.",
    }
    assert (run.model_calls, len(run.tool_runs)) == (1, 1)


def test_calls_that_share_an_id_all_run_and_without_streaming_are_sent_back_as_the_first():
    calls = "- content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: add, input: {a: 1, b: 2}, id: x}}]"
    whole, streamed = played(AGENT, f"{calls}\n- text: done"), played(AGENT_STREAM, f"{calls}\n- text: done")
    assert len(whole.tool_runs) == len(streamed.tool_runs) == 2
    assert requests_of(whole)[1][0] == "assistant:tool_use(lookup)+tool_use(lookup)"
    assert requests_of(streamed)[1][0] == "assistant:tool_use(lookup)+tool_use(add)"


def test_claudes_package_moves_calls_behind_texts_but_not_over_thinking():
    blocks = "[{thinking: a, signature: s}, {tool_use: {name: lookup, input: {key: a}}}, {text: b}, {thinking: c, signature: s}]"
    run = played(AGENT, f"- content: {blocks}\n  stop_reason: tool_use\n- text: done")
    assert requests_of(run)[1][0] == "assistant:thinking+text+tool_use(lookup)+thinking"


@pytest.mark.parametrize(
    ("status", "calls", "requests", "error"),
    [
        (529, 0, 3, "AI_RetryError"),
        (408, 0, 3, "AI_RetryError"),
        (400, 0, 1, "AI_APICallError"),
        (422, 0, 1, "AI_APICallError"),
    ],
)
def test_each_step_has_two_retries_of_its_own(status, calls, requests, error):
    run = played(AGENT, f"- {{error: {{status: {status}, message: no}}, repeat: 3}}")
    assert (run.model_calls, run.model_requests, run.error["type"]) == (calls, requests, error)


def test_generate_loses_the_steps_that_are_done_and_a_stream_keeps_them():
    script = "- {text: hm, tool_use: {lookup: {key: a}}}\n- {error: {status: 400, message: no}}"
    whole, streamed = played(AGENT, script), played(AGENT_STREAM, script)
    assert (whole.final_text, whole.outcome.reported_count) == (None, None)
    assert (streamed.final_text, streamed.finish_reason, streamed.outcome.reported_count) == ("hm", "other", 1)
    assert whole.returned == streamed.returned == "error"


@pytest.mark.parametrize(
    ("broken", "returned", "finish", "text"),
    [
        ("error: {status: 529, message: Overloaded, after_characters: 5}", "error", "error", "hello"),
        ("disconnect: {after_characters: 5, how: end}", "stopped", "other", "hello"),
        ("disconnect: {after_characters: 5, how: reset}", "error", None, None),
        ("disconnect: {after_characters: 0, how: end}", "error", None, None),
    ],
)
def test_a_stream_that_breaks_off(broken, returned, finish, text):
    run = played(AGENT_STREAM, f"- {{{broken}, content: [{{text: hello there}}]}}\n- text: done")
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("broken_stream", returned, finish, text)


def test_half_a_call_is_an_invalid_one_on_chat_completions_alone():
    script = """
    - disconnect: {after_characters: 5, how: end}
      content: [{tool_use: {name: lookup, input: {key: a}}}]
    - text: done
    """
    chat = played(AGENT_STREAM, script, wire="openai-chat")
    claude = played(AGENT_STREAM, script, wire="anthropic-messages")
    assert (chat.final_text, chat.tool_runs) == ("done", ())
    assert (claude.ended, claude.model_requests) == ("broken_stream", 1)


def test_the_caller_who_gives_up_in_a_tool_loses_everything_after_it_has_run():
    script = "- {text: hm, tool_use: {lookup: {key: a}}}\n- text: done"
    for style in (AGENT, AGENT_STREAM):
        run = played(style, script, more="abort: {during: lookup}")
        assert (run.ended, run.error["type"], run.final_text) == ("aborted", "AbortError", None)
        assert len(run.tool_runs) == run.tool_rounds == 1


def test_generate_does_not_notice_the_abort_where_nothing_follows():
    run = played(AGENT, "- {text: hm, tool_use: {lookup: {key: a}}}", more="abort: {during: lookup}", limit=1)
    assert (run.returned, run.final_text) == ("stopped", "hm")


OUTPUT = "output: {schema: {type: object, properties: {n: {type: integer}}, required: [n]}}"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("{output: {n: 1}}", None),
        ("{text: hello}", "No object generated: could not parse the response."),
        ("{output: {n: x}}", "No object generated: response did not match schema."),
        ("{text: '{\"n\": 1', stop_reason: max_tokens}", "No object generated: could not parse the response."),
        ("{refusal: no}", "No object generated: could not parse the response."),
    ],
)
@pytest.mark.parametrize("style", [AGENT, AGENT_STREAM])
def test_structured_output_that_is_none_is_an_error(style, reply, error):
    run = played(style, f"- {reply}", more=OUTPUT)
    wanted = None if error is None else {"type": "AI_NoObjectGeneratedError", "message": error}
    assert run.error == wanted


def test_each_prompt_has_a_cap_of_its_own_on_one_thread():
    run = played(AGENT, "- tool_use: {lookup: {key: a}}\n- text: one\n- text: two", more="prompt: [go, more]", limit=2)
    assert (run.final_text, run.count, run.outcome.reported_count) == ("two", 3, 1)
    assert requests_of(run)[2] == ["assistant:text", "user:text"]


def test_a_further_prompt_after_an_unrun_call_is_never_sent():
    script = "- {tool_use: {lookup: {key: a}}, stop_reason: max_tokens}\n- text: two"
    run = played(AGENT, script, more="prompt: [go, more]")
    assert (run.error["type"], run.ended, run.model_requests) == ("AI_MissingToolResultsError", "dropped_calls", 1)


def test_responses_gives_a_refusal_with_a_call_the_finish_reason_of_the_call():
    script = (
        "- {content: [{refusal: no}, {tool_use: {name: lookup, input: {key: a}}}], stop_reason: tool_use}\n- text: done"
    )
    run = played(AGENT, script, wire="openai-responses")
    assert (run.final_text, len(run.tool_runs)) == ("done", 1)


@pytest.mark.parametrize("style", [AGENT, "ai-sdk/WorkflowAgent.stream"])
def test_an_agent_that_is_a_tool_has_steps_of_its_own(style):
    more = """
    agents: {billing: {tools: {sum: {returns: "7"}}, replies: [{tool_use: {sum: {}}, seconds: 2}, {text: it is 7}]}}
    """
    tools = "tools: {billing: {input: {q: string}, agent: billing}, free: {returns: ok, seconds: 1}}"
    run = played(style, "- tool_use: [{billing: {q: how much}}, {free: {}}]\n- text: done", more=more, tools=tools)
    assert (run.final_text, run.outcome.reported_count, run.model_calls) == ("done", 2, 4)
    assert (told(run)[-2:], run.seconds) == (["it is 7", "ok"], 2)


def test_an_agent_that_throws_is_an_error_result():
    more = "agents: {billing: {replies: [{error: {status: 400, message: no}}]}}"
    tools = "tools: {billing: {input: {q: string}, agent: billing}}"
    run = played(AGENT, "- tool_use: {billing: {q: a}}\n- text: done", more=more, tools=tools)
    assert (told(run), run.tool_runs[0].is_error) == (["AI_APICallError: no"], True)


def test_the_newer_version_calls_a_claude_stream_without_an_end_interrupted():
    broken = "- {disconnect: {after_characters: 5, how: end}, content: [{text: hello there}]}"
    assert played("ai-sdk/streamText@7.0.173", broken).finish_reason == "interrupted"
    assert played(STREAM, broken).finish_reason == "other"


@pytest.mark.parametrize(("style", "marks"), [(AGENT, "{0}+{0}!"), (AGENT_STREAM, "{0}!+{0}"), (WORKFLOW, "{0}+{0}")])
def test_results_of_calls_that_share_an_id_come_as_they_settle_when_streamed_and_a_throw_settles_first(style, marks):
    calls = [
        f"tool_use: {{name: {name}, input: {{{given}}}, id: call_dup}}"
        for name, given in (("lookup", "key: a"), ("boom", ""))
    ]
    run = played(style, f"- content: [{{{calls[0]}}}, {{{calls[1]}}}]\n- text: done", wire="anthropic-messages")
    assert requests_of(run)[1][1] == "user:" + marks.format("tool_result(call_dup)")


@pytest.mark.parametrize(
    ("wire", "given", "sent"),
    [
        ("anthropic-messages", "[1]", '{"rawInvalidInput":[1]}'),
        ("anthropic-messages", "null", '{"rawInvalidInput":null}'),
        ("openai-responses", "[1]", "[1]"),
        ("openai-responses", "null", "{}"),
        ("openai-chat", "[1]", "{}"),
    ],
)
def test_arguments_that_are_no_object_go_back_as_the_wire_can_say_them(wire, given, sent):
    run = played(AGENT_STREAM, f"- content: [{{tool_use: {{name: lookup, raw: '{given}'}}}}]\n- text: done", wire=wire)
    assert [part.arguments for m in run.requests[1].new for part in m.content if isinstance(part, ToolCall)] == [sent]


@pytest.mark.parametrize(
    ("takes", "given", "asked"),
    [
        ("q: string", "{q: how much}", "how much"),
        ("q: string, of: string", "{q: how much, of: é}", '{"q": "how much", "of": "é"}'),
        ("q: number", "{q: 5}", '{"q": 5}'),
    ],
)
def test_an_agent_that_is_a_tool_is_asked_the_only_text_of_the_input_or_all_of_it(takes, given, asked):
    tools = f"tools: {{billing: {{input: {{{takes}}}, agent: billing}}}}"
    more = "agents: {billing: {replies: [{text: it is 7}]}}"
    run = played(AGENT, f"- tool_use: {{billing: {given}}}\n- text: done", more=more, tools=tools)
    assert run.requests[1].new[0].content[0].text == asked


@pytest.mark.parametrize(("limit", "calls"), [("", 20), ("limit: 2,", 2)])
def test_an_agent_that_is_a_tool_has_twenty_steps_or_the_limit_of_its_own(limit, calls):
    endless = "{tool_use: {sum: {}}, repeat: forever}"
    more = f"agents: {{billing: {{{limit} tools: {{sum: {{returns: '7'}}}}, replies: [{endless}]}}}}"
    tools = "tools: {billing: {input: {q: string}, agent: billing}}"
    run = played(AGENT, "- tool_use: {billing: {q: a}}\n- text: done", more=more, tools=tools)
    assert (run.model_calls, run.final_text) == (calls + 2, "done")
