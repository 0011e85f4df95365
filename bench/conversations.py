"""Many conversations at once over one server, with random faults: each gets exactly its own script, and nothing is lost.

`python -m bench.conversations [--sessions 200] [--calls 250] [--faults 0.3] [--seed 1]` starts `agentsim serve` in a process of its own, talks to it, and
prints what it saw: replies, faults, calls a second, latencies, and what the server's memory, files and threads came to. It fails where any session
got another reply than its script's next one, missed a fault, or could go on behind its script's end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

Json = dict[str, Any]

#: What may stand before a reply: the client has to see each as a fault, and to ask again.
FAULTS: tuple[Json, ...] = (
    {"error": {"status": 529, "retry_after": 0.01}},
    {"error": {"status": 429, "retry_after": 0.01}},
    {"error": 500},
    {"error": 503, "chaos": {"malformed": "html"}},
    {"disconnect": {"before": "headers"}},
    {"disconnect": {"before": "headers", "how": "reset"}},
    {"disconnect": {"after_characters": 3, "how": "reset"}, "text": "never whole"},
    {"disconnect": {"after_characters": 0}, "text": "never whole"},
    {"error": {"type": "overloaded_error", "after_characters": 4}, "text": "never whole"},
    {"text": "never whole", "chaos": {"malformed": "html"}},
    {"text": "never whole", "chaos": {"malformed": "json"}},
    {"text": "never whole", "chaos": {"content_length": 50}},
    {"text": "never whole", "chaos": {"events": {"drop": 1}}},
    {"text": "never whole", "chaos": {"events": {"restart": 3}}},
    {"text": "never whole", "chaos": {"truncate_after_events": 3, "how": "reset"}},
)
#: What may happen to a reply on its way without harm.
HARMLESS: tuple[Json, ...] = ({"gzip": True}, {"chunk_bytes": 11}, {"stall": 0.002}, {"chunk_bytes": 97, "gzip": True})


def script(session: int, calls: int, share: float, seed: int) -> tuple[Json, int]:
    """A session's scenario, and how many faults stand in it."""
    dice, entries, faults = random.Random(f"{seed}/{session}"), [], 0
    for call in range(calls):
        while dice.random() < share:
            entries.append(dict(dice.choice(FAULTS)))
            faults += 1
        said: Json = {"text": said_by(session, call)}
        if call < calls - 1:
            said["tool_use"] = {"look": {"key": f"s{session}-{call}"}}
        if dice.random() < 0.2:
            said["chaos"] = dice.choice(HARMLESS)
        entries.append(said)
    tools = {"look": {"input": {"key": "string"}, "returns": "value of {key}"}}
    return {"agentsim": 1, "prompt": f"session {session}", "tools": tools, "replies": entries}, faults


def said_by(session: int, call: int) -> str:
    """The text of one reply: no other reply of any session has it."""
    return f"session {session} says {call}: {'abc' * (call % 7)}é"


class Unreadable(Exception):
    """What came is no whole reply."""


@dataclass
class Seen:
    """What all sessions saw together."""

    replies: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


@dataclass
class Session:
    """One conversation: asks, answers the call, asks on; and asks again where a fault came."""

    number: int
    calls: int
    url: str
    http: aiohttp.ClientSession
    seen: Seen
    faults: int = 0

    async def run(self) -> None:
        """Play it to its end, and one request further."""
        messages: list[Json] = [{"role": "user", "content": f"session {self.number}"}]
        for call in range(self.calls):
            content = await self._reply(messages)
            texts = [block["text"] for block in content if block["type"] == "text"]
            if texts != [said_by(self.number, call)]:
                raise AssertionError(f"session {self.number}: reply {call} is {texts}")
            used = [block["id"] for block in content if block["type"] == "tool_use"]
            if used != ([f"call_{call + 1}"] if call < self.calls - 1 else []):
                raise AssertionError(f"session {self.number}: reply {call} calls {used}")
            results = [{"type": "tool_result", "tool_use_id": each, "content": "v"} for each in used]
            messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results or "on"}]
        status, _ = await self._ask(messages)
        if status != 400:
            raise AssertionError(f"session {self.number}: behind the script's end came {status}")

    async def _reply(self, messages: list[Json]) -> list[Json]:
        while True:
            began = time.perf_counter()
            try:
                status, body = await self._ask(messages)
                if status == 400:
                    raise AssertionError(f"session {self.number}: {body[:300]!r}")
                content = whole(status, body)
            except (aiohttp.ClientError, OSError, Unreadable, ValueError) as error:
                self.faults += 1
                self.seen.faults[type(error).__name__] += 1
                continue
            self.seen.replies += 1
            self.seen.seconds.append(time.perf_counter() - began)
            return content

    async def _ask(self, messages: list[Json]) -> tuple[int, bytes]:
        tool = {"name": "look", "input_schema": {"type": "object", "properties": {"key": {"type": "string"}}}}
        body = {"model": "m", "max_tokens": 99, "stream": True, "tools": [tool], "messages": messages}
        headers = {"x-api-key": f"sim-s{self.number}:load", "anthropic-version": "2023-06-01"}
        async with self.http.post(f"{self.url}/v1/messages", json=body, headers=headers) as response:
            return response.status, await response.read()


def whole(status: int, body: bytes) -> list[Json]:
    """The content of a streamed reply, looked at as strictly as a careful client would.

    Raises:
        Unreadable: it is an error, broken, out of order or without its end.
    """
    if status != 200:
        raise Unreadable(f"status {status}")
    events = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]
    kinds = [event["type"] for event in events]
    if kinds[:1] != ["message_start"] or kinds.count("message_start") != 1 or kinds[-1:] != ["message_stop"]:
        raise Unreadable(f"events {kinds[:3]} … {kinds[-1:]}")
    blocks: list[Json] = []
    for event in events:
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "_raw": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            if "text" in delta:
                blocks[event["index"]]["text"] += delta["text"]
            blocks[event["index"]]["_raw"] += delta.get("partial_json", "")
    for block in blocks:
        raw = block.pop("_raw")
        if block["type"] == "tool_use":
            block["input"] = json.loads(raw)
    return [{name: value for name, value in block.items() if value is not None} for block in blocks]


async def play(url: str, sessions: int, calls: int, faults: list[int]) -> Seen:
    """All sessions at once.

    Raises:
        AssertionError: one got what is not its own, or missed something.
    """
    seen = Seen()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as http:
        made = [Session(number, calls, url, http, seen) for number in range(sessions)]
        await asyncio.gather(*(session.run() for session in made))
    missed = [each.number for each, wanted in zip(made, faults, strict=True) if each.faults != wanted]
    if missed:
        raise AssertionError(f"sessions {missed[:5]} saw another number of faults than their scripts have")
    return seen


def written(folder: Path, sessions: int, calls: int, share: float, seed: int) -> list[int]:
    """Write every session's scenario; returns their faults."""
    counts = []
    for session in range(sessions):
        scenario, faults = script(session, calls, share, seed)
        (folder / f"s{session}.json").write_text(json.dumps(scenario), "utf-8")
        counts.append(faults)
    return counts


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """`agentsim serve` in a process of its own: its URL and its number."""
    command = [sys.executable, "-m", "agentsim", "serve", str(folder)]
    # What scripts that end say of it is expected here, once for each session.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.terminate()


def usage(pid: int) -> dict[str, int]:
    """Memory in KiB, open files and threads of a process, where `/proc` tells."""
    folder = Path("/proc") / str(pid)
    if not folder.exists():
        return {}
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    files = len(os.listdir(folder / "fd"))
    return {"memory_kib": int(status["VmRSS"].split()[0]), "files": files, "threads": int(status["Threads"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--calls", type=int, default=250)
    parser.add_argument("--faults", type=float, default=0.2, help="how often a fault stands before a reply, below 1")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        counts = written(Path(name), given.sessions, given.calls, given.faults, given.seed)
        with served(Path(name)) as (url, pid):
            before, began = usage(pid), time.perf_counter()
            seen = asyncio.run(play(url, given.sessions, given.calls, counts))
            took, after = time.perf_counter() - began, usage(pid)
    slow = sorted(seen.seconds)
    print(f"{given.sessions} sessions x {given.calls} calls: {seen.replies} replies, each the next of its own script")
    print(f"{sum(counts)} faults scripted and seen: {dict(sorted(seen.faults.items()))}")
    print(f"{took:.1f} s, {(seen.replies + sum(counts)) / took:.0f} requests a second")
    print(f"latency: p50 {1000 * slow[len(slow) // 2]:.0f} ms, p99 {1000 * slow[len(slow) * 99 // 100]:.0f} ms")
    print(f"server before: {before}; after: {after}")


if __name__ == "__main__":
    main()
