"""What a run of the OpenAI Agents SDKs keeps from turn to turn, and the numbers that it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentsim.core.run import Run
from agentsim.core.scripted import Function
from agentsim.styles._openai_options import JS, PYTHON, Options, Words
from agentsim.styles._openai_tools import Ids


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point. Args: python: the language; streams: it is run_streamed."""

    python: bool
    streams: bool = False


class Talk:
    """One run of a prompt.

    Attributes:
        turn: turns begun.
        ids: which call each id belongs to.
        guard_time: clock time at which the input guardrails that run beside the loop have settled; None: there are none.
        guard_error: what they will throw.
        handed_over: this turn ended in a handoff.
        broken: this turn's reply broke off, and nobody noticed.
        over: the turns are used up.
    """

    __slots__ = (
        "broken", "entry", "guard_error", "guard_time", "handed_over", "ids", "nested", "options", "over", "run", "turn",
    )  # fmt: skip

    def __init__(self, run: Run, entry: Entry) -> None:
        self.run, self.entry = run, entry
        self.nested = run.thread > 0
        self.options: Options = Options() if self.nested else (run.options or Options())
        self.turn = self.used = 0
        self.ids = Ids(entry.python)
        self.guard_time: float | None = None
        self.guard_error: tuple[str, str] | None = None
        self.handed_over = self.broken = self.over = False

    @property
    def used(self) -> int:
        """Replies consumed, those of agents that are tools too: `usage.requests`."""
        return int(self.run.memory["used"])

    @used.setter
    def used(self, value: int) -> None:
        self.run.memory["used"] = value

    @property
    def streams_python(self) -> bool:
        """Whether this is `run_streamed` itself, not an agent that is its tool."""
        return self.entry.python and self.entry.streams and not self.nested

    @property
    def python(self) -> bool:
        """Whether this is the Python SDK."""
        return self.entry.python

    @property
    def words(self) -> Words:
        """How its option tree is spelled."""
        return PYTHON if self.python else JS

    @property
    def is_main(self) -> bool:
        """Whether the agent is the one that the option tree and the output schema belong to."""
        return not self.nested and self.run.agent is self.run.setup.agent

    @property
    def structured(self) -> Callable[[Any], str | None] | None:
        """Says what is wrong with the agent's structured output; None where it has none."""
        return self.run.setup.output if self.is_main else None

    def started(self, written: Function) -> Callable[..., Any]:
        """The function behind a node of the tree; it lives as long as the thread."""
        functions: dict[int, Callable[..., Any]] = self.run.memory.setdefault("functions", {})
        return functions.setdefault(id(written), written.start())

    def shown(self) -> int:
        """The number on a result: requests used, or the turn where the Python result or the JavaScript stream shows it."""
        return self.turn if self._shows_turn else self.used

    def shown_in_error(self, with_state: bool, run_data: bool = True) -> int | None:
        """The number on what was thrown; at the limit Python's stream has begun to count the turn that is one too many.

        Args:
            with_state: whether the JavaScript error carries the run's state; `run_data`: whether the Python one does.
        """
        if self._shows_turn:
            return self.turn + (self.over and self.streams_python)
        return self.used if (run_data if self.python else with_state) else None

    def shown_of_client_error(self) -> int | None:
        """The number beside an error of the HTTP client."""
        return self.turn if self._shows_turn else None

    @property
    def _shows_turn(self) -> bool:
        return self.streams_python if self.python else self.run.streamed


def agent_name(run: Run) -> str:
    """The agent's name in messages; an agent has to have one."""
    return run.agent.name or "A"


def handoff_tool(name: str, python: bool) -> str:
    """Name of the tool by which a request lets the model hand over to an agent."""
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", f"transfer_to_{name}")
    return plain.lower() if python else plain


def handoff_names(talk: Talk) -> dict[str, str]:
    """Tool name -> agent that the current agent may hand over to."""
    return {handoff_tool(name, talk.python): name for name in talk.run.agent.handoffs}
