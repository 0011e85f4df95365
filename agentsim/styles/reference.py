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
* **A person is asked before anything of the reply runs**, siblings included: a side effect can't be taken back when the answer is no. A rejection is
  an error result with the person's words. Where nobody answers the run is handed over as it stands.
* A handoff keeps the history and costs one call of the limit, counted across agents; an agent that is a tool has a history and a limit of its own.
* A structured output that does not fit is asked for again, once: the model reads what is wrong with it.
* Budgets of dollars and seconds raise too. Cost is looked at after each reply, before its tools run; time at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Failed, Retry, Run, fault_ending
from agentsim.core.scripted import check_keys
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, Seen
from agentsim.styles._reference_calls import Settled, offered, settle

RETRY = Retry(retries=2)


@dataclass(frozen=True, slots=True)
class Options:
    """Args: max_cost_usd, max_seconds: budgets of a run; None: none."""

    max_cost_usd: float | None = None
    max_seconds: float | None = None


@dataclass(slots=True)
class Patience:
    """What is done again, and how often it was."""

    empty: int = 0
    broken: int = 0
    misshaped: int = 0


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of the reference loop; the module's docstring says why each rule is there."""
    patience, budget = Patience(), run.options.max_cost_usd
    deadline = None if run.options.max_seconds is None else run.ledger.clock + run.options.max_seconds
    while True:
        run.offered = offered(run) if run.agent.handoffs else None
        if run.limit is not None and run.count >= run.limit:
            return _limit(run)
        seen = yield from run.call(RETRY, deadline=deadline)
        if isinstance(seen, Failed):
            if seen.fault.in_stream and patience.broken < RETRY.retries:
                patience.broken += 1
                continue
            return _failed(run, seen)
        run.count += 1
        if ending := _unfinished(run, seen) or (budget is not None and _over_budget(run, budget)):
            return ending
        if seen.calls and not seen.cut and run.limit is not None and run.count >= run.limit:
            return _limit(run)  # the reply is not kept: a further prompt would find its calls unanswered
        run.reply_with(seen)
        if not seen.calls:
            ending = _answered(run, seen, patience)
            if ending is not None:
                return ending
            continue
        settled = yield from settle(run, seen, loop, deadline)
        if ending := _early_end(run, seen, settled):
            return ending
        run.answer_with(settled.results)
        if settled.handed_over is not None:
            run.hand_over(settled.handed_over)


# -- endings --------------------------------------------------------------------------------------------------------


def _limit(run: Run) -> Outcome:
    return run.threw("LimitReached", f"{run.limit:g} model calls were not enough to finish", "limit")


def _over_budget(run: Run, most: float) -> Outcome | None:
    if run.ledger.cost < most:
        return None
    return run.threw("CostLimitReached", f"the run has cost {run.ledger.cost:.6f} of {most:g} USD", "cost")


def _failed(run: Run, failed: Failed) -> Outcome:
    if failed.aborted:
        return run.threw("Aborted", "the caller gave up", "aborted")
    if failed.timed_out:
        return run.threw("TimeLimitReached", f"the run took {run.options.max_seconds:g} seconds", "timeout")
    fault = failed.fault
    status = f"{fault.status} " if fault.status else ""
    return run.threw("ModelFailed", f"{status}{fault.type}: {fault.message}", fault_ending(fault))


def _unfinished(run: Run, seen: Seen) -> Outcome | None:
    """The endings that are no answers, before anything of the reply is run."""
    calls, stop = seen.calls, seen.stop
    if stop == "refusal" or seen.refusal is not None:
        return run.threw("Refused", seen.refusal or seen.text or "the model refused", "refusal")
    if stop == "model_context_window_exceeded":
        return run.threw("ContextWindowFull", "the context window is full", "context_window")
    if stop == "max_tokens" and not calls:
        return run.threw("ReplyCut", "the output limit cut the reply", "max_tokens")
    if stop == "tool_use" and not calls:
        return run.threw("BadReply", "the reply stopped for a tool but calls none", "bad_call")
    if len(calls) > 1 and len({call.id for call in calls}) < len(calls):
        return run.threw("BadReply", "two calls of one reply share an id", "bad_call")
    return None


def _answered(run: Run, seen: Seen, patience: Patience) -> Outcome | None:
    """A reply without calls: the answer, or None where the model is asked again."""
    if seen.stop in ("pause_turn", "compaction"):
        return None
    if not seen.text:
        patience.empty += 1
        if patience.empty > 1:
            return run.threw("EmptyReply", "the model answered nothing, twice", "empty")
        run.say("Your reply was empty. Please answer.")
        return None
    wrong = _misshaped(run, seen.text)
    if wrong is None:
        return run.returned(seen.text, seen.stop)
    patience.misshaped += 1
    if patience.misshaped > 1:
        return run.threw("OutputInvalid", wrong)
    run.say(f"Your answer does not have the shape that was asked for: {wrong}. Please answer again.")
    return None


def _misshaped(run: Run, text: str) -> str | None:
    """What is wrong with a structured output; None where nothing is, or where none was asked for."""
    if run.setup.output is None or run.thread:
        return None
    try:
        return run.setup.output(json.loads(text))
    except ValueError:
        return "it is no JSON"


def _early_end(run: Run, seen: Seen, settled: Settled) -> Outcome | None:
    """The endings between a reply's calls and the next request."""
    if settled.unanswered:
        return run.returned(seen.text or None, "approval", done=False, ended="approval")
    if run.aborted:
        return run.threw("Aborted", "the caller gave up", "aborted")
    if run.timed_out:
        return run.threw("TimeLimitReached", f"the run took {run.options.max_seconds:g} seconds", "timeout")
    if seen.cut:
        return None
    direct = True
    for call in seen.calls:
        spec = run.tools.get(call.name)
        if spec is not None and spec.client and run.problem(call) is None:
            return run.returned(seen.text or None, seen.stop, done=False, ended="handed_back")
        direct = direct and spec is not None and spec.return_direct
    if direct and not any(result.is_error for result in settled.results):
        text = "\n".join(str(result.output) for result in settled.results)
        return run.returned(text, "tool_result", ended="tool_result")
    return None


def configure(tree: Mapping[str, Any]) -> Options:
    """The option tree: budgets, both numbers above 0."""
    check_keys(tree, "", ("max_cost_usd", "max_seconds"))
    for key, value in tree.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ValueError(f"{key}: expected a number above 0, but {value!r} came")
    return Options(tree.get("max_cost_usd"), tree.get("max_seconds"))


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
        options={
            "max_cost_usd": "USD after which CostLimitReached is raised; needs `price`",
            "max_seconds": "virtual seconds after which TimeLimitReached is raised",
        },
        configure=configure,
        reads_anything=True,
    ),
)
