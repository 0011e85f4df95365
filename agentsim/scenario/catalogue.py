"""The catalogue: the scenarios that provoke the loop rules, playable to any agent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import agentsim
from agentsim.core.messages import Reply, ToolCall
from agentsim.errors import UsageError
from agentsim.scenario.load import load
from agentsim.scenario.model import FOREVER, AnyCall, Entry, Scenario, ScriptedReply


def folder() -> Path:
    """Where the catalogue lies: in the package, or beside it in a checkout.

    Raises:
        UsageError: the installation lacks it.
    """
    package = Path(agentsim.__file__).parent
    for place in (package / "catalogue", package.parent / "scenarios" / "catalogue"):
        if place.is_dir():
            return place
    raise UsageError(f"the catalogue is missing beside {package}; install agentsim anew")


def catalogue(stems: Iterable[str] | None = None) -> dict[str, Scenario]:
    """The catalogue's scenarios by their files' stems, in order of names; all, or those named."""
    wanted = None if stems is None else set(stems)
    files = sorted(folder().glob("*.yaml"))
    return {file.stem: load(file) for file in files if wanted is None or file.stem in wanted}


def withdrawn(scenario: Scenario, offered: Sequence[Sequence[str] | None]) -> Scenario | None:
    """The scenario with a call of a tool that an earlier request offered and a later one does not; None: there is none.

    Args:
        scenario: what was played.
        offered: the names of the tools that each of its requests offered.
    """
    before: dict[str, None] = {}
    for index, names in enumerate(offered):
        gone = [name for name in before if names is not None and name not in names]
        if gone and index < len(scenario.script):
            call = ToolCall("", gone[0], json.dumps({}))
            entry = ScriptedReply(Reply((call,), "tool_use"))
            last = scenario.script[-1]
            return replace(scenario, script=(*scenario.script[:index], entry, replace(last, repeat=FOREVER)))
        before.update(dict.fromkeys(names or ()))
    return None


def without_calls(scenario: Scenario) -> Scenario | None:
    """The scenario for an agent without tools: its replies that call none; None where nothing is left of it but plain answers.

    Args:
        scenario: of the catalogue; its calls are of tools that the request has to offer.
    """
    script = tuple(entry for entry in scenario.script if not _calls_any(entry))
    is_odd = any(not isinstance(entry, ScriptedReply) or not _is_plain(entry.reply) for entry in script)
    return replace(scenario, script=script) if is_odd and script != scenario.script else None


def _calls_any(entry: Entry) -> bool:
    return isinstance(entry, ScriptedReply) and any(type(extra) is AnyCall for _, extra in entry.extras)


def _is_plain(reply: Reply) -> bool:
    return reply.stop_reason == "end_turn" and bool(reply.text.strip())
