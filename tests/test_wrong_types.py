"""A value of a wrong type is refused where it is given: what was expected, what came, what to do."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

import agentsim

HELLO = agentsim.loads({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello."}]})
READS = r"; agentsim\.load\(path\) reads a file, agentsim\.loads\(text\) a text or a mapping"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: agentsim.run("a.yaml"), r"run: expected a Scenario, but the str 'a\.yaml' came" + READS),
        (lambda: asyncio.run(agentsim.arun(None)), "arun: expected a Scenario, but None came" + READS),
        (lambda: agentsim.compare([]), r"compare: expected a Scenario, but the list \[\] came" + READS),
        (lambda: agentsim.least_limit({}, "reference"), r"least_limit: expected a Scenario, but the dict \{\} came"),
        (lambda: agentsim.play(3), "play: expected a Scenario, a file's path or a mapping, but the int 3 came"),
        (lambda: agentsim.play(HELLO, strict=5), "play: strict is True or False, but the int 5 came; off="),
        (lambda: agentsim.play(HELLO, off="all"), "play: off is a list of strictness rules' names, but the str 'all'"),
        (lambda: agentsim.play(HELLO, allow_hosts=5), "allow_hosts: expected a list of host names, as .*, but 5 came"),
        (lambda: agentsim.replay(5), "replay: expected a recording, its file's path or bytes, but the int 5 came"),
        (lambda: agentsim.load(5), r"load: expected a file's path, but the int 5 came; agentsim\.loads takes YAML"),
        (lambda: agentsim.load(None), "load: expected a file's path, but None came"),
        (lambda: agentsim.loads(5), "loads: expected YAML or JSON text, or a mapping, but the int 5 came"),
        (lambda: agentsim.run(HELLO, 5), "expected a style's name, as 'langchain/create_agent', but the int 5 came"),
        (lambda: agentsim.run(HELLO, wire=5), "run: expected a wire's name, as 'openai-chat', or None as wire, but"),
        (lambda: agentsim.run(HELLO, stream="yes"), "run: expected True, False or None as stream, but the str 'yes'"),
        (lambda: agentsim.run(HELLO, options=[]), "run: expected a mapping, the option tree as options, but the list"),
        (lambda: agentsim.run(HELLO, max_calls=0), "run: expected a whole number above 0 as max_calls, but the int 0"),
        (lambda: agentsim.run(HELLO, tools={"a": 5}), "run: expected a mapping of tool names to functions as tools"),
        (lambda: agentsim.compare(HELLO, styles="langchain"), r"styles: expected a list of names, as \['langchain', "),
        (lambda: agentsim.compare(HELLO, styles=[5]), "expected a style's name, as 'langchain/create_agent', but"),
        (lambda: agentsim.least_limit(HELLO, "reference", wires=1), "has no setting 'wires'; did you mean 'wire'"),
        (lambda: agentsim.budget("nope.yaml"), r"budget: no run was read: there is no file 'nope\.yaml'"),
        (
            lambda: agentsim.budget(["nope", "nor.yaml"]),
            r"no run was read: there is no file 'nope' \(and 1 more\)",
        ),
        (lambda: agentsim.budget(5), "budget: expected files, folders or scenarios, but the int 5 came"),
        (lambda: agentsim.budget([5]), "budget: expected a file, a folder or a Scenario, but the int 5 came"),
        (lambda: agentsim.budget(HELLO, percentile="95"), "a percentile is above 0 and at most 100, but '95' came"),
    ],
)
def test_a_wrong_value_says_what_was_expected_and_what_came(call, message):
    with pytest.raises(agentsim.UsageError, match=message):
        call()


def test_without_hypothesis_the_strategies_say_what_to_install():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "try: import agentsim.strategies\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "agentsim.strategies needs Hypothesis: pip install 'agentsim[pytest]'\n"
