"""What answers a simulated run: the scenario's script, its tools, and a virtual clock. No I/O, no real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.actions import CallModel, RunTools, ToRun, Wait
from agentsim.core.events import (
    Aborted,
    Event,
    ModelFailed,
    ModelReplied,
    OutOfScript,
    TimedOut,
    ToolRun,
    ToolsRan,
    Unbounded,
    Waited,
)
from agentsim.core.messages import Message, Reply
from agentsim.drive.clock import Arrival, arrival, schedule
from agentsim.scenario.model import FOREVER, INSTANT, Scenario, ScriptedReply, seen_instead
from agentsim.scenario.play import Played, Player, RequestView, ToolScripts

#: Under a limit that does fire, an endless script is still given up after so many requests: nobody waits for more.
PATIENCE = 50_000

#: What most replies have: everything arrives at once.
AT_ONCE = Arrival(0.0)

Function = Callable[..., Any]


class World:
    """Answers a loop's actions from a scenario.

    Args:
        scenario: whose script and tools answer.
        streamed: a fault inside a stream is only seen by who streams; others get the whole reply.
        max_calls: where no limit can ever fire, an endless script is given up after so many model requests.
        bounded: whether a limit can fire.
        functions: real implementations, by tool name, in place of the scenario's results.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        streamed: bool = False,
        max_calls: int = 100,
        bounded: bool = True,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        self.scenario = scenario
        self.player = Player(scenario)
        self.tools = ToolScripts(scenario)
        self.functions = functions or {}
        self.now = 0.0
        self.requests = 0
        self._streamed = streamed
        self._patience = PATIENCE if bounded else max_calls
        self._arrival = AT_ONCE
        #: nobody gives up while tools run, so a round that takes no time needs no schedule.
        self._timeless = scenario.abort is None
        self._looked_at = _looks_at_requests(scenario)
        self._threads: dict[int, list[Message]] = {}
        self._played: Played | None = None

    def reply(self, action: CallModel) -> Event:
        """The event that answers a model request."""
        abort = self.scenario.abort
        if abort is not None and abort.before_reply == self.requests + 1:
            return Aborted()
        self.now += action.after
        if not action.same:
            self._played = self.player.next_entry(action.agent, self._view(action) if self._looked_at else None)
        played = self._played
        if played is None:
            return OutOfScript(action.agent)
        entry = played.entry
        if entry.repeat == FOREVER and self.requests >= self._patience:
            return Unbounded()
        self.requests += 1
        if entry.pace is INSTANT and entry.chaos is None and played.reply is not None:
            self._arrival = AT_ONCE
            return ModelReplied(played.reply)
        return self._answer(played, action.deadline, self._streamed and not action.whole)

    def _answer(self, played: Played, deadline: float | None, streamed: bool) -> Event:
        chaos = played.entry.chaos
        fault = (
            played.fault
            if played.fault is None and chaos is None
            else seen_instead(played.entry, played.fault, streamed)
        )
        reply = played.reply if played.reply is not None else (played.fault.partial if played.fault else None)
        pace = played.entry.pace
        timeless = not (pace.first or pace.per_chunk or pace.tail) and chaos is None
        if fault is None and reply is not None and timeless:
            self._arrival = AT_ONCE
            return ModelReplied(reply)
        self._arrival = arrival(reply or Reply(), played.pace, played.characters_per_chunk)
        if chaos is not None:
            self._arrival = self._arrival.later(chaos.seconds)
        never = fault is not None and fault.disconnect == "stall"
        if deadline is not None and (never or self._arrival.seconds > deadline):
            self.now += max(0.0, deadline)
            return TimedOut(seconds=max(0.0, deadline))
        self.now += self._arrival.seconds
        if fault is not None:
            return ModelFailed(fault, self._arrival.seconds)
        assert reply is not None
        return ModelReplied(reply, self._arrival.seconds)

    def _view(self, action: CallModel) -> RequestView:
        """The request as conditions see it."""
        messages = self._threads.setdefault(action.thread, [])
        messages[action.kept :] = action.new
        return RequestView(messages, action.offered, output_tool=action.output_tool)

    def wait(self, action: Wait) -> Event:
        """Let virtual time pass."""
        self.now += action.seconds
        return Waited(action.seconds)

    # -- tools --------------------------------------------------------------------------------------------------

    def run_tools(self, action: RunTools) -> Event:
        """The event that answers a round of tools, run from the scenario's results or by plain functions."""
        return self.settle(action, [self.run(call, action.agent) for call in action.calls])

    def settle(self, action: RunTools, outputs: Sequence[Output]) -> Event:
        """The event of a round whose calls gave `outputs`."""
        if self._timeless:
            at_once = []
            for call, output in zip(action.calls, outputs, strict=True):
                if output.seconds:
                    break
                at_once.append(
                    ToolRun(call.call_id, call.name, call.input, output.value, output.is_error, output.raised)
                )
            else:
                return ToolsRan(tuple(at_once))
        ready, ended = None, 0.0
        if action.eager:
            ended = self._arrival.seconds
            ready = [self._arrival.calls[i] if i < len(self._arrival.calls) else ended for i in range(len(outputs))]
        outputs = [_in_time(output, call.timeout) for output, call in zip(outputs, action.calls, strict=True)]
        times = schedule([output.seconds for output in outputs], action.batches, action.workers, ready)
        runs = tuple(
            ToolRun(
                call.call_id, call.name, call.input, output.value, output.is_error, output.raised,
                max(0.0, end - ended), output.timed_out,
            )
            for call, output, (_, end) in zip(action.calls, outputs, times, strict=True)
        )  # fmt: skip
        seconds = max((run.seconds for run in runs), default=0.0)
        if action.deadline is not None and seconds > action.deadline:
            left = max(0.0, action.deadline)
            self.now += left
            started = tuple(run for run, (begin, _) in zip(runs, times, strict=True) if begin - ended <= left)
            return TimedOut(started, left)
        self.now += seconds
        abort = self.scenario.abort
        if abort is not None and abort.during in {call.name for call in action.calls}:
            return Aborted(runs, seconds)
        return ToolsRan(runs, seconds)

    def run(self, call: ToRun, agent: str | None) -> Output:
        """One run: a result that the loop made itself, a plain function's, or the scenario's."""
        if call.given is not None:
            return Output(call.given.output, call.given.is_error, False, call.given.seconds)
        function = self.functions.get(call.name) if self.functions else None
        if function is None:
            outcome, seconds = self.tools.outcome(call.name, call.input, agent)
            return Output(outcome.value, outcome.kind != "returns", outcome.kind == "raises", seconds)
        try:
            return Output(function(**call.input))
        except Exception as error:
            return Output(str(error), True, True)


@dataclass(slots=True)
class Output:
    """What one run gave. `seconds`: how long it took."""

    value: Any
    is_error: bool = False
    raised: bool = False
    seconds: float = 0.0
    timed_out: bool = False


def _in_time(output: Output, timeout: float | None) -> Output:
    if timeout is None or output.seconds <= timeout:
        return output
    return Output(None, True, False, timeout, timed_out=True)


def _looks_at_requests(scenario: Scenario) -> bool:
    """Whether some entry needs to see the request that it answers; where none does, none is shown to the script."""
    scripts = [scenario.script]
    if scenario.agents:
        scripts += [agent.script for agent in scenario.agents.values()]
    for script in scripts:
        for entry in script:
            if entry.when is not None or entry.request is not None or entry.extras:
                return True
            if type(entry) is ScriptedReply and entry.handoff:
                return True
    return False
