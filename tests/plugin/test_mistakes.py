"""A mistake in a test is told as that test's: one message, and the module's other tests are collected and run."""

from __future__ import annotations

import pytest

MODULE = """
import agentsim, pytest

HELLO = {"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello."}]}
UNUSED = {**HELLO, "unused_replies": "allow"}

def test_fine():
    pass

"""


def told(pytester: pytest.Pytester, test: str, *options: str) -> str:
    """What pytest prints of a module with one test that is wrong and one that is fine."""
    pytester.makepyfile(test_mistake=MODULE + test)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:asyncio", *options)
    counts = result.parseoutcomes()
    assert counts.pop("passed") == 1
    assert counts in ({"errors": 1}, {"failed": 1}), counts
    return result.stdout.str()


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("(5)", "@pytest.mark.agentsim(5): expected a scenario: a file's name, a glob, or one inline *, but int came"),
        ("()", "@pytest.mark.agentsim(): expected a scenario: *, but nothing came"),
        ("(HELLO, None)", "@pytest.mark.agentsim(None): expected a scenario: *, but NoneType came"),
        ('("nope*.yaml")', "@pytest.mark.agentsim('nope*.yaml'): no file below *scenarios fits"),
        ("(HELLO, strikt=True)", "@pytest.mark.agentsim has no setting 'strikt'; did you mean 'strict'?"),
        ('(HELLO, allow_hosts=["http://x"])', "allow_hosts: expected a host name, *, but 'http://x' came*"),
    ],
)
def test_a_wrong_marker_is_one_message_that_names_its_test(pytester, marker, message):
    printed = told(pytester, f"@pytest.mark.agentsim{marker}\ndef test_wrong(sim):\n    pass\n")
    lines = [line for line in printed.splitlines() if line.startswith("agentsim.errors.")]
    assert len(lines) == 1
    pytest.LineMatcher(lines).fnmatch_lines(
        [f"agentsim.errors.UsageError: test_mistake.py:9: test_wrong: {message.replace('[', '[[]')}"]
    )
    assert "pluggy/" not in printed
    assert "raise " not in printed


def test_a_fixture_without_a_marker_is_one_message(pytester):
    printed = told(pytester, "def test_wrong(sim):\n    pass\n")
    assert "test_mistake.py:9: test_wrong: a test with the fixture `sim` names its scenario" in printed
    assert "raise " not in printed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('sim.check("cut_call")', "UsageError: there is no rule 'cut_call'; did you mean 'cut_call_never_runs'?"),
        ('sim.count("reference2")', "UsageError: there is no style 'reference2'; did you mean 'reference'?"),
        ("agentsim.run(5)", "UsageError: run: expected a Scenario, but the int 5 came"),
        ("agentsim.loads(5)", "UsageError: loads: expected YAML or JSON text, or a mapping, but the int 5 came"),
    ],
)
def test_a_wrong_call_is_shown_at_the_tests_own_line_without_agentsims_source(pytester, line, message):
    printed = told(pytester, f"@pytest.mark.agentsim(UNUSED)\ndef test_wrong(sim):\n    {line}\n")
    assert f">       {line}" in printed or f">   {line}" in printed
    assert message in printed
    assert "raise UsageError" not in printed


def test_unused_replies_are_one_message(pytester):
    printed = told(pytester, "@pytest.mark.agentsim(HELLO)\ndef test_wrong(sim):\n    pass\n")
    assert "1 reply was never asked for, of scenario 'scenario'" in printed
    assert "playing.close()" not in printed
    assert "FAILED test_mistake.py::test_wrong - " in printed


def test_the_full_trace_can_still_be_had(pytester):
    test = '@pytest.mark.agentsim(UNUSED)\ndef test_wrong(sim):\n    sim.check("cut_call")\n'
    assert "raise UsageError" in told(pytester, test, "--full-trace")
