"""The page of the Python API, from its docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any

import agentsim
from agentsim import strategies
from tools.reference.markdown import documentation, first_paragraph

INTRODUCTION = """# Python

`import agentsim` costs nothing: every name is loaded on first use. The package is typed (PEP 561). The examples are run by a test, in the repository's root."""
GROUPS = {
    "Play SDKs' loops": ("run", "arun", "compare", "least_limit", "budget"),
    "Test an agent": ("play", "replay", "record", "check", "Sim"),
    "Scenarios": ("load", "loads", "dumps", "Scenario"),
    "What comes of a run": ("Result", "Table", "Transcript"),
    "Styles": ("Style", "Claim"),
    "Errors": (
        "AgentsimError", "ScenarioError", "ScriptError", "ScriptExhausted", "ScriptUnfinished", "CannotExpress", "UnscriptedRequest",
        "TranscriptError", "UsageError", "RuleBroken",
    ),
}  # fmt: skip


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        parts += [_described(f"agentsim.{name}", getattr(agentsim, name)) for name in names]
    parts += ["## Hypothesis", "In `agentsim.strategies`; needs `agentsim[pytest]`."]
    functions = [getattr(strategies, name) for name in strategies.__all__]
    parts += [
        _described(f"agentsim.strategies.{each.__name__}", each) for each in functions if inspect.isfunction(each)
    ]
    return "\n\n".join(parts) + "\n"


def _described(name: str, value: Any) -> str:
    parts = [f"### {name}"]
    if not (inspect.isclass(value) and issubclass(value, Exception)) and not _is_plain(value):
        parts.append(f"`{name}{_signature(value)}`")
    parts.append(documentation(value.__doc__ or ""))
    if inspect.isclass(value):
        members = [_member(each, value.__dict__[each]) for each in value.__dict__ if not each.startswith("_")]
        parts += [each for each in members if each]
    return "\n\n".join(parts)


def _is_plain(value: Any) -> bool:
    """Whether a class is made by the library, not by its users, so that its constructor is of no interest."""
    return inspect.isclass(value) and value.__name__ not in ("Style", "Claim")


def _signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(…)"
    text = re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", text)
    return text.replace("'", "").replace("collections.abc.", "").replace("os.PathLike[str]", "PathLike")


def _member(name: str, value: Any) -> str:
    """A line for a property or a method; "" for anything else."""
    function = value.fget if isinstance(value, property) else getattr(value, "func", value)
    if not inspect.isfunction(function) or not function.__doc__:
        return ""
    shown = (
        f"{name}{_signature(value).replace('self, ', '').replace('(self)', '()')}"
        if inspect.isfunction(value)
        else name
    )
    return f"- `{shown}`: {' '.join(first_paragraph(function.__doc__).split())}"
