"""LlamaIndex: the tables of what was measured of llama-index-core 0.14.25, line by line."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

FUNCTIONS, REACT, WORKFLOW = (
    "llama-index/FunctionAgent.run",
    "llama-index/ReActAgent.run",
    "llama-index/AgentWorkflow.run",
)
ALL = (FUNCTIONS, REACT, WORKFLOW)
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
GENERATE = {"early_stopping_method": "generate"}


# -- the cap --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_force_throws_after_n_calls_before_the_last_tools_run(style, limit):
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds) == (limit, limit - 1)
    assert (run.ended, run.error["type"]) == ("limit", "WorkflowRuntimeError")
    assert run.error["message"].startswith(f"Max iterations of {limit} reached!")


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_generate_makes_one_more_call(style, limit):
    run = played(style, ENDLESS, limit=limit, options=GENERATE)
    assert (run.model_requests, run.tool_rounds, run.ended) == (limit + 1, limit - 1, "limit")


@pytest.mark.parametrize("style", ALL)
def test_the_default_cap_is_twenty(style):
    run = played(style, ENDLESS)
    assert (run.model_requests, run.tool_rounds, run.ended) == (20, 19, "limit")


@pytest.mark.parametrize("style", ALL)
def test_an_answer_that_arrives_at_the_cap_is_thrown_away(style):
    run = played(style, "- {text: hello}", limit=1)
    assert (run.model_calls, run.error["type"], run.final_text) == (1, "WorkflowRuntimeError", None)
    assert played(style, "- {text: hello}", limit=2).final_text == "hello"


@pytest.mark.parametrize("style", ALL)
def test_three_rounds_need_a_cap_of_five(style):
    assert played(style, ROUNDS3, limit=4).ended == "limit"
    enough = played(style, ROUNDS3, limit=5)
    assert (enough.ended, enough.model_calls, enough.least_limit) == ("answer", 4, 5)


def test_a_parallel_batch_counts_once():
    assert played(FUNCTIONS, PARALLEL3, limit=3).ended == "answer"
    assert len(played(FUNCTIONS, PARALLEL3, limit=2).tool_runs) == 3


def test_zero_is_the_default_and_less_than_that_stops_after_one_call():
    assert played(FUNCTIONS, ENDLESS, limit=0).model_requests == 20
    run = played(FUNCTIONS, ENDLESS, limit=-1)
    assert (run.model_requests, run.tool_rounds, run.ended) == (1, 0, "limit")


def test_generate_shows_the_model_nothing_of_the_calls_so_far():
    run = played(FUNCTIONS, ENDLESS, limit=3, options=GENERATE)
    assert [block for message in run.requests[-1].new for block in message.content] == []
    assert run.requests[-1].kept == 1


def test_the_text_of_the_extra_call_is_returned_as_an_answer():
    run = played(FUNCTIONS, ROUNDS3, limit=3, options=GENERATE)
    assert (run.model_calls, run.returned, run.final_text, run.ended, run.silent) == (
        4,
        "answer",
        "done",
        "limit",
        True,
    )


def test_another_early_stopping_method_is_refused():
    with pytest.raises(UsageError, match="expected force or generate"):
        played(FUNCTIONS, ENDLESS, options={"early_stopping_method": "stop"})


# -- calls that fail ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [FUNCTIONS, WORKFLOW])
def test_errors_become_results_without_a_mark(style):
    run = played(style, "- {tool_use: [{nope: {}}, {boom: {}}]}\n- {text: done}", wire=CLAUDE)
    assert told(run) == ["Tool nope not found. Please select a tool that is available.", "boom failed"]
    assert requests_of(run)[1][1] == "user:tool_result(call_1)+tool_result(call_2)"


def test_arguments_are_only_held_against_the_signature():
    run = played(FUNCTIONS, "- {tool_use: [{lookup: {wrong: 5}}, {lookup: {}}, {lookup: {key: 5}}]}\n- {text: done}")
    assert [r.input for r in run.tool_runs] == [{"key": 5}]
    assert "unexpected keyword argument 'wrong'" in told(run)[0]
    assert "missing 1 required keyword-only argument" in told(run)[1]


def cut(raw: str, stop: str = "tool_use") -> str:
    return f"- {{content: [{{tool_use: {{name: lookup, raw: '{raw}'}}}}], stop_reason: {stop}}}\n- {{text: done}}"


@pytest.mark.parametrize(("wire", "stream"), [(CHAT, False), (CHAT, True), (CLAUDE, True)])
@pytest.mark.parametrize("stop", ["tool_use", "max_tokens"])
def test_cut_arguments_are_completed_and_run(wire, stream, stop):
    run = played(FUNCTIONS, cut('{"key": "a', stop), wire=wire, stream=stream)
    assert [r.input for r in run.tool_runs] == [{"key": None}]
    assert run.final_text == "done"


def test_on_claudes_wire_cut_arguments_are_empty_without_streaming():
    assert not played(FUNCTIONS, cut('{"key": "a'), wire=CLAUDE).tool_runs


@pytest.mark.parametrize(
    ("raw", "given"),
    [
        ('{"key": "a", "', {"key": "a"}),
        ('{"key": "a",', {"key": "a"}),
        ('{"key": ["a"', {"key": ["a"]}),
        ('{"key": "a\\"b: c', {"key": 'a"b: c'}),
        ('{"key": "x:y', {"key": "x:y"}),
    ],
)
def test_how_cut_arguments_are_completed(raw, given):
    assert [r.input for r in played(FUNCTIONS, cut(raw), wire=CHAT).tool_runs] == [given]


def test_what_is_no_json_at_all_is_no_argument():
    run = played(FUNCTIONS, cut("not json"), wire=CHAT)
    assert not run.tool_runs
    assert run.final_text == "done"


def test_it_never_stops_by_itself_on_repeats():
    assert played(FUNCTIONS, "- {tool_use: {nope: {}}, repeat: forever}", limit=40).model_calls == 40


# -- stop reasons ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
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
def test_any_text_is_the_answer(reply, ended, stream):
    run = played(FUNCTIONS, f"- {reply}", wire=CLAUDE, stream=stream)
    assert (run.returned, run.final_text, run.ended, run.silent) == ("answer", "half", ended, True)


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn", "refusal", "end_turn"])
def test_calls_are_run_whatever_the_reply_stopped_for(stop):
    replies = f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- {{text: done}}"
    assert len(played(FUNCTIONS, replies, wire=CLAUDE, stream=True).tool_runs) == 1


def test_a_refusal_on_openais_wire_is_an_empty_answer():
    run = played(FUNCTIONS, "- {refusal: I can't.}", wire=CHAT, stream=True)
    assert (run.returned, run.final_text, run.ended) == ("answer", "", "refusal")


def test_an_empty_reply_is_an_answer_of_the_function_agent():
    assert played(FUNCTIONS, "- {empty: true}", wire=CLAUDE).final_text is None
    assert played(FUNCTIONS, "- {empty: true}", wire=CHAT, stream=True).final_text == ""


# -- faults, ids, history -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "stream", "requests"), [(CLAUDE, False, 11), (CLAUDE, True, 11), (CHAT, True, 4), (CHAT, False, 12)]
)
def test_the_clients_retry_as_often_as_llama_index_tells_them(wire, stream, requests):
    run = played(FUNCTIONS, "- {error: 500, repeat: forever}", wire=wire, stream=stream)
    assert (run.model_requests, run.error["type"]) == (requests, "InternalServerError")


def test_what_will_not_pass_is_left_to_openais_client_alone():
    assert played(FUNCTIONS, "- {error: 409, repeat: forever}", wire=CHAT, stream=False).model_requests == 4


def test_a_client_error_leaves_the_run_at_once():
    run = played(FUNCTIONS, "- {error: 400}\n- {text: done}")
    assert (run.model_requests, run.error["type"]) == (1, "BadRequestError")


DUPLICATE = """
- content: [{tool_use: {name: lookup, id: same, input: {key: a}}}, {tool_use: {name: lookup, id: same, input: {key: b}}}]
- text: done
"""


def test_calls_that_share_an_id_are_both_run():
    assert len(played(FUNCTIONS, DUPLICATE, wire=CHAT, stream=True).tool_runs) == 2
    assert len(played(FUNCTIONS, DUPLICATE, wire=CLAUDE).tool_runs) == 2


def test_texts_of_one_reply_are_lines_of_the_answer():
    run = played(FUNCTIONS, "- {content: [{text: one}, {text: two}]}", wire=CLAUDE)
    assert run.final_text == "one\ntwo"


def test_a_return_direct_tool_is_the_answer_unless_it_fails():
    tools = "tools: {last: {returns: the end, return_direct: true}, boom: {raises: boom failed, return_direct: true}}"
    run = played(FUNCTIONS, "- {tool_use: {last: {}}}\n- {text: done}", tools=tools)
    assert (run.ended, run.final_text, run.model_calls) == ("tool_result", "the end", 1)
    assert played(FUNCTIONS, "- {tool_use: {boom: {}}}\n- {text: done}", tools=tools).final_text == "done"


def test_at_most_four_tools_run_at_once():
    tools = "tools: {slow: {seconds: 1}}"
    calls = ", ".join(["{slow: {}}"] * 5)
    assert played(FUNCTIONS, f"- {{tool_use: [{calls}]}}\n- {{text: done}}", tools=tools).seconds == 2


def test_what_a_stopped_run_did_is_in_no_later_prompts_history():
    run = played(
        FUNCTIONS, "- {tool_use: {lookup: {key: a}}, repeat: 2}\n- {text: two}", more="prompt: [go, more]", limit=2
    )
    assert requests_of(run)[-1] == ["user:text+text"]
    assert run.final_text == "two"


# -- the ReAct agent ------------------------------------------------------------------------------------------------


def test_a_call_is_a_text_and_its_result_a_text_of_the_user():
    run = played(REACT, "- {tool_use: {lookup: {key: a}}}\n- {text: done}")
    assert requests_of(run)[1] == ["assistant:text", "user:text"]
    texts = [block.text for message in run.requests[1].new for block in message.content]
    assert texts[1] == "Observation: value of a"
    assert run.final_text == "done"


def test_an_empty_reply_is_asked_again_with_the_prompt_said_once_more():
    run = played(REACT, "- {empty: true}\n- {text: done}", wire=CHAT)
    assert requests_of(run)[1] == ["user:text+text", "assistant:text", "user:text"]
    assert (run.model_calls, run.final_text) == (2, "done")


def test_asking_again_costs_an_iteration():
    assert played(REACT, "- {empty: true}\n- {text: done}", limit=2).ended == "limit"


def test_an_action_without_a_whole_input_is_asked_again():
    run = played(REACT, cut('{"key": "a'), wire=CHAT)
    assert (run.model_calls, len(run.tool_runs), run.final_text) == (2, 0, "done")


def test_the_words_before_an_answer_are_left_out():
    run = played(REACT, "- {text: 'Thought: I know. Answer: 42'}")
    assert run.final_text == "42"


def test_what_was_said_becomes_one_message_of_the_memory():
    replies = "- {tool_use: {lookup: {key: a}}}\n- {text: one}\n- {text: two}"
    run = played(REACT, replies, more="prompt: [go, more]")
    assert requests_of(run)[-1] == ["assistant:text", "user:text"]
