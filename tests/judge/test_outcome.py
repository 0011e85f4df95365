"""What a process's standard error says: a crash of the agent's own code, or another end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentsim.judge.outcome import crash_in

CHAINED = """
class Unfinished(Exception): pass
try:
    {}["text"]
except KeyError as error:
    raise Unfinished("no text in the reply") {cause}
"""


@pytest.mark.parametrize("cause", ["from error", ""])
def test_an_exception_of_the_agents_own_is_no_crash_though_another_one_caused_it(cause):
    done = subprocess.run(
        [sys.executable, "-c", CHAINED.replace("{cause}", cause)], capture_output=True, text=True, check=False
    )
    assert "KeyError: 'text'" in done.stderr
    assert crash_in(done.stderr) is None


def test_a_crash_that_another_exception_caused_is_one():
    source = "try:\n    raise OSError('away')\nexcept OSError:\n    {}['text']\n"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert crash_in(done.stderr) == "KeyError: 'text'"


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: terminated",
        "node:internal/deps/undici/undici:13510\n      Error.captureStackTrace(err);\n            ^\n\n"
        "TypeError: terminated\n    at Fetch.onAborted (node:internal/deps/undici/undici:11132:53) {\n"
        "  [cause]: SocketError: other side closed\n}\n\nNode.js v20.20.2\n",
        "TypeError: fetch failed\n    at node:internal/deps/undici/undici:13510:13 {\n  [cause]: Error: read ECONNRESET\n}\n",
        "error: Uncaught (in promise) TypeError: error reading a body from connection\n",
        "Uncaught TypeError: Failed to fetch",
    ],
)
def test_a_lost_connection_is_no_crash_in_javascript_though_it_is_a_type_error(text):
    assert crash_in(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: Cannot read properties of undefined (reading 'text')\n    at main (file:///agent.mjs:3:9)\n",
        "file:///agent.mjs:3\nreply.content[0].text\n                 ^\n\n"
        "TypeError: Cannot read properties of undefined (reading 'text')\n    at agent.mjs:3:18\n\nNode.js v20.20.2\n",
    ],
)
def test_a_type_error_of_javascript_is_a_crash(text):
    assert crash_in(text) == "TypeError: Cannot read properties of undefined (reading 'text')"
