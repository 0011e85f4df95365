"""What the pytest plugin tells of a test that played a scenario: the transcript of a failing one, and the session's page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from agentsim.errors import AgentsimError

if TYPE_CHECKING:
    from agentsim.pytest_sim import Playing

SECTION = "agentsim transcript"


def add_transcript(report: pytest.TestReport, playing: Playing, *, page: bool) -> None:
    """Put what a test played into its report: as text where it failed, as values where a page is written."""
    if report.failed:
        report.sections.append((SECTION, _told(playing)))
    if page:
        report.agentsim_played = _played(playing)  # type: ignore[attr-defined]


def hide_own_frames(
    item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException] | None
) -> Callable[[pytest.TestReport], None]:
    """Show an error of agentsim's without agentsim's own source: what is wrong stands in the message, and lies in the test.

    Args:
        item: the test.
        excinfo: the error, before pytest puts it into words.
    Returns:
        What is to be done with the report that pytest then makes: where no line of the test's own led to the error (replies
        that were not asked for, a wrong marker), only the message is left of it.
    """
    if excinfo is None or not isinstance(excinfo.value, AgentsimError):
        return lambda report: None
    if any(_is_users(entry, item) for entry in excinfo.traceback):
        for entry in excinfo.traceback:
            if _is_own(entry):
                entry.frame.f_globals["__tracebackhide__"] = (
                    _hides  # as pytest asks modules; a filtered traceback it cuts anew
                )
        return lambda report: None
    message: Any = excinfo.getrepr(style="value", chain=False)
    entries = getattr(getattr(message, "reprtraceback", None), "reprentries", ())
    for entry in entries[-1:]:
        entry.lines[:] = excinfo.exconly().split("\n")  # with its class, and its notes

    def mend(report: pytest.TestReport) -> None:
        shown: Any = report.longrepr
        if getattr(shown, "chain", None) and getattr(message, "chain", None):
            shown.chain = [*shown.chain[:-1], message.chain[-1]]  # the ones before it are its causes
            shown.reprtraceback, shown.reprcrash = message.reprtraceback, message.reprcrash

    return mend


def _hides(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether agentsim's frames are hidden: not those of a mistake of its own."""
    return isinstance(excinfo.value, AgentsimError)


def _is_own(entry: Any) -> bool:
    return str(entry.frame.f_globals.get("__name__", "")).startswith("agentsim.")


def _is_users(entry: Any, item: pytest.Item) -> bool:
    """Whether a frame is of the user's code: no library's, this one's or Python's."""
    path = str(entry.path)
    if path == str(item.path):
        return True
    return not _is_own(entry) and "site-packages" not in path and not path.startswith(os.path.dirname(os.__file__))


def check_page(path: str) -> None:
    """A page that can't be written is told before the tests run.

    Raises:
        pytest.UsageError: the folder is missing or can't be written to, or Jinja2 is not installed.
    """
    from agentsim.errors import UsageError
    from agentsim.report.html.page import check_writable, require

    try:
        require()
        check_writable(path)
    except UsageError as error:
        raise pytest.UsageError(f"--agentsim-report: {error}") from None


def write_page(path: str, tests: list[Any]) -> None:
    """Write the session's page."""
    from agentsim.report.html.page import write
    from agentsim.report.html.tested import page

    write(path, page(tests))


class Reporter:
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


def _told(playing: Playing) -> str:
    from agentsim.report.plain import line
    from agentsim.report.transcript import transcript_lines

    lines = [f"scenario: {_name(playing)}", *transcript_lines(playing.transcript, full=True)]
    return "\n".join(map(line, [*lines, *_misfit(playing)]))


def _name(playing: Playing) -> str:
    from agentsim.live import Live

    return f"{playing.files.name}, being recorded" if isinstance(playing, Live) else playing.scenario.name


def _misfit(playing: Playing) -> Iterator[str]:
    from agentsim.live import Live
    from agentsim.report.misfit import misfit_lines

    if isinstance(playing, Live):
        return iter(())
    return misfit_lines(playing.scenario, playing.transcript, playing.requests)


def _played(playing: Playing) -> dict[str, Any]:
    """What a test played, in values that go from process to process."""
    from agentsim.store.jsonl import dumps

    return {
        "scenario": _name(playing),
        "transcript": dumps(playing.transcript),
        "misfit": list(_misfit(playing)),
    }
