"""Whose request is it: of several agents, a request is told by its system prompt, else by the tools that it offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentsim.scenario.model import FOREVER, Scenario, ScriptedReply
from agentsim.wire.base import ModelRequest


class Agents:
    """The agents of a scenario, as its requests show them. Remembers nothing, so many sessions may share it."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.several = bool(scenario.agents)
        tools = dict(scenario.tools)
        for agent in scenario.agents.values():
            tools.update(agent.tools)
        self._declared = frozenset(tools)
        self._wants_output = scenario.output is not None or _has_output(scenario)

    def of(self, asked: ModelRequest) -> str | None:
        """The agent that sends this request; None is the main one."""
        if not self.several:
            return None
        return self._by_system(asked.system or "") or self._by_tools(asked)

    def _by_system(self, system: str) -> str | None:
        """The agent whose system prompt stands in this one; the longest, where several do."""
        texts = {name: agent.system for name, agent in self._scenario.agents.items() if agent.system}
        found = max((name for name in texts if texts[name] in system), key=lambda name: len(texts[name]), default=None)
        own = self._scenario.system
        if found is not None and own and own in system and len(own) >= len(texts[found]):
            return None
        return found

    def _by_tools(self, asked: ModelRequest) -> str | None:
        """The only agent whose own tools are all offered, where the main agent's are not."""
        if asked.system and self._scenario.system and self._scenario.system in asked.system:
            return None
        offered = set(asked.offered or ())
        if _clients(self._scenario.tools) and _clients(self._scenario.tools) <= offered:
            return None
        found = [
            name
            for name, agent in self._scenario.agents.items()
            if not agent.system and _clients(agent.tools) and _clients(agent.tools) <= offered
        ]
        return found[0] if len(found) == 1 else None

    def replies(self, agent: str | None) -> int:
        """How many replies an agent's script has."""
        script = self._scenario.script if agent is None else self._scenario.agents[agent].script
        return sum(entry.repeat for entry in script if isinstance(entry, ScriptedReply) and entry.repeat != FOREVER)

    def output_tool(self, asked: ModelRequest) -> str | None:
        """The tool by which the SDK wants structured output: one that the scenario does not declare, with its schema."""
        if not self._wants_output or not asked.offers:
            return None
        schema = self._scenario.output or {}
        strangers = [offer for offer in asked.offers if offer.name not in self._declared and not offer.server]
        fitting = [offer for offer in strangers if schema and _properties(offer.schema) == _properties(schema)]
        forced = _forced(asked)
        if forced in {offer.name for offer in strangers}:
            return forced
        return fitting[0].name if fitting else None


def _has_output(scenario: Scenario) -> bool:
    scripts = [scenario.script, *(agent.script for agent in scenario.agents.values())]
    return any(getattr(entry, "extras", ()) for script in scripts for entry in script)


def _clients(tools: Mapping[str, Any]) -> set[str]:
    return {name for name, tool in tools.items() if not tool.server}


def _properties(schema: Mapping[str, Any]) -> set[str]:
    properties = schema.get("properties")
    return set(properties) if isinstance(properties, Mapping) else set()


def _forced(asked: ModelRequest) -> str | None:
    choice = asked.body.get("tool_choice")
    if not isinstance(choice, dict):
        return None
    inner = choice.get("function")
    name = inner.get("name") if isinstance(inner, dict) else choice.get("name")
    return name if isinstance(name, str) else None
