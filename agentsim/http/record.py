"""Recording: exchanges with a provider, kept as they finish, and made a scenario and a transcript of at the end.

Beside FILE.yaml, the scenario, stand FILE.http.jsonl, the traffic that it is made of, and FILE.transcript.jsonl. The traffic is written
line by line under a name that ends in `.part`; whatever kills the recorder, the lines are there, and a recording that
existed before is whole until the new one is.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from agentsim.errors import TranscriptError, UsageError
from agentsim.http.codecs import codec_of
from agentsim.http.provider import Provider
from agentsim.scenario.load import load
from agentsim.scenario.model import Scenario
from agentsim.store import jsonl
from agentsim.store.httplog import first_line, line_of, request_key
from agentsim.store.places import check_writable, unwritable
from agentsim.store.secrets import Secrets, secret_values
from agentsim.wire.base import HttpRequest, HttpResponse, read_json

#: none: nothing goes live; once: where there is no recording yet; new: what the recording does not hold; all: everything, anew.
Mode = Literal["none", "once", "new", "all"]
#: Seconds that the end of a recording waits for exchanges that are still under way.
PATIENCE = 5.0
MODES: tuple[Mode, ...] = ("none", "once", "new", "all")


class Files:
    """The files of one recording.

    Args:
        path: of the scenario; `.yaml` is added where it has no such ending.
    Raises:
        UsageError: it is no file's name.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = Path(path)
        if not given.name:
            raise UsageError(f"a recording wants the name of a file, but {str(path)!r} came")
        stem = given.name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".scenario")
        self.name = stem
        self.scenario = given if given.suffix in (".yaml", ".yml") else given.with_name(f"{given.name}.yaml")
        self.traffic = given.with_name(f"{stem}.http.jsonl")
        self.transcript = given.with_name(f"{stem}.transcript.jsonl")
        self.part = given.with_name(f"{stem}.http.jsonl.part")

    def numbered(self, path: Path, number: int) -> Path:
        """The path of a further conversation."""
        if number == 1:
            return path
        return path.with_name(f"{self.name}-{number}{path.name.removeprefix(self.name)}")

    def check(self, replace: bool) -> None:
        """Refuse to write over what is there.

        Raises:
            UsageError: a recording exists, or the rest of one that was killed, and it is not to be replaced; or no folder.
        """
        for path in (self.scenario, self.traffic, self.transcript, self.part):
            check_writable(path)
        if replace:
            return
        for path in (self.scenario, self.traffic, self.transcript):
            if path.exists():
                raise UsageError(f"{str(path)!r} exists; --force replaces it")
        if self.part.exists() and self.part.stat().st_size > len(first_line()):
            raise UsageError(
                f"{str(self.part)!r} is what is left of a recording that was killed; `agentsim import` reads it, "
                "--force replaces it"
            )


def goes_live(path: str | os.PathLike[str], mode: str) -> bool:
    """Whether a test with this recording talks to the provider under a mode.

    Raises:
        UsageError: there is no such mode.
    """
    if mode not in MODES:
        raise UsageError(f"a recording mode is one of {', '.join(MODES)}, but {mode!r} came")
    files = Files(path)
    return mode in ("new", "all") or (mode == "once" and not files.traffic.exists() and not files.scenario.exists())


class Recorder:
    """Keeps exchanges with providers.

    Args:
        path: of the scenario that is to be written.
        replace: whether files of an existing recording are written over, once the new one is finished.
        go_on: keep what the existing recording holds and answer from it (the mode "new"); of a scenario without traffic, its
            replies while they last.
        environment: where secret values are looked for.
    Raises:
        UsageError: a recording exists and is not to be replaced.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        go_on: bool = False,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.files = Files(path)
        self.files.check(replace or go_on)
        self.secrets = Secrets(secret_values(dict(os.environ) if environment is None else environment))
        self.kept = self.began = self.passed = self.unreached = 0
        self._lock = threading.Condition()
        self._open = 0
        self._known: dict[str, deque[Any]] = {}
        self._script: Provider | None = None
        self._scripted = 0
        lines = list(self._old_lines()) if go_on and self.files.traffic.exists() else []
        if go_on and not self.files.traffic.exists() and self.files.scenario.exists():
            self._script = Provider(load(self.files.scenario))
        self._old = len(lines)
        try:
            # Unbuffered: what was written is the system's, and outlives this process.
            self._out: Any = self.files.part.open("wb", buffering=0)
            self._out.write(b"".join((first_line(), *lines)))
        except OSError as error:
            raise unwritable(self.files.part, error) from None

    def begin(self, request: HttpRequest) -> int | None:
        """A request came; returns its number, None where it is none that is kept (it only passes through)."""
        if codec_of(request) is None:
            self.passed += 1
            return None
        with self._lock:
            self.began += 1
            self._open += 1
            return self.began

    def keep(
        self,
        number: int,
        request: HttpRequest,
        status: int | None,
        headers: Iterable[tuple[str, str]],
        body: bytes,
        broken: str | None = None,
    ) -> None:
        """Write a finished exchange; see `line_of` for the arguments."""
        with self._lock:
            try:
                self._out.write(line_of(number, request, status, headers, body, broken, self.secrets))
                self.kept += 1
            finally:
                self._open -= 1
                self._lock.notify_all()

    def drop(self) -> None:
        """An exchange ended that never reached a provider: what was answered in its place is no reply of one."""
        with self._lock:
            self.unreached += 1
            self._open -= 1
            self._lock.notify_all()

    def keep_answer(self, request: HttpRequest, response: HttpResponse) -> None:
        """Keep what an Endpoint answered."""
        number = self.begin(request)
        if number is not None:
            status = None if response.headless else response.status
            body = b"" if response.headless else response.body
            self.keep(number, request, status, response.headers, body, response.broken)

    def recorded(self, request: HttpRequest) -> HttpResponse | None:
        """The recorded answer to a request, each once; None where the recording holds none (any more)."""
        if (scripted := self._from_script(request)) is not None:
            return scripted
        if not self._known:
            return None
        try:
            body = read_json(request.body) if request.body else None
        except ValueError:
            return None
        with self._lock:
            waiting = self._known.get(request_key(request.method, request.url, self.secrets.in_value(body)))
            return _response(waiting.popleft()) if waiting else None

    def _from_script(self, request: HttpRequest) -> HttpResponse | None:
        """The scripted reply to a request; None where the script has run out, or this is no request for a reply."""
        if self._script is None or codec_of(request) is None:
            return None
        with self._lock:
            before = self._script.player.unused
            response = self._script(request) if before else None
            if response is None or self._script.player.unused == before:
                return None
            self._scripted += 1
        self.keep_answer(request, response)
        return response

    def finish(self) -> list[Path]:
        """Make scenarios and transcripts of what was kept, and move everything to its place.

        Returns:
            The files written; none where no exchange was kept.
        """
        with self._lock:
            # A client may have read its answer's last byte before that was written down.
            self._lock.wait_for(lambda: self._open <= 0, timeout=PATIENCE)
            self._out.close()
        if not self.kept and not self._old:
            self.files.part.unlink()
            return []
        written = [self.files.traffic]
        try:
            written += self._derive()
        except TranscriptError:  # nothing in it that importers know; the traffic itself is kept
            pass
        self.files.part.replace(self.files.traffic)
        return written

    def abandon(self) -> None:
        """Stop without touching what was there before; the traffic, if any, stays under its `.part` name."""
        with self._lock:
            self._lock.wait_for(lambda: self._open <= 0, timeout=PATIENCE)
            self._out.close()
        if self.kept == 0:
            self.files.part.unlink()

    def _derive(self) -> list[Path]:
        """Scenario and transcript of each conversation."""
        from agentsim.scenario.dump import dumps
        from agentsim.store.importers import read
        from agentsim.store.recording import scenarios

        recording = read(self.files.part, format="agentsim-recording")
        made = [self._gone_on(each, number) for number, each in enumerate(scenarios(recording, self.files.name))]
        talks = [c for c in recording.conversations if len(c.events) > 1]
        written = []
        for number, scenario in enumerate(made, 1):
            path = self.files.numbered(self.files.scenario, number)
            written.append(_put(path, dumps(scenario)))
        for number, conversation in enumerate(talks, 1):
            path = self.files.numbered(self.files.transcript, number)
            written.append(_put(path, jsonl.dumps(conversation.events)))
        self._clear(self.files.scenario, len(made))
        self._clear(self.files.transcript, len(talks))
        return written

    def _gone_on(self, made: Scenario, number: int) -> Scenario:
        """The scenario that was gone on with and what is new, in place of all that was seen."""
        if self._script is None or number:
            return made
        old = self._script.scenario
        return replace(old, tools=old.tools or made.tools, script=(*old.script, *made.script[self._scripted :]))

    def _clear(self, path: Path, count: int) -> None:
        """Remove what the recording that is replaced had more of."""
        while (old := self.files.numbered(path, max(count + 1, 2))).exists():
            old.unlink()
            count += 1

    def _old_lines(self) -> Iterable[bytes]:
        """The lines of the recording that is gone on with; each exchange can be answered from it once."""
        for line in self.files.traffic.read_bytes().splitlines(keepends=True):
            try:
                value = read_json(line)
                asked, said, number = value["request"], value["response"], value["number"]
                key = request_key(asked["method"], asked["url"], asked["body"])
            except (ValueError, KeyError, TypeError):
                continue
            self._known.setdefault(key, deque()).append(said)
            self.began = max(self.began, number)
            yield line if line.endswith(b"\n") else line + b"\n"


def _put(path: Path, text: str) -> Path:
    """Write beside it, then rename: what is there is never half a file."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return path


def _response(said: dict[str, Any]) -> HttpResponse:
    """A recorded answer as it is sent again."""
    from agentsim.wire.base import dumps

    body = said.get("body")
    text = "" if body is None else body if isinstance(body, str) else dumps(body)
    broken = said.get("broken")
    how: Any = broken if broken in ("end", "reset") else "end" if broken else None
    headers = tuple((name, value) for name, value in said.get("headers", {}).items())
    status = said.get("status")
    return HttpResponse(status or 0, headers, (text.encode("utf-8", "replace"),), broken=how, headless=status is None)
