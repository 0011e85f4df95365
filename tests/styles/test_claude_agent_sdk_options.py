"""The Claude Agent SDK's options, one statement a test."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from agentsim.judge.simulate import prepare
from agentsim.scenario.load import loads
from agentsim.styles import find
from tests.styles.claims import claim
from tests.styles.playing import played, told

JS, QUERY, CLIENT = "claude-agent-sdk-js/query", "claude-agent-sdk/query", "claude-agent-sdk/ClaudeSDKClient"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
ONE_ROUND = """
- tool_use: {lookup: {key: a}}
- text: done
"""
#: A reply without usage has input 10: 10 USD.
TEN_A_REPLY = "price: {input: 1000000, output: 0}"


def hook(*returns, matcher=None, event="PreToolUse", seconds=0.0):
    """The tree of one hook."""
    group = {"hooks": [{"scripted": list(returns), "seconds": seconds}]} | ({"matcher": matcher} if matcher else {})
    return {"hooks": {event: [group]}}


def decision(word, **more):
    """What a PreToolUse hook returns that decides."""
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, **more}}


# -- maxBudgetUsd -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("style", "option"), [(JS, "maxBudgetUsd"), (QUERY, "max_budget_usd")])
def test_the_budget_is_looked_at_after_each_reply(style, option):
    assert claim("claude-agent-sdk.budget-after-each-response")
    run = played(style, ENDLESS, more=TEN_A_REPLY, options={option: 25})
    assert (run.model_calls, run.ended, run.finish_reason) == (3, "cost", "error_max_budget_usd")
    assert "Reached maximum budget ($25)" in run.error["message"]


def test_a_budget_that_is_just_reached_stops_too():
    assert played(JS, ENDLESS, more=TEN_A_REPLY, options={"maxBudgetUsd": 20}).model_calls == 2


def test_the_replys_tools_have_started_and_their_results_are_not_counted():
    run = played(JS, ENDLESS, more=TEN_A_REPLY, options={"maxBudgetUsd": 20})
    assert (len(run.tool_runs), run.model_requests, run.outcome.reported_count, run.count) == (2, 2, 2, 1)


def test_a_full_answer_over_budget_is_not_returned():
    assert claim("claude-agent-sdk.budget-drops-a-full-answer")
    run = played(CLIENT, "- text: done", more=TEN_A_REPLY, options={"max_budget_usd": 10})
    assert (run.ended, run.returned, run.final_text, run.finish_reason) == (
        "cost",
        "stopped",
        None,
        "error_max_budget_usd",
    )


def test_the_budget_is_checked_before_the_turn_cap():
    run = played(JS, ENDLESS, more=TEN_A_REPLY, options={"maxBudgetUsd": 20}, limit=2)
    assert run.finish_reason == "error_max_budget_usd"


@pytest.mark.parametrize(
    ("style", "option", "error"),
    [
        (JS, "maxBudgetUsd", "Error"),
        (QUERY, "max_budget_usd", "ProcessError"),
        (CLIENT, "max_budget_usd", "ProcessError"),
    ],
)
def test_a_budget_of_nothing_is_refused_before_any_call(style, option, error):
    run = played(style, ONE_ROUND, more=TEN_A_REPLY, options={option: 0})
    assert (run.model_requests, run.ended, run.returned, run.error["type"]) == (0, "cost", "error", error)


def test_the_budget_is_of_the_whole_session():
    more = f"{TEN_A_REPLY}\nprompt: [first, second]"
    run = played(JS, "- {text: one, repeat: 2}", more=more, options={"maxBudgetUsd": 20})
    assert (run.model_calls, run.ended) == (2, "cost")


def test_a_budget_bounds_an_endless_script_beyond_the_patience_with_endless_ones():
    run = played(JS, ENDLESS, more=TEN_A_REPLY, options={"maxBudgetUsd": 1500}, max_calls=20)
    assert (run.model_calls, run.ended) == (150, "cost")


def test_without_a_price_nothing_costs_anything():
    assert played(JS, ENDLESS, options={"maxBudgetUsd": 1}, max_calls=20).ended == "unbounded"


# -- allowedTools, disallowedTools, canUseTool ------------------------------------------------------------------------


@pytest.mark.parametrize(("style", "option"), [(JS, "allowedTools"), (QUERY, "allowed_tools")])
def test_a_tool_that_is_not_allowed_is_an_error_result_and_a_turn(style, option):
    run = played(style, ONE_ROUND, options={option: ["add"]})
    assert told(run) == ["Claude requested permissions to use lookup, but you haven't granted it yet."]
    assert (run.tool_runs, run.final_text, run.count) == ((), "done", 2)
    assert played(style, ENDLESS, options={option: []}, limit=3).finish_reason == "error_max_turns"


def test_all_tools_are_allowed_by_default():
    assert len(played(JS, ONE_ROUND).tool_runs) == 1


@pytest.mark.parametrize(
    ("style", "option", "text"),
    [
        (JS, "disallowedTools", "Permission to use lookup has been denied."),
        (QUERY, "disallowed_tools", "<tool_use_error>Error: No such tool available: lookup</tool_use_error>"),
    ],
)
def test_a_disallowed_tool_is_an_error_result_and_a_turn(style, option, text):
    run = played(style, ONE_ROUND, options={option: ["lookup"]})
    assert (told(run), run.tool_runs, run.final_text, run.count) == ([text], (), "done", 2)


def test_can_use_tool_is_asked_about_tools_that_are_not_allowed_only():
    deny = {"scripted": [{"behavior": "deny", "message": "not now"}]}
    calls = "- tool_use: [{lookup: {key: a}}, {add: {a: 1, b: 2}}]\n- text: done"
    run = played(JS, calls, options={"canUseTool": deny, "allowedTools": ["add"]})
    assert (told(run), [r.name for r in run.tool_runs], run.final_text) == (["not now", "3"], ["add"], "done")
    assert len(played(JS, calls, options={"canUseTool": deny}).tool_runs) == 2


def test_can_use_tool_allows_with_another_input():
    for style, options in (
        (JS, {"allowedTools": [], "canUseTool": {"scripted": [{"behavior": "allow", "updatedInput": {"key": "b"}}]}}),
        (
            QUERY,
            {"allowed_tools": [], "can_use_tool": {"scripted": [{"behavior": "allow", "updated_input": {"key": "b"}}]}},
        ),
    ):
        assert [r.input for r in played(style, ONE_ROUND, options=options).tool_runs] == [{"key": "b"}]


def test_a_denial_that_interrupts_ends_the_run():
    deny = {"scripted": [{"behavior": "deny", "message": "stop", "interrupt": True}]}
    calls = "- tool_use: [{add: {a: 1, b: 2}}, {lookup: {key: a}}, {add: {a: 3, b: 4}}]\n- text: done"
    run = played(JS, calls, options={"canUseTool": deny, "allowedTools": ["add"]})
    assert (run.model_calls, run.finish_reason, run.ended) == (1, "error_during_execution", "stop_condition")
    assert [r.input for r in run.tool_runs] == [{"a": 1, "b": 2}]


def test_what_can_use_tool_throws_denies():
    run = played(JS, ONE_ROUND, options={"allowedTools": [], "canUseTool": {"scripted": [{"raises": "oops"}]}})
    assert (told(run), run.tool_runs) == (["Tool permission request failed: Error: oops"], ())


APPROVED = "tools: {pay: {input: {cents: integer}, returns: 'paid {cents}', approval: required%s}}"
PAY = "- tool_use: {pay: {cents: 5}}\n- text: done"


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (", approved: true", "paid 5"),
        (", approved: {reject: too much}", "too much"),
        (", approved: {edit: {cents: 1}}", "paid 1"),
    ],
)
def test_a_tool_that_needs_an_approval_is_asked_about_whatever_is_allowed(said, result):
    run = played(JS, PAY, tools=APPROVED % said)
    assert (told(run), run.final_text) == ([result], "done")


def test_without_an_answer_the_run_waits():
    run = played(JS, PAY, tools=APPROVED % "")
    assert (run.ended, run.returned, run.tool_runs) == ("approval", "stopped", ())


def test_the_answers_of_several_resumes_are_taken_one_after_the_other():
    calls = "- tool_use: [{pay: {cents: 1}}, {pay: {cents: 2}}]\n- text: done"
    more = "approvals: [[{approve: call_1}], [], [{reject: call_2, message: no}]]"
    run = played(JS, calls, tools=APPROVED % "", more=more)
    assert (told(run), run.final_text) == (["paid 1", "no"], "done")


def test_a_call_of_a_client_tool_is_handed_back():
    run = played(JS, "- tool_use: [{lookup: {key: a}}, {ask: {q: where}}]\n- text: done")
    assert (run.ended, run.model_calls, [r.name for r in run.tool_runs]) == ("handed_back", 1, ["lookup"])


# -- hooks.PreToolUse -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [JS, QUERY])
def test_a_hook_that_denies_gives_its_reason_and_costs_a_turn(style):
    assert claim("claude-agent-sdk.pre-tool-use-rejects")
    deny = decision("deny", permissionDecisionReason="not here")
    run = played(style, ONE_ROUND, options=hook(deny))
    assert (told(run), run.tool_runs, run.final_text, run.count) == (["not here"], (), "done", 2)


def test_a_hook_is_asked_about_the_tools_that_its_matcher_names():
    calls = "- tool_use: [{lookup: {key: a}}, {add: {a: 1, b: 2}}]\n- text: done"
    for matcher, left in (
        ("add", ["lookup"]),
        ("add|lookup", []),
        ("*", []),
        ("l.*", ["add"]),
        ("look", ["lookup", "add"]),
    ):
        run = played(JS, calls, options=hook(decision("deny"), matcher=matcher))
        assert [r.name for r in run.tool_runs] == left


def test_a_hook_may_change_the_input():
    run = played(JS, ONE_ROUND, options=hook(decision("allow", updatedInput={"key": "b"})))
    assert [r.input for r in run.tool_runs] == [{"key": "b"}]


def test_a_hook_that_allows_leaves_nothing_to_ask():
    options = hook(decision("allow")) | {"allowedTools": []}
    assert len(played(JS, ONE_ROUND, options=options).tool_runs) == 1
    options = hook(decision("allow")) | {"disallowedTools": ["lookup"]}
    assert played(JS, ONE_ROUND, options=options).tool_runs == ()


@pytest.mark.parametrize(("style", "word"), [(JS, "continue"), (QUERY, "continue"), (QUERY, "continue_")])
def test_a_hook_that_stops_lets_the_tool_run_and_ends_with_success_and_nothing(style, word):
    run = played(style, ONE_ROUND, options=hook({word: False, "stopReason": "enough"}))
    assert (run.returned, run.finish_reason, run.final_text) == ("answer", "success", "")
    assert (len(run.tool_runs), run.model_calls, run.ended, run.silent) == (1, 1, "stop_condition", False)


def test_a_hook_that_says_nothing_or_throws_changes_nothing():
    for said in ({}, None, {"raises": "oops"}):
        assert played(JS, ONE_ROUND, options=hook(said)).to_dict() == played(JS, ONE_ROUND).to_dict()


def test_a_denial_wins_over_another_hooks_permission():
    options = {
        "hooks": {
            "PreToolUse": [
                {"hooks": [{"scripted": [decision("allow")]}]},
                {"hooks": [{"scripted": [decision("deny", permissionDecisionReason="no")]}]},
            ]
        }
    }
    assert told(played(JS, ONE_ROUND, options=options)) == ["no"]


def test_hooks_take_their_time():
    assert played(JS, ONE_ROUND, options=hook({}, seconds=0.5)).seconds == 0.5
    read = "tools: {read: {input: {n: integer}, returns: ok, read_only: true}}"
    both = "- tool_use: [{read: {n: 1}}, {read: {n: 2}}]\n- text: done"
    assert played(JS, both, tools=read, options=hook({}, seconds=0.5)).seconds == 0.5


# -- hooks.Stop -------------------------------------------------------------------------------------------------------

BLOCK = {"decision": "block", "reason": "keep going"}


def test_a_stop_hook_that_blocks_asks_again_for_a_turn():
    assert claim("claude-agent-sdk.counts-tool-use-turns-only").divergence
    run = played(JS, "- text: one\n- text: two", options=hook(BLOCK, {}, event="Stop"))
    assert (run.final_text, run.model_calls, run.count, run.outcome.reported_count) == ("two", 2, 2, 2)
    assert run.requests[1].new[-1].content[0].text == "Stop hook feedback:\nkeep going"


def test_the_turn_cap_holds_for_it():
    run = played(JS, "- {text: one, repeat: forever}", options=hook(BLOCK, event="Stop"), limit=3)
    assert (run.model_calls, run.finish_reason, run.ended) == (3, "error_max_turns", "limit")


def test_after_nine_calls_that_were_all_blocked_it_gives_up_with_success_and_nothing():
    run = played(JS, "- {text: one, repeat: forever}", options=hook(BLOCK, event="Stop"))
    assert (run.model_calls, run.returned, run.final_text, run.silent) == (9, "answer", "", True)


def test_a_tool_round_lets_the_blocks_begin_anew():
    replies = "- {text: one, repeat: 8}\n- tool_use: {lookup: {key: a}}\n- {text: one, repeat: forever}"
    assert played(JS, replies, options=hook(BLOCK, event="Stop")).model_calls == 18


# -- env --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("retries", "requests"), [("0", 1), ("2", 3), ("12", 13)])
def test_how_often_a_failed_request_is_sent_again(retries, requests):
    run = played(JS, "- {error: 500, repeat: forever}", options={"env": {"CLAUDE_CODE_MAX_RETRIES": retries}})
    assert (run.model_requests, run.ended) == (requests, "http_error")


SEARCH = {"env": {"ENABLE_TOOL_SEARCH": "true"}}


def test_behind_tool_search_a_call_of_a_tool_that_was_never_searched_for_still_runs():
    run = played(JS, ONE_ROUND, options=SEARCH)
    assert (len(run.tool_runs), run.final_text) == (1, "done")


def test_a_tool_search_is_a_tool_round():
    replies = "- tool_use: {ToolSearch: {query: 'select:lookup'}}\n- tool_use: {lookup: {key: a}}\n- text: done"
    run = played(JS, replies, options=SEARCH)
    assert (run.tool_rounds, run.count, run.final_text) == (2, 3, "done")
    assert played(JS, replies, options=SEARCH, limit=2).ended == "limit"


def test_without_tool_search_there_is_no_such_tool():
    run = played(JS, "- tool_use: {ToolSearch: {query: lookup}}\n- text: done")
    assert told(run) == ["<tool_use_error>Error: No such tool available: ToolSearch</tool_use_error>"]


def test_what_was_found_is_offered():
    replies = """
    - tool_use: {ToolSearch: {query: lookup}}
      request: {offers: [ToolSearch]}
    - text: done
      request: {offers: [lookup]}
    """
    assert played(JS, replies, options=SEARCH).final_text == "done"


@pytest.mark.parametrize(
    ("query", "found"), [("select:lookup, add", ["lookup", "add"]), ("LOOK", ["lookup"]), ("select:look", [])]
)
def test_tools_are_found_by_a_word_or_selected_by_their_whole_names(query, found):
    run = played(JS, f"- tool_use: {{ToolSearch: {{query: '{query}'}}}}\n- text: done", options=SEARCH)
    references = ",".join(f'{{"type":"tool_reference","tool_name":"{name}"}}' for name in found)
    assert told(run) == [f"[{references}]" if found else "No matching deferred tools found"]


def offered(run):
    return [sent.offered for sent in run.transcript if hasattr(sent, "offered")]


def test_python_does_not_even_offer_a_disallowed_tool():
    assert offered(played(QUERY, "- text: done", options={"disallowed_tools": ["lookup"]})) == [("add", "boom", "ask")]
    assert offered(played(JS, "- text: done", options={"disallowedTools": ["lookup"]})) == [None]
    assert offered(played(QUERY, "- text: done")) == [None]


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "options", "message"),
    [
        (JS, {"max_budget_usd": 1}, "unknown option 'max_budget_usd'; did you mean 'maxBudgetUsd'?"),
        (QUERY, {"maxBudgetUsd": 1}, "unknown option 'maxBudgetUsd'; did you mean 'max_budget_usd'?"),
        (JS, {"maxBudgetUsd": "1"}, "maxBudgetUsd: expected USD as a number, but '1' came"),
        (JS, {"allowedTools": "lookup"}, "allowedTools: expected a list of tool names, but 'lookup' came"),
        (JS, {"disallowedTools": [1]}, "disallowedTools: expected a list of tool names, but [1] came"),
        (JS, {"canUseTool": True}, "canUseTool: expected a function"),
        (JS, {"canUseTool": {"scripted": [{"behaviour": "deny"}]}}, "did you mean 'behavior'?"),
        (JS, {"canUseTool": {"scripted": [{"behavior": "no"}]}}, "behavior: expected allow or deny, but 'no' came"),
        (JS, {"hooks": {"PreTool": []}}, "hooks: unknown option 'PreTool'; did you mean 'PreToolUse'?"),
        (JS, {"hooks": {"Stop": {}}}, "hooks.Stop: expected a list, but {} came"),
        (JS, hook(BLOCK), "unknown option 'decision'"),
        (JS, hook(decision("maybe")), "permissionDecision: expected allow or deny, but 'maybe' came"),
        (JS, hook({"continue_": False}), "did you mean 'continue'?"),
        (JS, hook({"decision": "stop"}, event="Stop"), "decision: expected block, but 'stop' came"),
        (JS, hook({}, matcher="("), "hooks.PreToolUse[0].matcher: expected a tool's name or a pattern, but '(' came"),
        (JS, {"env": {"CLAUDE_CODE_MAX_RETRIES": 2}}, "expected a whole number as text, but 2 came"),
        (JS, {"env": {"ENABLE_TOOL_SEARCH": True}}, "env.ENABLE_TOOL_SEARCH: expected true or false, but True came"),
        (JS, {"env": {"MAX_RETRIES": "2"}}, "did you mean 'CLAUDE_CODE_MAX_RETRIES'?"),
    ],
)
def test_a_wrong_tree_is_refused_with_the_place_and_the_nearest_word(style, options, message):
    with pytest.raises(UsageError) as refused:
        prepare(loads("agentsim: 1\nprompt: go\nreplies: [{text: hi}]"), find(style), options=options)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{style}: ")
