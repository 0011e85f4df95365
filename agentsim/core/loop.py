"""The pure loop: `start` and `advance` decide, drivers carry out.

A style's loop is a generator, which reads as the SDK's own algorithm but can be neither copied nor stored. `State` makes a
value of it: it keeps the events so far, and the generator that stands at its end. Advancing the newest state sends the
generator one event; advancing an older one replays its events into a new generator. So any prefix can be replayed or
branched, and a straight run costs one `send` an event. Drivers only go forward, so `begin` gives them the generator itself.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action, CallModel, Finish, RunTools, Wait
from agentsim.core.events import (
    Aborted,
    Event,
    ModelFailed,
    ModelReplied,
    Outcome,
    OutOfScript,
    TimedOut,
    ToolsRan,
    Unbounded,
    Waited,
)
from agentsim.core.run import Run, Setup, Stopped

_Log = tuple[Any, Event] | None


class State:
    """Where a run stands. Treat it as a value: advancing it never changes it.

    Attributes:
        setup: what was settled before the run.
        action: what the loop wants next.
        count: units of the limit completed so far.
        calls, requests, rounds: model calls, requests and tool rounds so far.
    """

    __slots__ = ("_live", "_log", "action", "calls", "count", "requests", "rounds", "setup")

    def __init__(self, setup: Setup, log: _Log, live: tuple[Run, Generator[Action, Event, Outcome]], action: Action):
        run = live[0]
        self.setup, self._log, self.action = setup, log, action
        self._live: tuple[Run, Generator[Action, Event, Outcome]] | None = live
        self.count, self.calls = run.total + run.count, run.calls
        self.requests, self.rounds = run.requests, run.rounds

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that led here, oldest first."""
        events: list[Event] = []
        log = self._log
        while log is not None:
            log, event = log[0], log[1]
            events.append(event)
        return tuple(reversed(events))

    def _take(self) -> tuple[Run, Generator[Action, Event, Outcome]]:
        if self._live is not None:
            live, self._live = self._live, None
            return live
        state = start(self.setup)
        for event in self.events:
            state = advance(state, event)
        return state._take()


def begin(setup: Setup) -> tuple[Run, Generator[Action, Event, Outcome]]:
    """A run for who only goes forward and answers each action with its event: the workbench and the generator.

    A `State` would be made for every event, for going back to.
    """
    run = Run(setup)
    return run, _whole_run(run)


def start(setup: Setup) -> State:
    """The state before anything happened; its `action` is the first thing that the loop wants."""
    run, loop = begin(setup)
    return State(setup, None, (run, loop), _next(loop, None))


def advance(state: State, event: Event) -> State:
    """What follows when `event` answers `state.action`.

    Raises:
        TypeError: the event does not answer that action, or the run is over.
    """
    _check(state.action, event)
    run, loop = state._take()
    return State(state.setup, (state._log, event), (run, loop), _next(loop, event))


def _next(loop: Generator[Action, Event, Outcome], event: Event | None) -> Action:
    try:
        return loop.send(event)  # type: ignore[arg-type]
    except StopIteration as stop:
        return Finish(stop.value)


def _check(action: Action, event: Event) -> None:
    kind = type(event)
    if type(action) is CallModel:
        if kind in (ModelReplied, ModelFailed, OutOfScript, Unbounded, Aborted, TimedOut):
            return
    elif type(action) is RunTools:
        if kind in (Aborted, TimedOut):
            return
        if isinstance(event, ToolsRan):
            if len(event.runs) == len(action.calls):
                return
            raise TypeError(f"{len(event.runs)} tool runs answer {len(action.calls)} calls")
    elif type(action) is Wait:
        if kind is Waited:
            return
    else:
        raise TypeError(f"the run is over, {kind.__name__} comes too late")
    raise TypeError(f"{kind.__name__} does not answer {type(action).__name__}")


def _whole_run(run: Run) -> Generator[Action, Event, Outcome]:
    """Every prompt starts a run of its own on the same thread; the last one's ending is told."""
    try:
        if not run.setup.prompts:
            return (yield from run.style.loop(run))
        outcome = None
        for prompt in run.setup.prompts:
            run.begin(prompt)
            outcome = yield from run.style.loop(run)
        assert outcome is not None
        return outcome
    except Stopped as stopped:
        return stopped.outcome
