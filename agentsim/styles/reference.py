"""The reference loop: what a careful engineer would ship.

Each rule is here because public loops break it:

* Calls of one reply run side by side, and **all results go back in one message**, in the order of the calls: providers refuse a
  history in which a call is left unanswered, and split results teach models not to make parallel calls.
* An unknown tool, a tool that throws, arguments that are no JSON or don't fit the schema: an **error result**, and the loop goes
  on. The model can mend its own mistake; an exception loses the run.
* A reply that stopped on the output limit or the context window may hold a call that *looks* whole and is not
  (`{"order_id": 4` of 42, repaired by a client to `{"order_id": 4}`): **cut calls never run**, and get an error result. When
  nothing but text was cut there is nothing to mend: the caller is told.
* `pause_turn` is not an answer: the paused reply goes back **unchanged and last**, and that costs one call of the limit, so that an
  endless pause ends.
* **The blocks count, not the stop reason**: calls beside `end_turn` are run; `tool_use` without a call is an error, since
  asking again with nothing new would be an endless loop, and returning it would be a lie.
* Two calls with one id in one reply can't be answered apart: nothing of that reply runs.
* A refusal, a cut text, a full context window, an empty reply are **no answers**, whatever the text says: they raise. An empty
  reply is asked again once, since it does happen after tool results.
* Transient faults (408, 409, 429, 5xx, lost connections, broken streams) are sent again, at most twice: nothing of a broken reply
  has run by then, so no tool runs twice. Client errors are not.
* **The limit fails loudly**, and before the last reply's tools run: nobody would read their results, so a side effect would be lost.
* A tool without an implementation on this side is handed back after its siblings ran; a return-direct tool's result ends the run
  where every call of the reply was such a one and none failed.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import partial
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome, ToolRun
from agentsim.core.messages import ToolResult
from agentsim.core.run import Failed, Retry, Run, Settled, fault_ending
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen, SeenCall

RETRY = Retry(retries=2)


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the reference loop; the module's docstring says why each rule is there."""
    asked_again = False
    broken = 0
    while True:
        if run.limit is not None and run.count >= run.limit:
            return _limit(run)
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            if seen.fault.in_stream and broken < RETRY.retries:
                broken += 1
                continue
            return _failed(run, seen)
        run.count += 1
        if ending := _unfinished(run, seen):
            return ending
        run.reply_with(seen)
        if not seen.calls:
            if seen.stop in ("pause_turn", "compaction"):
                continue
            if seen.text:
                return run.returned(seen.text, seen.stop)
            if asked_again:
                return run.threw("EmptyReply", "the model answered nothing, twice", "empty")
            asked_again = True
            run.say("Your reply was empty. Please answer.")
            continue
        if not seen.cut and run.limit is not None and run.count >= run.limit:
            return _limit(run)
        settled = yield from run.settle(seen.calls, partial(_refuse, run, seen), _render)
        run.answer_with(settled.results)
        if ending := _early_end(run, seen, settled):
            return ending


def _limit(run: Run) -> Outcome:
    limit = run.limit
    return run.threw("LimitReached", f"{limit:g} model calls were not enough to finish", "limit")


def _failed(run: Run, failed: Failed) -> Outcome:
    if failed.aborted:
        return run.threw("Aborted", "the caller gave up", "aborted")
    fault = failed.fault
    status = f"{fault.status} " if fault.status else ""
    return run.threw("ModelFailed", f"{status}{fault.type}: {fault.message}", fault_ending(fault))


def _unfinished(run: Run, seen: Seen) -> Outcome | None:
    """The endings that are no answers, before anything of the reply is run."""
    if seen.stop == "refusal" or seen.refusal is not None:
        return run.threw("Refused", seen.refusal or seen.text or "the model refused", "refusal")
    if seen.stop == "model_context_window_exceeded":
        return run.threw("ContextWindowFull", "the context window is full", "context_window")
    if seen.stop == "max_tokens" and not seen.calls:
        return run.threw("ReplyCut", "the output limit cut the reply", "max_tokens")
    if seen.stop == "tool_use" and not seen.calls:
        return run.threw("BadReply", "the reply stopped for a tool but calls none", "bad_call")
    if len(seen.calls) > 1 and len({call.id for call in seen.calls}) < len(seen.calls):
        return run.threw("BadReply", "two calls of one reply share an id", "bad_call")
    return None


def _refuse(run: Run, seen: Seen, call: SeenCall) -> ToolResult | None:
    """The error result of a call that must not run; None where it may, or where it is handed back."""
    if seen.cut:
        return _error(
            call, "The output limit cut this reply, so this call was not run. Send it again, with less in one reply."
        )
    problem = run.problem(call)
    if problem == "unknown":
        offered = ", ".join(run.tools) or "none"
        return _error(call, f"There is no tool {call.name!r}. Tools: {offered}.")
    if problem == "json":
        return _error(call, "The arguments are no valid JSON, so the tool was not run.")
    if problem is not None:
        return _error(call, f"The arguments don't fit the tool's {problem}")
    if run.tools[call.name].client:
        return ToolResult(call.id, None)
    return None


def _error(call: SeenCall, text: str) -> ToolResult:
    return ToolResult(call.id, text, is_error=True)


def _render(done: ToolRun) -> ToolResult:
    return ToolResult(done.call_id, as_text(done.output), is_error=done.is_error)


def as_text(value: Any) -> str:
    """A tool's output as the text that is sent: strings as they are, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _early_end(run: Run, seen: Seen, settled: Settled) -> Outcome | None:
    if seen.cut:
        return None
    specs = [run.tools.get(call.name) for call in seen.calls]
    if not any(spec is not None and (spec.client or spec.return_direct) for spec in specs):
        return None
    if any(spec.client and run.problem(call) is None for spec, call in zip(specs, seen.calls, strict=True) if spec):
        return run.returned(seen.text or None, seen.stop, done=False, ended="handed_back")
    if all(spec is not None and spec.return_direct for spec in specs) and not any(r.is_error for r in settled.results):
        return run.returned("\n".join(str(r.output) for r in settled.results), "tool_result", ended="tool_result")
    return None


STYLES = (
    Style(
        name="reference",
        sdk="agentsim",
        unit="model call",
        knob="limit",
        default=10,
        loop=loop,
        checks="before each call, and before the tools of the last allowed reply",
        at_limit="raises LimitReached",
        signal="returns; everything unfinished raises",
        wires=(ANTHROPIC, RESPONSES, CHAT),
        streams=None,
    ),
)
