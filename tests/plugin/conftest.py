"""Suites of a user's, run by pytester with the plugin."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

REFUND = Path(__file__).parents[2] / "scenarios" / "refund.yaml"

AGENT = """
import anthropic

TOOLS = [{"name": name, "description": "d", "input_schema": {"type": "object", "properties": {"order_id": {"type": "integer"}}}}
         for name in ("lookup_order", "refund")]

def run(prompt, client=None):
    client = client or anthropic.Anthropic()
    messages = [{"role": "user", "content": prompt}]
    while True:
        reply = client.messages.create(model="claude-sonnet-5", max_tokens=100, messages=messages, tools=TOOLS)
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason == "pause_turn":
            continue
        calls = [b for b in reply.content if b.type == "tool_use"]
        if not calls:
            return "".join(b.text for b in reply.content if b.type == "text")
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": c.id, "content": f"order {c.input['order_id']}: shipped"} for c in calls]})
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with an agent, a scenario, and the plugin known."""
    monkeypatch.setenv("PYTHONPATH", str(REFUND.parents[1]))
    installed = any(each.value == "agentsim.pytest_plugin" for each in entry_points(group="pytest11"))
    if not installed:
        pytester.plugins.append("agentsim.pytest_plugin")
    pytester.makepyfile(agent=AGENT)
    pytester.mkdir("scenarios")
    (pytester.path / "scenarios" / "refund.yaml").write_text(REFUND.read_text("utf-8"), "utf-8")
    return pytester
