"""The plugin beside other plugins: workers, any order, event loops, unittest, and switched off."""

from __future__ import annotations

import pytest

from tests.plugin.test_plugin import run

TESTS = """
    import agent, pytest

    @pytest.mark.agentsim("refund.yaml")
    def test_refund(sim):
        assert agent.run(sim.prompt) == "Refunded."
        sim.check()
        assert sim.model_calls == 4

    @pytest.mark.agentsim("*.case.yaml")
    def test_each(sim):
        assert agent.run(sim.prompt) == f"Hello {sim.prompt}"
        sim.check()

    @pytest.mark.agentsim({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello"}]})
    def test_nothing_is_asked(sim):
        pass

    def test_plain():
        pass
"""


@pytest.fixture
def mixed(suite: pytest.Pytester) -> pytest.Pytester:
    """A suite of one file's test, eight of a glob's, one that fails and one without a scenario."""
    for number in range(8):
        text = f"agentsim: 1\nprompt: P{number}\nreplies: [{{text: Hello P{number}}}]\n"
        (suite.path / "scenarios" / f"{number}.case.yaml").write_text(text, "utf-8")
    suite.makepyfile(TESTS)
    return suite


def test_workers_play_each_their_own_scenarios(mixed):
    result = run(mixed, "-n", "4")
    result.assert_outcomes(passed=10, failed=1)
    result.stdout.fnmatch_lines(["*ScriptUnfinished: 1 reply was never asked for*", "*agentsim transcript*"])


@pytest.mark.parametrize("seed", ["1", "2"])
def test_any_order_gives_the_same(mixed, seed):
    result = run(mixed, "--random-order", f"--random-order-seed={seed}")
    result.assert_outcomes(passed=10, failed=1)


ASYNC = """
    import anthropic, pytest

    async def ask(sim):
        client = anthropic.AsyncAnthropic()
        message = {"role": "user", "content": sim.prompt}
        reply = await client.messages.create(model="m", max_tokens=9, messages=[message])
        sim.check(answer=reply.content[0].text)
        return reply.content[0].text

    HELLO = {"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello"}]}
    BYE = {"agentsim": 1, "prompt": "Ho", "replies": [{"text": "Bye"}]}
"""


def test_coroutines_play_under_pytest_asyncio(suite):
    suite.makepyfile(
        ASYNC
        + """
    import asyncio, pytest_asyncio

    @pytest_asyncio.fixture
    async def earlier():
        await asyncio.sleep(0)
        return "Hello"

    @pytest.mark.asyncio
    @pytest.mark.agentsim(HELLO)
    async def test_hello(sim, earlier):
        assert await ask(sim) == earlier

    @pytest.mark.asyncio
    @pytest.mark.agentsim(HELLO, BYE)
    async def test_both(sim):
        assert await ask(sim) in ("Hello", "Bye")
"""
    )
    run(suite).assert_outcomes(passed=3)
    run(suite, "-o", "asyncio_mode=auto").assert_outcomes(passed=3)


def test_coroutines_play_under_anyio_on_asyncio_and_on_trio(suite):
    suite.makepyfile(
        ASYNC
        + """
    pytestmark = pytest.mark.anyio

    @pytest.mark.agentsim(HELLO)
    async def test_hello(sim):
        assert await ask(sim) == "Hello"
"""
    )
    result = run(suite, "-v", "-p", "no:asyncio")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines_random(["*test_hello?asyncio?*", "*test_hello?trio?*"])


def test_unittest_methods_play_with_set_up_and_coroutines(suite):
    suite.makepyfile(
        ASYNC
        + """
    import agent, unittest

    class TestSync(unittest.TestCase):
        def setUp(self):
            self.ready = True

        @pytest.mark.agentsim("refund.yaml")
        def test_refund(self):
            self.assertTrue(self.ready)
            self.assertEqual(agent.run(self.sim.prompt), "Refunded.")

    @pytest.mark.agentsim(HELLO)
    class TestAsync(unittest.IsolatedAsyncioTestCase):
        async def test_hello(self):
            self.assertEqual(await ask(self.sim), "Hello")

        def test_nothing(self):
            pass
"""
    )
    run(suite).assert_outcomes(passed=2, failed=1)


def test_switched_off_it_leaves_only_its_own_tests_broken(suite):
    suite.makepyfile(
        """
    import agent, agentsim

    def test_refund():
        with agentsim.play("scenarios/refund.yaml") as sim:
            assert agent.run(sim.prompt) == "Refunded."
        sim.check()
"""
    )
    suite.plugins = []
    run(suite, "-p", "no:agentsim").assert_outcomes(passed=1)
