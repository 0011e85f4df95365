"""The commands as their users meet them: output, JSON, exit status, and messages for their mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsim import compare, loads
from agentsim.styles import all_styles

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def agentsim(*arguments: str, status: int = 0) -> str:
    """Run the command as a process; its output, or what it complained where it failed."""
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stdout + done.stderr


def by_style(text: str) -> dict[str, Any]:
    return {row["style"]: row for row in json.loads(text)}


@pytest.fixture(scope="module")
def endless() -> dict[str, Any]:
    return by_style(agentsim("compare", str(SCENARIOS / "endless_lookups.yaml"), "--limit", "10", "--format", "json"))


TEN_AND_TEN = [
    "ai-sdk/generateText", "ai-sdk/streamText", "ai-sdk/ToolLoopAgent.generate", "ai-sdk/ToolLoopAgent.stream",
    "openai-agents-js/run", "openai-agents/Runner.run", "openai-agents/Runner.run_streamed", "claude-agent-sdk-js/query",
    "claude-agent-sdk/query", "claude-agent-sdk/ClaudeSDKClient", "mastra/Agent.generate", "mastra/Agent.stream",
    "tanstack-ai/chat", "anthropic-js/toolRunner", "anthropic/tool_runner", "hand-rolled/article",
]  # fmt: skip


@pytest.mark.parametrize("style", TEN_AND_TEN)
def test_a_limit_of_ten_is_ten_calls_and_ten_rounds(endless, style):
    assert (endless[style]["model_calls"], endless[style]["tool_rounds"]) == (10, 10)


@pytest.mark.parametrize("style", ["langchain-js/createAgent", "langchain/create_agent"])
def test_ten_super_steps_are_five_rounds_and_an_error(endless, style):
    row = endless[style]
    assert (row["model_calls"], row["tool_rounds"], row["error"]["type"]) == (5, 5, "GraphRecursionError")


def test_pythons_prebuilt_agent_says_sorry_and_is_silent(endless):
    row = endless["langchain/create_react_agent"]
    assert (row["model_calls"], row["tool_rounds"], row["silent"]) == (5, 4, True)
    assert row["final_text"].startswith("Sorry, need more steps")


def test_workflow_agents_generate_throws(endless):
    row = endless["ai-sdk/WorkflowAgent.generate"]
    assert (row["ended"], row["error"]) == ("not_implemented", {"type": "Error", "message": "Not implemented"})


def test_compare_marks_as_silent_exactly_those_that_return_a_half_finished_turn_as_an_answer():
    rows = by_style(agentsim("compare", str(SCENARIOS / "paused_search.yaml"), "--format", "json"))
    half = {
        name
        for name, row in rows.items()
        if row["returned"] == "answer" and row["final_text"] == "Let me search for that."
    }
    assert {name for name, row in rows.items() if row["silent"]} == half
    assert len(half) > len(rows) / 3


def test_compare_prints_a_table_with_silent_and_refused_on_the_first_screen():
    text = agentsim("compare", str(SCENARIOS / "paused_search.yaml"))
    assert {"silent", "refused", "ended", "returned"} <= set(text.split())
    assert "report an unfinished run as finished" in text


def test_fail_on_silent_exits_with_status_1():
    agentsim("compare", str(SCENARIOS / "paused_search.yaml"), "--fail-on", "silent", status=1)
    agentsim(
        "compare", str(SCENARIOS / "three_rounds.yaml"), "--limit", "20", "--style", "reference", "--fail-on", "silent"
    )


def test_only_differences_leaves_out_what_most_do():
    text = agentsim("compare", str(SCENARIOS / "three_rounds.yaml"), "--limit", "20", "--only-differences")
    assert "more styles do what most do" in text
    assert "ai-sdk/streamText" not in text


def test_sort_orders_the_rows():
    rows = json.loads(
        agentsim(
            "compare", str(SCENARIOS / "endless_lookups.yaml"), "--limit", "6", "--sort", "calls", "--format", "json"
        )
    )
    calls = [row["model_calls"] for row in rows]
    assert calls == sorted(calls)


def test_budget_says_four_nearly_everywhere_and_eight_super_steps():
    needs = by_style(agentsim("budget", str(SCENARIOS / "three_rounds.yaml"), "--format", "json"))
    eights = {name for name, need in needs.items() if need["least_limit"] == 8}
    assert {need["unit"] for name, need in needs.items() if name in eights} == {"super-step"}
    assert needs["ai-sdk/WorkflowAgent.generate"]["least_limit"] is None
    fours = {name for name, need in needs.items() if need["least_limit"] == 4}
    assert len(fours) > 0.6 * len(needs)


def test_budget_answers_for_a_number_of_rounds_without_a_file():
    needs = by_style(agentsim("budget", "--rounds", "8", "--format", "json"))
    assert needs["openai-agents/Runner.run"]["least_limit"] == 9
    assert needs["langchain-js/createAgent"]["least_limit"] == 18
    assert needs["mastra/Agent.generate"]["default_cuts"] == 1
    assert "--rounds" in agentsim("budget", status=2)


def test_budget_shows_the_arithmetic_of_super_steps():
    middleware = 'langchain-js/createAgent.middleware=[{"modelCallLimitMiddleware": {"runLimit": 8}}]'
    text = agentsim("budget", "--rounds", "3", "--style", "langchain-js/createAgent", "--set", middleware)
    assert "17" in text
    assert "S = " in text


def test_run_prints_a_transcript_and_its_json_has_the_contracts_keys():
    text = agentsim("run", str(SCENARIOS / "refund.yaml"))
    assert "call_1 = lookup_order" in text
    assert "ended: answer, returned: answer" in text
    data = json.loads(
        agentsim(
            "run",
            str(SCENARIOS / "three_rounds.yaml"),
            "--style",
            "langchain-js/createAgent",
            "--limit",
            "7",
            "--format",
            "json",
        )
    )
    expected = {
        "scenario": "three rounds", "style": "langchain-js/createAgent", "sdk": "langchain 1.5.14, @langchain/langgraph 1.7.3",
        "wire": "anthropic-messages", "stream": False, "unit": "super-step", "knob": "recursionLimit", "limit": 7,
        "limit_is_default": False, "count": 7, "reported_count": 7, "least_limit": 8, "model_calls": 4, "model_requests": 4,
        "tool_rounds": 3, "ended": "limit", "returned": "error", "silent": False, "handled": False, "finish_reason": None,
        "final_text": None, "unused_replies": 0, "refused_requests": [], "seconds": 0.0, "cost_usd": None,
    }  # fmt: skip
    assert {key: data[key] for key in expected} == expected
    assert data["tool_runs"][0] == {"name": "lookup", "input": {"key": "a"}, "output": "value of a", "is_error": False}
    assert data["requests"][:2] == [
        {"kept": 0, "new": ["user:text"]},
        {"kept": 1, "new": ["assistant:tool_use(lookup)", "user:tool_result(call_1)"]},
    ]
    assert data["error"]["type"] == "GraphRecursionError"
    assert data["error"]["message"].startswith("Recursion limit of 7 reached without hitting a stop condition.")


def test_an_expectation_that_is_not_met_exits_with_status_1(tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text("agentsim: 1\nprompt: hi\nreplies: [{text: hello}]\nexpect: {final_text: bye}\n", encoding="utf-8")
    assert 'expected "bye", but it is "hello"' in agentsim("run", str(file), status=1)


def test_a_scenario_that_no_wire_of_the_style_can_say_exits_with_status_2():
    text = agentsim("run", str(SCENARIOS / "paused_search.yaml"), "--style", "openai-agents/Runner.run", status=2)
    assert "has no way to say" in text


@pytest.mark.parametrize("limit", ["0", "-1", "2.5", "none"])
def test_odd_limits_are_taken(limit):
    rows = by_style(agentsim("compare", str(SCENARIOS / "three_rounds.yaml"), f"--limit={limit}", "--format", "json"))
    assert set(rows) == {name for name in all_styles() if "@" not in name}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "nothing.yaml"], "there is no file 'nothing.yaml'"),
        (["run", str(SCENARIOS)], "is a folder"),
        (["compare", str(SCENARIOS / "refund.yaml"), "--style", "langchian"], "did you mean 'langchain"),
        (["compare", str(SCENARIOS / "refund.yaml"), "--limit", "many"], "expected an integer, a decimal or 'none'"),
        (["compare", str(SCENARIOS / "refund.yaml"), "--wire", "smoke"], "smoke"),
        (["run", str(SCENARIOS / "refund.yaml"), "--style", "ai-sdk/streamText", "--no-stream"], "always calls the model with streaming"),
        (["run", str(SCENARIOS / "refund.yaml"), "--set", "nonsense=1"], "nonsense"),
        (["run", str(SCENARIOS / "refund.yaml"), "--set", "nonsense"], "PATH=JSON"),
        (["comapre", "x"], "Did you mean 'compare'"),
        (["compare"], "FILE"),
        (["styles", "nope"], "there is no style 'nope'"),
        (["validate", "nowhere"], "nowhere"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)  # fmt: skip
def test_a_mistake_is_a_message_and_status_2(arguments, says):
    assert says in agentsim(*arguments, status=2)


def test_styles_lists_the_vocabulary_and_tells_more_of_one():
    assert "recursionLimit" in agentsim("styles")
    assert "wires:" in agentsim("styles", "langchain")
    rows = json.loads(agentsim("styles", "--format", "json"))
    assert {"style", "unit", "knob", "default", "check", "at_limit", "signal", "claims"} <= set(rows[0])


def test_styles_says_when_and_on_what_a_style_was_proved():
    assert re.search(
        r"proved on: ai \d.*\(\d{4}-\d\d-\d\d, [\d,]+ of [\d,]+ random scripts agree\)",
        agentsim("styles", "ai-sdk/ToolLoopAgent.generate"),
    )
    (row,) = json.loads(agentsim("styles", "ai-sdk/ToolLoopAgent.generate", "--format", "json"))
    assert row["proof"]["agreements"] == row["proof"]["examples"] > 0
    (row,) = json.loads(agentsim("styles", "reference", "--format", "json"))
    assert row["proof"] is None


def test_schema_prints_a_json_schema():
    assert json.loads(agentsim("schema"))["$schema"].startswith("https://json-schema.org/")


def test_validate_says_how_many_files_are_fine():
    assert "no problem" in agentsim("validate", str(SCENARIOS))


def test_show_tells_a_scenario_and_its_facts():
    assert "reply 1" in agentsim("show", str(SCENARIOS / "refund.yaml"))
    facts = json.loads(agentsim("show", str(SCENARIOS / "refund.yaml"), "--format", "json"))
    assert (facts["format"], facts["model_calls"], facts["tool_calls"], facts["server_calls"]) == ("scenario", 4, 2, 1)


def test_a_claude_code_session_is_compared_budgeted_and_shown(tmp_path):
    file = tmp_path / "session"
    file.write_text(
        "\n".join(
            json.dumps(line)
            for line in [
                {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "list files"}},
                {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "requestId": "r1", "message": {
                    "id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Looking."}], "stop_reason": None}},
                {"type": "assistant", "uuid": "a2", "parentUuid": "a1", "requestId": "r1", "message": {
                    "id": "m1", "role": "assistant", "content": [
                        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}],
                    "stop_reason": "tool_use"}},
                {"type": "user", "uuid": "u2", "parentUuid": "a2", "message": {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}]}},
                {"type": "assistant", "uuid": "a3", "parentUuid": "u2", "requestId": "r2", "message": {
                    "id": "m2", "role": "assistant", "content": [{"type": "text", "text": "One file."}],
                    "stop_reason": "end_turn"}},
            ]
        ),
        encoding="utf-8",
    )  # fmt: skip
    rows = by_style(agentsim("compare", str(file), "--limit", "10", "--format", "json"))
    assert rows["reference"]["final_text"] == "One file."
    assert by_style(agentsim("budget", str(file), "--format", "json"))["langchain/create_agent"]["least_limit"] == 4
    facts = json.loads(agentsim("show", str(file), "--format", "json"))
    assert (facts["format"], facts["model_calls"], facts["tool_calls"]) == ("claude-code", 2, 1)


def test_no_color_is_honoured_and_a_pipe_gets_no_escape_codes():
    assert "\x1b" not in agentsim("compare", str(SCENARIOS / "refund.yaml"))


def test_a_comparison_says_whose_ending_counts_where_there_are_several_prompts():
    replies = "replies: [{text: I will, stop_reason: max_tokens}, {text: You are welcome.}]\n"
    two = loads("agentsim: 1\nprompt: [First, Second]\n" + replies)
    one = loads("agentsim: 1\nprompt: First\n" + replies)
    said = "none of them reports an unfinished run as finished (of 2 prompts, each a run of its own, the last one's ending counts)"
    assert said in str(compare(two, styles=["langchain"]))
    assert "prompts" not in str(compare(one, styles=["langchain"]))
