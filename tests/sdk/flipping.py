"""A pytest plugin: the whole session runs with one condition of the styles turned round (AGENTSIM_FLIP=module:number)."""

from __future__ import annotations

import contextlib
import os

import flips
import pytest

_FLIPPED = pytest.StashKey[contextlib.ExitStack]()


def pytest_sessionstart(session: pytest.Session) -> None:
    module, number = os.environ["AGENTSIM_FLIP"].split(":")
    stack = contextlib.ExitStack()
    stack.enter_context(flips.flipped(flips.flips(module)[int(number)]))
    session.config.stash[_FLIPPED] = stack


def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[_FLIPPED].close()
