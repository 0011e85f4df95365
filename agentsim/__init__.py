"""agentsim: a provider-agnostic test harness and simulator for LLM agent loops.

Every public name is imported on first use, so that having agentsim installed costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "arun": "agentsim.api",
    "budget": "agentsim.api",
    "compare": "agentsim.api",
    "least_limit": "agentsim.api",
    "run": "agentsim.api",
    "check": "agentsim.judge.check",
    "play": "agentsim.session",
    "record": "agentsim.live",
    "replay": "agentsim.session",
    "Sim": "agentsim.session",
    "dumps": "agentsim.scenario.dump",
    "load": "agentsim.scenario.load",
    "loads": "agentsim.scenario.load",
    "Scenario": "agentsim.scenario.model",
    "Transcript": "agentsim.core.transcript",
    "Style": "agentsim.core.style",
    "Claim": "agentsim.core.style",
    "Result": "agentsim.judge.result",
    "Table": "agentsim.report.table",
    "AgentsimError": "agentsim.errors",
    "CannotExpress": "agentsim.errors",
    "RuleBroken": "agentsim.errors",
    "ScenarioError": "agentsim.errors",
    "ScriptError": "agentsim.errors",
    "ScriptExhausted": "agentsim.errors",
    "ScriptUnfinished": "agentsim.errors",
    "TranscriptError": "agentsim.errors",
    "UnscriptedRequest": "agentsim.errors",
    "UsageError": "agentsim.errors",
}

# Spelled out, because type checkers read it: only these names are exported.
__all__ = [
    "AgentsimError",
    "CannotExpress",
    "Claim",
    "Result",
    "RuleBroken",
    "Scenario",
    "ScenarioError",
    "ScriptError",
    "ScriptExhausted",
    "ScriptUnfinished",
    "Sim",
    "Style",
    "Table",
    "Transcript",
    "TranscriptError",
    "UnscriptedRequest",
    "UsageError",
    "__version__",
    "arun",
    "budget",
    "check",
    "compare",
    "dumps",
    "least_limit",
    "load",
    "loads",
    "play",
    "record",
    "replay",
    "run",
    "strategies",
]

if TYPE_CHECKING:
    from agentsim import strategies
    from agentsim.api import arun, budget, compare, least_limit, run
    from agentsim.core.style import Claim, Style
    from agentsim.core.transcript import Transcript
    from agentsim.errors import (
        AgentsimError,
        CannotExpress,
        RuleBroken,
        ScenarioError,
        ScriptError,
        ScriptExhausted,
        ScriptUnfinished,
        TranscriptError,
        UnscriptedRequest,
        UsageError,
    )
    from agentsim.judge.check import check
    from agentsim.judge.result import Result
    from agentsim.live import record
    from agentsim.report.table import Table
    from agentsim.scenario.dump import dumps
    from agentsim.scenario.load import load, loads
    from agentsim.scenario.model import Scenario
    from agentsim.session import Sim, play, replay


def __getattr__(name: str) -> Any:
    if name == "strategies":
        import importlib

        return importlib.import_module("agentsim.strategies")
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'agentsim' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
