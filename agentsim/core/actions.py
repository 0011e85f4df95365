"""What a loop wants next. Drivers carry actions out and answer each with an event."""

from __future__ import annotations

from typing import Any

from agentsim.core.events import Outcome
from agentsim.core.messages import Message
from agentsim.core.value import value


@value
class CallModel:
    """Send a request: the first `kept` messages of the request before, then `new`.

    Args:
        kept: messages kept of the request before.
        new: messages that follow them.
        after: seconds to wait first (a provider's `retry_after`).
        agent: whose script answers; None is the main one.
        offered: names of the tools in the request; None: all of that agent's.
        output_tool: name of the tool by which structured output is asked for, if it is.
        deadline: the caller's timer goes off after so many seconds; None: never.
        thread: which conversation `kept` speaks of; 0 is the main one, a subagent's has a number of its own.
        whole: asks for the reply in one piece, also where the loop streams.
        same: the reply to the request before answers this one too: a text protocol asks twice for what a model says once.
    """

    kept: int
    new: tuple[Message, ...]
    after: float = 0.0
    agent: str | None = None
    offered: tuple[str, ...] | None = None
    output_tool: str | None = None
    deadline: float | None = None
    thread: int = 0
    whole: bool = False
    same: bool = False


@value
class ToRun:
    """A call that is to be run.

    Args:
        input: what the tool function gets, a JSON value.
        given: a result that the loop made itself (a subagent's, a hook's), in place of running the tool.
        timeout: seconds after which the run is given up; its output then is an error.
    """

    call_id: str
    name: str
    input: Any
    given: Given | None = None
    timeout: float | None = None


@value
class Given:
    """A tool run's result that no tool made."""

    output: Any
    is_error: bool = False
    seconds: float = 0.0


@value
class RunTools:
    """Run tools and say how they ran, in order.

    Args:
        calls: in the order in which they start.
        batches: sizes of the batches that follow each other; a batch's calls run side by side. Empty: one batch of all.
        workers: how many of a batch run at once; None: all.
        eager: calls start as soon as their block is whole, before the reply ends.
        agent: whose tools; None is the main one's.
        deadline: the caller's timer goes off after so many seconds; None: never.
    """

    calls: tuple[ToRun, ...]
    batches: tuple[int, ...] = ()
    workers: int | None = None
    eager: bool = False
    agent: str | None = None
    deadline: float | None = None


@value
class Wait:
    """Let virtual time pass: forward by `seconds`; negative: back to where a parallel branch began."""

    seconds: float


@value
class Finish:
    """The run is over."""

    outcome: Outcome


Action = CallModel | RunTools | Wait | Finish
