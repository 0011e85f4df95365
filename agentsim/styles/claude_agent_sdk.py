"""The Claude Agent SDK (query in JavaScript and Python, ClaudeSDKClient): the loop of the bundled Claude Code.

Measured on @anthropic-ai/claude-agent-sdk 0.3.302 (CLI 2.1.302) and claude-agent-sdk 0.2.189 (CLI 2.1.332):

    turnCount = 1                                      # num_turns is another number: 1 + user messages that the loop emitted
    loop:
      stream a reply; each tool starts as soon as its block is whole (read-only ones side by side, others in order)
      the reply HAS tool_use blocks, whatever its stop_reason, refusal apart:
         finish them, one user message each;  turnCount += 1;  turnCount > maxTurns -> error_max_turns
         continue
      recoveries that call again without touching turnCount:
         cut text or full context: "Output token limit hit…", at most 3 in a row (a tool round resets it)
         refusal: once per user message
         empty or thinking-only: a nudge, once (a tool round resets it)
         tool_use without a block: once (CLI 2.1.332: twice)
      else: success, the text of the last reply (may be "")
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import strip_unknown
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Message, Part, RedactedThinking, Text, Thinking, ToolCall, ToolResult
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.style import Style
from agentsim.core.wires import Seen, SeenCall

CUTS = 3
RESUME = "Output token limit hit. Resume directly — no apology, no recap of what you were doing."
CLASSIFIER = "The previous response was stopped by a safety classifier."
NUDGE = "[Your previous response had no visible output. Please continue and produce a user-visible response.]"
MALFORMED = "Your last response failed to produce a valid tool call. Please try again."
INTERRUPTED = "Interrupted: the response was stopped by a safety classifier."


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the entry points differ.

    Args:
        python: query raises ResultError.
        throws: a single-shot query() throws after an error result; the client does not.
        malformed: how often a `tool_use` without a block is asked again.
    """

    python: bool
    throws: bool
    malformed: int


@dataclass(slots=True)
class Turns:
    """What the loop counts: user messages emitted, and the recoveries in a row."""

    users: int = 0
    cuts: int = 0
    refused: bool = False
    nudged: bool = False
    malformed: int = 0


class CliRetry(Retry):
    """What the CLI sends again: 10 times mostly, an overload twice, a bad request once more with a simpler `thinking`."""

    __slots__ = ("after_round", "entry")

    def __init__(self, entry: Entry, after_round: bool) -> None:
        super().__init__(10, frozenset({401, 408, 409, 429}))
        object.__setattr__(self, "entry", entry)
        object.__setattr__(self, "after_round", after_round)

    def again(self, fault: Fault, attempts: int) -> bool:
        """Whether the request is sent once more after `attempts` attempts."""
        if fault.status == 400:
            return attempts <= (2 if self.entry.python and self.after_round else 1)
        if fault.status == 529:
            return attempts <= 2
        return super().again(fault, attempts)


def agent(run: Run, entry: Entry) -> Generator[Action, Event, Outcome]:
    """One user message to its result."""
    turns = Turns()
    while True:
        seen = yield from run.call(CliRetry(entry, after_round=run.rounds > 0))
        if isinstance(seen, Failed):
            return failed(run, seen, turns, entry)
        if seen.calls:
            refused = seen.stop == "refusal"
            yield from tool_round(run, seen, turns, refused)
            if not refused:
                turns.cuts, turns.nudged, turns.malformed = 0, False, 0
                run.count += 1
                if run.limit is not None and run.count >= run.limit:
                    return over(run, turns, entry)
                continue
        again = recovery(run, seen, turns, entry)
        if isinstance(again, Outcome):
            return again
        if again is not None:
            if not seen.calls and again is not MALFORMED:
                send_back(run, seen)
            run.say(again)
            turns.users += 1
            continue
        run.count += 1
        return success(run, seen, turns, entry)


# -- endings --------------------------------------------------------------------------------------------------------


def success(run: Run, seen: Seen, turns: Turns, entry: Entry) -> Outcome:
    """The text of the last reply, whatever it stopped on; a pause that ends in a server tool call is an error."""
    last = seen.reply.blocks[-1] if seen.reply.blocks else None
    if seen.stop == "pause_turn" and last is not None and not isinstance(last, Text | Thinking | RedactedThinking):
        return result_error(run, entry, turns, "error_during_execution", "the paused reply ends in a server tool call")
    return run.returned(seen.text, "success", reported=1 + turns.users)


def over(run: Run, turns: Turns, entry: Entry) -> Outcome:
    """The cap: the last reply's tools have run."""
    text = f"Reached maximum number of turns ({run.limit:g})"
    turns.users = int(run.limit or 0)  # num_turns is the cap + 1 here, whatever was emitted
    return result_error(run, entry, turns, "error_max_turns", text, "limit")


def result_error(run: Run, entry: Entry, turns: Turns, subtype: str, text: str, ended: str | None = None) -> Outcome:
    """An error result; single-shot queries throw after it, the client hands it over."""
    reported = 1 + turns.users
    message = f"Claude Code returned an error result: {text}"
    if not entry.throws:
        return run.returned(None, subtype, done=False, ended=ended, reported=reported)
    if entry.python:
        return run.threw("ResultError", f"{message} (exit code: 1)", ended, finish=subtype, reported=reported)
    return run.threw("Error", message, ended, finish=subtype, reported=reported)


def failed(run: Run, failure: Failed, turns: Turns, entry: Entry) -> Outcome:
    """API errors are results of subtype success with is_error."""
    fault = failure.fault
    if failure.aborted:
        return result_error(run, entry, turns, "error_during_execution", "aborted", "aborted")
    text = f"API Error: {fault.status} {fault.message}"
    return result_error(run, entry, turns, "success", text, fault_ending(fault))


def recovery(run: Run, seen: Seen, turns: Turns, entry: Entry) -> str | Outcome | None:
    """What is said to the model where the reply is no end, an error result where that was said too often, else None."""
    if seen.cut:
        turns.cuts += 1
        if turns.cuts <= CUTS:
            return RESUME
        text = "API Error: Claude's response exceeded the 128000 output token maximum."
        if seen.stop == "model_context_window_exceeded":
            text = "API Error: The model has reached its context window limit."
        return result_error(run, entry, turns, "success", text)
    if seen.stop == "refusal":
        if not turns.refused:
            turns.refused = True
            return CLASSIFIER
        return result_error(run, entry, turns, "success", "API Error: safeguards flagged this message")
    if seen.stop == "tool_use":
        turns.malformed += 1
        if turns.malformed <= entry.malformed:
            return MALFORMED
        return result_error(
            run, entry, turns, "success", "The model's tool call could not be parsed (retry also failed)."
        )
    if not seen.text.strip() and seen.stop != "pause_turn" and not turns.nudged:
        turns.nudged = True
        return NUDGE
    return None


# -- tools ----------------------------------------------------------------------------------------------------------


def tool_round(run: Run, seen: Seen, turns: Turns, refused: bool) -> Generator[Action, Event, None]:
    """Tools start as their blocks arrive: read-only ones side by side, the others in order; results one message each."""
    refusals = [refusal(run, call) for call in seen.calls]
    due = [call for call, result in zip(seen.calls, refusals, strict=True) if result is None]
    inputs = [ToRun(c.id, c.name, strip_unknown(run.tools[c.name].schema, c.arguments)) for c in due]
    batches = read_only_batches([run.tools[call.name].read_only for call in due])
    runs = iter((yield from run.use(inputs, batches=batches, eager=True)))
    results = [result or render(next(runs)) for result in refusals]
    if refused:
        results = [ToolResult(result.call_id, INTERRUPTED, is_error=True) for result in results]
    turns.users += len(results)
    send_back(run, seen)
    run.answer_with(list({result.call_id: result for result in reversed(results)}.values())[::-1])


def read_only_batches(read_only: Sequence[bool]) -> tuple[int, ...]:
    """Sizes of the batches: neighbours that only read are one, every other call is one of its own."""
    batches: list[int] = []
    before = False
    for reads in read_only:
        if reads and before:
            batches[-1] += 1
        else:
            batches.append(1)
        before = reads
    return tuple(batches)


def refusal(run: Run, call: SeenCall) -> ToolResult | None:
    """The error result of a call that is not run; None where it is."""
    problem = run.problem(call)
    if problem is None:
        return None
    if problem == "unknown":
        text = f"<tool_use_error>Error: No such tool available: {call.name}</tool_use_error>"
    elif problem == "json":
        text = "<tool_use_error>InputValidationError: the input could not be parsed as JSON</tool_use_error>"
    else:
        text = f"Input validation error: {problem.removeprefix('schema: ')}"
    return ToolResult(call.id, text, is_error=True)


def render(done: ToolRun) -> ToolResult:
    """A tool's output as it is sent."""
    output = done.output if isinstance(done.output, str) else json.dumps(done.output, separators=(",", ":"))
    return ToolResult(done.call_id, output, is_error=done.is_error)


def send_back(run: Run, seen: Seen) -> None:
    """The reply as it is sent back: the first call of an id only, and no blank text."""
    parts: list[Part] = []
    ids: set[str] = set()
    for block in seen.reply.blocks:
        if isinstance(block, ToolCall):
            if block.id in ids:
                continue
            ids.add(block.id)
        if not (isinstance(block, Text) and not block.text.strip()):
            parts.append(block)
    if parts:
        run.history.append(Message("assistant", tuple(parts)))


def read_limit(value: Any) -> float | None:
    """0 is no cap, -1 is one call."""
    if not value:
        return None
    return float(max(1, int(value)))


def _style(name: str, entry: Entry) -> Style:
    def loop(run: Run) -> Generator[Action, Event, Outcome]:
        return agent(run, entry)

    python = not name.startswith("claude-agent-sdk-js")
    thrown = "query() then throws" if entry.throws else "nothing is raised"
    return Style(
        name=name,
        sdk=(
            "claude-agent-sdk 0.2.189 (CLI 2.1.332)"
            if python
            else "@anthropic-ai/claude-agent-sdk 0.3.302 (CLI 2.1.302)"
        ),
        unit="turn",
        knob="max_turns" if python else "maxTurns",
        default=None,
        loop=loop,
        checks="after each tool round",
        at_limit=f"a result of subtype error_max_turns; {thrown}",
        signal='subtype == "success" and not is_error',
        streams=True,
        read_limit=read_limit,
    )


STYLES = (
    _style("claude-agent-sdk-js/query", Entry(python=False, throws=True, malformed=1)),
    _style("claude-agent-sdk/query", Entry(python=True, throws=True, malformed=2)),
    _style("claude-agent-sdk/ClaudeSDKClient", Entry(python=True, throws=False, malformed=2)),
)
