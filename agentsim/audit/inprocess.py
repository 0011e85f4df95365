"""A scenario played to a callable, in a forked process of its own."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import reprlib
import secrets
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from agentsim.audit.calling import call_agent, load_object
from agentsim.audit.ending import MARK, end_all
from agentsim.audit.played import Options, Played, from_data, judged
from agentsim.audit.watching import Watch
from agentsim.errors import AgentsimError
from agentsim.http.provider import Settings
from agentsim.judge.case import Got
from agentsim.judge.outcome import UNKNOWN, crash_of, got_of
from agentsim.scenario.model import Scenario
from agentsim.session import Sim

#: A process that has not stopped by itself so many seconds after its deadline is killed.
GRACE = 2.0

#: What a `--result` function may say.
RESULTS: tuple[tuple[Got, bool], ...] = (("answer", True), ("none", False))


@dataclass(frozen=True, slots=True)
class Target:
    """The callable, and the folder of its module: what is its own code. `result`: says of what it returned whether it is an answer."""

    name: str
    call: Callable[[str], Any]
    folder: str
    result: Callable[[Any], Any] | None = None


def load_target(name: str, result: str | None = None) -> Target:
    """The target of an audit, and the function that `--result` names."""
    call = load_object(name)
    module = sys.modules[name.partition(":")[0]]
    folder = os.path.dirname(os.path.abspath(module.__file__ or os.getcwd()))
    return Target(name, call, folder, None if result is None else load_object(result, "--result"))


class _Stop(BaseException):
    """Ends a run from within a request; the target's `except Exception` does not catch it."""


def play_here(target: Target, scenario: Scenario, options: Options, *, failing: bool = False) -> Played:
    """Play a scenario to a callable in this process: quick, but nothing can stop one that hangs."""
    return _Run(target, scenario, options, failing).play()


def play_in_process(target: Target, scenario: Scenario, options: Options, *, failing: bool = False) -> Played:
    """Play a scenario to a callable, in a process of its own.

    Args:
        failing: whether the target's tools are made to fail.
    """
    with tempfile.TemporaryDirectory(prefix="agentsim-") as folder:
        out, mark = Path(folder) / "played.json", secrets.token_hex(8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside other threads: the child needs none
            child = os.fork()
        if child == 0:
            os.environ[MARK] = mark
            _child(target, scenario, options, failing, out)
        played = _wait(child, mark, options.deadline + GRACE, out)
        _import_too(out.parent / "modules", target.folder)
        return played


def _import_too(file: Path, folder: str) -> None:
    """Import what a child had to import, so that the next ones need not: SDKs load much of themselves on first use."""
    names = file.read_text("utf-8").split() if file.exists() else []
    if not names:
        return
    for name in names:
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and not (spec.origin or "").startswith(folder):
                importlib.import_module(name)
        except Exception:  # what can't be imported by itself is imported by the child again
            continue
    gc.collect()
    gc.freeze()  # a collection in a child must not touch, and so copy, what is the parent's


def _wait(child: int, mark: str, seconds: float, out: Path) -> Played:
    """Wait for a process, and end it and all that it started."""
    end = time.monotonic() + seconds
    late = False
    pause = 0.001
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            late = True
            end_all(child, mark)
            os.waitpid(child, 0)
            break
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    end_all(child, mark)
    try:
        return from_data(json.loads(out.read_text("utf-8")))
    except (OSError, ValueError):
        what = "hung and had to be killed" if late else "ended its own process"
        return Played(requests=1, broke=f"the target {what}")


# --- in the child ----------------------------------------------------------------------------------------------------


def _child(target: Target, scenario: Scenario, options: Options, failing: bool, out: Path) -> NoReturn:
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        _silence(out.parent)
        _Child(target, scenario, options, failing, out).run()
    except BaseException:  # whatever happens, the child must not go on as if it were the parent
        with contextlib.suppress(OSError):
            (out.parent / "trouble").write_text(traceback.format_exc(), "utf-8")
    finally:
        os._exit(0)


def _silence(folder: Path) -> None:
    """What the target prints is not the report's."""
    file = os.open(folder / "output", os.O_RDWR | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)


class _Run:
    """One run of the target."""

    def __init__(self, target: Target, scenario: Scenario, options: Options, failing: bool) -> None:
        self.target, self.options = target, options
        self.watch = Watch(target.folder, fail=failing)
        self.classifying = False
        settings = Settings(tools=options.tools or None, watch=self.request)
        self.sim = Sim(scenario, settings, options.allow_hosts, True)

    def play(self) -> Played:
        """Run it and judge it."""
        got: Got | None = None
        crash = stopped = ending = mistake = None
        with contextlib.suppress(AgentsimError), self.sim:
            value: Any = UNKNOWN
            self.watch.start()
            try:
                value = call_agent(self.target.call, self.sim.prompt)
            except _Stop as stop:
                stopped = str(stop)
            except BaseException as error:
                got, crash = _got(error, self.target.folder)
                ending = f"{type(error).__name__}: {error}".strip()[:200]
            finally:
                self.watch.stop()
            if value is not UNKNOWN:
                got, mistake = self._classified(value)
        if mistake is not None:
            return Played(requests=self.watch.requests, mistake=mistake)
        return self.judged(got, crash, stopped, ending=ending)

    def judged(
        self, got: Got | None, crash: str | None, stopped: str | None, *, hung: bool = False, ending: str | None = None
    ) -> Played:
        """The verdicts, with what was seen of the tools."""
        case = self.sim.case(limit=self.options.limit)
        case.got, case.crash, case.stopped = got, crash, stopped
        case.executions = tuple(self.watch.seen)
        case.failing = frozenset(self.watch.failing & {name for _, name in self.watch.seen})
        return judged(self.sim, case, hung=hung, ending=ending)

    def request(self, offered: Any) -> None:
        """A request comes in."""
        self.watch.request(offered)
        if self.watch.requests > self.options.most:
            self.flooded(f"{self.options.most} model requests and no end")

    def flooded(self, why: str) -> None:
        """There are too many requests."""
        raise _Stop(why)

    def _classified(self, value: Any) -> tuple[Got | None, str | None]:
        """What a returned value is, and what is wrong with the user's function that says so."""
        if self.target.result is None:
            return got_of(value), None
        what = f"--result {self.options.result}"
        self.classifying = True
        try:
            said = self.target.result(value)
        except BaseException as error:  # an exit, too, is this function's and not the target's
            text = f"{type(error).__name__}: {error}".strip(": ")
            return None, f"{what} raised {text} (it was given the {type(value).__name__} that the target returned)"
        finally:
            self.classifying = False
        for word, meant in RESULTS:
            if said is meant or (isinstance(said, str) and said == word):
                return word, None
        if said is None:
            return None, None
        return None, (
            f"{what}: expected True or 'answer', False or 'none', or None where it can't tell; "
            f"{reprlib.repr(said)} ({type(said).__name__}) came"
        )


class _Child(_Run):
    """One run in a process of its own, which writes what came of it and ends."""

    def __init__(self, target: Target, scenario: Scenario, options: Options, failing: bool, out: Path) -> None:
        super().__init__(target, scenario, options, failing)
        self.out = out
        self._lock = threading.Lock()
        self._done = False
        self._before = frozenset(sys.modules)

    def run(self) -> None:
        """Run it until its end or the deadline."""
        timer = threading.Timer(self.options.deadline, self._late)
        timer.daemon = True
        timer.start()
        self._write(self.play())

    def flooded(self, why: str) -> None:
        self._write(self.judged(None, None, why))
        os._exit(0)

    def _late(self) -> None:
        if self.classifying:
            why = f"--result {self.options.result} did not end within {self.options.deadline:g} seconds"
            self._write(Played(requests=self.watch.requests, mistake=why))
            os._exit(0)
        self._write(self.judged(None, None, f"no end after {self.options.deadline:g} seconds", hung=True))
        os._exit(0)

    def _write(self, played: Played) -> None:
        with self._lock:
            if self._done:
                return
            self._done = True
        new = [name for name in list(sys.modules) if name not in self._before and not name.startswith("_")]
        (self.out.parent / "modules").write_text("\n".join(new), "utf-8")
        partial = self.out.with_suffix(".part")
        partial.write_text(json.dumps(played.data(), default=str), "utf-8")
        partial.replace(self.out)


def _got(error: BaseException, folder: str) -> tuple[Got, str | None]:
    """What an exception is: a crash only where it comes out of the target's own code."""
    if got_of(error) == "crash" and _is_own(error, folder):
        return "crash", crash_of(error)
    return "none", None


def _is_own(error: BaseException, folder: str) -> bool:
    """Whether the last frame that is no standard library's is the target's."""
    library = os.path.dirname(os.__file__)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_library = frame.filename.startswith(library) and "site-packages" not in frame.filename
        if not is_library and not frame.filename.startswith("<"):
            return frame.filename.startswith(folder) and "site-packages" not in frame.filename
    return False
