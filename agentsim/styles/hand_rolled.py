"""The hand-rolled loop that an article prints (TypeScript, Claude Messages), as people copy it.

    for step in 0..maxSteps-1:
      reply = create(history); append it
      pause_turn -> continue;  end_turn, stop_sequence -> return its text;  other than tool_use -> throw
      run all tool_use blocks at once; append one user message with the results
    throw

Its arguments are never checked, calls beside end_turn are dropped, and `tool_use` without a call sends an empty user message.
"""

from __future__ import annotations

import json
from collections.abc import Generator

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Message, ToolResult
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.style import Style
from agentsim.core.wires import SeenCall
from agentsim.styles.tool_runners import failed


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the article's loop."""
    while run.limit is None or run.count < run.limit:
        seen = yield from run.call(Retry(2))
        if isinstance(seen, Failed):
            return failed(run, seen)
        run.count += 1
        run.history.append(Message("assistant", seen.reply.blocks))
        if seen.stop == "pause_turn":
            continue
        if seen.stop in ("end_turn", "stop_sequence"):
            return run.returned(seen.text, dropped=bool(seen.calls))
        if seen.stop != "tool_use":
            return run.threw("Error", f"Unexpected stop_reason: {seen.stop}", dropped=bool(seen.calls))
        settled = yield from run.settle(seen.calls, lambda call: _refuse(run, call), _render)
        run.history.append(Message("user", settled.results))
    return run.threw("Error", f"Agent hit maxSteps ({run.limit:g}) without finishing", "limit")


def _refuse(run: Run, call: SeenCall) -> ToolResult | None:
    if call.name in run.tools:
        return None
    return ToolResult(call.id, f"Unknown tool: {call.name}", is_error=True)


def _render(done: ToolRun) -> ToolResult:
    if done.raised:
        return ToolResult(done.call_id, f"Error: {done.output}", is_error=True)
    return ToolResult(done.call_id, done.output if isinstance(done.output, str) else json.dumps(done.output))


STYLES = (
    Style(
        name="hand-rolled/article",
        sdk="@anthropic-ai/sdk 0.135.0",
        unit="step",
        knob="maxSteps",
        default=10,
        loop=loop,
        checks="before each call",
        at_limit='throws Error "Agent hit maxSteps (n) without finishing"',
        signal="returns; everything else throws",
        streams=False,
    ),
)
