"""A project that uses agentsim passes mypy's strictest settings: the package is typed, and says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.release.conftest import ROOT, ran

pytestmark = pytest.mark.release

PROGRAM = """
import agentsim
from agentsim import Result, Scenario, Sim

scenario: Scenario = agentsim.load("refund.yaml")
run: Result = agentsim.run(scenario, "openai-agents/Runner.run", limit=10)
ended: str = run.ended
least: int | None = run.least_limit
names: list[str] = [row.style.name for row in agentsim.compare(scenario, styles=["langchain"])]
limits: dict[str, int | None] = {need.style.name: need.limit for need in agentsim.budget(scenario)}


def test_refund(sim: Sim) -> None:
    prompt: str = sim.prompt
    calls: int = sim.model_calls
    body: object = sim.requests[-1].body
    sim.check("limit_is_kept", answer=prompt, limit=calls)
    assert sim.count("langchain/create_agent") == 3, body


with agentsim.play(scenario, allow_hosts=["localhost"]) as sim:
    test_refund(sim)
try:
    agentsim.check([{"role": "user", "content": "Hi"}])
except agentsim.RuleBroken as broken:
    print(broken.verdicts)
"""


def test_a_strictly_typed_project_can_use_it(tmp_path: Path) -> None:
    (tmp_path / "project.py").write_text(PROGRAM)
    said = ran(sys.executable, "-m", "mypy", "--strict", "--config-file=", "project.py", cwd=tmp_path, MYPYPATH="")
    assert said.startswith("Success")


def test_a_wrong_use_is_found(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import agentsim\nagentsim.run('refund.yaml', limt=3)\n")
    with pytest.raises(AssertionError, match=r'(?s)"limt".*"Scenario"|"Scenario".*"limt"'):
        ran(sys.executable, "-m", "mypy", "--strict", "--config-file=", "wrong.py", cwd=tmp_path)


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "agentsim" / "py.typed").exists()
