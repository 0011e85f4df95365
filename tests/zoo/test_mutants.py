"""A careful loop that somebody changes is caught: a sample of what `python -m tests.zoo.mutate` tries."""

from __future__ import annotations

import pytest

from tests.zoo.mutate import LOOPS, SURVIVORS, all_mutants, judged, usual


@pytest.mark.parametrize("loop", ["claude", "responses", "chat"])
def test_a_changed_loop_is_caught_or_behaves_the_same_or_keeps_the_rules_for_a_stated_reason(loop):
    for mutant in all_mutants(loop)[::25]:
        assert judged(loop, mutant) != frozenset() or mutant.what in SURVIVORS


def test_each_stated_reason_is_about_a_change_that_there_is():
    assert set(SURVIVORS) <= {mutant.what for loop in LOOPS for mutant in all_mutants(loop)}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_careful_loop_has_an_ending_of_its_own_for_each_scenario_that_its_wire_can_say(loop):
    assert len(usual(loop)) >= 31
