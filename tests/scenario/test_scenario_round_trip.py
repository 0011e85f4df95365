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
