"""Every fault of `scenarios/chaos` through the official JavaScript clients, real and unchanged."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agentsim.http.serve import serve
from tests.http.chaos_seen import JAVASCRIPT
from tests.sdk.environments import CACHE

pytestmark = pytest.mark.sdk

HERE = Path(__file__).parent / "frameworks"
ROOT = Path(__file__).parents[2]
WAYS = ("claude", "claude stream", "chat", "chat stream")


def test_the_javascript_clients_see_each_fault(capfd: pytest.CaptureFixture[str]) -> None:
    folder = CACHE / "wire_node"
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "chaos.mjs"):
        shutil.copy(HERE / file, folder / file)
    if not (folder / "node_modules").exists():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    node = next(path for path in folder.glob("node_modules/**/bin/node") if path.is_file())
    with contextlib.redirect_stdout(io.StringIO()):
        assert serve(ROOT / "scenarios" / "chaos", 0, [str(node), str(folder / "chaos.mjs"), *JAVASCRIPT]) == 0
    told = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith('{"name"')]
    seen = {(each["name"], each["way"]): each["saw"] for each in told}
    for name, row in JAVASCRIPT.items():
        cells = row.split(" | ")
        assert [seen[name, way] for way in WAYS[: len(cells)]] == cells, name
