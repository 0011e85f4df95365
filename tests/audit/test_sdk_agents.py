"""`agentsim audit -- node agent.mjs` of agents on real SDKs: it finds what was measured of these SDKs, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsim.scenario.catalogue import catalogue
from tests.sdk.environments import place, prepare

pytestmark = pytest.mark.sdk

AGENTS = Path(__file__).parent / "agents"

#: agent -> (the environment that it runs in, rule -> scenarios in which it has to fail).
FOUND: dict[str, tuple[str, dict[str, set[str]]]] = {
    # What its measurement lists: inherited names, an empty user message, dropped calls, unchecked arguments.
    "article": (
        "hand_rolled",
        {
            "every_call_is_answered": {"calls_beside_end_turn"},
            "unreadable_arguments_never_run": {"unreadable_arguments", "unclosed_arguments"},
            "unknown_tool_gets_an_error_result": {"inherited_name"},
            "bad_input_gets_an_error_result": {"bad_input", "unreadable_arguments", "unclosed_arguments"},
            "no_empty_message": {"tool_use_without_calls"},
        },
    ),
    "careful": ("anthropic_js", {}),
    # It returns the last reply whatever ended it, also at its cap; calls beside another stop reason are not run.
    "tool_runner": (
        "anthropic_js",
        {
            "every_call_is_answered": {"calls_beside_end_turn"},
            "refusal_is_no_answer": {"refusal", "refusal_after_text", "refusal_for_ever"},
            "truncated_text_is_no_answer": {"cut_text"},
            "full_context_is_no_answer": {"full_context"},
            "limit_is_reported": {"endless_calls"},
            "tool_use_without_calls_is_no_answer": {"tool_use_without_calls"},
        },
    ),
    # `result.text` says nothing of the finish reason; a pause is a `stop`; an inherited name is a tool without `execute`.
    "ai_sdk": (
        "ai_sdk",
        {
            "unknown_tool_gets_an_error_result": {"inherited_name"},
            "pause_is_resumed_unchanged": {"pause", "endless_pause"},
            "refusal_is_no_answer": {"refusal", "refusal_after_text", "refusal_for_ever"},
            "truncated_text_is_no_answer": {"cut_text"},
            "full_context_is_no_answer": {"full_context"},
            "limit_is_reported": {"endless_calls"},
            "tool_use_without_calls_is_no_answer": {"tool_use_without_calls"},
            "broken_stream_runs_nothing": {"error_in_stream"},
        },
    ),
}


def audited(agent: str, environment: str, folder: Path) -> dict[str, Any]:
    """The report of an agent, which lies beside the packages that it imports."""
    node, _ = prepare(environment)
    (folder / "node_modules").symlink_to(place(environment) / "node_modules")
    script = shutil.copy(AGENTS / f"{agent}.mjs", folder)
    command = [
        sys.executable,
        "-m",
        "agentsim",
        "audit",
        "--format",
        "json",
        "--deadline",
        "120",
        "--",
        node,
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1), done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("agent", FOUND)
def test_an_audit_finds_what_was_measured_of_the_sdk_and_nothing_else(agent, tmp_path):
    environment, expected = FOUND[agent]
    report = audited(agent, environment, tmp_path)
    found: dict[str, set[str]] = {}
    for row in report["rules"]:
        if row["result"] == "failed":
            found.setdefault(row["rule"], set()).add(row["scenario"])
    assert found == expected
    assert {row["scenario"] for row in report["rules"]} == set(catalogue())
