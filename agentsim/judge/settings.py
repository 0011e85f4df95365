"""What a scenario's `styles:` says, held against the styles that there are: names, and option trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentsim.core.style import Style
from agentsim.errors import Problem, ScenarioError, UsageError
from agentsim.scenario.document import Path, show
from agentsim.scenario.model import Scenario
from agentsim.styles import all_styles, select


def configured(style: Style, tree: Mapping[str, Any]) -> Any:
    """What a style makes of an option tree.

    Raises:
        UsageError: a word that the style does not take.
    """
    if style.configure is None:
        if tree:
            raise UsageError(f"{style.name} takes no options, but {', '.join(map(str, tree))} came")
        return None
    try:
        return style.configure(tree)
    except ValueError as error:
        raise UsageError(f"{style.name}: {error}") from None


def check_names(scenario: Scenario) -> None:
    """Refuse settings for a style that there is none of: they would be ignored.

    Raises:
        ScenarioError: it names each, and the nearest style.
    """
    if all(
        name in all_styles() for name in scenario.styles
    ):  # so it is nearly always, and this is asked for every style
        return
    problems = [problem for name in scenario.styles for problem in _problem_of_name(scenario, name)]
    if problems:
        raise ScenarioError(problems)


def check_styles(scenario: Scenario) -> None:
    """Refuse settings of any style that could not be played: wrong names, wrong options.

    Raises:
        ScenarioError: it has every one.
    """
    problems = problems_of_styles(scenario)
    if problems:
        raise ScenarioError(problems)


def problems_of_styles(scenario: Scenario) -> list[Problem]:
    """What is wrong with a scenario's `styles:`, in order of lines; a key may be a style, or an SDK with all entry points."""
    found: list[Problem] = []
    for name, settings in scenario.styles.items():
        wrong = list(_problem_of_name(scenario, name))
        found += wrong or (_problems_of_options(scenario, name) if settings.options else [])
    return sorted(found, key=lambda problem: problem.line)


def _problem_of_name(scenario: Scenario, name: str) -> Iterator[Problem]:
    try:
        select([name])
    except UsageError as error:
        yield Problem(str(error), scenario.styles[name].line, show(_place(name)), scenario.path or "")


def _problems_of_options(scenario: Scenario, name: str) -> Iterator[Problem]:
    settings = scenario.styles[name]
    for style in select([name]):
        try:
            configured(style, settings.options)
        except UsageError as error:
            place = show((_place(name), "options"))
            yield Problem(str(error), settings.options_line, place, scenario.path or "")


def _place(name: str) -> Path:
    return (((), "styles"), name)
