"""Many conversations at once over one server, with faults: each gets its own script, whole and in order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentsim.http.provider import Settings
from agentsim.http.serve import scenarios_at
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from bench.conversations import FAULTS, Unreadable, play, script, whole, written


def test_every_session_gets_exactly_its_own_script_whatever_happens_to_the_others(tmp_path: Path) -> None:
    faults = written(tmp_path, sessions=16, calls=12, share=0.4, seed=1)
    told: list[str] = []
    settings = Settings(keep=False, tell=told.append)
    with Server(Sessions(scenarios_at(tmp_path), settings)) as server:
        seen = asyncio.run(play(server.url, 16, 12, faults))
    assert seen.replies == 16 * 12
    assert seen.faults.total() == sum(faults) > 60
    assert len(told) == 16, "each asked once more than its script has, and nothing else was wrong"
    assert all("but scenario" in line for line in told)


def test_scripts_hold_every_kind_of_fault_and_are_the_same_each_time() -> None:
    scenario, faults = script(1, 300, 0.4, 7)
    assert (scenario, faults) == script(1, 300, 0.4, 7)
    assert all(fault in scenario["replies"] for fault in FAULTS)


@pytest.mark.parametrize("body", [b"", b'data: {"type": "message_start"}\n\n', b"<html>", b"data: {"])
def test_the_client_that_judges_takes_no_half_reply(body: bytes) -> None:
    with pytest.raises((Unreadable, ValueError)):
        whole(200, body)
    with pytest.raises(Unreadable, match="status 529"):
        whole(529, b"")
