"""Interleaved measuring: every side is a process of its own that waits, and they are asked in turn, A B C A B C …

Neighbours on a shared machine slow whoever runs at that moment; asked in turn, all sides get the same hours. CPU time is counted, which a
neighbour disturbs least; what is compared is the ratio within each round, and of those the median is told.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType

from bench import cache

#: A side is asked for so many seconds of work a round.
SECONDS = 0.25


class Worker:
    """One side: a process that speaks as `peers/worker.py` does."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            command, env=cache.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()
        self.count = max(1, int(SECONDS / max(self.ask(1), 1e-6) / 2))
        self.count = max(1, int(SECONDS / max(self.ask(self.count), 1e-7)))

    def ask(self, count: int) -> float:
        """CPU seconds of one step, over so many."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return self._read().get("cpu", 0.0) / count

    def _read(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} can't be measured: its process ended with {self._process.wait()}")
        found: dict[str, float] = json.loads(line)
        return found

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(20)


def in_turn(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of one step of each side, round by round."""
    workers: list[Worker] = []
    try:
        for name, command in commands.items():
            workers.append(Worker(name, command))
        found: dict[str, list[float]] = {worker.name: [] for worker in workers}
        for _ in range(rounds):
            for worker in workers:
                found[worker.name].append(worker.ask(worker.count))
        return found
    finally:
        for worker in workers:
            worker.__exit__(None, None, None)
