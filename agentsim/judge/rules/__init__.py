"""The loop rules: what holds for any agent loop over any provider.

A rule is one decorated function over a Case. It yields None for each time that the rule was kept and a sentence for each
time that it was broken; a rule that yields nothing is not applicable: the transcript can't tell.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentsim.core.transcript import Transcript
from agentsim.errors import UsageError, nearest
from agentsim.judge.case import Case

PASSED: Literal["passed"] = "passed"
FAILED: Literal["failed"] = "failed"
NOT_APPLICABLE: Literal["not_applicable"] = "not_applicable"
Verdict_ = Literal["passed", "failed", "not_applicable"]

Check = Callable[[Case], Iterator[str | None]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One loop rule.

    Args:
        name: as `sim.check(name)` and `agentsim audit --rule name` take it.
        sentence: what it demands.
        source: who demands it.
        scenarios: stems of the catalogue's scenarios that provoke it.
        find: yields None where it was kept, a sentence where it was broken.
    """

    name: str
    sentence: str
    source: str
    scenarios: tuple[str, ...]
    find: Check

    def check(self, seen: Case | Transcript) -> Verdict:
        """Judge a run.

        Args:
            seen: a transcript, or a Case where more is known of the run.
        """
        case = seen if isinstance(seen, Case) else Case(seen.events)
        found = list(self.find(case))
        broken = [text for text in found if text is not None]
        if broken:
            return Verdict(self.name, FAILED, "; ".join(dict.fromkeys(broken)))
        return Verdict(self.name, PASSED if found else NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says of a run: `result` is "passed", "failed" (with `detail`) or "not_applicable"."""

    rule: str
    result: Verdict_
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether the rule was broken."""
        return self.result == FAILED


_rules: dict[str, Rule] = {}

#: The modules that hold rules, and the order in which rules are told.
_MODULES = ("answers", "runs", "endings", "history", "faults")


def rule(sentence: str, source: str, *scenarios: str) -> Callable[[Check], Check]:
    """Make a rule of a function; its name is the rule's.

    Args:
        sentence: what it demands.
        source: who demands it.
        scenarios: stems of the catalogue's scenarios that provoke it.
    """

    def register(check: Check) -> Check:
        _rules[check.__name__] = Rule(check.__name__, sentence, source, scenarios, check)
        return check

    return register


def all_rules() -> Mapping[str, Rule]:
    """Every rule by its name."""
    for module in _MODULES:
        importlib.import_module(f"agentsim.judge.rules.{module}")
    return _rules


def chosen(names: Iterable[str] = ()) -> list[Rule]:
    """The rules with these names; all without any.

    Raises:
        UsageError: there is no such rule.
    """
    rules = all_rules()
    names = list(names)
    for name in names:
        if name not in rules:
            near = nearest(str(name), rules)
            hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(rules)}"
            raise UsageError(f"there is no rule {name!r}{hint}")
    return [each for name, each in rules.items() if not names or name in names]


def judge(seen: Any, names: Iterable[str] = ()) -> list[Verdict]:
    """What the rules say of a run.

    Args:
        seen: a Transcript or a Case.
        names: of the rules; none: all.
    """
    case = seen if isinstance(seen, Case) else Case(tuple(seen))
    return [each.check(case) for each in chosen(names)]
