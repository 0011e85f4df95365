"""`agentsim audit`: plays the catalogue of awkward replies to somebody's agent and judges it rule by rule.

Each scenario runs in a process of its own, so that an agent that hangs, floods, crashes or leaks is stopped at a deadline
and the next scenario finds a clean one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from agentsim.audit.command import play_to_command
from agentsim.audit.given import ToolCheck, check_options
from agentsim.audit.inprocess import load_target, play_here, play_in_process
from agentsim.audit.played import Options, Played
from agentsim.audit.report import Report, Row
from agentsim.errors import UsageError
from agentsim.judge.rules import NOT_APPLICABLE, Rule, Verdict, chosen
from agentsim.scenario.catalogue import catalogue, withdrawn, without_calls
from agentsim.scenario.model import Scenario

__all__ = ["Options", "Report", "Row", "audit"]

#: A target that sends no request in so many scenarios won't in the others: it may take its whole deadline each time.
SILENT = 3

Play = Callable[[Scenario, str], Played]


def audit(
    target: str | Sequence[str],
    *,
    rules: Iterable[str] = (),
    options: Options | None = None,
    tell: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Play the catalogue to an agent.

    Args:
        target: "module:callable" (sync or async, takes a prompt), or a command's words.
        rules: names of the rules to look at; none: all.
        options: deadline, tools, how results are told; see Options.
        tell: is called with each scenario's name, its number and how many there are.
    Raises:
        UsageError: the target can't be loaded or run, a rule or option is unknown, or the target asked no model.
    """
    options = options or Options()
    names = list(rules)
    wanted = chosen(names)
    scenarios = catalogue(each for rule in wanted for each in rule.scenarios)
    check_options(target, options)
    play = _player(target, options)
    tools = ToolCheck(options.tools)
    rows: list[Row] = []
    requests = 0
    why: str | None = None
    for number, (stem, scenario) in enumerate(scenarios.items(), 1):
        if tell is not None:
            tell(stem, number, len(scenarios))
        if options.prompt is not None:
            scenario = replace(scenario, prompts=(options.prompt,))
        played = play(scenario, stem)
        tools.look(played.tools)
        if stem == "withdrawn_tool" and (second := withdrawn(scenario, played.offered)) is not None:
            played = play(second, stem)
        if played.requests and not any(played.offered) and (second := without_calls(scenario)) is not None:
            played = play(second, stem)
        requests += played.requests
        why = why or played.stopped or played.ending
        if not requests and number in (SILENT, len(scenarios)):
            ended = f" ({why})" if why else ""
            raise UsageError(f"{_name(target)} sent no request to a model{ended}; does it read the base-URL variables?")
        rows += _rows(stem, played, wanted)
    tools.end()
    return Report(_name(target), tuple(rows), tuple(wanted))


def _player(target: str | Sequence[str], options: Options) -> Play:
    if isinstance(target, str):
        agent = load_target(target, options.result)
        how = play_in_process if options.isolate and hasattr(os, "fork") else play_here
        return lambda scenario, stem: _unmistaken(how(agent, scenario, options, failing=stem == "failing_tool"), stem)
    command = list(target)
    return lambda scenario, stem: play_to_command(command, scenario, options)


def _unmistaken(played: Played, stem: str) -> Played:
    """What was played, unless the audit's caller got something wrong: no verdict may come of that."""
    if played.mistake is not None:
        raise UsageError(f"{played.mistake}, in the scenario {stem}")
    return played


def _name(target: str | Sequence[str]) -> str:
    return target if isinstance(target, str) else " ".join(target)


def _rows(stem: str, played: Played, rules: Sequence[Rule]) -> list[Row]:
    said = {verdict.rule: verdict for verdict in played.verdicts}
    rows = []
    told = any(
        verdict.failed and stem in rule.scenarios for rule in rules if (verdict := said.get(rule.name)) is not None
    )
    for rule in rules:
        own = stem in rule.scenarios
        verdict = said.get(rule.name, Verdict(rule.name, NOT_APPLICABLE))
        if played.trouble is not None and played.stopped is None and not verdict.failed:
            verdict = Verdict(rule.name, NOT_APPLICABLE, played.trouble if own else "")
        elif played.broke is not None and own and not told:
            verdict = Verdict(rule.name, "failed", played.broke)
        rows.append(
            Row(
                rule.name,
                verdict.result,
                stem,
                verdict.detail,
                *((played.outline, played.run) if verdict.failed else ((), None)),
            )
        )
    if played.stopped is not None and not any(row.result == "failed" for row in rows):
        rows = [
            replace(
                row,
                result="failed",
                detail=f"the run never ended: {played.stopped}",
                transcript=played.outline,
                run=played.run,
            )
            if row.rule == "limit_is_kept"
            else row
            for row in rows
        ]
    return rows
