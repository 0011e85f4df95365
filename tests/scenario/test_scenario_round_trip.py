"""What is read can be written, and reads back as the same; the JSON Schema takes whatever the reader takes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.scenario.dump import dumps, to_data
from agentsim.scenario.load import load, loads
from agentsim.scenario.schema import json_schema
from tests.scenario.documents import documents

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))
slow = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def schema() -> Any:
    return jsonschema_rs.validator_for(json_schema())


@slow
@given(documents())
def test_a_scenario_reads_back_as_it_was_written(document: dict[str, Any]) -> None:
    scenario = loads(document)
    text = dumps(scenario)
    assert loads(text) == scenario
    assert dumps(loads(text)) == text
    assert loads(json.dumps(to_data(scenario))) == scenario


@slow
@given(documents())
def test_the_schema_takes_what_the_reader_takes(document: dict[str, Any]) -> None:
    loads(document)
    assert [error.message for error in schema().iter_errors(document)] == []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_each_story_reads_back_as_it_was_written(path: Path) -> None:
    scenario = load(path)
    assert loads(dumps(scenario)) == scenario
    assert not list(schema().iter_errors(to_data(scenario)))


def test_short_forms_are_written_where_they_say_it_all() -> None:
    text = dumps(load(Path(__file__).parents[2] / "scenarios" / "refund.yaml"))
    assert "input: {order_id: integer}" in text
    assert "content:" not in text
    assert "stop_reason: tool_use" not in text


# -- the schema ------------------------------------------------------------------------------------------------------------


def described(part: Any) -> list[str]:
    """Keys without a description, anywhere in the schema."""
    if isinstance(part, list):
        return [name for item in part for name in described(item)]
    if not isinstance(part, dict):
        return []
    properties = part.get("properties", {})
    bare = [name for name, item in properties.items() if "description" not in item and name != "type"]
    return bare + [name for value in part.values() for name in described(value)]


def test_the_schema_is_one_and_describes_the_keys_of_a_scenario() -> None:
    whole = json_schema()
    jsonschema_rs.meta.validate(whole)
    assert whole["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(described(whole)) <= {"message", "text", "user", "assistant"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"promt": "a"}, {"agentsim": 2.5}, {"replies": [{"txt": "a"}]}, {"replies": [{"text": 1}]}, {"replies": [{"stop_reason": "end"}]},
        {"replies": [{"content": [{"tool_use": {"input": {}}}]}]}, {"tools": {"a": {"input": {"k": "int"}}}},
        {"tools": {"a": {"returns": 1, "raises": "b"}}}, {"tools": {"*": {}}}, {"replies": [{"content": [{"text": "a", "refusal": "b"}]}]},
        {"approvals": ["approve"]}, {"expect": {"ended": "done"}}, {"price": {"input": 1}}, {"replies": [{"repeat": 0, "text": "a"}]},
    ],
)  # fmt: skip
def test_the_schema_refuses_what_an_editor_should_underline(wrong: dict[str, Any]) -> None:
    assert not schema().is_valid({"agentsim": 1, "replies": [], **wrong})
