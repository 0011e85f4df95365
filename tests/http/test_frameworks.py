"""The frameworks that people use, real and unchanged, in environments of their own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentsim.http.serve import serve
from tests.sdk.environments import CACHE

pytestmark = pytest.mark.sdk

HERE = Path(__file__).parent / "frameworks"
ROOT = Path(__file__).parents[2]


def python_of(name: str) -> Path:
    """The interpreter of an environment, which is made where it is missing."""
    folder = CACHE / f"wire_{name}"
    python, done = folder / "bin" / "python", folder / ".complete"
    wanted = (HERE / f"{name}.txt").read_text()
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / f"{name}.txt"], check=True)
        done.write_text(wanted)
    return python


def told(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith('{"name"')]


@pytest.mark.parametrize(
    ("environment", "script"), [("current", "current.py"), ("litellm", "gateway.py"), ("older", "older.py")]
)
def test_python_frameworks_play_the_story(environment: str, script: str) -> None:
    python = python_of(environment)
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    path = os.pathsep.join(map(str, (ROOT, HERE)))
    environ = {**clean, "PYTHONPATH": path, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run([python, HERE / script], env=environ, capture_output=True, text=True, check=False)
    stories = told(done.stdout)
    assert len(stories) >= 6, done.stderr
    assert [story for story in stories if story.get("answer") != "It is sunny." or story["calls"] != 2] == []


def test_javascript_sdks_play_the_story(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = CACHE / "wire_node"
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "node.mjs"):
        shutil.copy(HERE / file, folder / file)
    if not (folder / "node_modules").exists():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    sys.path.insert(0, str(HERE))
    try:
        from story import STORY  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(HERE))
    scenario = tmp_path / "story.yaml"
    scenario.write_text(yaml.safe_dump(STORY))
    node = next(path for path in folder.glob("node_modules/**/bin/node") if path.is_file())
    with contextlib.redirect_stdout(io.StringIO()):
        assert serve(scenario, 0, [str(node), str(folder / "node.mjs")]) == 0
    stories = told(capfd.readouterr().out)
    assert len(stories) == 15
    assert [story for story in stories if story.get("answer") != "It is sunny."] == []
