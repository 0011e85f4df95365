"""`agentsim import`: recordings of other tools become scenarios that play back."""

from __future__ import annotations

import json

import pytest

import agentsim as library
from tests.cli.test_commands import agentsim

MESSAGES = [
    {"role": "user", "content": "look a up"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"key": "a"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "value of a"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is a."}]},
]


@pytest.fixture
def recording(tmp_path):
    file = tmp_path / "dump"
    file.write_text(json.dumps(MESSAGES), encoding="utf-8")
    return file


def test_a_list_of_messages_becomes_a_scenario_that_plays_back(recording):
    scenario = library.loads(agentsim("import", str(recording)))
    result = library.run(scenario)
    assert (result.model_calls, result.final_text) == (2, "It is a.")
    assert [run.output for run in result.tool_runs] == ["value of a"]


def test_a_file_is_written_once_and_replaced_only_when_asked(recording, tmp_path):
    out = tmp_path / "scenario.yaml"
    agentsim("import", str(recording), "-o", str(out))
    before = out.read_bytes()
    assert "--force replaces it" in agentsim("import", str(recording), "-o", str(out), status=2)
    agentsim("import", str(recording), "-o", str(out), "--force")
    assert out.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_several_scenarios_go_into_a_folder(recording, tmp_path):
    folder = tmp_path / "made"
    assert "name a folder" in agentsim("import", str(recording), str(recording), status=2)
    agentsim("import", str(recording), str(recording), "-o", str(folder))
    assert len(list(folder.glob("*.yaml"))) == 2
    agentsim("validate", str(folder))


def test_what_was_inferred_is_told(recording):
    data = json.loads(agentsim("import", str(recording), "--format", "json"))
    assert data[0]["format"] == "claude-messages"
    assert "stop reasons" in data[0]["inferred"]


def test_an_unknown_file_and_format_are_messages_with_status_2(recording, tmp_path):
    odd = tmp_path / "odd"
    odd.write_text('{"hello": 1}', encoding="utf-8")
    assert "Supported" in agentsim("import", str(odd), status=2)
    assert "nonsense" in agentsim("import", str(recording), "--from", "nonsense", status=2)
