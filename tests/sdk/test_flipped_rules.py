"""The test of the comparison: a style with one rule flipped is noticed, whichever rule it is.

Each condition in the code of the styles is turned round, one at a time (`flips.py`). Random scripts are tried first, as the comparison with the real
SDKs draws them, then the measured rows; either has to come out otherwise, or never to end. What the comparison leaves alone (the wording of a result, what
an option that was never measured does) has a sentence among the plain tests: `surviving_flips.json` names the test that fails (`held_by`). Conditions that
change nothing when they are turned round stand there with the reason (`no_change`). No SDK is needed: the style as it is stands for it, since the
comparison holds that it is the same.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import flips
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from options import trees
from random_cases import LIMITS, cases
from rotation import files_of, modules_of

from agentsim.scenario.model import Scenario
from tests.styles.agreement import in_words_of, result_of
from tests.styles.cases import rows_of, scenario_of, scripts

pytestmark = pytest.mark.sdk

HERE = Path(__file__).parent
SHARED = json.loads((HERE / "cases.json").read_text("utf-8"))
SURVIVORS: dict[str, dict[str, str]] = json.loads((HERE / "surviving_flips.json").read_text("utf-8"))
#: Random scripts for each wire and streaming variant of an entry point.
EXAMPLES = 60
#: Of the processor: a flipped loop may never end.
SECONDS = 5.0

Json = dict[str, Any]
Tried = tuple[Json, Scenario, Json]


def _entries(name: str) -> list[Json]:
    return list(json.loads((HERE / name / "entries.json").read_text("utf-8"))["entries"])


def sdks() -> dict[str, tuple[str, ...]]:
    """Style module -> names of the SDKs' folders whose styles use it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(HERE.glob("*/entries.json")):
        for module in modules_of(_entries(path.parent.name)):
            for file in files_of(module):
                found[file.stem].add(path.parent.name)
    return {module: tuple(sorted(names)) for module, names in found.items()}


class Hung(BaseException):
    """A run that does not end; no style may catch it."""


def _hang(_: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code.co_filename.startswith(str(flips.FOLDER.parent)):
        raise Hung  # elsewhere Python may swallow it, as in a callback of the garbage collector; the next one is near


@lru_cache
def tried(name: str) -> list[Tried]:
    """What an SDK's styles are tried on: random scripts, then the scripts of the measured rows."""
    found: list[Tried] = []
    for entry in _entries(name):
        for wire in entry["wires"]:
            for stream in entry["streams"]:
                found += _random(name, entry, wire, stream)
    known = scripts(name)
    as_scenarios = {id_: scenario_of(case) for id_, case in known.items()}
    found += [(row, as_scenarios[row["case"]], known[row["case"]]) for row in rows_of(name) if row["case"] in known]
    return found


def _random(name: str, entry: Json, wire: str, stream: bool) -> list[Tried]:
    found: list[Tried] = []
    asked = {"style": entry["style"], "wire": wire, "stream": stream, "options": entry.get("options", {})}

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(wire == "anthropic-messages", trees(name)), limit=LIMITS)
    def draw(case: Json, limit: Any) -> None:
        whole = case | {"all_tools": SHARED["tools"]}
        found.append((asked | {"limit": limit, "unbounded": False}, scenario_of(whole), whole))

    draw()
    return found


def run(one: Tried) -> Json | None:
    """What the style gives, in the words in which it is compared."""
    row, scenario, case = one
    result = result_of(row, scenario, case)
    return None if result is None else in_words_of(row | {"tool_rounds": result.tool_rounds}, result, case)


@lru_cache
def unflipped(name: str) -> tuple[list[Json | None], dict[tuple[str, int], list[int]]]:
    """What everything comes to as it is, and by which of it each line of the styles is reached."""
    folder = str(flips.FOLDER)
    reached: dict[tuple[str, int], list[int]] = defaultdict(list)
    came: list[Json | None] = []
    for index, one in enumerate(tried(name)):
        lines: set[tuple[str, int]] = set()

        def trace(frame: FrameType, event: str, _: Any, lines: set[tuple[str, int]] = lines) -> Any:
            file = frame.f_code.co_filename
            if not file.startswith(folder):
                return None
            stem = Path(file).stem

            def line(inner: FrameType, what: str, _: Any) -> Any:
                lines.add((stem, inner.f_lineno))
                return line

            lines.add((stem, frame.f_lineno))
            return line

        sys.settrace(trace)
        try:
            came.append(run(one))
        finally:
            sys.settrace(None)
        for where in lines:
            reached[where].append(index)
    return came, reached


def noticed(flip: flips.Flip, names: tuple[str, ...]) -> bool:
    """Whether anything that is compared comes out otherwise with this condition turned round."""
    for name in names:
        unflipped(name)  # before the flip
    with flips.flipped(flip):
        return any(_differs(flip, name) for name in names)


def _differs(flip: flips.Flip, name: str) -> bool:
    came, reached = unflipped(name)
    everything = tried(name)
    for index in sorted({index for line in flip.lines for index in reached.get((flip.module, line), ())}):
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.01)
        try:
            if run(everything[index]) != came[index]:
                return True
        except (Exception, Hung):
            return True
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return False


@pytest.fixture
def alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, _hang)
    yield
    signal.signal(signal.SIGVTALRM, before)


MODULES = sdks()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_style_with_one_rule_flipped_is_noticed(module, alarm):
    every = flips.flips(module)
    unnoticed = {str(flip) for flip in every if not noticed(flip, MODULES[module])}
    listed = SURVIVORS["held_by"].keys() | SURVIVORS["no_change"].keys()
    assert sorted(unnoticed) == sorted({str(flip) for flip in every} & listed)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_what_the_comparison_leaves_alone_is_held_by_a_sentence(module):
    for flip in flips.flips(module):
        sentence = SURVIVORS["held_by"].get(str(flip))
        assert sentence is None or fails(sentence, flip) or _has_twin(flip), f"{flip}: {sentence}"


def fails(sentence: str, flip: flips.Flip) -> bool:
    """Whether a test fails while a condition is turned round."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "flipping", sentence]
    where = os.pathsep.join([str(HERE), str(HERE.parent.parent)])
    env = os.environ | {"AGENTSIM_FLIP": f"{flip.module}:{flip.number}", "PYTHONPATH": where}
    done = subprocess.run(command, cwd=HERE.parent.parent, env=env, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode == 1


def _has_twin(flip: flips.Flip) -> bool:
    """Whether the same words stand twice in a function: only one of the two is meant."""
    return [str(other) for other in flips.flips(flip.module)].count(str(flip)) > 1
