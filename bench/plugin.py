"""What the pytest plugin costs: a run that does not use it, and each test that does. Prints lines for the README's table.

    python bench/plugin.py

Figures are processor time of whole pytest processes, best of several, with and without the plugin in turn, and bytecode cached as it is after
any first run. A test's share is a slope: a suite of 300 tests less one of 100, with a scenario each, less the same without.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
PLAIN = "def test_{n}():\n    pass\n"
PLAYS = """@pytest.mark.agentsim("hello.yaml")
def test_{n}(sim):
    assert sim.prompt
"""
HELLO = "agentsim: 1\nprompt: Hi\nreplies: [{text: Hello}]\nunused_replies: allow\n"


def seconds(folder: Path, *options: str) -> float:
    """Processor time of one pytest process, in the best of several rounds."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPYCACHEPREFIX": str(folder / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime


def best(*runs: tuple[Path, tuple[str, ...]]) -> list[float]:
    """The best of several rounds of each, in turn, so that all meet the same machine; the first round only fills caches."""
    rounds = [[seconds(folder, *options) for folder, options in runs] for _ in range(ROUNDS + 1)]
    return [min(each) for each in zip(*rounds[1:], strict=True)]


def suite(folder: Path, count: int, test: str) -> Path:
    """A folder with so many tests."""
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "hello.yaml").write_text(HELLO, "utf-8")
    (folder / "test_it.py").write_text("import pytest\n" + "".join(test.format(n=n) for n in range(count)), "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    return folder


def main() -> None:
    """Measure and print."""
    with_it = ("-p", "agentsim.pytest_plugin")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        one = suite(home / "one", 1, PLAIN)
        bare, known = best((one, ()), (one, with_it))
        folders = [
            suite(home / f"{name}{n}", n, test) for name, test in (("no", PLAIN), ("yes", PLAYS)) for n in (100, 300)
        ]
        no100, no300, yes100, yes300 = best(*((folder, with_it) for folder in folders))
    unused, each = known - bare, ((yes300 - yes100) - (no300 - no100)) / 200
    print("| what | measured | aim | share of the aim |\n|---|---|---|---|")
    for name, took, aim in (
        ("pytest plugin, a run that does not use it", unused, 5e-3),
        ("pytest plugin, each test that does", each, 2e-3),
    ):
        print(f"| {name} | {took * 1e3:.1f} ms | {aim * 1e3:.1f} ms | {took / aim:.0%} |")


if __name__ == "__main__":
    main()
