"""The tables about budgets: what each knob allows, computed by playing the same scripts to the styles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import agentsim
from agentsim.core.style import Style
from agentsim.judge.result import Result
from agentsim.styles import all_styles, find
from tools.reference.markdown import table
from tools.reference.styles import default_of

HEADER = ("style", "unit", "knob", "default", "1 round needs", "3 need", "10 need", "10 allows", "the caller then gets")
#: One entry point of each SDK that the explanation speaks of.
SHOWN = (
    "ai-sdk/ToolLoopAgent.generate", "langchain-js/createAgent", "openai-agents/Runner.run", "claude-agent-sdk/query", "mastra/Agent.generate",
    "tanstack-ai/chat", "openai/ResponsesToolRunner", "anthropic/tool_runner", "reference",
)  # fmt: skip
INTRODUCTION = """# Budgets

What each knob allows: the least value that lets so many tool rounds and an answer finish, and what a model that never stops gets out of 10. The scripts are played to the styles;
[why budgets differ](../explanation/budgets.md) explains the columns."""
_REGION = re.compile(r"(?<=<!-- generated: budgets -->\n).*?(?=<!-- end -->)", re.DOTALL)


def page() -> str:
    """The page of all styles."""
    return f"{INTRODUCTION}\n\n{_table([name for name in all_styles() if '@' not in name])}\n"


def filled(page: str) -> str:
    """The explanation with its table anew."""
    return _REGION.sub(lambda _: f"\n{_table(SHOWN)}\n\n", page)


def _table(names: Iterable[str]) -> str:
    scripts = {rounds: _script([_call(n) for n in range(rounds)] + [{"text": "Done."}]) for rounds in (1, 3, 10)}
    endless = _script([{**_call(0), "repeat": "forever"}])
    rows = []
    for style in map(find, names):
        least = [_number(agentsim.least_limit(script, style.name)) for script in scripts.values()]
        at_ten = agentsim.run(endless, style.name, limit=10)
        rows.append(
            (f"`{style.name}`", style.unit, f"`{style.knob}`", default_of(style), *least, *_allowed(style, at_ten))
        )
    return table(HEADER, rows)


def _script(replies: list[dict[str, Any]]) -> agentsim.Scenario:
    tools = {"lookup": {"input": {"key": "string"}, "returns": "value of {key}"}}
    return agentsim.loads({"agentsim": 1, "name": "rounds", "prompt": "Go", "tools": tools, "replies": replies})


def _call(number: int) -> dict[str, Any]:
    return {"tool_use": {"lookup": {"key": f"k{number}"}}}


def _number(value: int | None) -> str:
    return "–" if value is None else str(value)


def _allowed(style: Style, run: Result) -> tuple[str, str]:
    """How many calls and rounds a limit of ten allows, and what the caller is handed then."""
    if run.ended != "limit":
        return "–", run.ended.replace("_", " ")
    calls = f"{run.model_calls} calls, {run.tool_rounds} rounds"
    if run.error is not None:
        return calls, f"`{run.error['type']}`"
    return calls, f"a result, `{run.finish_reason}`" if run.finish_reason else "a result"
