"""The page of the pytest plugin, from what it tells pytest."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from agentsim import pytest_plugin
from tools.reference.markdown import table

INTRODUCTION = """# pytest

The plugin is known once `agentsim[pytest]` is installed, and costs nothing until it is used. `pytest -p no:agentsim` switches it off. At the end of a test
replies never asked for and refused requests fail it; a failing test shows its transcript."""
CODE = """```python title="test_refund.py"
import httpx
import pytest


@pytest.mark.agentsim({"agentsim": 1, "prompt": "Refund order 42", "replies": [{"text": "Refunded."}]})
def test_refund(sim):
    body = {"model": "gpt-6-astra", "messages": [{"role": "user", "content": sim.prompt}]}
    key = {"authorization": "Bearer any"}
    reply = httpx.post("https://api.openai.com/v1/chat/completions", json=body, headers=key)
    assert reply.json()["choices"][0]["message"]["content"] == "Refunded."
```

```console
python -m pytest -q
```"""


class _Parser:
    """Keeps what `pytest_addoption` says."""

    def __init__(self) -> None:
        self.settings: list[tuple[str, str, Any]] = []
        self.options: list[tuple[str, str]] = []

    def addini(self, name: str, text: str, default: Any = None, **_: Any) -> None:
        self.settings.append((name, text, default))

    def getgroup(self, name: str) -> _Parser:
        return self

    def addoption(self, name: str, metavar: str = "", choices: tuple[str, ...] = (), **more: Any) -> None:
        self.options.append((f"{name}={metavar or '|'.join(choices)}", more["help"]))


class _Config:
    """Keeps what `pytest_configure` says of the marker."""

    marker = ""

    def addinivalue_line(self, name: str, line: str) -> None:
        self.marker = line

    def getoption(self, name: str) -> None:
        return None


def page() -> str:
    """The whole page."""
    parser, config = _Parser(), _Config()
    pytest_plugin.pytest_addoption(parser)  # type: ignore[arg-type]
    pytest_plugin.pytest_configure(config)  # type: ignore[arg-type]
    signature, _, said = config.marker.partition(": ")
    settings = [(f"`{name}`", _default(default), text) for name, text, default in parser.settings]
    parts = [
        INTRODUCTION, CODE,
        "## The marker", f"`@pytest.mark.{signature}`: {said}",
        "## Fixtures", table(("fixture", "what it is"), _fixtures()),
        "## Settings", "In `pytest.ini`, or under `[tool.pytest.ini_options]` of `pyproject.toml`.", table(("setting", "default", "what it is"), settings),
        "## Options", table(("option", "what it does"), [(f"`{name}`", text) for name, text in parser.options]),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _default(value: Any) -> str:
    return "none" if value in ("", [], None) else str(value).lower() if isinstance(value, bool) else f"`{value}`"


def _fixtures() -> list[tuple[str, str]]:
    """The plugin's fixtures; read off its source, because pytest wraps the functions."""
    return [
        (f"`{node.name}`", ast.get_docstring(node) or "")
        for node in ast.parse(inspect.getsource(pytest_plugin)).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each) == "pytest.fixture" for each in node.decorator_list)
    ]
