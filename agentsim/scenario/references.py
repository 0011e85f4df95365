"""Names and ids of a file that have to agree with something elsewhere in it."""

from __future__ import annotations

import re
from collections.abc import Collection

from agentsim.errors import nearest
from agentsim.scenario.document import Node, Path
from agentsim.scenario.records import Part

COUNTED = {"call": re.compile(r"call_([1-9][0-9]*)"), "server call": re.compile(r"srvtoolu_([1-9][0-9]*)")}

#: A reference -> the kind of call that it refers to.
NEEDS = {"answer to": "call", "result for": "call", "server result for": "server call"}


def check_references(part: Part) -> None:
    """Report every reference of a scenario to an agent, tool or call that is not there."""
    agents = [*_keys(part, "agents"), *([part.get("agent")] if part.get("agent") else [])]
    ids = _Ids(part)
    for kind, value, line, path in part.report.seen:
        message = None
        if kind == "agent" and value not in agents:
            message = f"there is no agent {value!r}" + _known(value, agents, "agents")
        elif kind == "tool" and value not in _all_tools(part):
            message = f"there is no tool {value!r}" + _known(value, _all_tools(part), "tools")
        elif kind in NEEDS:
            message = ids.problem(NEEDS[kind], value, _in_history(path))
        if message is not None:
            part.report.add(message, line, path)
            part.sound = False


def _keys(part: Part, key: str) -> list[str]:
    node = part.node.value.get(key)
    return list(node.value) if node is not None and type(node.value) is dict else []


def _all_tools(part: Part) -> list[str]:
    places = [part.node.value, *_agents(part)]
    tools = [place["tools"].value for place in places if "tools" in place]
    return [name for names in tools if type(names) is dict for name in names]


def _known(value: str, names: Collection[str], what: str) -> str:
    near = nearest(value, list(names))
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; the {what} are {', '.join(names)}" if names else f"; the file has no `{what}`"


def _in_history(path: Path) -> bool:
    step = None
    while path:
        path, step = path
    return step == "messages"


class _Ids:
    """The ids of a file's calls: those that are written, and those that will be counted."""

    def __init__(self, part: Part) -> None:
        self.written: dict[tuple[str, bool], list[str]] = {}
        self.unnamed: dict[tuple[str, bool], int] = {}
        for kind, value, _, path in part.report.seen:
            where = _in_history(path)
            if kind in ("call id", "server call id"):
                self.written.setdefault((kind.removesuffix(" id"), where), []).append(value)
            elif kind in COUNTED:
                self.unnamed[kind, where] = self.unnamed.get((kind, where), 0) + 1
        self._repeated = any(_repeats(entry) for entry in _entries(part)) or not part.sound

    def problem(self, kind: str, value: str, in_history: bool) -> str | None:
        """Why no call can have this id; None where one can."""
        places = (True,) if in_history else (True, False)
        written = [call_id for place in places for call_id in self.written.get((kind, place), [])]
        if value in written:
            return None
        most = sum(self.unnamed.get((kind, place), 0) for place in places) + len(written)
        counted = COUNTED[kind].fullmatch(value)
        if counted and (int(counted[1]) <= most or (self._repeated and not in_history)):
            return None
        where = " in the history" if in_history else ""
        near = nearest(value, written)
        hint = f"; did you mean {near!r}?" if near else ""
        prefix = "call" if kind == "call" else "srvtoolu"
        return f"no {kind}{where} has the id {value!r}{hint} (ids that are not written are counted: {prefix}_1 …)"


def _repeats(entry: dict[str, Node]) -> bool:
    """Whether an entry is played more than once, so that more ids will be counted than it has calls."""
    return "repeat" in entry and entry["repeat"].value != 1


def _entries(part: Part) -> list[dict[str, Node]]:
    places = [part.node.value, *_agents(part)]
    scripts = [place["replies"].value for place in places if "replies" in place]
    return [entry.value for script in scripts if type(script) is list for entry in script if type(entry.value) is dict]


def _agents(part: Part) -> list[dict[str, Node]]:
    agents = part.node.value.get("agents")
    if agents is None or type(agents.value) is not dict:
        return []
    return [agent.value for agent in agents.value.values() if type(agent.value) is dict]
