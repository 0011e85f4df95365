"""A tool whose execute is another agent: `(await new ToolLoopAgent({…}).generate({prompt})).text`, as the AI SDK's users write it.

Not measured: nothing of it is the SDK's own but the agent's loop, whose steps are its own and whose cap is 20 or its `limit`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from agentsim.core.actions import Action, Given
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Run
from agentsim.styles._ai_sdk_calls import Call, thrown_text
from agentsim.styles._ai_sdk_options import Options

Loop = Callable[[Run], Generator[Action, Event, Outcome]]
DEFAULT_STEPS = 20


def run_agents(run: Run, calls: Sequence[Call], loop: Loop) -> Generator[Action, Event, list[Given | None]]:
    """The results of those calls whose tool is an agent, None for the others; the agents run side by side.

    Args:
        run: whose calls they are.
        calls: in order.
        loop: of an agent, ToolLoopAgent.generate's.
    """
    found: list[Given | None] = [None] * len(calls)
    agents = [at for at, call in enumerate(calls) if run.tools[call.name].agent is not None]
    if agents:
        begin = run.ledger.clock
        given = yield from run.side_by_side([partial(_run_agent, run, calls[at], loop) for at in agents])
        yield from run.wait(begin - run.ledger.clock)
        for at, result in zip(agents, given, strict=True):
            found[at] = result
    return found


def _run_agent(run: Run, call: Call, loop: Loop) -> Generator[Action, Event, Given]:
    agent = run.setup.agents[run.tools[call.name].agent or ""]
    child, begin = run.child(agent), run.ledger.clock
    child.limit = DEFAULT_STEPS if agent.limit is None else agent.limit
    child.streamed, child.options = False, Options()
    child.say(_prompt(call.input))
    outcome = yield from loop(child)
    seconds = run.ledger.clock - begin
    if outcome.error_type is not None:
        return Given(thrown_text(outcome.error_type, outcome.error_message or ""), is_error=True, seconds=seconds)
    return Given(outcome.final_text, seconds=seconds)


def _prompt(given: Any) -> str:
    """What the agent is asked: the only text of the input, or the input as JSON."""
    values = list(given.values()) if isinstance(given, dict) else [given]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(given, ensure_ascii=False)
