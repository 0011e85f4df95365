"""crewai: the tables of what was measured of crewai 1.15.30, line by line."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

CREW, AGENT = "crewai/Crew.kickoff", "crewai/Agent.kickoff"
BOTH = (CREW, AGENT)
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


def varied(rounds: int) -> str:
    return "\n".join(f"- {{tool_use: {{lookup: {{key: k{n}}}}}}}" for n in range(rounds)) + "\n- {text: done}"


# -- the cap --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_at_the_cap_one_more_call_is_made(style, limit):
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_requests, run.tool_rounds, run.ended) == (limit + 1, limit, "limit")


def test_calls_in_the_extra_reply_fail_the_crew_and_are_the_agents_answer():
    assert played(CREW, ENDLESS, limit=1).error["type"] == "ValidationError"
    run = played(AGENT, ENDLESS, limit=1, wire=CLAUDE)
    assert (run.returned, run.silent) == ("answer", True)
    assert run.final_text.startswith("[ToolUseBlock(id='call_2'")


@pytest.mark.parametrize("style", BOTH)
def test_the_text_of_the_extra_call_is_the_answer(style):
    run = played(style, ROUNDS3, limit=3)
    assert (run.model_calls, run.returned, run.final_text, run.ended) == (4, "answer", "done", "limit")
    assert requests_of(run)[-1] == ["assistant:tool_use(lookup)", "user:tool_result(call_3)+text"]


def test_of_a_forced_text_what_follows_final_answer_is_taken():
    run = played(CREW, "- {tool_use: {lookup: {key: a}}}\n- {text: 'Thought: hm Final Answer: forty'}", limit=1)
    assert run.final_text == "forty"


def test_the_default_cap_is_twenty_five():
    run = played(CREW, varied(40))
    assert (run.model_requests, run.tool_rounds, run.ended) == (26, 25, "limit")


def test_a_parallel_batch_counts_once():
    assert played(CREW, PARALLEL3, limit=1).final_text == "done"


@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize("style", BOTH)
def test_a_cap_below_one_dies_before_any_request(style, limit):
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_requests, run.error["type"], run.ended) == (0, "RecursionError", "limit")
    assert "check_todos_available" in run.error["message"]


# -- the stop at the same call --------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", BOTH)
def test_the_fifth_same_call_with_the_same_result_ends_the_run_without_another_attempt(style):
    run = played(style, ENDLESS)
    assert (run.model_requests, run.tool_rounds) == (5, 5)
    assert (run.error["type"], run.ended) == ("ToolExecutionFailedError", "tool_error")


def test_same_calls_need_not_follow_each_other():
    replies = "\n".join(f"- {{tool_use: {{lookup: {{key: {key}}}}}}}" for key in "ababababa")
    assert played(CREW, replies).model_requests == 9


@pytest.mark.parametrize("call", ["{nope: {}}", "{boom: {}}", "{lookup: {wrong: 5}}"])
def test_failing_calls_count_too(call):
    run = played(CREW, f"- {{tool_use: {call}, repeat: forever}}")
    assert (run.model_requests, run.error["type"]) == (5, "ToolExecutionFailedError")


def test_broken_json_is_not_counted():
    replies = "- {content: [{tool_use: {name: lookup, raw: '{\"ke'}}], repeat: forever}"
    assert played(CREW, replies, limit=7, wire=CHAT).model_requests == 8


def test_another_result_is_another_call():
    tools = "tools: {poll: {returns_each: ['1', '2', '3', '4', '5', '6', '7']}}"
    assert played(CREW, "- {tool_use: {poll: {}}, repeat: 6}\n- {text: done}", tools=tools).final_text == "done"


# -- attempts -------------------------------------------------------------------------------------------------------


def test_an_empty_reply_starts_the_crews_task_from_scratch():
    run = played(CREW, "- {tool_use: {lookup: {key: a}}}\n- {text: ''}\n- {text: done}")
    assert (run.model_calls, run.final_text) == (3, "done")
    assert (run.requests[2].kept, requests_of(run)[2]) == (1, [])


def test_three_attempts_are_made():
    run = played(CREW, "- {text: '', repeat: forever}")
    assert (run.model_requests, run.error["type"], run.ended) == (3, "ValueError", "empty")
    assert played(CREW, "- {text: '', repeat: forever}", options={"max_retry_limit": 0}).model_requests == 1


def test_agent_kickoff_makes_one_attempt():
    assert played(AGENT, "- {text: '', repeat: forever}").model_requests == 1


def test_even_a_client_error_is_tried_again():
    run = played(CREW, "- {error: 400}\n- {text: done}")
    assert (run.model_requests, run.final_text) == (2, "done")


@pytest.mark.parametrize(("status", "crew", "agent"), [(529, 9, 3), (500, 9, 3), (429, 27, 9), (400, 3, 1)])
def test_how_often_a_failing_request_is_sent(status, crew, agent):
    replies = f"- {{error: {{status: {status}, message: sorry}}, repeat: forever}}"
    assert played(CREW, replies).model_requests == crew
    assert played(AGENT, replies).model_requests == agent


def test_a_refusal_on_openais_wire_is_an_empty_reply():
    run = played(CREW, "- {refusal: I can't.}\n- {text: done}", wire=CHAT)
    assert (run.model_calls, run.final_text) == (2, "done")


# -- calls that fail ------------------------------------------------------------------------------------------------


def test_errors_become_results_without_a_mark():
    replies = "- {tool_use: [{nope: {}}, {boom: {}}, {lookup: {wrong: 5}}]}\n- {text: done}"
    run = played(CREW, replies, wire=CLAUDE)
    unknown, thrown, misfit = told(run)
    assert (unknown, thrown) == ("Tool not found", "Error executing tool: boom failed")
    assert misfit.startswith("Error executing tool: Tool 'lookup' arguments validation failed")
    assert requests_of(run)[1][1] == "user:tool_result(call_1)+tool_result(call_2)+tool_result(call_3)"


def test_broken_json_is_told():
    run = played(CREW, "- {content: [{tool_use: {name: lookup, raw: '{\"ke'}}]}\n- {text: done}", wire=CHAT)
    assert told(run)[0].startswith("Error: Failed to parse tool arguments as JSON: Unterminated string")
    assert not run.tool_runs


# -- stop reasons and history ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens"),
        ("{text: half, stop_reason: pause_turn}", "pause"),
        ("{text: half, stop_reason: refusal}", "refusal"),
        ("{text: half, stop_reason: tool_use}", "bad_call"),
    ],
)
def test_any_text_is_the_answer(reply, ended):
    run = played(CREW, f"- {reply}", wire=CLAUDE)
    assert (run.returned, run.final_text, run.ended, run.silent) == ("answer", "half", ended, True)


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn", "refusal", "end_turn"])
def test_calls_are_run_whatever_the_reply_stopped_for(stop):
    replies = f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {stop}}}\n- {{text: done}}"
    assert len(played(CREW, replies, wire=CLAUDE).tool_runs) == 1


def test_a_text_beside_calls_is_lost():
    run = played(CREW, "- {text: let me look, tool_use: {lookup: {key: a}}}\n- {text: done}")
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:tool_result(call_1)"]
    assert run.final_text == "done"


def test_calls_that_share_an_id_are_both_run():
    reply = (
        "{tool_use: {name: lookup, id: same, input: {key: a}}}, {tool_use: {name: lookup, id: same, input: {key: b}}}"
    )
    assert len(played(CREW, f"- content: [{reply}]\n- text: done").tool_runs) == 2


def test_a_return_direct_tool_is_the_answer_and_stops_its_siblings():
    tools = "tools: {last: {returns: the end, return_direct: true}, lookup: {input: {key: string}}}"
    run = played(CREW, "- {tool_use: [{last: {}}, {lookup: {key: a}}]}\n- {text: done}", tools=tools)
    assert (run.ended, run.final_text, [r.name for r in run.tool_runs]) == ("tool_result", "the end", ["last"])


def test_every_kickoff_starts_from_nothing():
    run = played(CREW, "- {text: one}\n- {text: two}", more="prompt: [go, more]")
    assert [sent.kept for sent in run.requests] == [0, 0]
    assert requests_of(run)[1] == ["user:text"]


def test_options_that_it_does_not_have_are_named():
    with pytest.raises(UsageError, match="did you mean 'max_retry_limit'"):
        played(CREW, ENDLESS, options={"max_retries": 1})
    with pytest.raises(UsageError, match="takes no options"):
        played(AGENT, ENDLESS, options={"max_retry_limit": 1})
