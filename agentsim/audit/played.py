"""One scenario played to a target: how, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.transcript import Transcript
from agentsim.errors import AgentsimError
from agentsim.judge.case import Case
from agentsim.judge.check import outline
from agentsim.judge.rules import Verdict, judge
from agentsim.session import Sim
from agentsim.store.jsonl import dumps, loads


@dataclass(frozen=True, slots=True)
class Options:
    """How an audit goes.

    Args:
        deadline: seconds that one scenario may take.
        most: model requests after which a run is stopped.
        limit: model calls that the target was told to make at most; None: not known.
        tools: names of the tools that may be called; empty: every one.
        result: "module:function" that says of what the target returned whether it is an answer.
        prompt: in place of the catalogue's.
        allow_hosts: hosts that the target may reach.
        isolate: whether each scenario is played in a process of its own, where it can be stopped.
    """

    deadline: float = 30.0
    most: int = 100
    limit: float | None = None
    tools: frozenset[str] = frozenset()
    result: str | None = None
    prompt: str | None = None
    allow_hosts: tuple[str, ...] = ()
    isolate: bool = True


@dataclass(slots=True)
class Played:
    """What came of one scenario.

    Args:
        verdicts: of every rule.
        outline: the run, a line for each request and reply; `run`: its events.
        requests: how many there were.
        offered: the names of the tools that each request offered. `tools`: of all of them, those that run on this side.
        stopped: why it was stopped, or None.
        broke: how the target broke down (crashed, hung), or None.
        trouble: why the scenario could not be played to this target, or None.
        ending: how it ended where it gave no answer (an exception, an exit status), or None.
        mistake: what the audit's caller got wrong (a `--result` function that fails), or None.
    """

    verdicts: Sequence[Verdict] = ()
    outline: tuple[str, ...] = ()
    run: Transcript = field(default_factory=Transcript)
    requests: int = 0
    offered: Sequence[Sequence[str] | None] = field(default_factory=list)
    stopped: str | None = None
    broke: str | None = None
    trouble: str | None = None
    ending: str | None = None
    tools: Sequence[str] = ()
    mistake: str | None = None

    def data(self) -> dict[str, Any]:
        """As JSON values, to go from process to process."""
        return {
            "verdicts": [[v.rule, v.result, v.detail] for v in self.verdicts],
            "outline": list(self.outline),
            "run": dumps(self.run),
            "requests": self.requests,
            "offered": [None if names is None else list(names) for names in self.offered],
            "stopped": self.stopped,
            "broke": self.broke,
            "trouble": self.trouble,
            "ending": self.ending,
            "tools": list(self.tools),
            "mistake": self.mistake,
        }


def from_data(data: dict[str, Any]) -> Played:
    """What `data` said."""
    verdicts = [Verdict(*each) for each in data["verdicts"]]
    return Played(**{**data, "verdicts": verdicts, "outline": tuple(data["outline"]), "run": loads(data["run"])})


def judged(sim: Sim, case: Case, *, hung: bool = False, ending: str | None = None) -> Played:
    """The verdicts over a run that is over."""
    broke = f"the target crashed: {case.crash}" if case.crash else None
    if hung:
        broke = f"the target hung: {case.stopped}"
    return Played(
        judge(case),
        tuple(outline(case)),
        sim.transcript,
        len(sim.requests),
        [each.offered for each in case.exchanges],
        case.stopped,
        broke,
        _trouble(sim.errors),
        ending,
        list(dict.fromkeys(each.name for sent in sim.requests for each in sent.offers or () if not each.server)),
    )


def _trouble(errors: Sequence[Exception]) -> str | None:
    first = next((error for error in errors if isinstance(error, AgentsimError)), None)
    return str(first) if first is not None else None
