"""The comparison with the real SDKs tells what it came to, and stores it where that is asked for."""

from __future__ import annotations

import datetime

import pytest
from ledger import Ledger

_LEDGER = pytest.StashKey[Ledger]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LEDGER] = Ledger()


@pytest.fixture(scope="session")
def ledger(pytestconfig: pytest.Config) -> Ledger:
    """The counts of this run."""
    return pytestconfig.stash[_LEDGER]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash[_LEDGER].lines()
    if lines:
        terminalreporter.section(f"the styles against the real SDKs, seed {config.getoption('--sdk-seed')}")
        for line in lines:
            terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if config.getoption("--sdk-record"):
        day = datetime.datetime.now(datetime.UTC).date().isoformat()  # a proof is of a day: SDKs move
        config.stash[_LEDGER].store(config.getoption("--sdk-seed"), day)
