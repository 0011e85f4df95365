"""What a run of the Claude Agent SDK keeps: over one user message, and over the whole session with its subagents."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import ToolCall
from agentsim.core.run import Run
from agentsim.core.scripted import Function
from agentsim.styles._claude_options import Options

SEARCH = "ToolSearch"
OUTPUT = "StructuredOutput"

#: The CLI gives a structured output so many attempts.
OUTPUT_ATTEMPTS = 5

#: It ends the turn when the Stop hooks have blocked once more than this, one time after the other.
STOP_BLOCKS = 8

Turn = Generator[Action, Event, Outcome]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the entry points differ.

    Args:
        python: the Python package, whose CLI is newer.
        throws: a single-shot query() throws after an error result; the client does not.
        malformed: how often a `tool_use` without a block is asked again.
    """

    python: bool
    throws: bool
    malformed: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a subagent in the background has to say when it ends. Args: at: clock time of that."""

    at: float
    agent: str
    text: str
    failed: bool


@dataclass(slots=True)
class Shared:
    """What lives as long as the session, for the main loop and its subagents.

    Args:
        functions: the user's functions that have been called; they count on.
        reports: of subagents that the main loop has not read yet.
        found: tools that a ToolSearch found.
        bad_requests: requests that the provider refused; each made `thinking` simpler.
    """

    functions: dict[int, Callable[..., Any]] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    bad_requests: int = 0


class Talk:
    """One user message on its way to its result.

    Attributes:
        run, entry, options: of the loop; `shared`: of the session.
        loop: of a subagent.
        users: user messages that the loop emitted; num_turns is one more.
        cuts, refused, nudged, resent, malformed, compacted: the recoveries so far.
        ids: of calls that the history has.
        blocks: how often the Stop hooks blocked in a row.
        reminded: the model was told to call StructuredOutput; `bad_outputs`: calls of it that did not fit.
        output: the structured output that was accepted; `bad_output`: what was wrong with the last one that was not.
        lost: why the reply broke off after a whole block.
    """

    def __init__(self, run: Run, entry: Entry, loop: Callable[[Talk], Turn], parent: Talk | None = None) -> None:
        self.run, self.entry, self.loop = run, entry, loop
        self.options: Options = run.options or Options()
        self.shared: Shared = parent.shared if parent else run.memory.setdefault("session", Shared())
        self.nested = parent is not None
        self.structured = None if self.nested else run.setup.output
        self.users = self.cuts = self.malformed = self.blocks = self.bad_outputs = 0
        self.refused = self.nudged = self.resent = self.compacted = self.reminded = False
        self.ids: set[str] = run.memory.setdefault("ids", ids_of(run))
        self.output: Any = None
        self.bad_output = ""
        self.lost: Fault | None = None
        run.output_tool = OUTPUT if self.structured is not None else None

    def known(self) -> dict[str, Any]:
        """The tools that a call may name. The newer CLI does not even know a disallowed one."""
        hidden = self.options.disallowed if self.entry.python else ()
        return {name: spec for name, spec in self.run.tools.items() if name not in hidden}

    def offer(self) -> None:
        """What the next request offers: behind ToolSearch only what was found."""
        known = self.known()
        if self.options.tool_search:
            self.run.offered = (SEARCH, *[name for name in known if name in self.shared.found])
        elif len(known) < len(self.run.tools):
            self.run.offered = tuple(known)

    def started(self, written: Function) -> Callable[..., Any]:
        """The function behind a node of the tree."""
        return self.shared.functions.setdefault(id(written), written.start())

    def tool_round_over(self) -> None:
        """A tool round lets most recoveries begin anew, but not the one after a refusal."""
        self.cuts = self.malformed = self.blocks = 0
        self.nudged = self.resent = self.compacted = False

    @property
    def over_budget(self) -> bool:
        """Whether the session, subagents and all, has cost what it may; only the main loop looks."""
        budget = self.options.budget
        return not self.nested and budget is not None and self.run.ledger.cost >= budget

    @property
    def at_limit(self) -> bool:
        """Whether the turns are used up."""
        return self.run.limit is not None and self.run.count + 1 > self.run.limit


def ids_of(run: Run) -> set[str]:
    """Ids of the calls in the history."""
    return {part.id for message in run.history for part in message.content if isinstance(part, ToolCall)}
