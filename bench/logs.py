"""A Claude Code session read into a Recording, beside `json.loads` of each of its lines, which nobody can do without."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

from bench import cache
from bench.rows import Aim, Row, row_of

READ = """
import json, resource, sys, time
begin = time.process_time()
if sys.argv[2] == "agentsim":
    from agentsim.store.importers import read
    from agentsim.store.recording import facts
    calls = facts(read(sys.argv[1]))["model_calls"]
else:
    calls = len([line for line in open(sys.argv[1], "rb") if json.loads(line)["type"] == "assistant"]) // 3
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(json.dumps({"seconds": time.process_time() - begin, "peak": peak, "calls": calls}))
"""
#: For 100 MB: CPU seconds, and MiB at most.
SECONDS, MEMORY = 6.0, 300.0


def logs(rounds: int, megabytes: int = 100) -> tuple[list[Row], list[Aim]]:
    """Seconds and memory of a session of so many megabytes."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        written = 0
        for line in lines():
            written += file.write(line)
            if written >= megabytes * 1_000_000:
                break
        file.flush()
        seconds: dict[str, list[float]] = {"agentsim": [], "json.loads, line by line": []}
        peaks = []
        for _ in range(rounds):
            for name, taken in seconds.items():
                found = _read(file.name, name)
                taken.append(found["seconds"])
                peaks += [found["peak"]] if name == "agentsim" else []
    what = f"{megabytes} MB of a Claude Code session, read"
    row = row_of(what, "s", seconds, floors=("json.loads, line by line",))
    aim = Aim(what, "s", row.values["agentsim"], SECONDS * megabytes / 100)
    return [row], [aim, Aim("its memory, at most", "MiB", min(peaks), MEMORY)]


def _read(path: str, who: str) -> dict[str, float]:
    done = subprocess.run(
        [cache.python(), "-c", READ, path, who], env=cache.environment(), capture_output=True, check=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def lines() -> Iterator[str]:
    """A session without end: a reply over three lines, its result twice as Claude Code writes it, a prompt now and then."""
    parent, number, written = None, 0, 0
    while True:
        number += 1
        for record in _records(number):
            written += 1
            stamp = {"uuid": f"u-{written}", "parentUuid": parent, "isSidechain": False, "sessionId": "s"}
            parent = stamp["uuid"]
            yield json.dumps(record | stamp | {"version": "2.0.1", "cwd": "/p"}, ensure_ascii=False) + "\n"


def _records(number: int) -> list[dict[str, Any]]:
    usage = {
        "input_tokens": 4, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 20_000, "output_tokens": 300,
    }  # fmt: skip
    listing = "\n".join(f"{n}\tdef f{number}_{n}(x): return x + {n}  # one of many lines ✓" for n in range(40))
    reply = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": f"/p/{number}.py"}}
    thinking = {"type": "thinking", "thinking": "hm " * 100, "signature": "s" * 300}
    records: list[dict[str, Any]] = []
    if number % 10 == 1:
        records.append({"type": "user", "message": {"role": "user", "content": f"Task {number}, please"}})
    records += [
        {"type": "assistant", "requestId": f"req_{number}", "message": {**reply, "content": [block]}}
        for block in (thinking, {"type": "text", "text": "Let me look."}, use)
    ]
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": listing}
    message = {"role": "user", "content": [result]}
    records.append({"type": "user", "toolUseResult": {"file": {"content": listing}}, "message": message})
    return records
