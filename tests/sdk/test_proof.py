"""The styles against the real SDKs, on random scripts, limits and options: everything that can be seen is compared.

``pytest -m sdk tests/sdk/test_proof.py [--sdk-examples N] [--sdk-seed N] [--sdk-record] [-k STYLE]``

N scripts an entry point, shared out among its wires and streaming variants. With --sdk-record what came of it is stored in agreement.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import measure
import pytest
from door import Door, Seen
from environments import Driver, prepare, versions
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from ledger import Ledger
from options import trees
from random_cases import LIMITS, cases, kinds
from rotation import digest, in_turn, modules_of

from agentsim.judge.result import Result
from agentsim.report.transcript import transcript_lines
from agentsim.scenario.dump import dumps
from agentsim.scenario.model import Scenario
from tests.styles.agreement import differences, in_words_of, masked, result_of
from tests.styles.cases import scenario_of
from tests.styles.divergences import known_kind

pytestmark = pytest.mark.sdk

HERE = Path(__file__).parent
SHARED = json.loads((HERE / "cases.json").read_text("utf-8"))
WIDTH = 78
#: Seconds after which a run that shall not end has not ended.
PATIENCE = 2


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
def door() -> Iterator[Door]:
    with Door() as opened:
        yield opened


@pytest.fixture(scope="session")
def drivers() -> Iterator[dict[str, Driver]]:
    started: dict[str, Driver] = {}
    yield started
    for driver in started.values():
        driver.close()


@pytest.mark.parametrize(("sdk", "description", "entry", "wire", "stream"), list(_variants()))
def test_the_style_does_what_the_real_sdk_does(sdk, description, entry, wire, stream, door, drivers, ledger, request):
    if sdk not in drivers:
        drivers[sdk] = Driver(sdk, prepare(sdk))
    tally = ledger.of(entry["style"], sdk, versions(sdk, description["versions"]), digest(sdk))

    @seed(request.config.getoption("--sdk-seed"))
    @settings(
        max_examples=examples_of(request.config.getoption("--sdk-examples"), entry),
        phases=[Phase.generate, Phase.shrink],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(wire == "anthropic-messages", trees(sdk)), limit=LIMITS)
    def agrees(case, limit):
        assume(limit is not None or entry.get("no_limit", True))
        asked = measure.question(SHARED, case, entry, wire, stream, limit)
        asked |= {"full": False, "threads": bool(description.get("threads"))}
        given_case = case | {"all_tools": SHARED["tools"]}
        scenario = scenario_of(given_case)
        ours = result_of(asked | {"options": asked["variant"], "unbounded": False}, scenario, given_case)
        assume(ours is not None)
        endless = ours.ended in ("unbounded", "out_of_script")
        patience = {"timeout": PATIENCE} if endless else {}
        seen = door.play(scenario, drivers[sdk], asked | patience, entry.get("prefix", ""))
        assume(seen is not None)
        if endless:
            wrong = goes_on(seen.row, ours, drivers[sdk])
        else:
            wrong = differences(seen.row, in_words_of(seen.row, ours, given_case))
        if description.get("threads") or calls_look_alike(case, len(seen.row["tool_runs"])):
            wrong.pop("tool_rounds", None)  # which reply a run belongs to is the rig's guess
        reason = known_kind(seen.row, case) if wrong else None
        assert not wrong or reason, shown(wrong, scenario, asked, seen, ours)
        tally.count(case, kinds(case, limit), reason)

    try:
        agrees()
    except BaseException:
        ledger.failed.add(entry["style"])
        raise


def goes_on(row: dict[str, Any], ours: Result, driver: Driver) -> dict[str, Any]:
    """What differs where the style asks on for ever, or behind the script's end: so has the real SDK to, and sends the same until then."""
    late = (row["error"] or {}).get("type") == "RigTimeout"
    if late:
        driver.kill()
    both = zip(masked(row["requests"]), masked([sent.short() for sent in ours.requests]), strict=False)
    wrong: dict[str, Any] = {f"request {at}": pair for at, pair in enumerate(both, 1) if pair[0] != pair[1]}
    if not (late or row["out_of_script"]):
        wrong["ended"] = (row["returned"], ours.ended)
    return wrong


def calls_look_alike(case: dict[str, Any], runs: int) -> bool:
    """Whether calls of two replies share their id, or can't be told apart and not all of them were run.

    A run is known by the arguments that its function received; of those that are no JSON an SDK may have made any.
    """
    calls = [reply.get("calls", ()) for reply in case["replies"]]
    ids = [{call["id"] for call in one if "id" in call} for one in calls]
    looks = [{json.dumps([call["name"], call.get("args"), call.get("raw")]) for call in one} for one in calls]
    if runs >= sum(map(len, calls)):
        looks = []
    names = [{call["name"] for call in one} for one in calls if looks]
    broken = [{call["name"] for call in one if "raw" in call} for one in calls if looks]
    repaired = any(one & other for at, one in enumerate(broken) for to, other in enumerate(names) if at != to)
    return repaired or any(one & other for sets in (ids, looks) for at, one in enumerate(sets) for other in sets[:at])


def examples_of(whole: int, entry: dict[str, Any]) -> int:
    """This variant's share of the scripts of an entry point, of which a slow one (a process of seconds for each run) gets a tenth."""
    share = len(entry["wires"]) * len(entry["streams"])
    return math.ceil(whole / share / (10 if entry.get("slow") else 1))


def shown(wrong: dict[str, Any], scenario: Scenario, asked: dict[str, Any], seen: Seen, ours: Result) -> str:
    """A mismatch as a person wants to see it: the fields, the scenario, and both transcripts side by side."""
    lines = [f"{key}: real {real!r}, simulated {said!r}" for key, (real, said) in wrong.items()]
    lines += ["", f"limit {asked['limit']!r}, options {json.dumps(asked['options'])}", "", dumps(scenario)]
    runs = [f"run {run['name']} {json.dumps(run['input'])}" for run in seen.row["tool_runs"]]
    real = ["the real SDK", "", *transcript_lines(seen.transcript), *runs]
    both = zip_longest(_cut(real), _cut(["the style", "", *transcript_lines(ours.transcript)]), fillvalue="")
    return "\n".join(lines + [f"{left:{WIDTH}} | {right}".rstrip() for left, right in both])


def _cut(lines: list[str]) -> list[str]:
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines]


def test_a_call_that_an_sdk_may_have_repaired_is_taken_for_any_of_its_tool():
    whole, half = {"name": "lookup", "args": {"key": "a"}}, {"name": "lookup", "raw": '{"key": "a"'}
    other = {"name": "add", "args": {"a": 1, "b": 2}}
    assert calls_look_alike({"replies": [{"calls": [whole, other]}, {"calls": [half]}]}, 2)
    assert not calls_look_alike({"replies": [{"calls": [other]}, {"calls": [half, whole]}]}, 2)
    assert not calls_look_alike({"replies": [{"calls": [whole]}, {"calls": [half]}]}, 2)


def test_the_ledger_is_an_entry_points_story():
    ledger = Ledger()
    tally = ledger.of("a/b", "a", {"a": "1.0"}, "d1")
    case = {"replies": [{"text": "", "stop": "max_tokens"}]}
    tally.count(case, kinds(case, "default"), None)
    tally.count(case, kinds(case, 3), "not worth it")
    assert tally.to_data(1, "2026-01-31") == {
        "sdk": "a", "versions": {"a": "1.0"}, "digest": "d1", "date": "2026-01-31", "seed": 1, "examples": 2, "agreements": 1,
        "divergences": [{"reason": "not worth it", "examples": 1, "smallest": case}],
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted(HERE.glob("*/entries.json")), ids=lambda path: path.parent.name)
def test_a_proof_is_of_the_modules_that_hold_the_style(path):
    modules = modules_of(json.loads(path.read_text("utf-8"))["entries"])
    assert modules
    assert all(module.startswith("agentsim.styles.") for module in modules)


def test_those_in_rotation_come_equally_often():
    turns = [in_turn(["a", "b", "c", "d", "e"], turn, 2) for turn in range(5)]
    assert all(len(set(names)) == 2 for names in turns)
    assert sorted(name for names in turns for name in names) == sorted("aabbccddee")
