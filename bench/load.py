"""The load on a server: by wrk where it is installed (`apt-get install wrk`), else by the client below, which is slower than some servers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import cache

APIS: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("/v1/messages", {"model": "claude-sonnet-5", "max_tokens": 256}),
    "chat": ("/v1/chat/completions", {"model": "gpt-5.1"}),
    "responses": ("/v1/responses", {"model": "gpt-5.1"}),
}
WANTED = {"json": b"Hi there", "stream": b"lazy"}


@dataclass(slots=True)
class Load:
    """What a load showed. Args: requests: that were answered; seconds: that it took; p50, p99: latencies in seconds."""

    requests: int
    seconds: float
    p50: float
    p99: float


def body(api: str, mode: str) -> bytes:
    """One request's body."""
    said = [{"role": "user", "content": f"bench-{mode}"}]
    whole = APIS[api][1] | {"input" if api == "responses" else "messages": said}
    return json.dumps(whole | ({"stream": True} if mode == "stream" else {})).encode()


def request(api: str, mode: str, port: int) -> bytes:
    """One request's bytes."""
    content = body(api, mode)
    head = (
        f"POST {APIS[api][0]} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
        f"authorization: Bearer k\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def answers(port: int, api: str, mode: str) -> bool:
    """Whether the server gives the right answer to one request."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            sock.sendall(request(api, mode, port))
            received = b""
            while WANTED[mode] not in received:
                data = sock.recv(65536)
                if not data:
                    return False
                received += data
            return received.startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def run(port: int, api: str, mode: str, connections: int, seconds: float) -> Load:
    """Ask as fast as answers come, over so many connections.

    Raises:
        SystemExit: a request failed.
    """
    wrk = shutil.which("wrk")
    return _wrk(wrk, port, api, mode, connections, seconds) if wrk else _own(port, api, mode, connections, seconds)


def _wrk(wrk: str, port: int, api: str, mode: str, connections: int, seconds: float) -> Load:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "body.json")
        file.write_bytes(body(api, mode))
        url = f"http://127.0.0.1:{port}{APIS[api][0]}"
        command = [wrk, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "30s", "-s"]
        done = subprocess.run(
            [*command, str(cache.PEERS / "post.lua"), url, "--", str(file)], capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout.splitlines()[-1])
    if found["failed"]:
        raise SystemExit(f"{found['failed']} of {found['requests']} requests failed on {url}")
    return Load(found["requests"], found["seconds"], found["p50"], found["p99"])


class _Asker(asyncio.Protocol):
    """Sends one request again and again over one connection, each as soon as the answer before is whole."""

    def __init__(self, asked: bytes, wanted: bytes, until: float, times: list[float], done: Any) -> None:
        self.asked, self.wanted, self.until, self.times, self.done = asked, wanted, until, times, done

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
        if not _whole(self.received):
            return
        if not self.received.startswith(b"HTTP/1.1 200") or self.wanted not in self.received:
            raise SystemExit(f"not the answer: {self.received[:300]!r}")
        self.times.append(time.perf_counter() - self.sent)
        self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _whole(received: bytes) -> bool:
    head, found, content = received.partition(b"\r\n\r\n")
    if not found:
        return False
    _, length, rest = head.lower().partition(b"content-length:")
    return len(content) >= int(rest.split(b"\r\n", 1)[0]) if length else content.endswith(b"0\r\n\r\n")


def _own(port: int, api: str, mode: str, connections: int, seconds: float) -> Load:
    return asyncio.run(_ask_all(port, request(api, mode, port), WANTED[mode], connections, seconds))


async def _ask_all(port: int, asked: bytes, wanted: bytes, connections: int, seconds: float) -> Load:
    loop, times, start, waiting = asyncio.get_running_loop(), list[float](), time.perf_counter(), []
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        asker = _Asker(asked, wanted, start + seconds, times, done)
        await loop.create_connection(lambda asker=asker: asker, "127.0.0.1", port)  # type: ignore[misc]
        waiting.append(done)
    await asyncio.gather(*waiting)
    took, times = time.perf_counter() - start, sorted(times)
    return Load(len(times), took, times[len(times) // 2], times[int(len(times) * 0.99)])


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children so far."""
    total = 0
    for process in _tree(pid):
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Resident memory of a process and its children."""
    total = 0
    for process in _tree(pid):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return total / 1024


def _tree(pid: int) -> list[int]:
    found, todo = [], [pid]
    while todo:
        process = todo.pop()
        found.append(process)
        for thread in Path(f"/proc/{process}/task").iterdir():
            todo += map(int, (thread / "children").read_text().split())
    return found
