"""The comparison with the real SDKs tells what it came to, and stores it where that is asked for."""

from __future__ import annotations

import datetime

import pytest
import rotation
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --sdk-turn, of those in rotation only the ones whose turn it is, and those that changed, are compared."""
    turn = config.getoption("--sdk-turn")
    if turn is None:
        return
    names = rotation.chosen(turn, config.getoption("--sdk-rotate"))
    left_out = [item for item in items if _sdk_of(item) not in (None, *names)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _sdk_of(item: pytest.Item) -> str | None:
    """The SDK that an item compares a style with."""
    called = getattr(item, "callspec", None)
    return None if called is None else called.params.get("sdk")
