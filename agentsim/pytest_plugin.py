"""The pytest plugin: scenarios as fixtures, files as tests, a closed network.

Nothing but pytest is imported here: what a test needs is imported by the fixture that it uses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentsim.session import Sim

SECTION = "agentsim transcript"
SUFFIXES = (".scenario.yaml", ".scenario.yml")
DUMMY_KEYS = """An API key is asked for while the module is imported, and no scenario plays yet.
With `agentsim_dummy_keys = true` in pytest's settings, keys that are not set are dummies from the start."""

_sim_key = pytest.StashKey[Any]()
_blocked_key = pytest.StashKey[list[Exception]]()
_report_key = pytest.StashKey[list[Any]]()
_guard_key = pytest.StashKey[contextlib.ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The ini settings and the command-line options."""
    parser.addini("agentsim_scenarios", "folder in which the marker's files are looked for", default="scenarios")
    parser.addini("agentsim_allow_hosts", "hosts that may be reached while a scenario plays", type="args", default=[])
    parser.addini("agentsim_block_network", "keep the network closed for the whole suite", type="bool", default=False)
    parser.addini(
        "agentsim_dummy_keys",
        "give API keys that are not set dummy values for the whole suite",
        type="bool",
        default=False,
    )
    parser.addini("agentsim_agent", "module:callable to which *.scenario.yaml files are played as tests", default="")
    group = parser.getgroup("agentsim")
    group.addoption(
        "--agentsim-record",
        choices=("none", "once", "new", "all"),
        default="none",
        help="record scenarios from the real provider: once (where the file is missing), new (that, and where its replies "
        "run out), all (always); default: none",
    )
    group.addoption(
        "--agentsim-report", metavar="FILE", default=None, help="write the transcripts of the session to this page"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line(
        "markers",
        "agentsim(*scenarios, **settings): play a scenario to the test: files or globs below `agentsim_scenarios`, or one "
        "inline (YAML text, mapping, Scenario); several make one test each. Settings are those of agentsim.play.",
    )
    page = config.getoption("--agentsim-report")
    if page:
        _check_page(page)
        config.stash[_report_key] = []
        config.pluginmanager.register(_Reporter(config.stash[_report_key]), "agentsim-reporter")


# --- what holds for the whole suite ----------------------------------------------------------------------------------


def pytest_sessionstart(session: pytest.Session) -> None:
    """Close the network and set dummy keys for the whole suite, where that is asked for."""
    guard = session.config.stash[_guard_key] = contextlib.ExitStack()
    if session.config.getini("agentsim_dummy_keys"):
        from agentsim.http.environment import dummies_set

        guard.enter_context(dummies_set())
    if session.config.getini("agentsim_block_network"):
        from agentsim.http.guard import closed_network

        blocked = session.config.stash[_blocked_key] = []
        guard.enter_context(closed_network(session.config.getini("agentsim_allow_hosts"), blocked.append))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A test module whose import asked for a key is told how to give it one."""
    report = yield
    if report.failed and "_API_KEY" in str(report.longrepr) and not collector.config.getini("agentsim_dummy_keys"):
        report.sections.append(("agentsim", DUMMY_KEYS))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Open the network again, and write the report."""
    guard = session.config.stash.get(_guard_key, None)
    if guard is not None:
        guard.close()
    tests = session.config.stash.get(_report_key, None)
    if tests is None or hasattr(session.config, "workerinput"):
        return
    from agentsim.report.html.page import write
    from agentsim.report.html.tested import page

    write(session.config.getoption("--agentsim-report"), page(tests))


def _check_page(path: str) -> None:
    """A page that can't be written is told before the tests run."""
    from agentsim.errors import UsageError
    from agentsim.report.html.page import check_writable, require

    try:
        require()
        check_writable(path)
    except UsageError as error:
        raise pytest.UsageError(f"--agentsim-report: {error}") from None


# --- scenarios of a test ---------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each scenario of the marker, where it names several."""
    marker = metafunc.definition.get_closest_marker("agentsim")
    if marker is None:
        return
    sources = _sources(marker, metafunc.config)
    if len(sources) == 1 and not _is_glob(marker):
        return
    if "sim" not in metafunc.fixturenames:
        metafunc.fixturenames.append("sim")
    ids = [source.stem.removesuffix(".scenario") if isinstance(source, Path) else None for source in sources]
    metafunc.parametrize("sim", sources, indirect=True, ids=ids)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test plays its scenario, also where it does not name the fixture (a unittest method can't)."""
    names = getattr(item, "fixturenames", None)
    if names is not None and "sim" not in names and item.get_closest_marker("agentsim") is not None:
        names.append("sim")


def _is_glob(marker: pytest.Mark) -> bool:
    return any(isinstance(source, str) and any(sign in source for sign in "*?[") for source in marker.args)


def _sources(marker: pytest.Mark, config: pytest.Config) -> list[Any]:
    """What the marker names: paths, and inline scenarios as they are."""
    if not marker.args:
        raise pytest.UsageError("@pytest.mark.agentsim needs a scenario: a file, a glob, or one inline")
    folder = config.rootpath / config.getini("agentsim_scenarios")
    found: list[Any] = []
    for source in marker.args:
        if not isinstance(source, str | Path) or "\n" in str(source):
            found.append(source)
        elif isinstance(source, str) and any(sign in source for sign in "*?["):
            files = sorted(path for path in folder.glob(source) if path.is_file())
            if not files:
                raise pytest.UsageError(f"@pytest.mark.agentsim({source!r}): no file below {folder} fits")
            found += files
        else:
            found.append(folder / source)
    return found


def _scenario(source: Any) -> Any:
    from agentsim.scenario.load import load, loads
    from agentsim.scenario.model import Scenario

    if isinstance(source, Scenario):
        return source
    return load(source) if isinstance(source, Path) else loads(source)


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Iterator[Sim]:
    """The marker's scenario, playing: requests of this process are answered from it. A Sim, as `agentsim.play` gives it."""
    marker = request.node.get_closest_marker("agentsim")
    if marker is None:
        raise pytest.UsageError(
            'a test with the fixture `sim` names its scenario: @pytest.mark.agentsim("refund.yaml")'
        )
    source = getattr(request, "param", None)
    if source is None:
        sources = _sources(marker, request.config)
        if len(sources) > 1:
            raise pytest.UsageError("several scenarios make several tests, which unittest classes can't; name one")
        source = sources[0]
    playing = _started(source, request.config, dict(marker.kwargs))
    with playing.running() as running:
        request.node.stash[_sim_key] = running
        if request.cls is not None and hasattr(request.instance, "assertEqual"):
            request.instance.sim = running
        yield running


def _started(source: Any, config: pytest.Config, settings: dict[str, Any]) -> Sim:
    """As `_play`; what the test's author got wrong is told without agentsim's own code."""
    from agentsim.errors import AgentsimError

    __tracebackhide__ = True
    try:
        return _play(source, config, settings)
    except AgentsimError as error:
        if isinstance(source, Path) and not source.exists():
            folder = config.rootpath / config.getini("agentsim_scenarios")
            error.add_note(
                f"scenarios are looked for in {folder} (the setting agentsim_scenarios, below pytest's rootdir)"
            )
        raise error.with_traceback(None) from None


def _play(source: Any, config: pytest.Config, settings: dict[str, Any]) -> Sim:
    from agentsim.session import play

    hosts = [*config.getini("agentsim_allow_hosts"), *settings.pop("allow_hosts", ())]
    mode = str(config.getoption("--agentsim-record"))
    prompt = settings.pop("prompt", None)
    _known(settings, play)
    if mode != "none" and isinstance(source, Path):
        from agentsim.recording import recorded

        recording: Sim | None
        recording = recorded(source, mode, hosts, prompt)
        if recording is not None:
            return recording
    return play(_scenario(source), allow_hosts=hosts, **settings)


def _known(settings: Iterable[str], play: Callable[..., Any]) -> None:
    """Fail on a setting of the marker that `play` does not take."""
    import difflib
    import inspect

    takes = [*list(inspect.signature(play).parameters)[1:], "prompt"]
    for name in settings:
        if name not in takes:
            near = difflib.get_close_matches(name, takes, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(takes)}"
            raise pytest.UsageError(f"@pytest.mark.agentsim has no setting {name!r}; {hint}")


@pytest.fixture
def transcript_snapshot(request: pytest.FixtureRequest) -> Any:
    """A syrupy snapshot of a transcript, one readable text file a test; `--snapshot-update` writes it."""
    if not request.config.pluginmanager.hasplugin("syrupy"):
        raise pytest.UsageError("transcript_snapshot needs syrupy: pip install 'agentsim[pytest]'")
    from agentsim.snapshot import TranscriptExtension

    return request.getfixturevalue("snapshot").use_extension(TranscriptExtension)


# --- what fails a test, and what it shows ----------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """At the end of a test unused replies, refused requests and blocked connections fail it."""
    blocked = item.config.stash.get(_blocked_key, None)
    if blocked is not None:
        blocked.clear()
    playing = item.stash.get(_sim_key, None)
    try:
        result = yield
    except Exception as error:
        if playing is not None:
            playing.explain(error)
        raise
    if playing is not None:
        playing.close()
    if blocked:
        raise blocked[0]
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failing test shows its transcript; with a report every test's goes along, from a worker too."""
    report = yield
    playing = item.stash.get(_sim_key, None)
    if playing is None or call.when != "call":
        return report
    if report.failed:
        report.sections.append((SECTION, _told(playing)))
    if item.config.getoption("--agentsim-report"):
        report.agentsim_played = _played(playing)  # type: ignore[attr-defined]
    return report


class _Reporter:
    """Keeps what each test played, of the workers too."""

    def __init__(self, tests: list[Any]) -> None:
        self.tests = tests

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test played."""
        played = getattr(report, "agentsim_played", None)
        if played is None:
            return
        from agentsim.report.html.tested import PlayedTest
        from agentsim.store.jsonl import loads

        failure = report.longrepr
        crash = getattr(failure, "reprcrash", None)
        message = str(crash.message if crash is not None else failure) if report.failed else ""
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if report.passed else "xfailed"  # type: ignore[assignment]
        self.tests.append(
            PlayedTest(
                report.nodeid,
                outcome,
                played["scenario"],
                loads(played["transcript"]),
                tuple(played["misfit"]),
                message,
            )
        )


def _told(playing: Sim) -> str:
    from agentsim.report.plain import line
    from agentsim.report.transcript import transcript_lines

    lines = [f"scenario: {playing.scenario.name}", *transcript_lines(playing.transcript, full=True)]
    return "\n".join(map(line, [*lines, *_misfit(playing)]))


def _misfit(playing: Sim) -> Iterator[str]:
    from agentsim.report.misfit import misfit_lines

    return misfit_lines(playing.scenario, playing.transcript, playing.requests)


def _played(playing: Sim) -> dict[str, Any]:
    """What a test played, in values that go from process to process."""
    from agentsim.store.jsonl import dumps

    return {
        "scenario": playing.scenario.name,
        "transcript": dumps(playing.transcript),
        "misfit": list(_misfit(playing)),
    }


# --- files as tests --------------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """`*.scenario.yaml` are tests of the agent that `agentsim_agent` names."""
    if file_path.name.endswith(SUFFIXES) and parent.config.getini("agentsim_agent"):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """A scenario file that is a test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Its one test."""
        name = self.path.name
        for suffix in SUFFIXES:
            name = name.removesuffix(suffix)
        yield ScenarioItem.from_parent(self, name=name)


class ScenarioItem(pytest.Item):
    """Plays a file to the agent, checks the loop rules and the file's `expect`."""

    def runtest(self) -> None:
        """Play it."""
        from agentsim.audit.calling import call_agent, load_object

        agent = load_object(str(self.config.getini("agentsim_agent")), "agentsim_agent")
        playing = _play(self.path, self.config, {})
        self.stash[_sim_key] = playing
        with playing.running():
            answer = call_agent(agent, playing.prompt)
        playing.check(answer=answer)
        playing.check_expectations(answer)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """agentsim's own errors without a traceback: it would be of agentsim's code."""
        from agentsim.errors import AgentsimError

        if isinstance(excinfo.value, AgentsimError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is."""
        return self.path, 0, f"scenario: {self.name}"
