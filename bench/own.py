"""agentsim's own figures against their aims, and against bare Python: loops in process, commands as processes."""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench import cache
from bench.rows import Aim, Row, row_of

TEN = """
agentsim: 1
name: ten rounds
prompt: go
tools: {lookup: {input: {key: string}, returns: "value of {key}"}}
replies:
  - {tool_use: {lookup: {key: a}}, repeat: 10}
  - text: done
"""


def least(function: Callable[[], object], times: int, rounds: int) -> float:
    """CPU seconds of one call, in the best round."""
    spent = []
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(times):
            function()
        spent.append((time.process_time() - begin) / times)
    return min(spent)


def process(*arguments: str) -> float:
    """CPU seconds of a whole process of the peers' Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [cache.python(), *arguments], cwd=cache.ROOT, env=cache.environment(), capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own(rounds: int) -> tuple[list[Row], list[Aim]]:
    """The loops and the commands."""
    import agentsim

    ten, three = agentsim.loads(TEN), agentsim.load(cache.ROOT / "scenarios" / "three_rounds.yaml")
    commands = {
        "bare Python, a process": ("-c", "pass"),
        "import agentsim": ("-c", "import agentsim"),
        "agentsim --help": ("-m", "agentsim", "--help"),
        "agentsim compare": ("-m", "agentsim", "compare", "scenarios/three_rounds.yaml"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(2 * rounds):
        for name, arguments in commands.items():
            taken[name].append(process(*arguments))
    bare, imported, helped, compared = (min(each) for each in taken.values())
    aims = [
        Aim("bare Python, a process", "ms", bare, 0),
        Aim(
            "a run of 10 tool rounds and an answer, reference loop",
            "µs",
            least(lambda: agentsim.run(ten, limit=None), 200, 3 * rounds),
            200e-6,
        ),
        Aim("all styles over three_rounds", "ms", least(lambda: agentsim.compare(three), 5, 3 * rounds), 15e-3),
        Aim("import agentsim, over bare Python", "ms", imported - bare, 30e-3),
        Aim("agentsim --help, a process", "ms", helped, 150e-3),
        Aim("agentsim compare on one file, a process", "ms", compared, 0.5),
    ]
    ours, floor = taken["agentsim compare"], taken["bare Python, a process"]
    row = row_of("agentsim compare, a process", "ms", {"agentsim": ours, "bare Python": floor}, floors=("bare Python",))
    return [row], aims


def plugin() -> str | None:
    """The table of the pytest plugin's own start-up bench; None where this tree has none."""
    file = Path(__file__).resolve().parent / "plugin.py"
    if importlib.util.find_spec("pytest") is None or not file.exists():
        return None
    done = subprocess.run(
        [cache.python(), str(file)],
        cwd=cache.ROOT,
        env=cache.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or f"bench/plugin.py said nothing: {done.stderr.strip()[-500:]}"
