"""`agentsim schema`."""

from __future__ import annotations

import click

from agentsim.cli.common import echo_json


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the scenario file, so that editors complete and check it."""
    from agentsim.scenario.schema import json_schema

    echo_json(json_schema())
