"""Whatever an audited command starts is ended with it, in whatever way it tries to outlive it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentsim.audit.ending import MARK, end_all, family

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only the group is known without /proc")

SLEEPS = "import time; time.sleep(600)"
#: How a target starts another process; each writes the new process's number into the file that its argument names.
WAYS = {
    "a child": "subprocess.Popen([sys.executable, '-c', SLEEPS])",
    "a child in a session of its own": "subprocess.Popen([sys.executable, '-c', SLEEPS], start_new_session=True)",
    "a grandchild whose parent is gone": "subprocess.run([sys.executable, '-c', f'import subprocess, sys; subprocess.Popen("
    '[sys.executable, "-c", {SLEEPS!r}], start_new_session=True)\'])',
    "a child without environment": "subprocess.Popen([sys.executable, '-c', SLEEPS], start_new_session=True, env={})",
}
HEAD = f"import subprocess, sys, time; SLEEPS = {SLEEPS!r}\n"


def sleeping() -> set[int]:
    """Processes that run SLEEPS."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if SLEEPS.encode() in words:
                found.add(int(entry.name))
    return found


def wait_until(true: object) -> bool:
    for _ in range(1000):
        if true():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("way", WAYS)
def test_what_it_starts_is_ended(way: str) -> None:
    before, mark = sleeping(), f"test-{os.getpid()}-{len(way)}"
    code = f"{HEAD}{WAYS[way]}\ntime.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, env={**os.environ, MARK: mark})
    try:
        assert wait_until(lambda: sleeping() - before), "it has started what it starts"
    finally:
        end_all(process.pid, mark)
        process.wait()
    assert wait_until(lambda: not sleeping() - before)
    assert not family(process.pid, mark)


def test_a_process_that_starts_others_without_end_is_ended_too() -> None:
    mark = f"bomb-{os.getpid()}"
    code = "import os, time\nfor _ in range(6):\n    os.fork()\nwhile True: time.sleep(0.01)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, env={**os.environ, MARK: mark})
    assert wait_until(lambda: len(family(process.pid, mark)) > 30)
    end_all(process.pid, mark)
    process.wait()
    assert wait_until(lambda: not family(process.pid, mark))


def test_nobody_elses_process_is_touched() -> None:
    bystander = subprocess.Popen([sys.executable, "-c", SLEEPS])
    target = subprocess.Popen([sys.executable, "-c", SLEEPS], start_new_session=True)
    end_all(target.pid, "no-such-mark")
    target.wait()
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()
