"""OpenAI's ResponsesToolRunner (openai.lib.responses_tool_runner): far stricter than Anthropic's runner.

Measured on openai 3.57.0:

    for step in 1..max_steps (default 20):
      reply = create(…), HTTP retries inside, always with the full input
      status is not completed                        -> ToolRunnerError
      no call: a completed message -> return it; none -> ToolRunnerError
      step == max_steps                              -> ToolRunnerError, the reply's tools are not run
      an id that came before, an unknown function, arguments that don't fit -> ToolRunnerError, nothing of the reply runs
      run the calls one after the other; one that raises -> ToolRunnerError
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import Unfit, lax
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import Block, Message, Refusal, ServerCall, Text, ToolResult
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.style import Refused, Style
from agentsim.core.wires import RESPONSES, Seen, SeenCall

STOPPED = "Tool run stopped before completion."
LIMIT = "Tool run reached max_steps before completion."


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the runner."""
    ids: set[str] = set()
    while True:
        seen = yield from run.call(Retry(2))
        if isinstance(seen, Failed):
            return threw(run, STOPPED, "aborted" if seen.aborted else fault_ending(seen.fault))
        if seen.cut:
            return threw(run, STOPPED if seen.streamed else "Response did not complete.", dropped=bool(seen.calls))
        if any(b.name not in run.server_tools for b in seen.reply.blocks if isinstance(b, ServerCall)):
            return threw(
                run, "Server tool did not complete or match its declaration and approval.", dropped=bool(seen.calls)
            )
        if not seen.calls:
            if not any(isinstance(block, Text | Refusal | ServerCall) for block in seen.reply.blocks):
                return threw(run, "Response has no completed final message or tool call.", "empty")
            run.count += 1
            return run.returned(seen.text, "completed")
        at_limit = run.limit is not None and run.count + 1 >= run.limit
        problem = refused(run, seen, ids, at_limit)
        if problem == LIMIT:
            run.count += 1
            return threw(run, LIMIT, "limit")
        if problem is not None:
            return threw(run, problem, bad_call=True)
        inputs = [ToRun(c.id, c.name, lax(run.tools[c.name].schema, c.arguments)) for c in seen.calls]
        runs: list[ToolRun] = []
        for one in inputs:
            runs += yield from run.use([one])
            if run.aborted:
                return threw(run, STOPPED, "aborted")
            if runs[-1].raised:
                return threw(run, STOPPED, "tool_error")
        run.history.append(Message("assistant", as_said(seen)))
        run.answer_with([ToolResult(done.call_id, as_text(done.output)) for done in runs])
        run.count += 1


def refused(run: Run, seen: Seen, ids: set[str], at_limit: bool) -> str | None:
    """Why nothing of this reply is run; None where it is. `ids` are those of the replies before it."""
    called = [call.id for call in seen.calls]
    if seen.streamed and (len(set(called)) < len(called) or any(call.broken for call in seen.calls)):
        return STOPPED  # the stream finds that out by itself while it puts the reply together
    for call in seen.calls:
        if call.id in ids and not at_limit:
            return "Tool call ID is missing or duplicate."
        ids.add(call.id)
    for call in seen.calls:  # each is looked up before the limit is, and read behind it
        if call.name not in run.tools or run.tools[call.name].client:
            return "Function was not registered or lacks native metadata."
        if at_limit:
            return LIMIT
        if is_unfit(run, call):
            return STOPPED
    return None


def is_unfit(run: Run, call: SeenCall) -> bool:
    """Whether a call's arguments don't fit its tool."""
    try:
        lax(run.tools[call.name].schema, call.arguments)
    except Unfit:
        return True
    return False


def as_said(seen: Seen) -> tuple[Block, ...]:
    """The reply's items: text beside a refusal's stop reason is the refusal."""
    if seen.refusal is None or any(isinstance(block, Refusal) for block in seen.reply.blocks):
        return seen.reply.blocks
    return tuple(Refusal(block.text) if isinstance(block, Text) else block for block in seen.reply.blocks)


def as_text(value: Any) -> str:
    """An executor has to return text; other values are written as JSON by its author."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def threw(
    run: Run, message: str, ended: str | None = None, *, bad_call: bool = False, dropped: bool = False
) -> Outcome:
    """Everything that goes wrong is a ToolRunnerError."""
    return run.threw("ToolRunnerError", message, ended, bad_call=bad_call, dropped=dropped)


def read_limit(value: Any) -> float | Refused | None:
    """max_steps must be a positive whole number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return Refused("ValueError", "max_steps must be a positive integer.")
    return value


STYLES = (
    Style(
        name="openai/ResponsesToolRunner",
        sdk="openai 3.57.0",
        unit="step",
        knob="max_steps",
        default=20,
        loop=loop,
        checks="after each reply that calls tools, before they run",
        at_limit="raises ToolRunnerError; the last reply's tools have not run",
        signal='status == "completed"',
        wires=(RESPONSES,),
        streams=None,
        read_limit=read_limit,
    ),
)
