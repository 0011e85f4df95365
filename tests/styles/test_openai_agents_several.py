"""The OpenAI Agents SDK beyond one agent and one prompt: handoffs, agents as tools, approvals, prompts, structured output."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, RUN, STREAMED = "openai-agents-js/run", "openai-agents/Runner.run", "openai-agents/Runner.run_streamed"
ALL = (JS, RUN, STREAMED)
FAILED = "An error occurred while running the tool. Please try again."
HANDOFFS = """
agent: A
handoffs: [B]
agents:
  B: {handoffs: [A], tools: {lookup: {input: {key: string}, returns: found}}, replies: [%s]}
"""


# -- handoffs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "tool"), [(JS, "transfer_to_B"), (RUN, "transfer_to_b"), (STREAMED, "transfer_to_b")]
)
def test_a_handoff_costs_a_turn_and_takes_the_history_along(style, tool):
    assert claim("openai-agents.handoff-keeps-history")
    assert claim("openai-agents.handoff-costs-a-turn")
    run = played(style, "- handoff: B", more=HANDOFFS % "{text: done}")
    assert requests_of(run)[1] == [f"assistant:tool_use({tool})", "user:tool_result(call_1)"]
    assert (run.final_text, run.count, run.tool_runs) == ("done", 2, ())
    assert played(style, "- handoff: B", more=HANDOFFS % "{text: done}", limit=1).ended == "limit"


@pytest.mark.parametrize("style", ALL)
def test_the_count_runs_on_across_agents(style):
    more = HANDOFFS % "{handoff: A, repeat: forever}"
    run = played(style, "- {handoff: B, repeat: forever}", more=more)
    assert (run.model_calls, run.ended) == (10, "limit")


@pytest.mark.parametrize("style", ALL)
def test_function_calls_of_the_reply_run_before_the_switch(style):
    run = played(style, "- {tool_use: {lookup: {key: a}}, handoff: B}", more=HANDOFFS % "{text: done}")
    assert ([one.name for one in run.tool_runs], run.final_text) == (["lookup"], "done")


@pytest.mark.parametrize(("style", "results"), [(JS, 1), (RUN, 2)])
def test_of_two_handoffs_the_first_wins_and_only_python_answers_the_other(style, results):
    more = "agent: A\nhandoffs: [B, C]\nagents: {B: {replies: [{text: b}]}, C: {replies: [{text: c}]}}"
    run = played(style, "- handoff: [B, C]", more=more)
    assert (run.final_text, len(told(run))) == ("b", results)


@pytest.mark.parametrize("style", ALL)
def test_a_tool_of_the_old_agent_is_unknown_to_the_new_one(style):
    run = played(style, "- handoff: B", more=HANDOFFS % "{tool_use: {boom: {}}}")
    assert run.error["message"].startswith("Tool boom not found in agent B")


# -- agents as tools --------------------------------------------------------------------------------------------------

HELPER_TOOLS = "tools: {help: {agent: H, input: {input: string}}}"
HELPER = "agents: {H: {%s tools: {lookup: {input: {key: string}, returns: found}}, replies: [%s]}}"
ASK = "- tool_use: {help: {input: please}}\n- text: done"


@pytest.mark.parametrize("style", ALL)
def test_an_agent_as_a_tool_has_a_count_of_its_own(style):
    assert claim("openai-agents.agent-as-tool-counts-for-itself")
    inner = ", ".join(["{tool_use: {lookup: {key: a}}}"] * 8 + ["{text: inner}"])
    run = played(style, ASK, more=HELPER % ("", inner), tools=HELPER_TOOLS, limit=2)
    assert (run.model_calls, run.count, run.final_text, told(run)[-1]) == (11, 2, "done", "inner")


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(("limit", "inner_calls"), [("", 10), ("limit: 2,", 2)])
def test_an_inner_cap_is_the_fixed_error_text_outside(style, limit, inner_calls):
    run = played(
        style, ASK, more=HELPER % (limit, "{tool_use: {lookup: {key: a}}, repeat: forever}"), tools=HELPER_TOOLS
    )
    assert (run.model_calls, told(run)[-1], run.final_text) == (inner_calls + 2, FAILED, "done")


def test_the_inner_calls_are_in_the_usage():
    assert played(JS, ASK, more=HELPER % ("", "{text: inner}"), tools=HELPER_TOOLS).outcome.reported_count == 3
    assert played(STREAMED, ASK, more=HELPER % ("", "{text: inner}"), tools=HELPER_TOOLS).outcome.reported_count == 2


@pytest.mark.parametrize("style", ALL)
def test_agents_and_tools_of_one_reply_run_side_by_side(style):
    tools = "tools: {help: {agent: H, input: {input: string}}, slow: {seconds: 3, returns: ok}}"
    more = "agents: {H: {replies: [{text: inner, seconds: 2}]}}"
    run = played(style, "- tool_use: [{help: {input: x}}, {slow: {}}]\n- text: done", more=more, tools=tools)
    assert (run.seconds, told(run)) == (3.0, ["inner", "ok"])


# -- approvals --------------------------------------------------------------------------------------------------------


def asking(answer: str) -> str:
    """A tool that asks, and one that does not."""
    return (
        f"tools:\n  pay: {{input: {{n: integer}}, returns: paid, approval: required{answer}}}\n"
        "  lookup: {input: {key: string}, returns: found}"
    )


PAY = "- tool_use: [{pay: {n: 1}}, {lookup: {key: a}}]\n- text: done"


@pytest.mark.parametrize("style", ALL)
def test_without_an_answer_the_run_returns_and_the_other_calls_have_run(style):
    run = played(style, PAY, tools=asking(""))
    assert (run.ended, run.returned, run.final_text, run.silent) == ("approval", "answer", None, False)
    assert [one.name for one in run.tool_runs] == ["lookup"]


@pytest.mark.parametrize("style", ALL)
def test_a_resume_runs_what_was_approved_without_a_turn_and_the_count_is_kept(style):
    assert claim("openai-agents.approvals-cost-no-turn")
    run = played(style, PAY, tools=asking(", approved: true"), limit=2)
    assert ([one.name for one in run.tool_runs], run.count, run.final_text) == (["lookup", "pay"], 2, "done")
    capped = played(style, PAY, tools=asking(", approved: true"), limit=1)
    assert ([one.name for one in capped.tool_runs], capped.ended) == (["lookup", "pay"], "limit")


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(
    ("answer", "text"), [("false", "Tool execution was not approved."), ("{reject: not today}", "not today")]
)
def test_a_rejected_call_is_an_output_like_any_other(style, answer, text):
    run = played(style, PAY, tools=asking(f", approved: {answer}"))
    assert (sorted(told(run)), run.final_text) == (sorted([text, "found"]), "done")


@pytest.mark.parametrize("style", ALL)
def test_undecided_calls_interrupt_again_without_a_call(style):
    more = "approvals: [[], [{approve: call_1}]]"
    run = played(style, PAY, tools=asking(""), more=more)
    assert (run.model_calls, run.count, run.final_text) == (2, 2, "done")
    assert played(style, PAY, tools=asking(""), more="approvals: [[]]").ended == "approval"


@pytest.mark.parametrize("style", ALL)
def test_the_cap_holds_over_all_resumes(style):
    script = "- {tool_use: {pay: {n: 1}}, repeat: forever}"
    run = played(style, script, tools=asking(", approved: true"))
    assert (run.model_calls, run.tool_rounds, run.ended) == (10, 10, "limit")


# -- several prompts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
def test_each_prompt_has_a_count_of_its_own_on_one_history(style):
    script = "- tool_use: {lookup: {key: a}}\n- text: one\n- tool_use: {lookup: {key: b}}\n- text: two"
    run = played(style, script, more="prompt: [first, second]", limit=2)
    assert (run.final_text, run.model_calls, run.count) == ("two", 4, 4)
    assert requests_of(run)[2] == ["assistant:text", "user:text"]


@pytest.mark.parametrize(
    ("style", "stream", "kept"),
    [
        (JS, False, ["user:text"]),
        (JS, True, ["user:text+text"]),
        (RUN, None, ["assistant:tool_use(lookup)", "user:tool_result(call_1)+text"]),
    ],
)
def test_what_a_session_keeps_of_a_run_that_threw(style, stream, kept):
    run = played(
        style, "- tool_use: {lookup: {key: a}}\n- text: two", more="prompt: [first, second]", limit=1, stream=stream
    )
    assert (requests_of(run)[1], run.final_text) == (kept, "two")


# -- structured output ------------------------------------------------------------------------------------------------

CITY = "output: {schema: {type: object, properties: {city: {type: string}}, required: [city]}}"


@pytest.mark.parametrize("style", ALL)
def test_structured_output_is_json_text_of_a_plain_reply(style):
    run = played(style, "- output: {city: Paris}", more=CITY)
    assert (run.ended, run.final_text, run.count) == ("answer", '{"city": "Paris"}', 1)


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("reply", ["{text: Paris}", "{output: {city: 5}}"])
def test_bad_structured_output_throws_without_another_try(style, reply):
    run = played(style, f"- {reply}\n- output: {{city: Paris}}", more=CITY)
    assert (run.error["type"], run.model_calls) == ("ModelBehaviorError", 1)


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("reply", ["{text: ''}", "{empty: true}"])
def test_empty_structured_output_is_asked_again(style, reply):
    run = played(style, f"- {reply}\n- output: {{city: Paris}}", more=CITY)
    assert (run.final_text, run.count) == ('{"city": "Paris"}', 2)


@pytest.mark.parametrize("style", ALL)
def test_structured_output_beside_a_call_is_not_final(style):
    script = "- content: [{output: {city: Rome}}, {tool_use: {name: lookup, input: {key: a}}}]\n- output: {city: Paris}"
    assert played(style, script, more=CITY).final_text == '{"city": "Paris"}'


@pytest.mark.parametrize(("style", "result"), [(JS, '{"assistant":"B"}'), (RUN, '{"assistant": "B"}')])
def test_the_result_of_a_handoff_names_the_agent_as_json(style, result):
    assert told(played(style, "- handoff: B", more=HANDOFFS % "{text: done}")) == [result]


@pytest.mark.parametrize(
    ("takes", "given", "asked"),
    [("input: string", "{input: how much}", "how much"), ("q: string", "{q: how much}", '{"q":"how much"}')],
)
def test_an_agent_that_is_a_tool_is_asked_its_input_or_all_of_it(takes, given, asked):
    tools = f"tools: {{billing: {{input: {{{takes}}}, agent: billing}}}}"
    more = "agents: {billing: {replies: [{text: it is 7}]}}"
    run = played(RUN, f"- tool_use: {{billing: {given}}}\n- text: done", more=more, tools=tools)
    assert run.requests[1].new[0].content[0].text == asked
