"""The reference loop: what a careful engineer would ship, one sentence a rule."""

from __future__ import annotations

import pytest

import agentsim

TOOLS = """
  lookup: {input: {key: string}, returns: "value of {key}"}
  boom: {raises: boom failed}
  ask: {execute: client}
  direct: {returns: done at once, return_direct: true}
  pay: {input: {cents: integer}, returns: "paid {cents}", approval: required}
"""


def play(replies: str, more: str = "", **settings):
    text = f"agentsim: 1\nprompt: go\ntools: {TOOLS}\nreplies:\n{replies}\n{more}"
    return agentsim.run(agentsim.loads(text), **settings)


def sent(result, number: int) -> list[str]:
    """What request `number` (from 1) newly carries, in short."""
    return result.requests[number - 1].short()["new"]


def test_results_of_parallel_calls_go_back_in_one_message_in_call_order():
    result = play("- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]\n- text: done")
    assert sent(result, 2)[1] == "user:tool_result(call_1)+tool_result(call_2)"


@pytest.mark.parametrize(
    "call",
    ["{nope: {}}", "{boom: {}}", "{lookup: {wrong: 5}}", "{lookup: {key: 5}}"],
    ids=["an unknown tool", "a throwing tool", "a missing key", "a wrong type"],
)
def test_a_mistake_becomes_an_error_result_and_the_loop_goes_on(call):
    result = play(f"- tool_use: {call}\n- text: done")
    assert sent(result, 2)[1] == "user:tool_result(call_1)!"
    assert result.ended == "answer"


def test_arguments_that_are_no_json_become_an_error_result():
    replies = "- content: [{tool_use: {name: lookup, raw: not json}}]\n- text: done"
    result = play(replies, stream=True)
    assert sent(result, 2)[1] == "user:tool_result(call_1)!"
    assert not result.tool_runs


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("cut", [0, 3, 13, 99])
def test_a_cut_call_never_runs_and_gets_an_error_result(cut, stream):
    result = play(f"- tool_use: {{lookup: {{key: a}}}}\n  cut_after: {cut}\n- text: done", stream=stream)
    assert not result.tool_runs
    assert sent(result, 2)[1] == "user:tool_result(call_1)!"
    assert result.ended == "answer"


def test_a_pause_is_sent_back_unchanged_and_last_and_costs_a_call():
    result = play("- text: working\n  server_tool_use: {search: {q: x}}\n  stop_reason: pause_turn\n- text: done")
    assert sent(result, 2) == ["assistant:text+server_tool_use(search)"]
    assert (result.ended, result.count, result.refused_requests) == ("answer", 2, [])


def test_an_endless_pause_ends_at_the_limit():
    result = play("- {text: working, stop_reason: pause_turn, repeat: forever}", limit=4)
    assert (result.ended, result.returned, result.model_calls) == ("limit", "error", 4)


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ("{refusal: I can't help with that.}", "refusal"),
        ("{refusal: ''}", "refusal"),
        ("{text: half an ans, stop_reason: max_tokens}", "max_tokens"),
        ("{text: half, stop_reason: model_context_window_exceeded}", "context_window"),
        ("{text: hm, stop_reason: tool_use}", "bad_call"),
        ("{content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]}", "bad_call"),
    ],
    ids=["a refusal", "a refusal without words", "a cut text", "a full context", "tool_use without a call", "duplicate ids"],
)  # fmt: skip
def test_what_is_no_answer_raises_and_runs_nothing(reply, ended):
    result = play(f"- {reply}\n- text: done")
    assert (result.ended, result.returned, result.silent, result.tool_runs) == (ended, "error", False, ())


@pytest.mark.parametrize("stop", ["stop_sequence", "end_turn", "{raw: some_new_reason}"])
def test_text_that_stopped_on_anything_else_is_an_answer(stop):
    result = play(f"- {{text: part, stop_reason: {stop}}}")
    assert (result.ended, result.final_text) == ("answer", "part")


def test_calls_beside_end_turn_are_run():
    result = play("- {tool_use: {lookup: {key: a}}, stop_reason: end_turn}\n- text: done")
    assert (result.tool_rounds, result.final_text) == (1, "done")


def test_an_empty_reply_is_asked_again_once():
    assert play("- {text: ''}\n- text: done").ended == "answer"
    twice = play("- {text: ''}\n- {empty: true}\n- text: done")
    assert (twice.ended, twice.returned) == ("empty", "error")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_a_transient_fault_is_sent_again_without_running_tools_again(status):
    result = play(f"- tool_use: {{lookup: {{key: a}}}}\n- {{error: {status}, repeat: 2}}\n- text: done")
    assert (result.model_calls, result.model_requests, len(result.tool_runs)) == (2, 4, 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_client_error_is_not_sent_again(status):
    result = play(f"- error: {status}\n- text: done")
    assert (result.model_requests, result.ended) == (1, "http_error")


def test_a_broken_stream_runs_nothing_and_is_sent_again():
    replies = "- {disconnect: {after_characters: 5, how: reset}, tool_use: {lookup: {key: a}}}\n- text: done"
    result = play(replies, stream=True)
    assert (result.tool_runs, result.final_text, result.model_requests) == ((), "done", 2)


def test_the_limit_raises_before_the_last_replys_tools_run():
    result = play("- {tool_use: {lookup: {key: a}}, repeat: forever}", limit=3)
    assert (result.model_calls, result.tool_rounds, result.returned) == (3, 2, "error")
    assert result.error["type"] == "LimitReached"


def test_a_client_tool_is_handed_back_after_its_siblings_ran():
    result = play("- tool_use: [{lookup: {key: a}}, {ask: {}}]\n- text: done")
    assert (result.ended, result.returned, len(result.tool_runs)) == ("handed_back", "stopped", 1)


def test_a_direct_tools_result_is_the_answer():
    result = play("- tool_use: {direct: {}}\n- text: never asked for")
    assert (result.ended, result.final_text, result.unused_replies) == ("tool_result", "done at once", 1)


def test_nothing_of_a_reply_runs_before_everybody_has_approved():
    result = play("- tool_use: [{lookup: {key: a}}, {pay: {cents: 5}}]\n- text: done")
    assert (result.ended, result.returned, result.tool_runs) == ("approval", "stopped", ())


@pytest.mark.parametrize(
    ("answers", "paid", "mark"),
    [("[[approve]]", 5, ""), ("[[{reject: call_1, message: too much}]]", None, "!"), ("[[{edit: call_1, input: {cents: 1}}]]", 1, ""), ("[[], [approve]]", 5, "")],
    ids=["approved", "rejected", "edited", "approved at the second resume"],
)  # fmt: skip
def test_an_approval_is_carried_out(answers, paid, mark):
    result = play("- tool_use: {pay: {cents: 5}}\n- text: done", f"approvals: {answers}")
    assert [run.input["cents"] for run in result.tool_runs] == ([] if paid is None else [paid])
    assert sent(result, 2)[1] == f"user:tool_result(call_1){mark}"


def test_each_prompt_has_a_limit_of_its_own_and_a_stopped_run_leaves_a_thread_that_can_go_on():
    text = f"""
agentsim: 1
prompt: [first, second]
tools: {TOOLS}
replies: [{{tool_use: {{lookup: {{key: a}}}}, repeat: 2}}, {{text: done}}]
"""
    result = agentsim.run(agentsim.loads(text), limit=2)
    assert (result.ended, result.final_text, result.refused_requests) == ("answer", "done", [])
    assert (result.model_calls, result.count) == (3, 3)


def test_a_dollar_budget_raises_before_tools_run():
    more = "price: {input: 1000000, output: 0}"
    result = play("- tool_use: {lookup: {key: a}}\n- text: done", more, options={"max_cost_usd": 5})
    assert (result.ended, result.returned, result.tool_runs, result.cost_usd) == ("cost", "error", (), 10.0)


def test_a_time_budget_raises_while_a_tool_runs():
    text = "agentsim: 1\nprompt: go\ntools: {slow: {returns: ok, seconds: 3}}\nreplies: [{tool_use: {slow: {}}}, {text: done}]"
    result = agentsim.run(agentsim.loads(text), options={"max_seconds": 2})
    assert (result.ended, result.seconds) == ("timeout", 2.0)


def test_a_structured_output_that_does_not_fit_is_asked_for_again_once():
    more = "output: {schema: {type: object, required: [city]}}"
    assert play("- text: no json\n- {output: {city: Rome}}", more).ended == "answer"
    assert play("- text: no json\n- text: '{}'\n- text: never", more).error["type"] == "OutputInvalid"


def test_cost_is_additive_over_replies():
    more = "price: {input: 3.0, output: 15.0}"
    one = play("- text: done", more).cost_usd
    four = play("- {tool_use: {lookup: {key: a}}, repeat: 3}\n- text: done", more).cost_usd
    assert four == pytest.approx(4 * one)


def test_side_by_side_tools_take_as_long_as_the_longest():
    text = "agentsim: 1\nprompt: go\ntools: {slow: {returns: ok, seconds: [3, 1]}}\nreplies: [{tool_use: [{slow: {}}, {slow: {}}], seconds: 2}, {text: done, seconds: 1}]"
    assert agentsim.run(agentsim.loads(text)).seconds == 6.0


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(agentsim.UsageError, match="did you mean 'max_cost_usd'"):
        play("- text: done", options={"max_cost": 1})
