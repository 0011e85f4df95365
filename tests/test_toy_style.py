"""A new style is one file: a value with a loop, registered, and everything else knows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import agentsim
from agentsim.styles import find, register, unregister

TOY = '''
"""A toy SDK: it runs calls, never checks anything, and returns "" at its limit of two laps."""

from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed
from agentsim.core.style import Style


def loop(run):
    while run.limit is None or run.count < run.limit:
        seen = yield from run.call()
        if isinstance(seen, Failed):
            return run.threw("ToyError", seen.fault.message, "http_error")
        run.count += 1
        run.reply_with(seen)
        if not seen.calls:
            return run.returned(seen.text)
        settled = yield from run.settle(seen.calls, lambda call: None, lambda done: ToolResult(done.call_id, done.output))
        run.answer_with(settled.results)
    return run.returned("", ended="limit")


STYLES = (Style(name="toy/loop", sdk="toy 1.0", unit="lap", knob="laps", default=2, loop=loop),)
'''


@pytest.fixture
def toy() -> Iterator[None]:
    names: dict[str, object] = {}
    exec(compile(TOY, "toy.py", "exec"), names)
    for style in names["STYLES"]:  # type: ignore[attr-defined]
        register(style)
    yield
    unregister("toy/loop")


@pytest.mark.usefixtures("toy")
def test_one_file_makes_a_style_that_every_function_knows():
    scenario = agentsim.load("scenarios/three_rounds.yaml")
    result = agentsim.run(scenario, "toy/loop")
    assert (result.model_calls, result.tool_rounds, result.ended, result.silent) == (2, 2, "limit", True)
    assert agentsim.least_limit(scenario, "toy/loop") == 4
    assert "toy/loop" in str(agentsim.compare(scenario, limit=10))
    assert agentsim.compare(scenario, styles=["toy"]).rows[0].style is find("toy/loop")


def test_a_style_file_in_the_package_is_found_by_being_there(tmp_path, monkeypatch):
    import agentsim.styles as styles

    (tmp_path / "toy_sdk.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(styles, "__path__", [*styles.__path__, str(tmp_path)])
    styles._known.clear()
    try:
        assert find("toy/loop").unit == "lap"
    finally:
        styles._known.clear()
        monkeypatch.undo()
