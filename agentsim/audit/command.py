"""A scenario played to a command in any language, over a local server."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import IO

from agentsim.audit.ending import MARK, end_all
from agentsim.audit.played import Options, Played, judged
from agentsim.errors import AgentsimError, UsageError
from agentsim.http.provider import Settings
from agentsim.judge.case import Got
from agentsim.judge.outcome import crash_in
from agentsim.limits import limit
from agentsim.scenario.model import Scenario
from agentsim.session import Sim

PROMPT = "{prompt}"


def play_to_command(command: Sequence[str], scenario: Scenario, options: Options) -> Played:
    """Play a scenario to a command.

    It gets base-URL variables and dummy keys; the prompt takes the place of `{prompt}` in its words, else it is the last
    one; it is also in AGENTSIM_PROMPT and on standard input. What it starts is ended with it.
    """
    flood = threading.Event()
    count = 0

    def request(offered: Collection[str]) -> None:
        nonlocal count
        count += 1
        if count > options.most:
            flood.set()

    sim = Sim(scenario, Settings(tools=options.tools or None, watch=request), options.allow_hosts, False)
    got: Got | None = None
    crash = stopped = ending = None
    with tempfile.TemporaryDirectory(prefix="agentsim-") as folder, _quietly(), sim:
        run = _Process(command, sim, Path(folder))
        stopped = run.wait(options.deadline, flood, options.most)
        if stopped is None:
            got, crash = run.outcome()
            ending = run.ending()
    case = sim.case(limit=options.limit)
    case.got, case.crash, case.stopped = got, crash, stopped
    return judged(sim, case, hung=stopped is not None and not flood.is_set(), ending=ending)


class _Process:
    """The command, its output in files: pipes would be held open by what it starts."""

    def __init__(self, command: Sequence[str], sim: Sim, folder: Path) -> None:
        prompt = sim.prompt
        words = [word.replace(PROMPT, prompt) for word in command]
        if words == list(command):
            words.append(prompt)
        self.out, self.err = folder / "out", folder / "err"
        asked = folder / "in"
        asked.write_text(prompt + "\n", "utf-8")
        with self.out.open("wb") as out, self.err.open("wb") as err, asked.open("rb") as given:
            self._mark = secrets.token_hex(8)
            environment = {**sim.environment, "AGENTSIM_PROMPT": prompt, MARK: self._mark}
            self.process = self._start(words, environment, out, err, given)

    def _start(
        self, words: list[str], environment: dict[str, str], out: IO[bytes], err: IO[bytes], given: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(words, stdin=given, stdout=out, stderr=err, env=environment, start_new_session=True)
        except OSError as error:
            raise UsageError(f"{words[0]!r} can't be run: {error.strerror}") from error

    def wait(self, deadline: float, flood: threading.Event, most: int) -> str | None:
        """Wait for its end, at most until the deadline; why it was stopped, or None."""
        end, printed = time.monotonic() + deadline, limit("audit_output_bytes")
        try:
            while self.process.poll() is None:
                if flood.wait(0.005):
                    return f"{most} model requests and no end"
                if time.monotonic() > end:
                    return f"no end after {deadline:g} seconds"
                if max(self.out.stat().st_size, self.err.stat().st_size) > printed:
                    return f"more than {printed >> 20} MB of output and no end"
            return None
        finally:
            self._kill()

    def _kill(self) -> None:
        """End it and everything that it started."""
        end_all(self.process.pid, self._mark)
        self.process.wait()

    def outcome(self) -> tuple[Got, str | None]:
        """Output with exit status 0 is an answer; a built-in error on standard error is a crash."""
        if self.process.returncode == 0:
            return ("answer" if self.out.read_bytes().strip() else "none"), None
        crash = crash_in(self.err.read_text("utf-8", "replace")[-20_000:])
        return ("crash" if crash else "none"), crash

    def ending(self) -> str | None:
        """How it failed: its exit status and the last line of its standard error; None where it did not."""
        if self.process.returncode == 0:
            return None
        lines = self.err.read_text("utf-8", "replace")[-20_000:].split("\n")
        last = next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")
        return f"exit status {self.process.returncode}" + (f": {last}" if last else "")


class _quietly(contextlib.AbstractContextManager[None]):  # noqa: N801 - reads as a word
    """Swallows what the session says at its end (it is told as verdicts), but not the user's own mistakes."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        return isinstance(error, AgentsimError) and not isinstance(error, UsageError)
