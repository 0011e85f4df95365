"""The pytest plugin: scenarios as fixtures, files as tests, a closed network.

Only what pytest has to know of every run is here; what a test with a scenario needs is in `agentsim.pytest_sim`, which its fixture imports.
PYTEST_DONT_REWRITE: there is no assertion in it, and looking for one takes longer than importing it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentsim.pytest_sim import Playing

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
    """The marker, and the report where one is asked for."""
    config.addinivalue_line(
        "markers",
        "agentsim(*scenarios, **settings): play a scenario to the test: files or globs below `agentsim_scenarios`, or one "
        "inline (YAML text, mapping, Scenario); several make one test each. Settings are those of agentsim.play.",
    )
    page = config.getoption("--agentsim-report")
    if page:
        from agentsim.pytest_report import Reporter, check_page

        check_page(page)
        config.stash[_report_key] = []
        config.pluginmanager.register(Reporter(config.stash[_report_key]), "agentsim-reporter")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Close the network and set dummy keys for the whole suite, where that is asked for."""
    guard = session.config.stash[_guard_key] = contextlib.ExitStack()
    if session.config.getini("agentsim_dummy_keys"):
        from agentsim.http.environment import dummies_set

        guard.enter_context(dummies_set())
    if session.config.getini("agentsim_block_network"):
        from agentsim.errors import UsageError
        from agentsim.http.guard import closed_network, host_names

        try:
            hosts = host_names(session.config.getini("agentsim_allow_hosts"), "agentsim_allow_hosts")
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        blocked = session.config.stash[_blocked_key] = []
        guard.enter_context(closed_network(hosts, blocked.append))


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
    if tests is not None and not hasattr(session.config, "workerinput"):
        from agentsim.pytest_report import write_page

        write_page(session.config.getoption("--agentsim-report"), tests)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each scenario of the marker, where it names several."""
    marker = metafunc.definition.get_closest_marker("agentsim")
    if marker is not None:
        from agentsim.pytest_sim import parametrize

        parametrize(metafunc, marker)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test plays its scenario, also where it does not name the fixture (a unittest method can't)."""
    names = getattr(item, "fixturenames", None)
    if names is not None and "sim" not in names and item.get_closest_marker("agentsim") is not None:
        names.append("sim")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """`*.scenario.yaml` are tests of the agent that `agentsim_agent` names."""
    if file_path.name.endswith(SUFFIXES) and parent.config.getini("agentsim_agent"):
        from agentsim.pytest_sim import ScenarioFile

        return ScenarioFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Iterator[Playing]:
    """The marker's scenario, playing: requests of this process are answered from it. A Sim, as `agentsim.play` gives it."""
    __tracebackhide__ = True
    from agentsim.pytest_sim import playing_of

    with playing_of(request).running() as playing:
        request.node.stash[_sim_key] = playing
        if request.cls is not None and hasattr(request.instance, "assertEqual"):
            request.instance.sim = playing
        yield playing


@pytest.fixture
def transcript_snapshot(request: pytest.FixtureRequest) -> Any:
    """A syrupy snapshot of a transcript, one readable text file a test; `--snapshot-update` writes it."""
    if not request.config.pluginmanager.hasplugin("syrupy"):
        from agentsim.errors import not_installed

        raise pytest.UsageError(not_installed("transcript_snapshot", "syrupy", "pytest"))
    from agentsim.snapshot import TranscriptExtension

    return request.getfixturevalue("snapshot").use_extension(TranscriptExtension)


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
    own = call.excinfo is not None and type(call.excinfo.value).__module__.startswith("agentsim.")
    if own and not item.config.getoption("fulltrace", False):
        from agentsim.pytest_report import hide_own_frames

        mend = hide_own_frames(item, call.excinfo)
        report = yield
        mend(report)
    else:
        report = yield
    playing = item.stash.get(_sim_key, None) or getattr(item, "playing", None)
    if playing is not None and call.when == "call":
        from agentsim.pytest_report import add_transcript

        add_transcript(report, playing, page=bool(item.config.getoption("--agentsim-report")))
    return report
