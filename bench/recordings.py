"""How fast a recording is read: 100 MB of a Claude Code session, in a process of its own. Prints a table for the README.

The seconds are the process's own: on a busy machine the clock on the wall says more about the others.

python bench/recordings.py [MEGABYTES]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS, MEGABYTES = 6.0, 300.0

READ = """
import resource, sys, time
begin = time.perf_counter()
from agentsim.store.importers import read
from agentsim.store.recording import facts
found = facts(read(sys.argv[1]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(min(time.perf_counter() - begin, time.process_time()), peak, found["model_calls"])
"""


def lines() -> Iterator[str]:
    """A session without end: a reply over three lines, its result twice as Claude Code writes it, a prompt now and then."""
    parent, number = None, 0
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": 1000,
        "cache_read_input_tokens": 20_000,
        "output_tokens": 300,
    }
    while True:
        number += 1
        listing = "\n".join(f"{n}\tdef f{number}_{n}(x): return x + {n}  # one of many lines ✓" for n in range(40))
        reply = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "usage": usage}
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": f"/p/{number}.py"}}
        records: list[dict[str, object]] = []
        if number % 10 == 1:
            records.append({"type": "user", "message": {"role": "user", "content": f"Task {number}, please"}})
        thinking = {"type": "thinking", "thinking": "hm " * 100, "signature": "s" * 300}
        records += [
            {"type": "assistant", "requestId": f"req_{number}", "message": {**reply, "content": [block]}}
            for block in (thinking, {"type": "text", "text": "Let me look."}, use)
        ]
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": listing}
        records.append(
            {
                "type": "user",
                "toolUseResult": {"file": {"content": listing}},
                "message": {"role": "user", "content": [result]},
            }
        )
        for record in records:
            uuid = f"{len(listing)}-{number}-{id(record)}"
            record |= {
                "uuid": uuid,
                "parentUuid": parent,
                "isSidechain": False,
                "sessionId": "s",
                "version": "2.0.1",
                "cwd": "/p",
            }
            parent = uuid
            yield json.dumps(record, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file, read it, print."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8", delete=False) as file:
        written = 0
        for line in lines():
            written += file.write(line)
            if written >= size * 1_000_000:
                break
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ, file.name], cwd=ROOT, capture_output=True, check=True, text=True
        )
    finally:
        Path(file.name).unlink()
    seconds, peak, calls = done.stdout.split()
    print("| what | measured | aim |\n|---|---|---|")
    print(
        f"| {size} MB of a Claude Code session ({calls} model calls) | {float(seconds):.1f} s | {SECONDS * size / 100:.1f} s |"
    )
    print(f"| its memory, at most | {float(peak):.0f} MB | {MEGABYTES:.0f} MB |")
    if float(seconds) > SECONDS * size / 100 or float(peak) > MEGABYTES:
        sys.exit(1)


if __name__ == "__main__":
    main()
