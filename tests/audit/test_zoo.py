"""The zoo: each broken loop is named by its rules, and nothing is found in a careful one."""

from __future__ import annotations

import pytest

from agentsim.audit import Options, audit
from agentsim.judge.rules import all_rules
from tests.zoo.broken import EXPECTED
from tests.zoo.careful import CAREFUL

HERE = Options(isolate=False)

#: Rules that a careful loop's own way leaves open: it never brings itself into the case, or its wire has no word for it.
OPEN = {
    "claude": {"broken_stream_runs_nothing"},
    "openai": {
        "pause_is_resumed_unchanged",
        "full_context_is_no_answer",
        "endless_pause_ends",
        "answers_are_in_one_message",
        "empty_reply_is_not_retried",
        "tool_use_without_calls_is_no_answer",
    },
}


@pytest.mark.parametrize("loop", CAREFUL)
def test_nothing_is_found_in_a_careful_loop(loop):
    report = audit(f"tests.zoo.careful:{loop}", options=HERE)
    assert report.failed == []
    open_rules = {rule.name for rule in report.rules if report.result(rule.name) == "not_applicable"}
    allowed = OPEN["claude"] if loop.startswith("claude") else OPEN["openai"] | OPEN["claude"] | {"answers_come_first"}
    assert open_rules <= allowed


@pytest.mark.parametrize("loop", EXPECTED)
def test_a_broken_loop_is_named_by_the_rules_that_it_breaks(loop):
    report = audit(f"tests.zoo.broken:{loop}", rules=EXPECTED[loop], options=HERE)
    assert set(report.failed) == EXPECTED[loop]


@pytest.mark.parametrize("loop", ["SwallowsTheCap", "DropsReasoning", "TakesBrokenStreams"])
def test_no_other_rule_is_blamed(loop):
    assert set(audit(f"tests.zoo.broken:{loop}", options=HERE).failed) == EXPECTED[loop]


def test_the_zoo_has_a_loop_for_every_rule_and_every_wire():
    assert {rule for rules in EXPECTED.values() for rule in rules} == set(all_rules())
    assert len(EXPECTED) >= 40
    assert len(CAREFUL) >= 8
