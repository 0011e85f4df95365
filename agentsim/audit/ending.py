"""Ending a target and everything that it started, as far as the system lets one know what that is.

What it started is its process group; every process below it, whatever group that has made for itself; and every process that
carries the mark of the run in its environment, whoever its parent is by now. A process that did all three, left the group,
outlived its parent, and cleaned its environment or was never given a new one (a fork without exec), is not found. Without `/proc`
(not on Linux) only the group is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

#: The variable that marks what a run starts.
MARK = "AGENTSIM_AUDIT_RUN"
#: A process that starts others as it is ended is gone after as many rounds as this.
ROUNDS = 50

_PROC = Path("/proc")


def end_all(root: int, mark: str) -> None:
    """Kill a process group and every process that belongs to the run.

    Args:
        root: the first process, also the number of its group.
        mark: the run's, which its environment carries under MARK.
    """
    for round_ in range(ROUNDS):
        found = {pid for pid in family(root, mark) if pid != root}
        if round_ == 0 or not found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(root, signal.SIGKILL)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.005)


def family(root: int, mark: str) -> set[int]:
    """The living processes of a run: below its first one, or marked and given to another parent, and below those."""
    parents = dict(_parents())
    wanted = f"{MARK}={mark}".encode()
    above = {1, *_above(os.getpid(), parents)}  # to one of these a process falls whose own parent is gone
    below = {root} | {pid for pid, parent in parents.items() if parent in above and _is_marked(pid, wanted)}
    while new := {pid for pid, parent in parents.items() if parent in below and pid not in below}:
        below |= new
    return below & parents.keys() - {os.getpid()}


def _above(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid in parents:
        yield pid
        pid = parents[pid]


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) of every process that is no zombie."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(_PROC):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The name stands in brackets and may hold anything; what follows is state and parent.
                state, parent = (
                    (_PROC / entry.name / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
                )
                if state not in ("Z", "X"):
                    yield int(entry.name), int(parent)


def _is_marked(pid: int, wanted: bytes) -> bool:
    try:
        return wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
