"""The request that did not fit, and the nearest reply that would have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from agentsim.core.history import short
from agentsim.core.transcript import Transcript
from agentsim.http.log import SentRequest
from agentsim.judge.case import Case
from agentsim.report.transcript import reply_lines
from agentsim.scenario.model import Entry, Scenario, ScriptedReply
from agentsim.scenario.request import RequestView, check_request, holds


def misfit_lines(scenario: Scenario, transcript: Transcript, requests: Sequence[SentRequest]) -> Iterator[str]:
    """Of the last request, where nothing answered it: what it holds, and which reply of the script is nearest.

    Args:
        scenario: what was played.
        transcript: what happened.
        requests: every request, in order.
    """
    exchanges = Case(transcript.events).exchanges
    last = exchanges[-1] if exchanges else None
    if last is None or last.reply is not None or last.fault is not None:
        unanswered = [each for each in requests if each.reply is None and each.fault is None]
        yield from (f"no reply fits: {each.method} {each.url}" for each in unanswered[-1:])
        return
    yield f"no reply fits request {last.number}: {', '.join(map(short, last.history[last.kept :])) or 'nothing new'}"
    entry = _nearest(scenario, RequestView.of(last.history, last.offered), last.offered or ())
    if entry is not None:
        where = f" on line {entry.line}" if entry.line else ""
        yield f"nearest: reply {scenario.script.index(entry) + 1}{where}"
        if isinstance(entry, ScriptedReply):
            yield from (f"    {line}" for line in reply_lines(entry.reply))


def _nearest(scenario: Scenario, view: RequestView, offered: Sequence[str]) -> Entry | None:
    """A reply whose condition and expectation hold; else the one whose expected text is most alike."""
    best: tuple[float, int] | None = None
    for index, entry in enumerate(scenario.script):
        if entry.when is None and entry.request is None and index + 1 < len(scenario.script):
            continue
        score = _score(entry, view, offered)
        if best is None or score > best[0]:
            best = score, index
    return scenario.script[best[1]] if best is not None else None


def _score(entry: Entry, view: RequestView, offered: Sequence[str]) -> float:
    if entry.when is not None and not holds(entry.when, view):
        text = (view.prompt if entry.when.where == "prompt" else view.last_result) or ""
        return SequenceMatcher(None, entry.when.pattern, text[:500], autojunk=False).ratio()
    if entry.request is not None and check_request(entry.request, view, offered) is not None:
        return 0.5
    return 1.0 if entry.when is not None or entry.request is not None else 0.25
