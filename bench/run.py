"""How fast agentsim is, in one run: loops in process, start-up as processes. Prints a table for the README.

    python bench/run.py

Figures are the best of several rounds, since a shared machine only ever makes things slower; ratios compare with a bare loop or bare Python
of the same run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import agentsim

ROOT = Path(__file__).parents[1]
TEN = """
agentsim: 1
name: ten rounds
prompt: go
tools: {lookup: {input: {key: string}, returns: "value of {key}"}}
replies:
  - {tool_use: {lookup: {key: a}}, repeat: 10}
  - text: done
"""


def best(function: Callable[[], object], times: int, rounds: int = 7) -> float:
    """Seconds of one call, in the best round."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(times):
            function()
        seconds.append((time.perf_counter() - begin) / times)
    return min(seconds)


def process(*arguments: str) -> float:
    """Seconds of a whole process, in the best of seven."""
    return best(lambda: subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True), 1)


def main() -> None:
    """Measure and print."""
    ten = agentsim.loads(TEN)
    three = agentsim.load(ROOT / "scenarios" / "three_rounds.yaml")
    bare = process("-c", "pass")
    rows = [
        (
            "a run of 10 tool rounds and an answer, reference loop",
            best(lambda: agentsim.run(ten, limit=None), 200),
            200e-6,
        ),
        ("all styles over three_rounds", best(lambda: agentsim.compare(three), 5), 15e-3),
        ("import agentsim, over bare Python", process("-c", "import agentsim") - bare, 30e-3),
        ("agentsim --help, a process", process("-m", "agentsim", "--help"), 150e-3),
        (
            "agentsim compare on one file, a process",
            process("-m", "agentsim", "compare", "scenarios/three_rounds.yaml"),
            0.5,
        ),
    ]
    print(
        f"| what | measured | aim | share of the aim |\n|---|---|---|---|\n| bare Python, a process | {bare * 1e3:.0f} ms | | |"
    )
    for name, seconds, aim in rows:
        print(f"| {name} | {told(seconds)} | {told(aim)} | {seconds / aim:.0%} |")


def told(seconds: float) -> str:
    """Seconds as a person reads them."""
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


if __name__ == "__main__":
    main()
