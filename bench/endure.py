"""Mixed use for a long time, in one process: memory, open files and threads stay what they were.

`python -m bench.endure [--minutes 30]` plays scenarios to the official clients (in process and over a server, faults included), compares
styles, reads recordings, records and replays, round after round, and prints a line a minute. It fails where the last quarter needs notably more
than the second one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import anthropic
import httpx2
import openai

import agentsim
from agentsim.errors import AgentsimError
from agentsim.http.provider import Settings
from agentsim.http.record import Recorder
from agentsim.http.serve import scenarios_at
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.scenario.dump import dumps
from agentsim.store.importers import read
from agentsim.store.recording import facts, scenarios
from agentsim.wire.base import HttpRequest
from bench.conversations import play as load
from bench.conversations import usage, written

ROOT = Path(__file__).parents[1]
STORIES = sorted((ROOT / "scenarios").glob("*.yaml"))
CHAOS = sorted((ROOT / "scenarios" / "chaos").glob("*.yaml"))
RECORDINGS = sorted(path for path in (ROOT / "tests" / "store" / "fixtures").rglob("*") if path.is_file())
ASK = [{"role": "user", "content": "What is the capital of France?"}]

#: What one round does, by name; each takes the round's number.
JOBS: dict[str, Callable[[int], None]] = {}


def job(function: Callable[[int], None]) -> Callable[[int], None]:
    """Add to the jobs."""
    JOBS[function.__name__] = function
    return function


@job
def in_process(round_: int) -> None:
    """A scenario to an unchanged client, intercepted; whatever it makes of it."""
    path = CHAOS[round_ % len(CHAOS)]
    with contextlib.suppress(AgentsimError), agentsim.play(path) as sim:
        client = sim.client(openai.OpenAI, max_retries=0)
        with contextlib.suppress(openai.OpenAIError, ValueError, httpx2.HTTPError):
            client.chat.completions.create(model="m", messages=ASK)
        client.close()


@job
def in_process_async(round_: int) -> None:
    """The same, async and streamed."""

    async def ask(sim: agentsim.Sim) -> None:
        async with sim.client(anthropic.AsyncAnthropic, max_retries=0) as client:
            with contextlib.suppress(
                anthropic.AnthropicError, ValueError, AssertionError, IndexError, httpx2.HTTPError
            ):
                async with client.messages.stream(model="m", max_tokens=99, messages=ASK) as events:
                    await events.get_final_message()

    with contextlib.suppress(AgentsimError), agentsim.play(CHAOS[round_ % len(CHAOS)]) as sim:
        asyncio.run(ask(sim))


@job
def compared(round_: int) -> None:
    """A story under every style, as a table."""
    str(agentsim.compare(agentsim.load(STORIES[round_ % len(STORIES)])))


@job
def imported(round_: int) -> None:
    """A recording, its facts, and scenarios of it."""
    with contextlib.suppress(AgentsimError):
        found = read(RECORDINGS[round_ % len(RECORDINGS)])
        facts(found)
        for made in scenarios(found):
            dumps(made)


@job
def served(round_: int) -> None:
    """A server that comes and goes, with a few conversations at once and faults."""
    with tempfile.TemporaryDirectory() as name:
        faults = written(Path(name), 4, 5, 0.3, round_)
        with Server(Sessions(scenarios_at(name), Settings(keep=False))) as server:
            asyncio.run(load(server.url, 4, 5, faults))


@job
def recorded(round_: int) -> None:
    """A recording is written, read and replayed."""
    scenario = agentsim.load(ROOT / "scenarios" / "cut_text.yaml")
    body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
    request = HttpRequest("POST", "https://api.openai.com/v1/chat/completions", {"authorization": "Bearer k"}, body)
    with tempfile.TemporaryDirectory() as name:
        recorder = Recorder(Path(name) / "a.yaml")
        sim = agentsim.play(scenario, intercept=False)
        recorder.keep_answer(request, sim.answer(request))
        recorder.finish()
        with contextlib.suppress(AgentsimError), agentsim.replay(Path(name) / "a.http.jsonl", intercept=False) as again:
            again.answer(request)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    given = parser.parse_args()
    seen: list[dict[str, int]] = []
    began, round_ = time.monotonic(), 0
    while time.monotonic() - began < 60 * given.minutes:
        for work in JOBS.values():
            work(round_)
        round_ += 1
        minutes = (time.monotonic() - began) / 60
        if minutes >= len(seen) * min(1.0, given.minutes / 20):
            gc.collect()
            seen.append(usage(os.getpid()))
            print(f"{minutes:5.1f} min, {round_} rounds: {seen[-1]}", flush=True)
    quarter = max(1, len(seen) // 4)
    grown = {}
    for what in seen[0]:
        early = median(each[what] for each in seen[quarter : 2 * quarter] or seen[:1])
        late = median(each[what] for each in seen[-quarter:])
        grown[what] = late - early
    print(f"from the second quarter to the last: {grown}")
    if grown["memory_kib"] > 20_000 or grown["files"] > 2 or grown["threads"] > 1:
        raise SystemExit("something grows")


if __name__ == "__main__":
    main()
