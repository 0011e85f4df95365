"""A process that does one thing again and again, as often as it is asked: one side of an interleaved measurement.

Standard input: a number a line. Standard output: one JSON line when it is ready, then one for each number: the seconds that so many took.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def serve(step: Step) -> None:
    """Answer each number on standard input with the seconds of so many steps."""
    step()
    out = os.fdopen(os.dup(1), "w")
    with contextlib.redirect_stdout(sys.stderr):
        print(json.dumps({"ready": True}), file=out, flush=True)
        for line in sys.stdin:
            count = int(line)
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(count):
                step()
            told = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
            print(json.dumps(told), file=out, flush=True)
