"""Keys for the clients under test, and no address that the environment may hold."""

from __future__ import annotations

import pytest

from agentsim.http.environment import base_urls


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "plain-looking-key")
    for name in base_urls(""):
        monkeypatch.delenv(name, raising=False)
