"""What answers a simulated run: the scenario's script, its tools, and a virtual clock. No I/O, no real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentsim.core.actions import CallModel, RunTools, ToRun
from agentsim.core.events import (
    Aborted,
    Event,
    ModelFailed,
    ModelReplied,
    OutOfScript,
    ToolRun,
    ToolsRan,
    Unbounded,
)
from agentsim.core.messages import Reply
from agentsim.drive.clock import Arrival, arrival, schedule
from agentsim.scenario.model import FOREVER, Scenario
from agentsim.scenario.play import Played, Player, RequestView, ToolScripts

#: Under a limit that does fire, an endless script is still given up after so many requests: nobody waits for more.
PATIENCE = 50_000

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
        self._arrival = Arrival(0.0)
        self._conversation = _Conversation(scenario)

    def reply(self, action: CallModel) -> Event:
        """The event that answers a model request."""
        abort = self.scenario.abort
        if abort is not None and abort.before_reply == self.requests + 1:
            return Aborted()
        self.now += action.after
        self._conversation.add(action)
        played = self.player.next_entry(action.agent, self._conversation.view(action))
        if played is None:
            return OutOfScript(action.agent)
        if played.repeat == FOREVER and self.requests >= self._patience:
            return Unbounded()
        self.requests += 1
        return self._answer(played)

    def _answer(self, played: Played) -> Event:
        fault = played.fault
        if fault is not None and fault.in_stream and not self._streamed and fault.partial is not None:
            fault = None
        reply = played.reply if played.reply is not None else (played.fault.partial if played.fault else None)
        self._arrival = arrival(reply or Reply(), played.pace, played.characters_per_chunk)
        self.now += self._arrival.seconds
        if fault is not None:
            return ModelFailed(fault, self._arrival.seconds)
        assert reply is not None
        return ModelReplied(reply, self._arrival.seconds)

    # -- tools --------------------------------------------------------------------------------------------------

    def run_tools(self, action: RunTools) -> Event:
        """The event that answers a round of tools, run from the scenario's results or by plain functions."""
        outputs = [self._run(call) for call in action.calls]
        return self.settle(action, outputs)

    def settle(self, action: RunTools, outputs: Sequence[tuple[Any, bool, bool, float]]) -> Event:
        """The event of a round whose calls gave `outputs`: (output, is_error, raised, seconds) each."""
        ready, ended = None, 0.0
        if action.eager:
            ended = self._arrival.seconds
            ready = [self._arrival.calls[i] if i < len(self._arrival.calls) else ended for i in range(len(outputs))]
        times = schedule([o[3] for o in outputs], action.batches, action.workers, ready)
        runs = tuple(
            ToolRun(call.call_id, call.name, call.input, output, is_error, raised, max(0.0, end - ended))
            for call, (output, is_error, raised, _), (_, end) in zip(action.calls, outputs, times, strict=True)
        )
        seconds = max((run.seconds for run in runs), default=0.0)
        self.now += seconds
        abort = self.scenario.abort
        if abort is not None and abort.during in {call.name for call in action.calls}:
            return Aborted(runs, seconds)
        return ToolsRan(runs, seconds)

    def scripted(self, call: ToRun) -> tuple[Any, bool, bool, float]:
        """What the scenario says that this run gives: (output, is_error, raised, seconds)."""
        outcome, seconds = self.tools.outcome(call.name, call.input)
        return outcome.value, outcome.kind != "returns", outcome.kind == "raises", seconds

    def _run(self, call: ToRun) -> tuple[Any, bool, bool, float]:
        function = self.functions.get(call.name)
        if function is None:
            return self.scripted(call)
        try:
            return function(**call.input), False, False, 0.0
        except Exception as error:
            return str(error), True, True, 0.0


class _Conversation:
    """The request's text, for the few scripts whose replies look at it; costs nothing where none does."""

    def __init__(self, scenario: Scenario) -> None:
        scripts = [scenario.script, *(agent.script for agent in scenario.agents.values())]
        self._looked_at = any(
            entry.when is not None or entry.request is not None or getattr(entry, "extras", ())
            for script in scripts
            for entry in script
        )
        self._messages: list[Any] = []

    def add(self, action: CallModel) -> None:
        if self._looked_at:
            self._messages[action.kept :] = action.new

    def view(self, action: CallModel) -> RequestView | None:
        return RequestView.of(self._messages, action.offered) if self._looked_at else None
