"""What the pages tell is what the results say."""

from __future__ import annotations

from typing import Any

import agentsim
from agentsim.core.events import Fault, ModelFailed, ModelReplied, ModelRequested, RunStarted, ToolRun, ToolsRan
from agentsim.core.messages import Message, Reply, Text, ToolCall, ToolResult, user_text
from agentsim.report.html import compared, shown
from agentsim.report.html.charts import Scale, percent, steps_chart
from agentsim.report.html.pieces import MOST, piece
from agentsim.report.html.timeline import timeline
from agentsim.report.table import Table
from tests.html.pages import PAGES, scenario
from tests.html.reading import find, label_of, outline, parsed, rows, words


def table_of(root: Any, caption: str) -> list[list[str]]:
    (found,) = [t for t in find(root, "table") if caption in label_of(root, t)]
    return rows(found)


def test_a_comparison_has_a_row_for_each_style_with_its_numbers():
    results = agentsim.compare(scenario("three_rounds"))
    header, *body = table_of(parsed(results.to_html()), "three rounds")
    told = {row[0]: dict(zip(header, row, strict=True)) for row in body}
    assert list(told) == [r.style.name for r in results]
    for result in results:
        row = told[result.style.name]
        assert (row["ended"], row["calls"], row["rounds"]) == (
            result.ended, str(result.model_calls), str(result.tool_rounds),
        )  # fmt: skip
        assert row["least"] == ("–" if result.least_limit is None else str(result.least_limit))


def test_charts_tell_what_each_limit_comes_to():
    root = parsed(agentsim.compare(scenario("three_rounds"), styles=["langchain-js/createAgent"]).to_html())
    (chart,) = [svg for svg in find(root, "svg") if (svg.get("aria-label") or "").startswith("limit")]
    assert chart.get("aria-label") == (
        "limit 1 to 2: 1 call, error; limit 3 to 4: 2 calls, error; limit 5 to 6: 3 calls, error; limit 7: 4 calls, error; "
        "limit 8 to 9: 4 calls, answer"
    )


def test_the_page_of_a_comparison_reads_like_this():
    chosen = ["reference", "langchain/create_agent", "ai-sdk/generateText"]
    root = parsed(agentsim.compare(scenario("paused_search"), styles=chosen).to_html())
    assert (
        outline(root)
        == """\
header
  h1 paused search: loops compared
main
  section paused search
    h2 paused search
    chart: What the callers are told: finished, and told so: 1, unfinished, but told as an answer: 2
    table of 3 rows: Each style's run of “paused search”
    chart: limit 1: 1 call, error; limit 2 to 6: 2 calls, answer
    chart: limit 1: 1 call, error; limit 2 to 6: 1 call, unfinished, told as an answer
    chart: limit 1: 1 call, unfinished, told as an answer; limit 2 to 6: 2 calls, answer
    h3 What happened
    h4 Course 1: 1 style
    h4 Course 2: 2 styles
footer"""
    )


def test_only_differences_are_left_where_only_they_are_asked_for():
    results = agentsim.compare(scenario("refund"))
    few = parsed(compared.page(Table(list(results), only_differences=True)))
    assert len(table_of(few, "refund")) < len(results)
    assert "more styles do what most do" in words(few)


def test_what_was_not_played_as_asked_is_told():
    found = agentsim.compare(scenario("three_rounds"), styles=["reference", "anthropic"], wire="openai-chat")
    said = words(parsed(found.to_html()))
    assert "not as asked: 1 of 2 don't speak openai-chat" in said
    assert "not as asked" not in words(
        parsed(agentsim.compare(scenario("three_rounds"), styles=["reference"]).to_html())
    )


def test_two_scenarios_of_one_name_are_two_sections():
    both = [*agentsim.compare(scenario("refund")), *agentsim.compare(scenario("refund"))]
    assert len(Table(both).by_scenario()) == 2


def test_a_budget_tells_a_limit_for_each_percentile():
    root = parsed(PAGES["budget"]())
    header, *body = table_of(root, "asked for: 75 %")
    row = dict(zip(header, next(row for row in body if row[0] == "reference"), strict=True))
    assert row == {
        "style": "reference", "unit": "model call", "knob": "limit", "default": "10", "the default cuts": "1 (25 %)",
        "50 %": "4", "75 %": "4", "90 %": "none", "95 %": "none", "99 %": "none", "100 %": "none", "never finish": "1",
    }  # fmt: skip


def test_the_share_of_runs_that_finish_rises_with_the_limit():
    chart = steps_chart({1: 1, 3: 2, None: 1}, Scale(10), {5: "5"})
    assert chart.says == "share of runs that finish, by limit: 1: 25 %; 3: 75 %"
    assert chart.path == "M0 110H30V82.5H90V27.5H300"
    assert [(tick.label, tick.at) for tick in chart.marks] == [("5", "150")]


def test_shares_are_never_rounded_to_nothing_or_everything():
    assert [percent(*each) for each in ((0, 9), (1, 3000), (1, 3), (2999, 3000), (9, 9))] == [
        "0 %", "< 0.1 %", "33.3 %", "> 99.9 %", "100 %",
    ]  # fmt: skip


def test_limits_that_go_far_are_on_a_logarithmic_axis():
    scale = Scale(1000)
    assert [tick.label for tick in scale.ticks()] == ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"]
    assert (scale.at(1), scale.at(1000), scale.at(99999)) == (0, 300, 300)


# --- timelines -------------------------------------------------------------------------------------------------------


def cards(events: Any) -> list[list[str]]:
    """Each row's cards in short: lane, title, badge."""
    shown = timeline(events)
    return [
        [f"{shown.lanes[c.lane - 1]}: {c.title}{f' [{c.badge}]' if c.badge else ''}" for c in row] for row in shown.rows
    ]


def test_a_round_is_a_row_of_request_reply_and_runs():
    assert cards(agentsim.run(scenario("refund")).transcript) == [
        ["loop: start"],
        ["loop: request 1", "model: reply [tool_use]", "tools: lookup_order [returns]"],
        ["loop: request 2", "model: reply [pause_turn]"],
        ["loop: request 3", "model: reply [tool_use]", "tools: refund [returns]"],
        ["loop: request 4", "model: reply [end_turn]"],
        ["loop: end [answer]"],
    ]


def test_several_agents_have_a_lane_each():
    result = agentsim.run(scenario("subagent"), "claude-agent-sdk/query")
    assert timeline(result.transcript).lanes == ("loop", "model of the main agent", "model of researcher", "tools")


def test_a_crowd_of_agents_shares_the_last_lane():
    events = [
        each
        for n in range(9)
        for each in (ModelRequested(0, (user_text("hi"),), f"agent {n}", thread=n), ModelReplied(Reply((Text("ho"),))))
    ]
    shown = timeline(events)
    assert len(shown.lanes) == 6
    assert [row[1].who for row in shown.rows][-1] == "model of agent 8"


def test_of_a_request_only_what_nobody_has_seen_yet_is_told():
    call = ToolCall("call_1", "look", "{}")
    events = [
        RunStarted("go"),
        ModelRequested(0, (user_text("go"),)),
        ModelReplied(Reply((call,), "tool_use")),
        ToolsRan((ToolRun("call_1", "look", {}, "found"),)),
        ModelRequested(1, (Message("assistant", (call,)), Message("user", (ToolResult("call_1", "found"),)))),
        ModelRequested(3, (Message("user", (ToolResult("call_1", "lost", True), Text("please"))),)),
    ]
    told = [(row[0].pieces, row[0].folded) for row in timeline(events).rows[1:]]
    assert [len(pieces) + len(folded) for pieces, folded in told] == [0, 0, 2]
    assert told[-1][0][0].label == "user: error result of call_1"
    assert told[-1][1][0].text == "please"


def test_a_fault_shows_what_had_arrived():
    fault = Fault(200, "overloaded_error", "Overloaded", after_characters=3, partial=Reply((Text("I w"),)))
    (row,) = timeline([ModelRequested(0, ()), ModelFailed(fault, 1.5)]).rows
    assert (row[1].badge, row[1].notes, row[1].folded[0].text) == ("200", ("1.5 s",), "I w")


def test_what_took_time_is_a_chart():
    time = timeline(agentsim.run(scenario("slow_tools"), "ai-sdk/streamText").transcript).time
    assert time is not None
    assert time.says.startswith("2.5 virtual seconds in all: model 0.5 s, tools")


def test_long_texts_are_folded_and_enormous_ones_cut_and_said_so():
    text = "0123456789" * 5000
    assert (piece("text", "t", text).is_long, piece("text", "t", text).missing) == (True, len(text) - MOST)
    run = agentsim.run(agentsim.loads("agentsim: 1\nprompt: go\nreplies: [{text: '" + text + "'}]"))
    assert "10,000 more characters are not on this page." in words(parsed(shown.run_page(run)))


def test_a_session_tells_failed_tests_first_and_open():
    root = parsed(PAGES["session"]())
    assert [row[:2] for row in table_of(root, "Tests")][1:] == [
        ["test_a.py::test_cut", "failed"], ["test_a.py::test_refund", "passed"],
    ]  # fmt: skip
    assert [d.get("open") is not None for d in find(root, "details") if d.get("class") == "course"] == [True, False]


def test_an_audit_tells_what_was_broken_where():
    root = parsed(PAGES["audit"]())
    assert [row[:4] for row in table_of(root, "What each rule")][1:] == [
        ["pause_is_resumed_unchanged", "failed", "1", ""],
        ["refusal_is_no_answer", "not applicable", "", ""],
        ["limit_is_kept", "passed", "", "1"],
    ]
    assert "pause reply 1 paused" in words(root)
