"""The drivers: ask the loop what it wants, do it, say what happened. The only difference is who waits."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from agentsim.core.actions import Action, CallModel, RunTools, ToRun, Wait
from agentsim.core.events import Aborted, Event, ModelRequested, Outcome, RunFinished, RunStarted, Unbounded
from agentsim.core.loop import begin
from agentsim.core.run import Run, Setup
from agentsim.core.transcript import Transcript
from agentsim.drive.world import Output, World


def drive(setup: Setup, world: World) -> Transcript:
    """Run a loop to its end against a world.

    Args:
        setup: the style and what is settled before the run.
        world: what answers.
    Returns:
        All events of the run.
    """
    run, loop = begin(setup)
    events: list[Event] = [_started(setup)]
    event: Event | None = None
    while True:
        try:
            action = loop.send(event)  # type: ignore[arg-type]
        except StopIteration as stop:
            return _finished(events, run, stop.value, world)
        event = world.run_tools(action) if type(action) is RunTools else _without_tools(action, world, events)
        events.append(event)


async def adrive(setup: Setup, world: World) -> Transcript:
    """The same, awaiting tools that are coroutine functions; a round's calls then overlap as the SDK lets them."""
    run, loop = begin(setup)
    events: list[Event] = [_started(setup)]
    event: Event | None = None
    while True:
        try:
            action = loop.send(event)  # type: ignore[arg-type]
        except StopIteration as stop:
            return _finished(events, run, stop.value, world)
        event = await _run_tools(action, world) if type(action) is RunTools else _without_tools(action, world, events)
        events.append(event)


def _without_tools(action: Action, world: World, events: list[Event]) -> Event:
    """Carry out what needs no tools; a request is an event of its own, where it went out."""
    if type(action) is CallModel:
        event = world.reply(action)
        kind = type(event)
        if kind is not Unbounded and kind is not Aborted:
            events.append(ModelRequested(action.kept, action.new, action.agent, action.offered, action.thread))
        return event
    if type(action) is Wait:
        return world.wait(action)
    raise TypeError(f"a loop can't ask for {type(action).__name__}")


async def _run_tools(action: RunTools, world: World) -> Event:
    import asyncio

    outputs: list[Output] = []
    first = 0
    for size in action.batches or (len(action.calls),):
        gate = asyncio.Semaphore(action.workers or max(1, size))
        calls = action.calls[first : first + size]
        outputs += await asyncio.gather(*(_run_one(call, action.agent, world, gate) for call in calls))
        first += size
    return world.settle(action, outputs)


async def _run_one(call: ToRun, agent: str | None, world: World, gate: Any) -> Output:
    function = world.functions.get(call.name)
    if function is None or call.given is not None:
        return world.run(call, agent)
    async with gate:
        try:
            output = function(**call.input)
            return Output(await _value(output) if inspect.isawaitable(output) else output)
        except Exception as error:
            return Output(str(error), True, True)


async def _value(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _started(setup: Setup) -> Event:
    prompt = setup.prompts[0] if setup.prompts else None
    return RunStarted(prompt, setup.messages, setup.style.name, setup.limit)


def _finished(events: list[Event], run: Run, outcome: Outcome, world: World) -> Transcript:
    events.append(RunFinished(outcome, run.total + run.count, round(world.now, 9)))
    return Transcript(events)
