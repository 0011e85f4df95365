"""Loops and calls inside one process: CPU time of a run, and of a call."""

from __future__ import annotations

from bench import cache
from bench.rows import Row, row_of
from bench.workers import in_turn

_LOOPS = {"agentsim": "agentsim", "Pydantic AI": "pydantic_ai", "LangGraph": "langgraph"}


def loops(rounds: int) -> list[Row]:
    """A run of ten tool rounds and an answer, with a fake model."""
    python = cache.python()
    commands = {name: [python, str(cache.PEERS / "loops.py"), case] for name, case in _LOOPS.items()}
    commands["AI SDK"] = [cache.node(), cache.script("loop_ai_sdk.mjs")]
    return [row_of("a run of 10 tool rounds and an answer", "µs", in_turn(commands, rounds))]


def calls(rounds: int) -> list[Row]:
    """A call of each client through each door."""
    python, found = cache.python(), []
    names = {"anthropic": "anthropic client", "openai": "openai client (Chat)", "httpx": "httpx, by hand"}
    for client, name in names.items():
        doors = {
            "agentsim.play": "agentsim",
            "sim.client": "client",
            "respx" if client == "httpx" else "pytest-httpx2 (respx)": "respx",
            "vcrpy": "vcrpy",
            "constant bytes": "floor",
        }
        commands = {side: [python, str(cache.PEERS / "calls.py"), client, door] for side, door in doors.items()}
        times = {side if "respx" not in side else "respx": each for side, each in in_turn(commands, rounds).items()}
        floors = ("constant bytes", "sim.client")
        found.append(row_of(f"a call of the {name}", "µs", times, floors=floors))
    return found
