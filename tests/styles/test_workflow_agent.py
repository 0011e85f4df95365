"""WorkflowAgent: where its loop differs from the AI SDK's own."""

from __future__ import annotations

import pytest

from agentsim.core.messages import ToolCall
from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

STREAM, GENERATE = "ai-sdk/WorkflowAgent.stream", "ai-sdk/WorkflowAgent.generate"
CORE = "ai-sdk/ToolLoopAgent.stream"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
ONE_ROUND = "- tool_use: {lookup: {key: a}}\n- text: done"
ROUNDS = "- {tool_use: {lookup: {key: a}}, repeat: 25}\n- text: done"


def test_generate_throws_before_any_request():
    assert claim("ai-sdk.workflow-generate-defaults-to-20").divergence
    run = played(GENERATE, "- text: done")
    assert (run.ended, run.error, run.model_requests) == (
        "not_implemented",
        {"type": "Error", "message": "Not implemented"},
        0,
    )


def test_stream_has_no_default_cap():
    assert claim("ai-sdk.workflow-stream-has-no-cap")
    run = played(STREAM, ROUNDS)
    assert (run.model_calls, run.returned, run.limit) == (26, "answer", None)
    assert played(STREAM, ENDLESS).ended == "unbounded"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_cap_counts_model_calls_and_the_last_ones_tools_run(limit):
    run = played(STREAM, ENDLESS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.ended, run.finish_reason) == (limit, limit, "limit", "tool-calls")


def test_a_broken_cut_call_stops_it():
    cut = "- {tool_use: {lookup: {key: a}}, cut_after: 4}\n- text: done"
    run = played(STREAM, cut)
    assert (run.ended, run.finish_reason, run.model_calls) == ("max_tokens", "length", 1)
    assert played(CORE, cut).final_text == "done"


def test_a_cut_call_is_never_put_up_for_approval():
    tools = "tools: {refund: {input: {id: integer}, returns: ok, approval: required}}"
    cut = "- {tool_use: {refund: {id: 1}}, stop_reason: max_tokens}\n- text: done"
    assert played(STREAM, cut, tools=tools).ended == "max_tokens"
    assert played(CORE, cut, tools=tools).ended == "approval"


def test_invalid_calls_move_to_the_end_and_their_results_keep_their_place():
    run = played(STREAM, "- tool_use: [{nope: {}}, {lookup: {key: a}}]\n- text: done")
    assert requests_of(run)[1] == [
        "assistant:tool_use(lookup)+tool_use(nope)",
        "user:tool_result(call_1)!+tool_result(call_2)",
    ]


@pytest.mark.parametrize(
    ("wire", "resent"),
    [("anthropic-messages", '{"rawInvalidInput":"{\\"key"}'), ("openai-responses", '"{\\"key"'), ("openai-chat", "{}")],
)
def test_arguments_that_are_no_json_are_kept_where_the_wire_can(wire, resent):
    run = played(STREAM, "- content: [{tool_use: {name: lookup, raw: '{\"key'}}]\n- text: done", wire=wire)
    assert [p.arguments for p in run.requests[1].new[0].content if isinstance(p, ToolCall)] == [resent]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{}", "data must have required property 'key'"),
        ("{key: 5}", "data/key must be string"),
        ("{key: a, more: 1}", "data must NOT have additional properties"),
    ],
)
def test_the_schema_is_checked_by_ajv(arguments, says):
    run = played(STREAM, f"- tool_use: {{lookup: {arguments}}}\n- text: done")
    assert told(run)[0].endswith(f"\nError message: Error: {says}")


def test_thinking_is_not_sent_back():
    run = played(
        STREAM, "- {content: [{thinking: hm, signature: s}, {tool_use: {name: lookup, input: {key: a}}}]}\n- text: done"
    )
    assert requests_of(run)[1][0] == "assistant:tool_use(lookup)"


def test_of_calls_that_share_an_id_each_result_is_the_first_ones():
    calls = "[{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]"
    run = played(STREAM, f"- content: {calls}\n- text: done")
    assert (len(run.tool_runs), told(run)) == (2, ["value of a", "value of a"])


def test_a_pending_provider_call_gets_one_more_request():
    script = (
        "- {text: working, server_tool_use: {search: {q: x}}, stop_reason: pause_turn}\n- text: still\n- text: more"
    )
    tools = "tools: {search: {server: true}}"
    assert (played(STREAM, script, tools=tools).final_text, played(STREAM, script, tools=tools).model_calls) == (
        "still",
        2,
    )


def test_a_later_steps_failure_rejects():
    run = played(STREAM, "- {text: hm, tool_use: {lookup: {key: a}}}\n- {error: {status: 400, message: no}}")
    assert (run.error, run.final_text) == ({"type": "AI_APICallError", "message": "no"}, None)


def test_an_error_event_resolves_with_the_error():
    broken = "- {error: {status: 529, message: Overloaded, after_characters: 5}, content: [{text: hello there}]}"
    run = played(STREAM, broken)
    assert (run.error["type"], run.finish_reason, run.final_text) == ("AI_StreamProviderError", "other", "hello")
    assert played(STREAM, broken, wire="openai-chat").finish_reason == "error"


def test_a_stream_without_an_end_is_a_reason_it_does_not_know():
    broken = "- {disconnect: {after_characters: 5, how: end}, content: [{text: hello there}]}"
    run = played(STREAM, broken, wire="openai-responses")
    assert run.error == {"type": "Error", "message": "Unexpected finish reason: interrupted"}
    assert played(STREAM, broken, wire="anthropic-messages").returned == "stopped"


def test_after_an_abort_it_resolves_with_the_steps_that_are_done():
    run = played(STREAM, "- {text: hm, tool_use: {lookup: {key: a}}}\n- text: done", more="abort: {during: lookup}")
    assert (run.ended, run.returned, run.finish_reason, run.final_text) == ("aborted", "stopped", "tool-calls", "hm")
    none = played(STREAM, "- text: done", more="abort: {before_reply: 1}")
    assert (none.returned, none.finish_reason, none.final_text, none.outcome.reported_count) == (
        "stopped",
        "other",
        None,
        0,
    )


def test_text_that_is_not_the_output_rejects_at_the_cap_too():
    output = "output: {schema: {type: object, properties: {n: {type: integer}}, required: [n]}}"
    run = played(STREAM, "- {text: hm, tool_use: {lookup: {key: a}}}\n- text: done", more=output, limit=1)
    assert (run.error["type"], run.ended) == ("AI_NoObjectGeneratedError", "limit")


# -- options ----------------------------------------------------------------------------------------------------------


def test_an_async_condition_always_stops():
    run = played(STREAM, ONE_ROUND, options={"stopWhen": {"scripted": [False], "async": True}})
    assert (run.model_calls, run.ended) == (1, "stop_condition")


def test_conditions_are_called_up_to_the_first_true_one():
    later = {"scripted": [{"raises": "asked"}]}
    run = played(STREAM, ONE_ROUND, options={"stopWhen": [{"scripted": [True]}, later]})
    assert (run.ended, run.error) == ("stop_condition", None)


def test_the_calls_own_condition_wins():
    options = {"stopWhen": {"isStepCount": 3}, "stream": {"stopWhen": {"isStepCount": 2}}}
    assert played(STREAM, ENDLESS, options=options).model_calls == 2


def test_what_prepare_step_returns_is_kept():
    options = {"prepareStep": {"scripted": [{"toolChoice": "required"}, {}]}}
    run = played(STREAM, ONE_ROUND, options=options)
    assert (run.error["type"], run.finish_reason, run.final_text) == ("AI_ToolChoiceViolationError", "error", "done")


def test_active_tools_are_kept_too():
    calls = "- tool_use: {lookup: {key: a}}\n- tool_use: {lookup: {key: b}}\n- text: done"
    run = played(STREAM, calls, options={"prepareStep": {"scripted": [{"activeTools": []}, None]}})
    assert run.tool_runs == ()


def test_tool_call_concurrency_is_ignored():
    tools = "tools: {one: {returns: 1, seconds: 2}, two: {returns: 2, seconds: 3}}"
    calls = "- tool_use: [{one: {}}, {two: {}}]\n- text: done"
    assert played(STREAM, calls, tools=tools, options={"toolCallConcurrency": 1}).seconds == 3


def test_approved_calls_run_one_after_another():
    tools = "tools: {slow: {returns: ok, seconds: 2, approval: required, approved: true}}"
    calls = "- tool_use: [{slow: {}}, {slow: {}}]\n- text: done"
    assert (played(STREAM, calls, tools=tools).seconds, played(CORE, calls, tools=tools).seconds) == (4, 2)


def test_repair_and_retries_are_as_the_ai_sdks():
    repaired = played(
        STREAM,
        "- tool_use: {look: {key: a}}\n- text: done",
        options={"repairToolCall": {"scripted": [{"toolName": "lookup"}]}},
    )
    assert [r.name for r in repaired.tool_runs] == ["lookup"]
    assert played(STREAM, "- {error: 529, repeat: forever}", options={"maxRetries": 0}).model_requests == 1


def test_what_it_has_no_word_for_is_refused():
    with pytest.raises(UsageError, match="unknown option 'toolApproval'"):
        played(STREAM, ONE_ROUND, options={"toolApproval": {"lookup": "denied"}})
