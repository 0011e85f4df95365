"""Whether a run is what its scenario expects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentsim.judge.result import Result


def unmet(result: Result) -> list[str]:
    """A sentence for each expectation that the run does not meet.

    `styles: {NAME: {expect: …}}` is for that style; the file's own `expect:` says what a careful loop does, so it is held against the
    reference loop (and against code under test), not against SDKs that are known to do something else.

    Args:
        result: of a whole run.
    Returns:
        "ended: expected 'answer', but it is 'limit'" …; empty where all are met or none is stated.
    """
    settings = result.scenario.settings(result.style.name)
    expected = settings.expect if settings is not None else None
    if expected is None and result.style.name == "reference":
        expected = result.scenario.expect
    if not expected:
        return []
    given: dict[str, Any] | None = None
    problems = []
    for key, wanted in expected.items():
        if key == "tool_runs":
            problem = _runs_problem(wanted, result)
        else:
            given = given if given is not None else _facts(result)
            problem = (
                None
                if _meets(given.get(key), wanted)
                else f"expected {_json(wanted)}, but it is {_json(given.get(key))}"
            )
        if problem:
            problems.append(f"{key}: {problem}")
    return problems


def _meets(given: Any, wanted: Any) -> bool:
    """A mapping asks only for the keys that it names: `error: {type: …}`."""
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        return all(key in given and _meets(given[key], value) for key, value in wanted.items())
    return bool(given == wanted)


def _facts(result: Result) -> dict[str, Any]:
    return result.to_dict()


def _runs_problem(wanted: Sequence[Any], result: Result) -> str | None:
    given = [(run.name, run.input) for run in result.tool_runs]
    fits = len(wanted) == len(given) and all(_fits(want, run) for want, run in zip(wanted, given, strict=True))
    if fits:
        return None
    shown = ", ".join(f"{name}({_json(value)})" for name, value in given) or "none"
    return f"expected {_json(list(wanted))}, but these ran: {shown}"


def _fits(wanted: Any, run: tuple[str, Any]) -> bool:
    """A bare name is any run of that tool; `{name: input}` wants that input."""
    if isinstance(wanted, Mapping):
        return len(wanted) == 1 and next(iter(wanted.items())) == run
    return bool(wanted == run[0])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
