"""The plugin as its users meet it."""

from __future__ import annotations

import subprocess
import sys

import pytest

TEST = """
    import agent, pytest

    @pytest.mark.agentsim("refund.yaml")
    def test_refund(sim):
        assert agent.run(sim.prompt) == "Refunded."
        sim.check()
        assert sim.model_calls == 4 and sim.called and sim.requests[-1].body["model"] == "claude-sonnet-5"
"""


def test_a_marked_test_plays_its_file(suite):
    suite.makepyfile(TEST)
    run(suite).assert_outcomes(passed=1)


def run(suite: pytest.Pytester, *options: str) -> pytest.RunResult:
    return suite.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_unused_replies_fail_the_test_and_the_transcript_is_shown(suite):
    suite.makepyfile("""
        import pytest

        @pytest.mark.agentsim("refund.yaml")
        def test_nothing(sim):
            pass
    """)
    result = run(suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ScriptUnfinished: 4 replies were never asked for*", "*agentsim transcript*"])


def test_a_request_beyond_the_script_is_shown_with_the_nearest_reply(suite):
    suite.makepyfile("""
        import agent, pytest

        @pytest.mark.agentsim({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello"}]})
        def test_twice(sim):
            agent.run(sim.prompt)
            try:
                agent.run("again")
            except Exception:
                pass
    """)
    result = run(suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*ScriptExhausted: model call 2*", "*no reply fits request 2: user:text*", "*nearest: reply 1*"]
    )


def test_a_glob_makes_a_test_of_each_file(suite):
    for name in ("a", "b"):
        (suite.path / "scenarios" / f"{name}.case.yaml").write_text(
            "agentsim: 1\nprompt: Hi\nreplies: [{text: Hello}]\n"
        )
    suite.makepyfile("""
        import agent, pytest

        @pytest.mark.agentsim("*.case.yaml")
        def test_each(sim):
            assert agent.run(sim.prompt) == "Hello"
    """)
    result = run(suite, "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_each?a.case?*", "*test_each?b.case?*"])


def test_an_inline_scenario_needs_no_file(suite):
    suite.makepyfile('''
        import agent, pytest

        @pytest.mark.agentsim("""
        agentsim: 1
        prompt: Hi
        replies:
          - text: Hello
        """)
        def test_inline(sim):
            assert agent.run(sim.prompt) == "Hello"
    ''')
    run(suite).assert_outcomes(passed=1)


def test_unittest_classes_have_the_sim_as_an_attribute(suite):
    suite.makepyfile("""
        import unittest, agent, pytest

        class TestRefund(unittest.TestCase):
            @pytest.mark.agentsim("refund.yaml")
            def test_refund(self):
                self.assertEqual(agent.run(self.sim.prompt), "Refunded.")
                self.sim.check()
    """)
    run(suite).assert_outcomes(passed=1)


def test_async_tests_play_under_anyio(suite):
    suite.makepyfile("""
        import anthropic, pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        @pytest.mark.agentsim({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello"}]})
        async def test_async(sim):
            client = anthropic.AsyncAnthropic()
            reply = await client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": sim.prompt}])
            assert reply.content[0].text == "Hello"
    """)
    run(suite).assert_outcomes(passed=1)


def test_a_broken_rule_names_itself(suite):
    suite.makepyfile("""
        import anthropic, pytest

        @pytest.mark.agentsim({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Well", "stop_reason": "pause_turn"}]})
        def test_pause(sim):
            reply = anthropic.Anthropic().messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": sim.prompt}])
            sim.check(answer=reply.content[0].text)
    """)
    result = run(suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*RuleBroken: 1 loop rule broken*", "*pause_is_resumed_unchanged: reply 1 paused and was never resumed*"]
    )


def test_snapshots_are_one_readable_file_a_test(suite):
    suite.makepyfile("""
        import agent, pytest

        @pytest.mark.agentsim("refund.yaml")
        def test_refund(sim, transcript_snapshot):
            agent.run(sim.prompt)
            assert sim.transcript == transcript_snapshot
    """)
    run(suite, "--snapshot-update").assert_outcomes(passed=1)
    files = list(suite.path.rglob("*.transcript.txt"))
    assert len(files) == 1
    assert "request 1: keeps 0, new: user:text" in files[0].read_text("utf-8")
    run(suite).assert_outcomes(passed=1)
    files[0].write_text(files[0].read_text("utf-8").replace("Refunded", "Paid"), "utf-8")
    run(suite).assert_outcomes(failed=1)


def test_scenario_files_are_tests_of_the_agent_that_the_settings_name(suite):
    suite.makeini("[pytest]\nagentsim_agent = agent:run\n")
    good = (suite.path / "scenarios" / "refund.yaml").read_text("utf-8")
    suite.path.joinpath("good.scenario.yaml").write_text(good, "utf-8")
    bad = "agentsim: 1\nprompt: Hi\nreplies: [{text: Hello}]\nexpect: {final_text: Bye}\n"
    suite.path.joinpath("bad.scenario.yaml").write_text(bad, "utf-8")
    result = run(suite)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*expected final_text 'Bye', but 'Hello' came*"])


def test_a_closed_network_fails_what_goes_out(suite):
    suite.makeini("[pytest]\nagentsim_block_network = true\n")
    suite.makepyfile("""
        import socket

        def test_out():
            try:
                socket.create_connection(("192.0.2.1", 80), 1)
            except OSError:
                pass

        def test_quiet():
            pass
    """)
    result = run(suite)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*agentsim keeps the network closed*192.0.2.1*"])


def test_the_report_is_one_page_for_the_session_whichever_workers_ran_it(suite):
    suite.makepyfile(TEST + TEST.replace("def test_", "def test_also_"))
    run(suite, "--agentsim-report=page.html", "-n", "2").assert_outcomes(passed=2)
    page = (suite.path / "page.html").read_text("utf-8")
    assert "2 tests played a scenario" in page
    assert "lookup_order" in page
    run(suite, "--agentsim-report=again.html").assert_outcomes(passed=2)
    assert (suite.path / "again.html").read_text("utf-8") == page


def test_a_report_that_can_not_be_written_is_told_before_the_tests_run(suite):
    suite.makepyfile(TEST)
    result = run(suite, "--agentsim-report=missing/page.html")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--agentsim-report: 'missing/page.html' can't be written: there is no folder*"])


def test_without_the_plugin_nothing_of_it_is_there(suite):
    suite.makepyfile("def test_plain():\n    pass\n")
    suite.plugins = []
    suite.runpytest_subprocess("-p", "no:agentsim").assert_outcomes(passed=1)


def test_knowing_the_plugin_imports_nothing_but_pytest():
    code = (
        "import pytest, sys; before = set(sys.modules); import agentsim.pytest_plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(out.split()) == {"agentsim", "agentsim.pytest_plugin"}


def test_a_missing_scenario_and_a_missing_marker_say_what_to_do(suite):
    suite.makepyfile("""
        import pytest

        @pytest.mark.agentsim("nowhere.yaml")
        def test_missing(sim):
            pass

        def test_unmarked(sim):
            pass
    """)
    result = run(suite)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*nowhere.yaml*", "*names its scenario: @pytest.mark.agentsim*"])


def test_recording_asks_the_provider_once_and_plays_it_from_then_on(suite):
    suite.makepyfile("""
        import pytest, anthropic, agent
        from agentsim.http.provider import Provider
        from agentsim.http.server import Server
        from agentsim.scenario.load import load

        @pytest.fixture(scope="module")
        def upstream():
            with Server(Provider(load("scenarios/refund.yaml"))) as server:
                yield server.url

        @pytest.mark.agentsim("recorded.yaml", prompt="Refund order 42")
        def test_refund(upstream, sim):
            with anthropic.Anthropic(base_url=upstream) as client:
                assert agent.run("Refund order 42", client) == "Refunded."
            assert sim.prompt == "Refund order 42"
    """)
    suite._monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    run(suite, "--agentsim-record=none").assert_outcomes(errors=1)
    run(suite, "--agentsim-record=once").assert_outcomes(passed=1)
    text = (suite.path / "scenarios" / "recorded.yaml").read_text("utf-8")
    assert "Refunded." in text
    assert "real" not in text
    run(suite).assert_outcomes(passed=1)
