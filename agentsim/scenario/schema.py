"""The JSON Schema of the scenario file, made from the very shapes that read it, so that editors complete what the reader takes."""

from __future__ import annotations

from typing import Any

from agentsim.scenario.shapes import Defs
from agentsim.scenario.spelling import SCENARIO

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema of a scenario file (draft 2020-12).

    It is a little more lenient than the reader, which also checks what no schema can say: names that have to exist, what an
    entry may hold beside a fault, patterns that have to compile.
    """
    defs: Defs = {}
    whole = SCENARIO.schema(defs)
    return {
        "$schema": DIALECT,
        "title": "agentsim scenario",
        "description": "One scenario: what the model says, reply by reply, and what the tools give.",
        **whole,
        "$defs": dict(sorted(defs.items())),
    }
