"""`agentsim.record`: a test that is played from its recording, and that makes its recording where there is none."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from agentsim.core.transcript import Transcript
from agentsim.errors import UsageError
from agentsim.http.environment import for_subprocess
from agentsim.http.record import Files, Mode, Recorder, goes_live
from agentsim.http.recording import passing_through
from agentsim.scenario.load import load
from agentsim.scenario.model import Scenario
from agentsim.session import Sim, play, replay


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
    """A recording in the making.

    Attributes:
        files: where it goes.
        written: the files, once the block has ended well. Where it ends with an exception the traffic stays under its `.part` name, and a
            recording that was there before stays as it is.
    """

    def __init__(self, path: str | os.PathLike[str], mode: Mode, upstream: Sequence[str]) -> None:
        self.files = Files(path)
        self.written: list[Path] = []
        self._path, self._mode, self._upstream = path, mode, upstream
        self._stack = contextlib.ExitStack()
        self._recorder: Recorder | None = None
        self._url = ""

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
        """The scenario's first prompt.

        Raises:
            UsageError: there is no scenario yet, or it has none.
        """
        prompts = self.scenario.prompts
        if not prompts:
            raise UsageError(f"{str(self.files.scenario)!r} has no prompt; it starts from its messages")
        return prompts[0]

    @property
    def transcript(self) -> Transcript:
        """The transcript of the (first) conversation, once the block has ended; empty before."""
        from agentsim.store import jsonl

        if self.files.transcript not in self.written:
            return Transcript()
        return jsonl.loads(self.files.transcript.read_text("utf-8"), file=str(self.files.transcript))

    @property
    def environment(self) -> dict[str, str]:
        """For a child process: base URLs that lead through the recorder; keys stay as they are."""
        quiet = for_subprocess(self._url, os.environ)
        return {**os.environ, **{name: value for name, value in quiet.items() if not name.endswith("_KEY")}}

    def client(self, cls: Any, **settings: Any) -> Any:
        """A client of an SDK's class, with the real key; any other client of this process is recorded as well."""
        return cls(**settings)

    def __enter__(self) -> Live:
        self._recorder = Recorder(self._path, replace=True, go_on=self._mode == "new")
        through = passing_through(
            self._recorder, upstream=self._upstream, tell=lambda text: print(text, file=sys.stderr, flush=True)
        )
        try:
            self._url = self._stack.enter_context(through)
        except BaseException:
            self._recorder.abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self._stack.close()
        assert self._recorder is not None
        if error is None:
            self.written = self._recorder.finish()
        else:
            self._recorder.abandon()
            if self.files.part.exists():
                error.add_note(f"agentsim: what was recorded until then is in {self.files.part}")
        return False
