"""The Claude Agent SDK's subagents and structured output, which scenarios ask for."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, told

JS = "claude-agent-sdk-js/query"
#: A reply without usage has input 10: 10 USD.
TEN_A_REPLY = "price: {input: 1000000, output: 0}"
DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


# -- structured output ------------------------------------------------------------------------------------------------

OUTPUT = "output: {schema: {type: object, properties: {n: {type: integer}}, required: [n]}}"


def test_a_valid_output_ends_the_run_at_once():
    run = played(JS, "- output: {n: 1}\n- text: more", more=OUTPUT)
    assert (run.model_calls, run.returned, run.finish_reason, run.final_text) == (1, "answer", "success", '{"n":1}')


def test_the_replys_other_calls_run_too():
    run = played(JS, "- content: [{output: {n: 1}}, {tool_use: {name: lookup, input: {key: a}}}]", more=OUTPUT)
    assert (run.ended, [r.name for r in run.tool_runs]) == ("answer", ["lookup"])


def test_an_invalid_output_is_an_error_result():
    run = played(JS, "- output: {n: no}\n- output: {n: 1}", more=OUTPUT)
    assert (run.final_text, run.model_calls) == ('{"n":1}', 2)
    assert told(run)[0].startswith("Output does not match required schema: ")


def test_the_fifth_invalid_output_ends_the_run():
    run = played(JS, "- {output: {n: no}, repeat: forever}", more=OUTPUT)
    assert (run.model_calls, run.finish_reason) == (5, "error_max_structured_output_retries")


def test_a_text_instead_is_reminded_once_which_is_a_turn_then_any_text_is_success():
    run = played(JS, "- text: one\n- text: two", more=OUTPUT)
    assert (run.model_calls, run.count, run.returned, run.final_text) == (2, 2, "answer", "two")
    assert played(JS, "- text: one\n- text: two", more=OUTPUT, limit=1).finish_reason == "error_max_turns"


# -- subagents --------------------------------------------------------------------------------------------------------

SUBAGENT = """
tools:
  research: {input: {topic: string}, agent: researcher}
  lookup: {input: {key: string}, returns: ok, seconds: 1}
agents:
  researcher:
    background: %s
    limit: 2
    tools: {lookup: {input: {key: string}, returns: ok, seconds: 5}}
    replies:
      - {tool_use: {lookup: {key: a}}, repeat: forever}
"""
BACKGROUND, FOREGROUND = SUBAGENT % "true", SUBAGENT % "false"
DELEGATE = "- tool_use: {research: {topic: a}}\n- text: started\n- text: reported"


def test_a_subagent_runs_in_the_background_and_its_end_wakes_the_loop_for_one_more_result():
    assert claim("claude-agent-sdk.subagents-run-in-background")
    run = played(JS, DELEGATE, tools=BACKGROUND)
    assert (run.final_text, run.outcome.reported_count, run.seconds) == ("reported", 1, 10)
    assert "Async agent launched successfully." in told(run)


def test_the_woken_loop_has_a_turn_budget_of_its_own():
    run = played(JS, "- tool_use: {research: {topic: a}}\n- text: reported", tools=BACKGROUND, limit=1)
    assert (run.finish_reason, run.final_text) == ("success", "reported")


def test_the_main_loop_goes_on_beside_it():
    replies = "- tool_use: {research: {topic: a}}\n- {tool_use: {lookup: {key: b}}, repeat: 3}\n- text: started\n- text: reported"
    assert played(JS, replies, tools=BACKGROUND).seconds == 10


def test_in_the_foreground_it_is_one_tool_round_whatever_it_does():
    run = played(JS, DELEGATE.replace("\n- text: reported", ""), tools=FOREGROUND, limit=2)
    assert (run.final_text, run.count, run.outcome.reported_count, run.seconds) == ("started", 2, 2, 10)


def test_its_limit_is_its_max_turns():
    run = played(JS, DELEGATE.replace("\n- text: reported", ""), tools=FOREGROUND)
    assert ([r.name for r in run.tool_runs].count("lookup"), run.model_calls) == (2, 4)


def test_its_cost_counts():
    assert claim("claude-agent-sdk.subagents-cost-counts")
    run = played(JS, DELEGATE, tools=FOREGROUND, more=TEN_A_REPLY, options={"maxBudgetUsd": 40})
    assert (run.model_calls, run.ended, run.finish_reason) == (4, "cost", "error_max_budget_usd")


def test_the_users_hooks_look_at_its_calls_too():
    options = {"hooks": {"PreToolUse": [{"matcher": "lookup", "hooks": [{"scripted": [DENY]}]}]}}
    run = played(JS, DELEGATE, tools=FOREGROUND, options=options)
    assert [r.name for r in run.tool_runs] == ["research"]


def notified(agent, style=JS):
    """The message that wakes the main loop when its subagent has come to an end by these replies."""
    head, _, _ = BACKGROUND.partition("    replies:")
    run = played(style, DELEGATE, tools=f"{head}    replies:\n{agent}")
    return run.requests[-1].new[-1].content[-1].text


@pytest.mark.parametrize(
    ("agent", "status", "result"),
    [
        ("      - text: found it", "completed", "found it"),
        ("      - {text: so far, tool_use: {lookup: {key: a}}, repeat: 9}", "completed", "so far"),
        (
            "      - {tool_use: {lookup: {key: a}}, repeat: 9}",
            "completed",
            "(Subagent completed but returned no output.)",
        ),
    ],
)
def test_the_notification_tells_how_the_subagent_ended_and_its_last_text(agent, status, result):
    assert notified(agent) == (
        f"<task-notification>\n<status>{status}</status>\n<summary>Agent researcher {status}</summary>\n"
        f"<result>{result}</result>\n</task-notification>"
    )


@pytest.mark.parametrize("style", [JS, "claude-agent-sdk/query", "claude-agent-sdk/ClaudeSDKClient"])
def test_the_notification_of_a_subagent_that_failed_says_so_and_why_without_the_client_library_s_words(style):
    assert notified("      - {error: {status: 401, message: no key}, repeat: 99}", style) == (
        "<task-notification>\n<status>failed</status>\n<summary>Agent researcher failed</summary>\n"
        "<result>Failed to authenticate. API Error: 401 no key</result>\n</task-notification>"
    )


@pytest.mark.parametrize(
    ("takes", "given", "asked"),
    [
        ("topic: string", "{topic: a}", "a"),
        ("topic: string, depth: string", "{topic: a, depth: b}", '{"topic": "a", "depth": "b"}'),
        ("topic: string, prompt: string", "{topic: a, prompt: b}", "b"),
        ("topic: number", "{topic: 5}", '{"topic": 5}'),
    ],
)
def test_a_subagent_is_asked_the_prompt_or_the_only_text_of_the_input_or_all_of_it(takes, given, asked):
    tools = FOREGROUND.replace("input: {topic: string}", f"input: {{{takes}}}")
    run = played(JS, f"- tool_use: {{research: {given}}}\n- text: done", tools=tools)
    assert [sent.new[0].content[0].text for sent in run.requests if sent.kept == 0][1] == asked
