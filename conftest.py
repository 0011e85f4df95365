"""Settings that hold for every test of the repository."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

# A shared machine may be slow at any moment, so no example has a deadline; in CI the examples are the same each time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") or os.environ.get("AGENTSIM_SAME_EXAMPLES") else "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long the comparison with the real SDKs goes on (`pytest -m sdk`)."""
    parser.addoption("--sdk-examples", type=int, default=60, help="random scripts for each entry point")
    parser.addoption("--sdk-seed", type=int, default=1, help="of the random scripts")
    text = "compare, of the SDKs in rotation, only those that changed since their proof and those whose turn it is"
    parser.addoption("--sdk-turn", type=int, help=text)
    parser.addoption("--sdk-rotate", type=int, default=2, help="how many have their turn at once")
    text = "turn the conditions of each so-manyth style module round, other ones each turn"
    parser.addoption("--sdk-flips", type=int, default=1, help=text)
    parser.addoption("--sdk-record", action="store_true", help="store what came of it in tests/sdk/agreement.json")
