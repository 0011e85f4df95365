"""smolagents: a step is a model call and its tools, the history is text, and only `final_answer` is an answer."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of

CALLING = "smolagents/ToolCallingAgent.run"
CODING = "smolagents/CodeAgent.run"
BOTH = [CALLING, CODING]
CALL = "{tool_use: {lookup: {key: a}}}"
ENDLESS = "- {tool_use: {lookup: {key: a}}, repeat: forever}"
ANSWER = "{tool_use: {final_answer: {answer: done}}}"
OBEYS = {"final_answer": True}


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_at_max_steps_one_more_call_without_tools_is_made(style, limit):
    assert "one more model call" in claim("smolagents.one-more-call").says
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.ended, run.returned) == (limit + 1, limit, "limit", "stopped")
    assert (run.finish_reason, run.count) == ("max_steps_error", limit)
    assert run.requests[-1].new[-1].content[0].text.endswith("following user task:")


def test_twenty_steps_by_default():
    assert (played(CALLING, ENDLESS).model_calls, played(CALLING, ENDLESS).tool_rounds) == (21, 20)


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize(("limit", "requests"), [(0, 1), (-1, 0), (2.5, 2)])
def test_a_cap_that_the_step_count_never_equals_ends_in_an_unbound_variable(style, limit, requests):
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_requests, run.error["type"], run.ended) == (requests, "UnboundLocalError", "limit")


def test_the_extra_call_s_text_is_returned_and_its_calls_are_ignored():
    run = played(CALLING, f"- {CALL}\n- text: so far", limit=1)
    assert (run.final_text, run.returned, run.ended) == ("so far", "stopped", "limit")
    assert played(CALLING, ENDLESS, limit=1).final_text is None


def test_the_extra_call_asks_for_the_reply_in_one_piece_also_where_steps_stream():
    broken = "{text: so far, disconnect: {after_characters: 2, how: end}}"
    assert played(CALLING, f"- {CALL}\n- {broken}", limit=1, stream=True).final_text == "so far"
    assert played(CALLING, f"- {broken}\n- {ANSWER}", stream=True).final_text == "done"


def test_an_error_of_the_extra_call_becomes_the_text():
    run = played(CALLING, f"- {CALL}\n- {{error: 400}}", limit=1)
    assert (run.returned, run.ended) == ("stopped", "limit")
    assert "Error in generating final LLM output" in run.final_text


def test_a_plain_text_is_no_answer_to_a_tool_calling_agent():
    assert "only a call of final_answer" in claim("smolagents.text-is-no-answer").says
    run = played(CALLING, "- {text: hello, repeat: forever}")
    assert (run.model_calls, run.tool_rounds, run.finish_reason, run.final_text) == (21, 0, "max_steps_error", "hello")


def test_a_call_of_final_answer_is_the_answer():
    run = played(CALLING, f"- {CALL}\n- {ANSWER}")
    assert (run.final_text, run.returned, run.finish_reason, run.model_calls) == ("done", "answer", "success", 2)
    assert (run.tool_rounds, run.least_limit) == (1, 2)


@pytest.mark.parametrize(
    "calls",
    [
        "[{lookup: {key: a}}, {final_answer: {answer: done}}]",
        "[{final_answer: {answer: done}}, {lookup: {key: a}}]",
        "[{final_answer: {answer: one}}, {final_answer: {answer: two}}]",
    ],
)
def test_final_answer_beside_another_call_fails_the_step(calls):
    run = played(CALLING, f"- tool_use: {calls}\n- {ANSWER}")
    assert (run.final_text, run.model_calls) == ("done", 2)


def test_the_option_final_answer_lets_text_answers_arrive_as_calls():
    texts = played(CALLING, f"- {CALL}\n- text: done", options=OBEYS)
    calls = played(CALLING, f"- {CALL}\n- {ANSWER}")
    assert (texts.final_text, texts.count, texts.returned) == (calls.final_text, calls.count, calls.returned)
    rounds3 = "\n".join([f"- {CALL}"] * 3) + "\n- text: done"
    assert [played(CALLING, rounds3, options=OBEYS, limit=n).returned for n in (3, 4)] == ["stopped", "answer"]


def test_a_call_that_is_spelled_as_json_in_a_text_is_run():
    run = played(
        CALLING,
        """
    - text: 'Action: {"name": "lookup", "arguments": {"key": "a"}}'
    - text: '{"name": "final_answer", "arguments": {"answer": "done"}}'
    """,
    )
    assert ([r.name for r in run.tool_runs], run.final_text) == (["lookup"], "done")
    for text in ("no call", '{"tool": "lookup"}', "} {"):
        assert not played(CALLING, f"- text: '{text}'\n- {ANSWER}").tool_runs


def test_one_failing_call_fails_the_step_and_the_others_results_are_lost():
    assert "results of the others are lost" in claim("smolagents.errors-lose-results").says
    run = played(CALLING, f"- tool_use: [{{lookup: {{key: a}}}}, {{boom: {{}}}}, {{nope: {{}}}}]\n- {ANSWER}")
    assert [r.name for r in run.tool_runs] == ["lookup", "boom"]
    sent = " ".join(part.text for message in run.requests[1].new for part in message.content)
    assert "value of a" not in sent
    assert "Now let's retry" in sent


def test_steps_that_fail_count():
    assert "counts like any other" in claim("smolagents.failed-steps-count").says
    run = played(CALLING, "- {tool_use: {nope: {}}, repeat: forever}", limit=3)
    assert (run.model_calls, run.tool_rounds, run.finish_reason) == (4, 0, "max_steps_error")


def test_broken_json_is_run_as_the_one_argument_of_a_tool_with_one_parameter():
    assert "one argument" in claim("smolagents.broken-arguments-run").says
    run = played(CALLING, f"- {{tool_use: {{lookup: {{key: a}}}}, cut_after: 9}}\n- {ANSWER}")
    assert [r.input for r in run.tool_runs] == [{"key": '{"key": "'}]
    two = played(CALLING, f"- content: [{{tool_use: {{name: add, raw: '{{\"a\": 1'}}}}]\n- {ANSWER}")
    assert two.tool_runs == ()


@pytest.mark.parametrize("input_", ["{wrong: 5}", "{key: 5}", "{key: a, more: 1}", "{}"])
def test_arguments_are_checked_without_conversion(input_):
    assert played(CALLING, f"- tool_use: {{lookup: {input_}}}\n- {ANSWER}").tool_runs == ()


def test_of_calls_that_share_an_id_the_last_one_runs():
    assert "only the last" in claim("smolagents.last-of-an-id-runs").says
    both = "content: [{tool_use: {name: lookup, input: {key: a}, id: x}}, {tool_use: {name: lookup, input: {key: b}, id: x}}]"
    run = played(CALLING, f"- {both}\n- {ANSWER}")
    assert [r.input["key"] for r in run.tool_runs] == ["b"]


def test_the_history_is_text_of_two_roles():
    run = played(CALLING, f"- {{text: let me, tool_use: {{lookup: {{key: a}}}}}}\n- {ANSWER}")
    assert requests_of(run) == [["user:text"], ["assistant:text", "user:text"]]


def test_a_step_without_words_that_fails_changes_the_user_s_last_message():
    run = played(CALLING, f"- {{tool_use: {{nope: {{}}}}}}\n- {ANSWER}")
    assert [(sent.kept, sent.short()["new"]) for sent in run.requests] == [(0, ["user:text"]), (0, ["user:text"])]


@pytest.mark.parametrize("style", BOTH)
@pytest.mark.parametrize(("status", "requests"), [(400, 1), (500, 3), (429, 9)])
def test_a_throttled_request_is_tried_three_times_around_the_client_s_three(style, status, requests):
    run = played(style, f"- {{error: {status}, repeat: 20}}")
    assert (run.model_requests, run.error["type"], run.ended) == (requests, "AgentGenerationError", "http_error")
    if status == 429:
        assert played(style, "- {error: 429, repeat: 20}", options={"retry": False}).model_requests == 3


@pytest.mark.parametrize("reason", ["max_tokens", "end_turn"])
def test_stop_reasons_are_never_looked_at(reason):
    run = played(CALLING, f"- {{tool_use: {{lookup: {{key: a}}}}, stop_reason: {reason}}}\n- {ANSWER}")
    assert (run.tool_rounds, run.final_text) == (1, "done")


def test_the_call_s_own_max_steps_wins_and_0_falls_back_to_the_agent_s():
    def calls(limit, own):
        return played(CALLING, ENDLESS, limit=limit, options={"run": {"max_steps": own}}).model_calls

    assert (calls(4, 2), calls(4, 0)) == (3, 5)


def test_calls_of_a_reply_run_side_by_side_in_as_many_threads_as_are_asked_for():
    slow = "tools: {slow: {returns: x, seconds: 2}}"
    replies = f"- tool_use: [{{slow: {{}}}}, {{slow: {{}}}}]\n- {ANSWER}"
    assert played(CALLING, replies, tools=slow).seconds == 2
    assert played(CALLING, replies, tools=slow, options={"max_tool_threads": 1}).seconds == 4


# -- CodeAgent --------------------------------------------------------------------------------------------------------


def test_a_code_agent_s_text_is_final_answer_in_code():
    run = played(CODING, f"- {CALL}\n- text: done")
    assert (run.final_text, run.finish_reason, run.model_calls) == ("done", "success", 2)


def test_code_runs_line_after_line_up_to_the_first_error():
    run = played(CODING, "- tool_use: [{lookup: {key: a}}, {boom: {}}, {lookup: {key: b}}]\n- text: done")
    assert [r.name for r in run.tool_runs] == ["lookup", "boom"]
    run = played(CODING, "- tool_use: [{lookup: {key: a}}, {nope: {}}, {boom: {}}]\n- text: done")
    assert ([r.name for r in run.tool_runs], run.final_text) == (["lookup"], "done")


def test_final_answer_in_code_ends_it():
    run = played(CODING, "- tool_use: [{lookup: {key: a}}, {final_answer: {answer: done}}, {boom: {}}]")
    assert ([r.name for r in run.tool_runs], run.final_text, run.returned) == (["lookup"], "done", "answer")


def test_arguments_that_are_no_object_are_broken_code_of_which_nothing_runs():
    broken = "- {tool_use: [{lookup: {key: b}}, {lookup: {key: a}}], cut_after: 9}\n- text: done"
    assert (played(CODING, broken).tool_runs, played(CODING, broken).final_text) == ((), "done")


def test_an_empty_text_is_a_step_without_an_error():
    run = played(CODING, "- text: ''\n- text: done")
    assert (run.final_text, run.model_calls, requests_of(run)[1]) == ("done", 2, ["assistant:text", "user:text"])


@pytest.mark.parametrize(
    ("style", "options", "message"),
    [
        (CALLING, {"run": {"max_steps": "x"}}, "whole number"),
        (CALLING, {"retry": 1}, "true or false"),
        (CODING, {"final_answer": True}, "unknown option"),
        (CALLING, {"max_tool_threads": 0}, "at least 1"),
    ],
)
def test_an_option_that_is_wrong_says_what_is_right(style, options, message):
    with pytest.raises(UsageError, match=message):
        played(style, ENDLESS, options=options)


# -- what the model reads ---------------------------------------------------------------------------------------------


def texts(sent):
    return [(message.role, message.content[0].text) for message in sent.new]


def test_a_history_from_elsewhere_is_made_text():
    more = """
    messages:
      - user: go
      - assistant: {text: let me look, tool_use: {lookup: {key: a}}}
      - tool_result: {for: call_1, content: found}
      - user: and now
    """
    assert texts(played(CALLING, f"- {ANSWER}", more=more).requests[0]) == [
        ("user", "go"),
        ("assistant", 'let me look\nCalling tools:\nlookup({"key": "a"})'),
        ("user", "Observation:\nfound\nand now"),
    ]


@pytest.mark.parametrize(("stream", "before"), [(False, ""), (True, "\n")])
def test_a_streamed_call_of_final_answer_leaves_an_empty_text_before_it(stream, before):
    run = played(CALLING, "- text: one\n- text: two", more="prompt: [go, again]", options=OBEYS, stream=stream)
    role, said = texts(run.requests[1])[0]
    assert (role, said.startswith(f"{before}Calling tools:\n")) == ("assistant", True)


def test_a_tool_calling_agent_is_offered_final_answer_but_nothing_in_the_extra_call_and_a_code_agent_s_tools_stay():
    def offered(style):
        return [sent.offered for sent in played(style, ENDLESS, limit=1).transcript if hasattr(sent, "offered")]

    assert offered(CALLING) == [("lookup", "add", "boom", "ask", "final_answer"), ()]
    assert offered(CODING) == [None, None]
