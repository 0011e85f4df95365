"""The drivers: ask the loop what it wants, do it, say what happened. The only difference is who waits."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from agentsim.core.actions import CallModel, Finish, RunTools, ToRun
from agentsim.core.events import Aborted, Event, ModelRequested, RunFinished, RunStarted, Unbounded
from agentsim.core.loop import State, advance, start
from agentsim.core.run import Setup
from agentsim.core.transcript import Transcript
from agentsim.drive.world import Output, World

#: Answers that say that the request never went out.
NOT_SENT = (Unbounded, Aborted)


def drive(setup: Setup, world: World) -> Transcript:
    """Run a loop to its end against a world.

    Args:
        setup: the style and what is settled before the run.
        world: what answers.
    Returns:
        All events of the run.
    """
    state = start(setup)
    events: list[Event] = [_started(setup)]
    while not isinstance(action := state.action, Finish):
        if isinstance(action, CallModel):
            event = world.reply(action)
            if type(event) not in NOT_SENT:
                events.append(ModelRequested(action.kept, action.new, action.agent, action.offered, action.thread))
        elif isinstance(action, RunTools):
            event = world.run_tools(action)
        else:
            event = world.wait(action)
        events.append(event)
        state = advance(state, event)
    return _finished(events, state, action, world)


async def adrive(setup: Setup, world: World) -> Transcript:
    """The same, awaiting tools that are coroutine functions; a round's calls then overlap as the SDK lets them."""
    state = start(setup)
    events: list[Event] = [_started(setup)]
    while not isinstance(action := state.action, Finish):
        if isinstance(action, CallModel):
            event = world.reply(action)
            if type(event) not in NOT_SENT:
                events.append(ModelRequested(action.kept, action.new, action.agent, action.offered, action.thread))
        elif isinstance(action, RunTools):
            event = await _run_tools(action, world)
        else:
            event = world.wait(action)
        events.append(event)
        state = advance(state, event)
    return _finished(events, state, action, world)


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


def _finished(events: list[Event], state: State, action: Finish, world: World) -> Transcript:
    events.append(RunFinished(action.outcome, state.count, round(world.now, 9)))
    return Transcript(events)
