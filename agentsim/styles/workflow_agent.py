"""@ai-sdk/workflow's WorkflowAgent: the AI SDK's loop written again, with no default cap.

Measured on @ai-sdk/workflow 2.0.43 (with ai 7.0.112). `generate()` throws "Not implemented" in this version. `stream()`:

    loop:
      reply = stream the model, up to 3 requests for each step
      finish reason "tool-calls" or "stop", and there are calls:
        a call without an implementation: run the others, return
        run all calls together; an invalid one is answered with an error
        done = some stop condition is true
      else: done                                       # a cut reply always ends, readable or not
"""

from __future__ import annotations

from collections.abc import Generator

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen
from agentsim.styles.ai_sdk import (
    RETRY,
    end,
    failed,
    finish_reason,
    invalid,
    pending,
    read_limit,
    run_tools,
)

SDK = "@ai-sdk/workflow 2.0.43, ai 7.0.112"


def not_implemented(run: Run) -> Generator[Action, Event, Outcome]:
    """`generate()` of 2.0.43 throws whatever is set."""
    return run.threw("Error", "Not implemented", "not_implemented")
    yield


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of WorkflowAgent.stream."""
    while True:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            return failed(run, seen)
        finish = finish_reason(seen)
        goes_on = finish in ("tool-calls", "stop")
        outputs = (yield from run_tools(run, seen, finish)) if goes_on else []
        run.count += 1
        if not goes_on or not all(outputs) or not (seen.calls or pending(run, seen)):
            return end(run, seen, finish)
        if run.limit is not None and run.count == run.limit:
            return end(run, seen, finish, ended="limit")
        send_back(run, seen, outputs)


def send_back(run: Run, seen: Seen, outputs: list[ToolResult | None]) -> None:
    """Valid calls stay in place, invalid ones move to the end of the message, and so do their results."""
    valid = [(call, out) for call, out in zip(seen.calls, outputs, strict=True) if invalid(run, call) is None]
    broken = [(call, out) for call, out in zip(seen.calls, outputs, strict=True) if invalid(run, call) is not None]
    ordered = [*valid, *broken]
    others = [b for b in seen.reply.blocks if not isinstance(b, ToolCall)]
    calls = [ToolCall(call.id, call.name, call.raw if call.is_object else "{}") for call, _ in ordered]
    run.history.append(Message("assistant", (*others, *calls)))
    run.answer_with([out for _, out in ordered if out is not None])


STYLES = (
    Style(
        name="ai-sdk/WorkflowAgent.generate",
        sdk=SDK,
        unit="step",
        knob="stopWhen: isStepCount(n)",
        default=None,
        loop=not_implemented,
        checks="never: this version throws whatever is set",
        at_limit='throws Error "Not implemented"',
        signal="none",
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=False,
        read_limit=read_limit,
    ),
    Style(
        name="ai-sdk/WorkflowAgent.stream",
        sdk=SDK,
        unit="step",
        knob="stopWhen: isStepCount(n)",
        default=None,
        loop=loop,
        checks="after the step's tools ran, and only where the loop would go on",
        at_limit='returns the last step; finishReason "tool-calls" is the only sign',
        signal='finishReason == "stop"',
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=True,
        read_limit=read_limit,
    ),
)
