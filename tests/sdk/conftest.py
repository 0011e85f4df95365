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
    """With --sdk-turn, what is in rotation is compared only where it changed or has its turn, and some of the styles' modules are flipped."""
    turn = config.getoption("--sdk-turn")
    if turn is None:
        return
    names = rotation.chosen(turn, config.getoption("--sdk-rotate"))
    modules = sorted({module for item in items if (module := _parameter(item, "module"))})
    count = -(-len(modules) // config.getoption("--sdk-flips"))
    flipped = rotation.in_turn(modules, turn, count)
    left_out = {
        item
        for item in items
        if _parameter(item, "sdk") not in (None, *names) or _parameter(item, "module") not in (None, *flipped)
    }
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _parameter(item: pytest.Item, name: str) -> str | None:
    """What SDK an item compares a style with, or which module of the styles it flips."""
    called = getattr(item, "callspec", None)
    own = called is not None and str(item.path.parent) == str(rotation.HERE)
    return called.params.get(name) if own and called is not None else None
