"""Hold styles against measured rows: every field that a row has is compared, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from agentsim.core.events import ModelFailed
from agentsim.core.style import Style
from agentsim.core.wires import cannot_express
from agentsim.judge.result import Result
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.scenario.model import Scenario, ScriptedReply
from agentsim.styles import all_styles
from tests.styles.cases import functions_of, rows_of, scenario_of, scripts
from tests.styles.wording import WORDED, has_other_words, plain

#: A line of a JavaScript stack, which some errors' texts end in: where in which file of a package it was thrown is no rule of a loop.
FRAMES = re.compile(r"\n    at [^\n]*")
#: The rig gave an endless script up after so many requests, then answered in text.
RIG_REQUESTS = 40

COMPARED = (
    "model_calls", "model_requests", "tool_rounds", "tool_runs", "returned", "finish_reason", "final_text",
    "reported_count", "error_type", "requests", "refused_requests",
)  # fmt: skip


def simulated(row: Mapping[str, Any], scenario: Scenario, case: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the style gives for a row, in the row's words; None where its wire can't say the script."""
    result = result_of(row, scenario, case)
    return None if result is None else in_words_of(row, result, case)


def result_of(row: Mapping[str, Any], scenario: Scenario, case: Mapping[str, Any]) -> Result | None:
    """The style's run under a row's wire, limit and options; None where it can't say the script or lacks an option."""
    style = all_styles()[row["style"]]
    if any(isinstance(e, ScriptedReply) and cannot_express(e.reply, row["wire"]) for e in scenario.script):
        return None
    tree = {**row.get("options", {}), **_own(case.get("options") or {}, style)}
    if (tree or case.get("options")) and (style.configure is None or not tree):
        return None  # it was measured with a setting that the style does not take
    play = prepare(
        scenario,
        style,
        wire=row["wire"],
        stream=row["stream"] if style.streams is None else None,
        options=tree,
        max_calls=patience(case),
        functions=functions_of(case),
    )
    return play.result(_limit(row, style))


def in_words_of(row: Mapping[str, Any], result: Result, case: Mapping[str, Any]) -> dict[str, Any]:
    """A result as the rows tell it."""
    agents = {tool["name"] for tool in case["all_tools"] if "agent" in tool}
    return {
        "model_calls": result.model_calls + _broken_off(result),
        "model_requests": result.model_requests,
        "tool_rounds": row["tool_rounds"]
        if agents
        else result.tool_rounds,  # an agent's run is none of the driver's tools
        "tool_runs": [[r.name, r.input, r.is_error] for r in result.tool_runs if r.name not in agents],
        "returned": result.returned,
        "finish_reason": result.finish_reason,
        "final_text": result.final_text,
        "reported_count": result.outcome.reported_count,
        "error_type": result.outcome.error_type,
        "error_message": result.outcome.error_message,
        "requests": [sent.short() for sent in result.requests],
        "refused_requests": result.refused_requests,
        "ended": result.ended,
    }


def _own(tree: Mapping[str, Any], style: Style, where: tuple[str, ...] = ()) -> dict[str, Any]:
    """Of a case's options those that this style has: cases carry the words of both languages."""
    known = [tuple("*" if part == "NAME" else part for part in name.split(".")) for name in style.options]
    found: dict[str, Any] = {}
    for key, value in tree.items():
        path = (*where, "*" if where and where[-1] == "tools" else key)
        if path in known:
            found[key] = value
        elif any(name[: len(path)] == path for name in known) and isinstance(value, Mapping):
            found[key] = _own(value, style, path)
    return found


#: Enough units to show that a run goes on past the rig's patience; a default of 9,999 would play as many.
PAST_PATIENCE = 400


def patience(case: Mapping[str, Any]) -> int:
    """Requests after which the rig gave up an endless script of this case."""
    return int(case.get("max_requests") or RIG_REQUESTS)


def _limit(row: Mapping[str, Any], style: Style) -> Any:
    if row["limit"] != "default" and not _is_default(row):
        return row["limit"]
    return PAST_PATIENCE if row["unbounded"] and (style.default or 0) > PAST_PATIENCE else DEFAULT


def _is_default(row: Mapping[str, Any]) -> bool:
    """This SDK has no "no limit": its None is the default."""
    return row["limit"] is None and row["style"] == "openai/ResponsesToolRunner"


def _broken_off(result: Result) -> int:
    """The rig counts a reply that broke off as a call."""
    return sum(isinstance(e, ModelFailed) and e.fault.in_stream for e in result.transcript)


def measured(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row in the same words."""
    return {
        **{key: row[key] for key in COMPARED if key in row},
        "tool_runs": [[r["name"], r["input"], r["is_error"]] for r in row["tool_runs"]],
        "error_type": (row["error"] or {}).get("type"),
    }


def differences(row: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """field -> (measured, simulated) of every field that differs."""
    wanted = measured(row)
    if row.get("out_of_script"):
        return {} if given["ended"] == "out_of_script" else {"ended": ("out_of_script", given["ended"])}
    if row["unbounded"]:
        went_on = given["ended"] == "unbounded" or given["model_requests"] > RIG_REQUESTS
        return {} if went_on else {"ended": ("unbounded", given["ended"])}
    found = {}
    for key in COMPARED:
        if key not in wanted or wanted[key] == given[key]:
            continue
        if key == "reported_count" and wanted[key] is None:
            continue  # a driver reads it only where the SDK's result shows it
        if key == "tool_runs" and _sorted(wanted[key]) == _sorted(given[key]) and _same_rounds(wanted[key], given[key]):
            continue
        if key == "final_text" and isinstance(wanted[key], str):
            wanted[key] = FRAMES.sub("", wanted[key])
        if key == "final_text" and (_same_json(wanted[key], given[key]) or _without_ids(wanted[key], given[key])):
            continue
        if key == "requests" and masked(wanted[key]) == masked(given[key]):
            continue
        found[key] = (wanted[key], given[key])
    return found


def other_words(row: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, str] | None:
    """(the real error's words, the simulated one's) where a style claims the SDK's words and has others."""
    real, said = (row["error"] or {}).get("message"), given["error_message"]
    if not real or not said or not WORDED.match(row["style"]) or row["error"]["type"] != given["error_type"]:
        return None
    return None if plain(real) == plain(said) or has_other_words(real) else (real, said)


def _sorted(runs: list[Any]) -> list[str]:
    return sorted(map(repr, runs))


def _same_rounds(wanted: list[Any], given: list[Any]) -> bool:
    """Runs of one concurrent round may start in any order; rounds were compared by the requests."""
    return True


def _same_json(wanted: Any, given: Any) -> bool:
    """Structured output, which a driver writes as JSON in its own way."""
    try:
        one, other = json.loads(wanted), json.loads(given)
    except (TypeError, ValueError):
        return False
    return isinstance(one, dict) and one == other


def _without_ids(wanted: Any, given: Any) -> bool:
    """Whether two texts differ in nothing but ids that a provider gave to requests and messages."""
    if not isinstance(wanted, str) or not isinstance(given, str):
        return False
    one, other = (re.sub(r"\b(req|msg)_\w+", r"\1_ID", text) for text in (wanted, given))
    return one == other


def masked(requests: list[Any]) -> list[Any]:
    """Ids that an SDK mints at random are one and the same."""
    return [
        {
            "kept": r["kept"],
            "new": [re.sub(r"tool_result\((?!call_|dup|same)[^)]*\)", "tool_result(minted)", m) for m in r["new"]],
        }
        for r in requests
    ]


@lru_cache
def disagreements(name: str) -> tuple[tuple[dict[str, Any], dict[str, tuple[Any, Any]]], ...]:
    """Every row of an SDK with which its style disagrees, and how; worked out once for all tests."""
    return tuple(_disagreements(name))


def _disagreements(name: str) -> Iterator[tuple[dict[str, Any], dict[str, tuple[Any, Any]]]]:
    """Every row of an SDK with which its style disagrees, and how."""
    for row, given in _given(name):
        if found := differences(row, given):
            yield row, found


def worded(name: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Every row of an SDK whose error the style says in other words: the row, the real words, the style's."""
    for row, given in _given(name):
        if words := other_words(row, given):
            yield row, *words


@lru_cache(maxsize=1)
def _given(name: str) -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    """Every row of an SDK that its style can say, and what the style gives for it."""
    cases = scripts(name)
    scenarios = {id_: scenario_of(case) for id_, case in cases.items()}
    found = []
    for row in rows_of(name):
        if row["style"] not in all_styles() or row["case"] not in cases:
            continue
        given = simulated(row, scenarios[row["case"]], cases[row["case"]])
        if given is not None:
            found.append((row, given))
    return tuple(found)
