"""The styles against the real SDKs, on random scripts: everything that a row tells is compared.

``pytest -m sdk tests/sdk [--sdk-examples N] [--sdk-seed N]``
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
import pytest
import server
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from random_cases import LIMITS, cases

from tests.styles.agreement import differences, simulated
from tests.styles.cases import scenario_of
from tests.styles.divergences import diverges

pytestmark = pytest.mark.sdk

HERE = Path(__file__).parent
NUMBERS = itertools.count()
SHARED = json.loads((HERE / "cases.json").read_text("utf-8"))


def _variants() -> Iterator[Any]:
    """Every SDK's entry points, on every wire, with and without streaming."""
    for path in sorted(HERE.glob("*/entries.json")):
        description = json.loads(path.read_text("utf-8"))
        for entry in description["entries"]:
            if "cases" in entry:
                continue  # measured with chosen cases only
            for wire in entry["wires"]:
                for stream in entry["streams"]:
                    name = f"{entry['style']} {wire}{' streamed' if stream else ''}"
                    yield pytest.param(path.parent.name, description, entry, wire, stream, id=name)


@pytest.fixture(scope="session")
def port() -> int:
    return server.start()


@pytest.fixture(scope="session")
def drivers() -> Iterator[dict[str, measure.Driver]]:
    started: dict[str, measure.Driver] = {}
    yield started
    for driver in started.values():
        driver.close()


@pytest.mark.parametrize(("sdk", "description", "entry", "wire", "stream"), list(_variants()))
def test_the_style_does_what_the_real_sdk_does(sdk, description, entry, wire, stream, port, drivers, request):
    if sdk not in drivers:
        drivers[sdk] = measure.Driver(sdk, measure.prepare(sdk))

    @seed(request.config.getoption("--sdk-seed"))
    @settings(
        max_examples=request.config.getoption("--sdk-examples"),
        phases=[Phase.generate, Phase.shrink],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(wire == "anthropic-messages"), limit=LIMITS)
    def agrees(case, limit):
        assume(limit is not None or entry.get("no_limit", True))
        asked = measure.question(SHARED, case, entry, wire, stream, limit)
        asked |= {"full": False, "threads": bool(description.get("threads"))}
        given_case = case | {"all_tools": SHARED["tools"]}
        row = measure.measure(port, drivers[sdk], next(NUMBERS), asked)
        assume(row is not None)
        assume(not diverges(row, case))
        ours = simulated(row, scenario_of(given_case), given_case)
        assume(ours is not None)
        wrong = differences(row, ours)
        if description.get("threads"):
            wrong.pop("tool_rounds", None)  # which reply a thread's run belongs to is the rig's guess
        assert not wrong, "\n".join(f"{key}: real {real!r}, simulated {said!r}" for key, (real, said) in wrong.items())

    agrees()
