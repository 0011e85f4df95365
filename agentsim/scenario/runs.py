"""What the runs of a scenario's tools give: outcome and seconds, run by run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from agentsim.core.tools import ToolOutcome, ToolSpec
from agentsim.errors import UsageError
from agentsim.scenario.model import Scenario

PLACE = re.compile(r"\{([^{}]+)\}")

#: Where the next run of each tool stands; an opaque value for `restore`.
Mark = dict[tuple[str | None, str], int]


class ToolScripts:
    """Counts the runs of each tool and knows what the next one gives; the last entry of a list repeats."""

    __slots__ = ("_done", "_scenario")

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._done: Mark = {}

    def outcome(self, name: str, given: Any = None, agent: str | None = None) -> tuple[ToolOutcome, float]:
        """The outcome of the next run of a tool, and how many (virtual) seconds it takes.

        Args:
            name: of the tool.
            given: the input that the tool gets; `{key}` in its texts is replaced by the input's value of that key,
                unless the tool is `verbatim`.
            agent: whose tool; None is the main agent.
        Raises:
            UsageError: the scenario declares no such tool.
        """
        spec = self._spec(name, agent)
        key = agent, name
        done = self._done.get(key, 0)
        self._done[key] = done + 1
        outcome = spec.outcomes[done] if done < len(spec.outcomes) else spec.outcomes[-1]
        seconds = spec.seconds[done] if done < len(spec.seconds) else spec.seconds[-1]
        return outcome if spec.verbatim else rendered(outcome, given), seconds

    def _spec(self, name: str, agent: str | None) -> ToolSpec:
        scenario = self._scenario
        tools = scenario.tools if agent is None or agent == scenario.agent else scenario.agents[agent].tools
        if name not in tools:
            raise UsageError(
                f"scenario {scenario.name!r} declares no tool {name!r}; it has {', '.join(tools) or 'none'}"
            )
        return tools[name]

    def mark(self) -> Mark:
        """The place, to come back to."""
        return dict(self._done)

    def restore(self, mark: Mark) -> None:
        """Go back to a place."""
        self._done = dict(mark)


def rendered(outcome: ToolOutcome, given: Any) -> ToolOutcome:
    """The outcome with `{key}` replaced by the input's values: texts as they are, anything else as JSON."""
    if not given or not (type(given) is dict or isinstance(given, Mapping)):
        return outcome
    value = _filled(outcome.value, given)
    return outcome if value is outcome.value else ToolOutcome(outcome.kind, value)


def _filled(value: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        if "{" not in value:
            return value
        # Of texts and places in turn, every second piece is a place.
        return "".join([_shown(piece, given) if at & 1 else piece for at, piece in enumerate(_pieces(value))])
    if isinstance(value, dict):
        return {key: _filled(item, given) for key, item in value.items()}
    return [_filled(item, given) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=512)
def _pieces(text: str) -> tuple[str, ...]:
    return tuple(PLACE.split(text))


def _shown(place: str, given: Mapping[str, Any]) -> str:
    if place not in given:
        return "{" + place + "}"
    value = given[place]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
