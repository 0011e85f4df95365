"""What the pytest plugin needs once a test plays a scenario: finding it, playing or recording it, and files that are tests."""

from __future__ import annotations

import inspect
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentsim.audit.calling import call_agent, load_object
from agentsim.errors import AgentsimError, UsageError, nearest
from agentsim.http.codecs import HOSTS
from agentsim.http.environment import KEYS
from agentsim.http.record import goes_live
from agentsim.live import Live
from agentsim.scenario.load import load, loads
from agentsim.scenario.model import Scenario
from agentsim.session import Sim, play

Playing = Sim | Live

_SOURCE = "a scenario: a file's name, a glob, or one inline (YAML text, a mapping, a Scenario)"


def parametrize(metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
    """A test for each scenario, where the marker names several.

    A marker that is wrong is told by the fixture, as an error of its own test: raised here it would end the collection of
    the whole module.
    """
    try:
        sources = _sources(marker, metafunc.config)
    except UsageError:
        return
    if len(sources) == 1 and not _is_glob(marker):
        return
    if "sim" not in metafunc.fixturenames:
        metafunc.fixturenames.append("sim")
    ids = [source.stem.removesuffix(".scenario") if isinstance(source, Path) else None for source in sources]
    metafunc.parametrize("sim", sources, indirect=True, ids=ids)


def playing_of(request: pytest.FixtureRequest) -> Playing:
    """What the fixture `sim` of a test gives."""
    __tracebackhide__ = True
    try:
        return _marked(request)
    except UsageError as error:
        path, line, name = request.node.location
        raise UsageError(f"{path}:{(line or 0) + 1}: {name}: {error}") from None


def _marked(request: pytest.FixtureRequest) -> Playing:
    """As `playing_of`; messages name no test."""
    marker = request.node.get_closest_marker("agentsim")
    if marker is None:
        raise UsageError('a test with the fixture `sim` names its scenario: @pytest.mark.agentsim("refund.yaml")')
    source = getattr(request, "param", None)
    if source is None:
        sources = _sources(marker, request.config)
        if len(sources) > 1:
            raise UsageError("several scenarios make several tests, which unittest classes can't; name one")
        source = sources[0]
    return _started(source, request.config, dict(marker.kwargs))


def _started(source: Any, config: pytest.Config, settings: dict[str, Any]) -> Playing:
    """As `_playing`; what the test's author got wrong is told without agentsim's own code."""
    __tracebackhide__ = True
    try:
        return _playing(source, config, settings)
    except AgentsimError as error:
        if isinstance(source, Path) and not source.exists():
            folder = config.rootpath / config.getini("agentsim_scenarios")
            error.add_note(
                f"scenarios are looked for in {folder} (the setting agentsim_scenarios, below pytest's rootdir)"
            )
        raise error.with_traceback(None) from None


def _is_glob(marker: pytest.Mark) -> bool:
    return any(isinstance(source, str) and any(sign in source for sign in "*?[") for source in marker.args)


def _sources(marker: pytest.Mark, config: pytest.Config) -> list[Any]:
    """What the marker names: paths, and inline scenarios as they are."""
    if not marker.args:
        raise UsageError(f"@pytest.mark.agentsim(): expected {_SOURCE}, but nothing came")
    folder = config.rootpath / config.getini("agentsim_scenarios")
    found: list[Any] = []
    for source in marker.args:
        if not isinstance(source, str | Path | Mapping | Scenario):
            said = f"@pytest.mark.agentsim({reprlib.repr(source)})"
            raise UsageError(f"{said}: expected {_SOURCE}, but {type(source).__name__} came")
        if not isinstance(source, str | Path) or "\n" in str(source):
            found.append(source)
        elif isinstance(source, str) and any(sign in source for sign in "*?["):
            files = sorted(path for path in folder.glob(source) if path.is_file())
            if not files:
                raise UsageError(f"@pytest.mark.agentsim({source!r}): no file below {folder} fits")
            found += files
        else:
            found.append(folder / source)
    return found


def _playing(source: Any, config: pytest.Config, settings: dict[str, Any]) -> Playing:
    hosts = [*config.getini("agentsim_allow_hosts"), *settings.pop("allow_hosts", ())]
    mode = str(config.getoption("--agentsim-record"))
    prompt = settings.pop("prompt", None)
    _known(settings)
    if mode != "none" and isinstance(source, Path) and goes_live(source, mode):
        return _recording(source, mode, hosts, prompt)
    if not isinstance(source, Scenario):
        source = load(source) if isinstance(source, Path) else loads(source)
    return play(source, allow_hosts=hosts, **settings)


def _known(settings: Iterable[str]) -> None:
    """Fail on a setting of the marker that `play` does not take."""
    takes = [*list(inspect.signature(play).parameters)[1:], "prompt"]
    for name in settings:
        if name not in takes:
            near = nearest(name, takes)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(takes)}"
            raise UsageError(f"@pytest.mark.agentsim has no setting {name!r}; {hint}")


def _recording(path: Path, mode: Any, hosts: list[str], prompt: str | None) -> Live:
    """A session that asks the real provider and keeps what it says; nothing else can be reached."""
    if not any(os.environ.get(name) for name in KEYS):
        raise UsageError(f"recording needs a provider's key in one of {', '.join(KEYS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return Live(path, mode, (), prompt=prompt, only_hosts=(*hosts, *HOSTS))


# --- files as tests --------------------------------------------------------------------------------------------------


class ScenarioFile(pytest.File):
    """A scenario file that is a test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Its one test."""
        name = self.path.name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".scenario")
        yield ScenarioItem.from_parent(self, name=name)


class ScenarioItem(pytest.Item):
    """Plays a file to the agent, checks the loop rules and the file's `expect`.

    Attributes:
        playing: the session, once the test runs.
    """

    playing: Playing | None = None

    def runtest(self) -> None:
        """Play it."""
        agent = load_object(str(self.config.getini("agentsim_agent")), "agentsim_agent")
        self.playing = playing = _playing(self.path, self.config, {})
        with playing.running():
            try:
                answer = call_agent(agent, playing.prompt)
            except Exception as error:
                playing.explain(error)
                raise
            playing.check(answer=answer)
            playing.check_expectations(answer)
            playing.close()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """agentsim's own errors without a traceback: it would be of agentsim's code."""
        if isinstance(excinfo.value, AgentsimError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is."""
        return self.path, 0, f"scenario: {self.name}"
