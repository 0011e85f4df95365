"""What `agentsim serve` does: scenarios of a file or folder behind one address, alone or around a command."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from agentsim.errors import Problem, ScenarioError, UsageError
from agentsim.http.environment import base_urls, for_subprocess
from agentsim.http.guard import host_names, is_local
from agentsim.http.provider import Endpoint, Settings
from agentsim.http.server import HOST, Server
from agentsim.http.sessions import Sessions
from agentsim.scenario.load import load
from agentsim.scenario.model import Scenario
from agentsim.store.inputs import names_a_scenario, of_stream
from agentsim.store.places import stream_at, title
from agentsim.store.recording import Recording
from agentsim.store.replaying import Lenience

_SUFFIXES = (".yaml", ".yml", ".json")


def scenarios_at(path: str | os.PathLike[str]) -> dict[str, Scenario]:
    """Every scenario of a file, or of a folder and those below it, by its file's stem.

    Raises:
        ScenarioError: files are wrong; all are told together.
        UsageError: there is none, or two share a stem.
    """
    root = Path(path)
    if not root.exists():
        raise UsageError(f"{root} does not exist; expected a scenario file or a folder of them")
    files = [root] if root.is_file() else sorted(f for f in root.rglob("*") if f.suffix in _SUFFIXES and f.is_file())
    found: dict[str, Scenario] = {}
    places: dict[str, Path] = {}
    problems: list[Problem] = []
    for file in files:
        name = file.stem.removesuffix(".scenario")
        if name in places:
            raise UsageError(f"{places[name]} and {file} are both called {name!r}; clients name scenarios by that")
        places[name] = file
        try:
            found[name] = load(file)
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    if not found:
        raise UsageError(f"{root} holds no scenario ({', '.join(_SUFFIXES)})")
    return found


def serve(
    path: str | os.PathLike[str],
    port: int = 0,
    command: Sequence[str] = (),
    *,
    off: Sequence[str] = (),
    real_time: bool = False,
    lenient: bool | str | Sequence[str] = False,
    host: str = HOST,
    allow_hosts: Sequence[str] = (),
    out: TextIO | None = None,
) -> int:
    """Serve scenarios on 127.0.0.1 (or `host`), until interrupted or until a command ends.

    Args:
        path: of a scenario, of a folder of them, or of a recording, which is only played to the requests that it holds; `-`: of
            standard input.
        port: 0 takes a free one.
        command: run with the base-URL variables set; none: serve until interrupted.
        off: names of strictness rules to switch off; "all" for every one.
        real_time: whether the scenarios' `seconds` are waited for.
        lenient: how a recording's requests are compared, as `agentsim.replay` takes it.
        host: the address to listen on.
        allow_hosts: names by which requests may ask for the server, beside this machine's own.
        out: where to say what is served, where no command owns standard output.
    Returns:
        The exit status: the command's, or 0; 1 where the command ended well but asked something else than a recording holds.
    Raises:
        ScenarioError, TranscriptError, UsageError: bad files, port or command.
    """
    if not os.fspath(path):
        raise UsageError("a file or folder was expected, but its name is empty")
    Lenience(lenient)  # a bad expression is one, whatever is served
    if not is_local(host):
        _tell(f"listens on {host}: whoever reaches this machine can ask it")
    settings = Settings(off=off, real_time=real_time, keep=False, tell=_tell)
    listen = partial(Server, port=port, host=host, allow_hosts=host_names(allow_hosts, "--allow-host"))
    scenarios = _served(os.fspath(path))
    if isinstance(scenarios, Recording):
        return _replay(scenarios, listen, command, settings, lenient, out)
    server = listen(Sessions(scenarios, settings))
    if command:
        with server:
            return run_command(command, {**os.environ, **for_subprocess(server.url, os.environ)})
    print(_welcome(server.url, list(scenarios)), file=out or sys.stdout, flush=True)
    gc.freeze()  # what is loaded stays: collections need not look at it again
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    return 0


def _served(path: str) -> dict[str, Scenario] | Recording:
    """What is at a path: scenarios by the names that clients ask for, or a recording."""
    if (data := stream_at(path)) is not None:
        found = of_stream(data, title(path))
        return found if isinstance(found, Recording) else {"scenario": found}
    if os.path.isfile(path) and not names_a_scenario(path):
        from agentsim.store.importers import read

        return read(path)
    return scenarios_at(path)


def _tell(what: str) -> None:
    print(f"agentsim: {what}", file=sys.stderr, flush=True)


def _replay(
    recording: Recording,
    listen: Callable[[Endpoint], Server],
    command: Sequence[str],
    settings: Settings,
    lenient: bool | str | Sequence[str],
    out: TextIO | None,
) -> int:
    """Serve a recording. With a command: what it asked otherwise, or never asked, is told and makes a good exit status 1."""
    from agentsim.http.replay import Replays  # a server of scenarios starts without it

    replays = Replays(recording, lenient, settings, again=not command)
    server = listen(replays)
    if not command:
        print(_welcome(server.url, ["the recording"]), file=out or sys.stdout, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
        return 0
    with server:
        status = run_command(command, {**os.environ, **for_subprocess(server.url, os.environ)})
    if not replays.now.failed and (missing := replays.now.missing):
        _tell(missing)
    return status or int(replays.now.failed or bool(replays.now.missing))


def run_command(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command with an environment; returns its exit status, 128 + n where signal n ended it.

    A terminal's Ctrl-C goes to the command as well, which may end at it in its own time, or live on; a second one kills it.

    Raises:
        UsageError: it can't be run.
    """
    running: list[subprocess.Popen[bytes]] = []
    with _ctrl_c(lambda: running[0].kill() if running else None):
        try:
            running.append(subprocess.Popen(list(command), env=environment))
        except OSError as error:
            raise UsageError(f"{command[0]!r} can't be run: {error.strerror}") from error
        with running[0]:
            status = running[0].wait()
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _ctrl_c(again: Callable[[], None]) -> Iterator[None]:
    """While it is open, an interrupt is left to the child that got it, too; `again` is called for each one after the first."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1
        if count > 1:
            again()

    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if here else None
    if before is not signal.default_int_handler:  # another thread never gets it; whoever has another way keeps it
        yield
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _welcome(url: str, names: Sequence[str]) -> str:
    count = f"{len(names)} scenario{'s' if len(names) != 1 else ''}"
    lines = [f"agentsim serves {count} on {url}"]
    lines += [f"  {name}={value}" for name, value in base_urls(url).items()]
    if len(names) > 1:
        lines.append(f"one of them by path ({url}/s/{names[0]}/v1/…), by API key (sim-{names[0]}), or by its prompt")
    return "\n".join(lines)
