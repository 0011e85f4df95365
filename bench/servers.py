"""`agentsim serve` beside other mock servers, and beside bare servers that answer constant bytes: all up at once, asked in turn."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import cache, load
from bench.peers import fixtures
from bench.rows import Aim, Row, row_of

US, BARE_ASGI, BARE_NODE = "agentsim serve", "bare ASGI app", "bare node:http"
FLOORS = (BARE_ASGI, BARE_NODE)
CONNECTIONS = (1, 16, 200)
GROWTH = 50_000
NAMES = {"json": "whole", "stream": "streamed"}

#: On a quiet machine with two cores, over 16 connections.
AIMS = {"json": 12_000, "stream": 8_000}
START_AIM = 0.4


@dataclass(slots=True)
class Server:
    """One that is up. Args: apis: that it speaks."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    apis: tuple[str, ...]

    def stop(self) -> None:
        """End the process group, which is the server's own."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def commands(folder: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Each server's command, `{port}` left open, and the APIs that it speaks."""
    python, node = shlex.quote(cache.python()), shlex.quote(cache.node())
    scripts, peers, modules = Path(cache.python()).parent, shlex.quote(str(cache.PEERS)), cache.NODE / "node_modules"
    all_apis = tuple(load.APIS)
    aimock = modules / "@copilotkit" / "aimock" / "dist" / "cli.js"
    return {
        US: (f"{python} -m agentsim serve {folder}/agentsim --port {{port}}", all_apis),
        "aimock": (f"{node} {aimock} -p {{port}} -f {folder}/aimock.json --log-level silent", all_apis),
        "fakellm": (f"{scripts}/fakellm serve --port {{port}} --config {folder}/fakellm.yaml", all_apis[:2]),
        "stubllm": (f"{scripts}/stubllm serve --port {{port}} --fixture-dir {folder}/stubllm", all_apis[:2]),
        BARE_ASGI: (
            f"{python} -m uvicorn --app-dir {peers} bare_asgi:app --port {{port}} --log-level error --no-access-log",
            all_apis[:1],
        ),
        BARE_NODE: (f"{node} {peers}/bare_node.mjs {{port}}", all_apis[:1]),
    }


def start(name: str, command: str, apis: tuple[str, ...], pin: int | None) -> tuple[Server, float]:
    """A server that answers rightly, and the seconds until then."""
    port, begin = _free_port(), time.perf_counter()
    hold: Callable[[], None] | None = (lambda: os.sched_setaffinity(0, {pin})) if pin is not None else None
    process = subprocess.Popen(
        shlex.split(command.format(port=port)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=cache.environment(),
        preexec_fn=hold,
        start_new_session=True,
    )
    server = Server(name, process, port, apis)
    while not load.answers(port, "anthropic", "json"):
        if process.poll() is not None or time.perf_counter() - begin > 60:
            server.stop()
            raise SystemExit(f"no server came of: {command}")
        time.sleep(0.005)
    return server, time.perf_counter() - begin


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def servers(rounds: int, seconds: float = 2.0) -> tuple[list[Row], list[Aim]]:
    """Every figure of every server."""
    cores = sorted(os.sched_getaffinity(0))
    pin = cores[0] if len(cores) > 1 else None
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        fixtures.write(folder)
        known = commands(folder)
        if pin is not None:
            os.sched_setaffinity(0, {cores[1]})
            stack.callback(os.sched_setaffinity, 0, set(cores))
        rows = _starts(known, pin, rounds)
        aims = [Aim("CPU time of the server's start, to its first answer", "s", rows[1].values[US], START_AIM)]
        up = []
        for each, (command, apis) in known.items():
            server, _ = start(each, command, apis, pin)
            stack.callback(server.stop)
            up.append(server)
        rows.append(_memory(up, "resident memory of an idle server"))
        for mode in NAMES:
            for connections in CONNECTIONS:
                rows += _loads(up, "anthropic", mode, connections, rounds, seconds)
            for api in ("chat", "responses"):
                rows += _loads(up, api, mode, 16, rounds, seconds)[:1]
        rows.append(_growth(up))
    aims += [
        Aim(f"CPU time of a {NAMES[mode]} reply, over 16 connections", "µs", row.values[US], 1 / AIMS[mode])
        for mode in NAMES
        for row in rows
        if row.what == _title("anthropic", mode, 16, "CPU time a request")
    ]
    return rows, aims


def _title(api: str, mode: str, connections: int, what: str) -> str:
    return f"{api}, {NAMES[mode]}, {connections} connection{'s' if connections > 1 else ''}: {what}"


def _starts(known: dict[str, tuple[str, tuple[str, ...]]], pin: int | None, rounds: int) -> list[Row]:
    """How long each takes to start, by the clock and in CPU time."""
    took: dict[str, list[float]] = {name: [] for name in known}
    spent: dict[str, list[float]] = {name: [] for name in known}
    for _ in range(rounds):
        for name, (command, apis) in known.items():
            server, seconds = start(name, command, apis, pin)
            took[name].append(seconds)
            spent[name].append(load.cpu_seconds(server.process.pid))
            server.stop()
    return [
        row_of("from start to the first answer", "s", took, floors=FLOORS, steady=False),
        row_of("from start to the first answer, CPU time", "s", spent, floors=FLOORS),
    ]


def _memory(up: list[Server], what: str) -> Row:
    return row_of(what, "MiB", {each.name: [load.memory_mib(each.process.pid)] for each in up}, floors=FLOORS)


def _loads(up: list[Server], api: str, mode: str, connections: int, rounds: int, seconds: float) -> list[Row]:
    """CPU time a request, requests a second, and latencies, of the servers that speak this API."""
    asked = [each for each in up if api in each.apis]
    cpu: dict[str, list[float]] = {each.name: [] for each in asked}
    rate: dict[str, list[float]] = {each.name: [] for each in asked}
    p50: dict[str, list[float]] = {each.name: [] for each in asked}
    p99: dict[str, list[float]] = {each.name: [] for each in asked}
    for each in asked:
        if not load.answers(each.port, api, mode):
            raise SystemExit(f"{each.name} does not answer {api} ({mode})")
        load.run(each.port, api, mode, connections, 1)
    for _ in range(rounds):
        for each in asked:
            spent, seen = _load(each, api, mode, connections, seconds)
            cpu[each.name].append(spent / seen.requests)
            rate[each.name].append(seen.requests / seen.seconds)
            p50[each.name].append(seen.p50)
            p99[each.name].append(seen.p99)
    return [
        row_of(_title(api, mode, connections, "CPU time a request"), "µs", cpu, floors=FLOORS),
        row_of(
            _title(api, mode, connections, "requests a second"),
            "/s",
            rate,
            floors=FLOORS,
            steady=False,
            more_is_better=True,
        ),
        row_of(_title(api, mode, connections, "latency, p50"), "ms", p50, floors=FLOORS, steady=False),
        row_of(_title(api, mode, connections, "latency, p99"), "ms", p99, floors=FLOORS, steady=False),
    ]


def _load(server: Server, api: str, mode: str, connections: int, seconds: float) -> tuple[float, load.Load]:
    """CPU seconds of the server during a load, and the load; a server that answers nothing meanwhile is given longer."""
    before = load.cpu_seconds(server.process.pid)
    seen = load.run(server.port, api, mode, connections, seconds)
    if not seen.requests and seconds < 60:
        return _load(server, api, mode, connections, seconds * 3)
    return load.cpu_seconds(server.process.pid) - before, seen


def _growth(up: list[Server]) -> Row:
    """Resident memory after so many more requests; what a server kept of them."""
    for each in up:
        asked = 0
        while asked < GROWTH:
            asked += load.run(each.port, "anthropic", "json", 16, 2).requests
    return _memory(up, f"resident memory after {GROWTH:,} requests more")
