"""How fast the wire is: whole replies and streams a second, start-up, memory, and what each door adds to an SDK call.

    python bench/wire.py                                   every figure, as a table
    python bench/wire.py --peer "node …/cli.js -p {port}"  another server's figures beside ours, in the same run
    python bench/wire.py --json                            one object, for a file of results

Server and client run on cores of their own where there are two. Every answer is checked. CPU time per request is the figure
to read on a shared machine: requests a second halve when a neighbour wakes up, CPU time hardly moves.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOX = "The quick brown fox jumps over the lazy dog. " * 5
SCENARIOS = {
    "json": {"agentsim": 1, "prompt": "bench-json", "replies": [{"text": "Hi there"}]},
    "stream": {
        "agentsim": 1,
        "prompt": "bench-stream",
        "replies": [{"text": FOX, "stream": {"characters_per_chunk": 20}}],
    },
}
WANTED = {"json": b"Hi there", "stream": b"lazy"}
APIS: dict[str, tuple[str, dict[str, Any], str]] = {
    "anthropic": (
        "/v1/messages",
        {"model": "claude-sonnet-5", "max_tokens": 256},
        "x-api-key: k\r\nanthropic-version: 2023-06-01",
    ),
    "chat": ("/v1/chat/completions", {"model": "gpt-5.1"}, "authorization: Bearer k"),
    "responses": ("/v1/responses", {"model": "gpt-5.1"}, "authorization: Bearer k"),
}
SERVE = "import sys; from agentsim.http.serve import serve; serve(sys.argv[1], int(sys.argv[2]))"


def request(api: str, mode: str, port: int) -> bytes:
    """One request's bytes."""
    path, body, headers = APIS[api]
    said = [{"role": "user", "content": f"bench-{mode}"}]
    whole = (
        body | {"input" if api == "responses" else "messages": said} | ({"stream": True} if mode == "stream" else {})
    )
    content = json.dumps(whole).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{headers}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


class Asker(asyncio.Protocol):
    """Sends one request again and again over one connection, each as soon as the answer before is whole."""

    def __init__(
        self, asked: bytes, wanted: bytes, until: float, times: list[float], done: asyncio.Future[None]
    ) -> None:
        self.asked, self.wanted, self.until, self.times, self.done = asked, wanted, until, times, done
        self.received, self.sent = b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.ask()

    def ask(self) -> None:
        if time.perf_counter() >= self.until:
            self.transport.close()
            return
        self.received, self.sent = b"", time.perf_counter()
        self.transport.write(self.asked)

    def data_received(self, data: bytes) -> None:
        self.received += data
        if not self.whole():
            return
        if not self.received.startswith(b"HTTP/1.1 200") or self.wanted not in self.received:
            raise SystemExit(f"not the answer: {self.received[:300]!r}")
        self.times.append(time.perf_counter() - self.sent)
        self.ask()

    def whole(self) -> bool:
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return False
        _, length, rest = head.lower().partition(b"content-length:")
        if length:
            return len(body) >= int(rest.split(b"\r\n", 1)[0])
        return body.endswith(b"0\r\n\r\n")

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def load(port: int, asked: bytes, wanted: bytes, seconds: float, clients: int) -> tuple[list[float], float]:
    """The latencies of a load, and how long it lasted."""
    loop, times, start = asyncio.get_running_loop(), list[float](), time.perf_counter()
    waiting = []
    for _ in range(clients):
        done: asyncio.Future[None] = loop.create_future()
        await loop.create_connection(lambda: Asker(asked, wanted, start + seconds, times, done), "127.0.0.1", port)  # noqa: B023
        waiting.append(done)
    await asyncio.gather(*waiting)
    return times, time.perf_counter() - start


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def server(command: str, pin: int | None) -> Iterator[tuple[int, int, float]]:
    """A server that answers: its port, its pid, and the seconds that it took to start."""
    port, start = free_port(), time.perf_counter()
    hold = (lambda: os.sched_setaffinity(0, {pin})) if pin is not None else None
    argv = shlex.split(command.format(port=port))
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=hold)
    try:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
                    sock.sendall(request("anthropic", "json", port))
                    if sock.recv(65536).startswith(b"HTTP/1.1 200"):
                        break
            except OSError:
                time.sleep(0.005)
            if process.poll() is not None or time.perf_counter() - start > 60:
                raise SystemExit(f"no server came of: {command}")
        yield port, process.pid, time.perf_counter() - start
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def measure_server(command: str, seconds: float, pin: int | None, growth: int) -> dict[str, Any]:
    """Every figure of one server."""
    starts = []
    for _ in range(3):
        with server(command, pin) as (_, _, took):
            starts.append(took)
    told: dict[str, Any] = {"startup_s": round(statistics.median(starts), 3)}
    with server(command, pin) as (port, pid, _):
        for api in APIS:
            for mode in SCENARIOS:
                asked = request(api, mode, port)
                asyncio.run(load(port, asked, WANTED[mode], 0.5, 16))
                before = cpu_seconds(pid)
                times, took = asyncio.run(load(port, asked, WANTED[mode], seconds, 16))
                spent = cpu_seconds(pid) - before
                told[f"{api} {mode}"] = {
                    "per_second": round(len(times) / took),
                    "cpu_us": round(spent / len(times) * 1e6),
                    "p50_ms": round(statistics.median(times) * 1e3, 2),
                }
        told["memory_mib"] = round(memory_mib(pid), 1)
        if growth:
            asked, count, before = request("anthropic", "json", port), 0, memory_mib(pid)
            while count < growth:
                count += len(asyncio.run(load(port, asked, WANTED["json"], 2, 16))[0])
            told["growth_kib_per_request"] = round((memory_mib(pid) - before) * 1024 / count, 3)
    return told


def best(call: Callable[[], Any], times: int = 200, rounds: int = 7) -> float:
    """CPU milliseconds of one call, the least of several rounds."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(times):
            call()
        spent.append((time.process_time() - start) / times * 1e3)
    return min(spent)


def measure_doors() -> dict[str, Any]:
    """What each door adds to a call of the SDK whose transport returns constant bytes."""
    import anthropic
    import httpx2

    from agentsim.http.provider import Provider, Settings
    from agentsim.scenario.load import loads
    from agentsim.session import play
    from agentsim.wire.base import HttpRequest

    script = {"agentsim": 1, "prompt": "hi", "replies": [{"text": "Hi there", "repeat": "forever"}]}
    asked: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    answer = Provider(loads(script))(HttpRequest("POST", "/v1/messages", headers, json.dumps(asked).encode()))

    def constant(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=answer.body)

    plain = anthropic.Anthropic(api_key="k")
    fixed = anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(constant)))
    told = {"constant_ms": best(lambda: fixed.messages.create(**asked))}
    with play(script) as sim:
        client = sim.client(anthropic.Anthropic)
        told["inject_ms"] = best(lambda: client.messages.create(**asked))
    with play(script):
        told["intercept_ms"] = best(lambda: plain.messages.create(**asked))
    told["new_session_ms"] = best(lambda: Provider(loads(script), Settings(keep=False)), 50)
    told["growth_bytes_per_request"] = _growth(Provider(loads(script), Settings(keep=False)), headers, asked)
    return {name: round(value, 4) for name, value in told.items()}


def _growth(provider: Any, headers: dict[str, str], asked: dict[str, Any], count: int = 50_000) -> float:
    from agentsim.wire.base import HttpRequest

    body = json.dumps(asked).encode()
    for _ in range(2000):
        provider(HttpRequest("POST", "/v1/messages", headers, body))
    tracemalloc.start()
    for _ in range(count):
        provider(HttpRequest("POST", "/v1/messages", headers, body))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return grown / count


def show(results: dict[str, dict[str, Any]]) -> None:
    for name, told in results.items():
        print(name)
        for what, value in told.items():
            shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
            print(f"  {what:26} {shown}")


def main() -> None:
    """Run what is asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--peer", help="command of another server, with {port}")
    options.add_argument("--seconds", type=float, default=3.0, help="of each load")
    options.add_argument("--growth", type=int, default=50_000, help="requests for the server's memory")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    cores, pin = sorted(os.sched_getaffinity(0)), None
    results: dict[str, dict[str, Any]] = {"doors": measure_doors()}
    if len(cores) > 1:
        pin = cores[0]
        os.sched_setaffinity(0, {cores[1]})
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario in SCENARIOS.items():
            Path(folder, f"{name}.json").write_text(json.dumps(scenario))
        ours = shlex.join([sys.executable, "-c", SERVE, folder]) + " {port}"
        results["agentsim serve"] = measure_server(ours, given.seconds, pin, given.growth)
    if given.peer:
        results["peer"] = measure_server(given.peer, given.seconds, pin, 0)
    if given.json:
        print(json.dumps(results))
    else:
        show(results)


if __name__ == "__main__":
    main()
