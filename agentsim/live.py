"""`agentsim.record`: a test that is played from its recording, and that makes its recording where there is none."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from agentsim.core.events import ModelReplied
from agentsim.core.messages import ToolResult
from agentsim.core.transcript import Transcript
from agentsim.errors import ScriptError, TranscriptError, UsageError
from agentsim.http.environment import for_subprocess
from agentsim.http.guard import NetworkBlocked, closed_network
from agentsim.http.record import Files, Mode, Recorder, goes_live
from agentsim.http.recording import passing_through
from agentsim.judge.case import Case
from agentsim.judge.check import settled
from agentsim.judge.expected import expectation_problems
from agentsim.judge.outcome import UNKNOWN, got_of
from agentsim.judge.rules import Verdict
from agentsim.scenario.load import load
from agentsim.scenario.model import Scenario
from agentsim.session import Sim, play, replay, tool_results


def record(
    path: str | os.PathLike[str],
    *,
    mode: Mode = "once",
    upstream: str | Sequence[str] = (),
    lenient: bool | str | Iterable[str] = False,
    allow_hosts: Iterable[str] = (),
) -> Sim | Live:
    """Play a recording to the code inside the `with` block, or record what it says to the real provider.

    Args:
        path: of the scenario (`refund.yaml`); its traffic is `refund.http.jsonl`, its transcript `refund.transcript.jsonl`.
        mode: none: never goes live; once: where there is neither scenario nor traffic yet; new: plays what is recorded and goes live for
            the rest, which is added; all: records everything anew.
        upstream: `URL` or `NAME=URL` in place of where requests were meant to go.
        lenient, allow_hosts: of a recording that is played, as `agentsim.replay` takes them.
    Returns:
        A context manager: a Sim that plays the traffic (or the scenario, where there is no traffic), or a Live.
    Raises:
        UsageError: there is nothing to play and the mode is none, or no such mode.
    Example:
        >>> with agentsim.record("refund.yaml", mode="once"):  # doctest: +SKIP
        ...     my_agent("Refund order 42")
    """
    files = Files(path)
    if goes_live(path, mode):
        return Live(path, mode, [upstream] if isinstance(upstream, str) else list(upstream))
    if files.traffic.exists():
        return replay(files.traffic, lenient=lenient, allow_hosts=allow_hosts)
    if files.scenario.exists():
        return play(load(files.scenario), allow_hosts=allow_hosts)
    raise UsageError(f"there is no recording {str(files.scenario)!r}; the mode 'once' makes it")


class Live:
    """A recording in the making; a test uses it as it uses a Sim.

    Args:
        path, mode, upstream: as `record` takes them.
        prompt: what the test asks, where no file says it yet.
        only_hosts: hosts that may be reached meanwhile, the providers' among them; None: every one.
    Attributes:
        files: where it goes.
        written: the files, once the block has ended well. Where it ends with an exception the traffic stays under its `.part` name, and a
            recording that was there before stays as it is.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode,
        upstream: Sequence[str],
        *,
        prompt: str | None = None,
        only_hosts: Sequence[str] | None = None,
    ) -> None:
        self.files = Files(path)
        self.written: list[Path] = []
        self._path, self._mode, self._upstream = path, mode, upstream
        self._prompt, self._only_hosts = prompt, only_hosts
        self._stack = contextlib.ExitStack()
        self._recorder: Recorder | None = None
        self._url = ""
        self._blocked: list[NetworkBlocked] = []

    # --- what the code under test needs ------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario that is there: the one before while the block is open, the new one afterwards.

        Raises:
            UsageError: there is none yet.
        """
        if not self.files.scenario.exists():
            raise UsageError(
                f"{str(self.files.scenario)!r} is only being recorded, so its prompt has to come from the test"
            )
        return load(self.files.scenario)

    @property
    def prompt(self) -> str:
        """The scenario's first prompt, or what the test asks.

        Raises:
            UsageError: there is no scenario yet, or it has none.
        """
        if self._prompt is not None and not self.files.scenario.exists():
            return self._prompt
        prompts = self.prompts
        if not prompts:
            raise UsageError(f"{str(self.files.scenario)!r} has no prompt; it starts from its messages")
        return prompts[0]

    @property
    def prompts(self) -> tuple[str, ...]:
        """All of the scenario's prompts."""
        return self.scenario.prompts

    @property
    def environment(self) -> dict[str, str]:
        """For a child process: base URLs that lead through the recorder; keys stay as they are."""
        quiet = for_subprocess(self._url, os.environ)
        return {**os.environ, **{name: value for name, value in quiet.items() if not name.endswith("_KEY")}}

    def client(self, cls: Any, **settings: Any) -> Any:
        """A client of an SDK's class, with the real key; any other client of this process is recorded as well."""
        return cls(**settings)

    # --- what came of it ---------------------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """The transcript of the (first) conversation, as far as it has come."""
        from agentsim.store.importers import read

        file = next((file for file in (self.files.part, self.files.traffic) if file.exists()), None)
        if file is None or (self._recorder is None and not self.written):
            return Transcript()
        try:
            talks = [talk for talk in read(file, format="agentsim-recording").conversations if len(talk.events) > 1]
        except TranscriptError:  # nothing has been said yet
            return Transcript()
        return Transcript(talks[0].events) if talks else Transcript()

    @property
    def model_calls(self) -> int:
        """Requests that got a reply."""
        return sum(type(event) is ModelReplied for event in self.transcript)

    @property
    def tool_results(self) -> list[ToolResult]:
        """Results that the code under test has sent."""
        return tool_results(self.transcript)

    def check(self, *rules: str, answer: Any = UNKNOWN, limit: float | None = None) -> list[Verdict]:
        """Hold what happened so far against the loop rules; as `Sim.check`."""
        __tracebackhide__ = True
        got = None if answer is UNKNOWN else got_of(answer)
        return settled(Case(tuple(self.transcript), got=got, finished=True, limit=limit), rules)

    def check_expectations(self, answer: Any = UNKNOWN) -> None:
        """Hold the run against the `expect` of the scenario that is there, if one is; as `Sim.check_expectations`."""
        expect = self.scenario.expect if self.files.scenario.exists() else None
        wrong = list(expectation_problems(expect or {}, self.transcript, self.tool_results, answer))
        if wrong:
            raise ScriptError(f"recording {self.files.name!r}: {'; '.join(wrong)}")

    # --- the recording itself ----------------------------------------------------------------------------------

    def __enter__(self) -> Live:
        self._recorder = Recorder(self._path, replace=True, go_on=self._mode == "new")
        through = passing_through(
            self._recorder, upstream=self._upstream, tell=lambda text: print(text, file=sys.stderr, flush=True)
        )
        try:
            if self._only_hosts is not None:
                self._stack.enter_context(closed_network(self._only_hosts, self._blocked.append))
            self._url = self._stack.enter_context(through)
        except BaseException:
            self._stack.close()
            self._recorder.abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        if error is None:
            self.close()
        else:
            self.explain(error)
        return False

    @contextlib.contextmanager
    def running(self) -> Iterator[Live]:
        """Record while it is open; what `close` does not finish is given up."""
        with self:
            try:
                yield self
            finally:
                if self._recorder is not None:
                    self._give_up()

    def close(self) -> None:
        """Finish the recording and write its files.

        Raises:
            NetworkBlocked: something else than a provider was to be reached.
        """
        if self._recorder is None:
            return
        if self._blocked:
            self._give_up()
            raise self._blocked[0]
        self._stack.close()
        recorder, self._recorder = self._recorder, None
        self.written = recorder.finish()

    def explain(self, error: BaseException) -> None:
        """The code under test threw: give the recording up, and say where the rest of it is."""
        if self._recorder is not None:
            self._give_up()
            if self.files.part.exists():
                error.add_note(f"agentsim: what was recorded until then is in {self.files.part}")

    def _give_up(self) -> None:
        self._stack.close()
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.abandon()
