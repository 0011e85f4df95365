"""What people get wrong at first is told in words that say what to do."""

from __future__ import annotations

import pytest

#: An agent that asks for a key when it is imported, as many frameworks' agents do.
EAGER = """
import os
import anthropic

if not os.environ.get("ANTHROPIC_API_KEY"):
    raise RuntimeError("Set the ANTHROPIC_API_KEY environment variable")
CLIENT = anthropic.Anthropic()

def run(prompt):
    messages = [{"role": "user", "content": prompt}]
    return CLIENT.messages.create(model="claude-sonnet-5", max_tokens=9, messages=messages).content[0].text
"""
TEST = """
import eager, pytest

@pytest.mark.agentsim({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello."}]})
def test_it(sim):
    assert eager.run(sim.prompt) == "Hello."
"""


@pytest.fixture
def eager(suite, monkeypatch):
    """A suite whose agent is built at import, on a machine without keys."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    suite.makepyfile(eager=EAGER, test_eager=TEST)
    return suite


def run(suite: pytest.Pytester, *options: str) -> pytest.RunResult:
    return suite.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_an_agent_that_wants_a_key_when_it_is_imported_gets_a_dummy(eager):
    eager.makeini("[pytest]\nagentsim_dummy_keys = true")
    run(eager).assert_outcomes(passed=1)


def test_without_that_setting_it_is_named(eager):
    result = run(eager)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Set the ANTHROPIC_API_KEY*", "*agentsim_dummy_keys = true*"])


def test_the_agent_of_scenario_files_gets_a_dummy_by_itself(eager):
    eager.makeini("[pytest]\nagentsim_agent = eager:run\ntestpaths = hi.scenario.yaml")
    (eager.path / "hi.scenario.yaml").write_text("agentsim: 1\nprompt: Hi\nreplies:\n  - text: Hello.\n")
    run(eager, "hi.scenario.yaml").assert_outcomes(passed=1)


def test_mistakes_of_a_first_test_say_what_to_do(suite):
    suite.makepyfile("""
        import pytest
        from pathlib import Path

        @pytest.mark.agentsim("refnud.yaml")
        def test_misspelt_file(sim): pass

        @pytest.mark.agentsim("refund.yaml", stric=False)
        def test_misspelt_setting(sim): pass

        @pytest.mark.agentsim("refund.yaml")
        def test_agent_not_called(sim): pass

        @pytest.mark.agentsim({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "a"}, {"text": "b"}]})
        def test_too_many_replies(sim):
            import agent
            agent.run(sim.prompt)
    """)
    result = run(suite)
    result.assert_outcomes(failed=2, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*there is no such file; did you mean 'refund.yaml'?",
            "*scenarios are looked for in *scenarios (the setting agentsim_scenarios, below pytest's rootdir)",
            "*has no setting 'stric'; did you mean 'strict'?",
            "*4 replies were never asked for*no request came: was the agent called*",
            "*1 reply was never asked for*the next is replies[[]1[]] (`unused_replies: allow`*",
        ]
    )
    assert "document.py" not in result.stdout.str()
