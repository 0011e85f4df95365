"""What happened: the events that a run is a sequence of.

Every producer writes the same events: the loop under a style, somebody's agent seen over HTTP, a recorded log.
"""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Message, Reply
from agentsim.core.value import value


@value
class Fault:
    """A request that got no whole reply.

    Args:
        status: HTTP status; 200 for an error event or a disconnect inside a stream; None where no headers came.
        type: the provider's error type.
        message: the provider's words.
        retry_after: seconds that the provider asks to wait, if it does.
        after_characters: how much of `partial` arrived first; None where the fault came in place of a reply.
        disconnect: "end" or "reset" where the connection went away, "refuse" where there was none, "stall" where it stayed
            and nothing more came; else None.
        partial: the reply that was on its way.
    """

    status: int | None = None
    type: str = "api_error"
    message: str = ""
    retry_after: float | None = None
    after_characters: int | None = None
    disconnect: str | None = None
    partial: Reply | None = None

    @property
    def in_stream(self) -> bool:
        """Whether the reply had begun when the fault came."""
        return self.after_characters is not None


@value
class ToolRun:
    """One execution of a tool.

    Args:
        call_id, name: of the call that it answers.
        input: what the tool function received, a JSON value.
        output: what it returned, or the error's text.
        is_error: it threw, or returned an error result.
        raised: it threw.
        seconds: virtual time from the round's start to the end of this run.
        timed_out: it was given up after its time-out; `output` is None.
    """

    call_id: str
    name: str
    input: Any
    output: Any = None
    is_error: bool = False
    raised: bool = False
    seconds: float = 0.0
    timed_out: bool = False


@value
class Outcome:
    """How a run ended, in the words of the contract (`ended`, `returned`, `finish_reason` …).

    Args:
        ended: what stopped the run.
        returned: what the SDK's caller sees: "answer", "stopped" or "error".
        finish_reason: the SDK's own word.
        final_text: what the SDK returns or last streamed; None where it threw.
        error_type, error_message: of what was thrown or emitted.
        reported_count: the number that the SDK itself shows.
        handled: a user's own handler supplied the output.
    """

    ended: str
    returned: str
    finish_reason: str | None = None
    final_text: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    reported_count: int | None = None
    handled: bool = False


@value
class RunStarted:
    """A run begins. `messages` is the history before the prompt; `prompt` None resumes what was paused."""

    prompt: str | None = None
    messages: tuple[Message, ...] = ()
    style: str = ""
    limit: float | None = None


@value
class ModelRequested:
    """A request went out: the first `kept` messages of its thread's request before, then `new`. `agent`: whose it is."""

    kept: int
    new: tuple[Message, ...]
    agent: str | None = None
    offered: tuple[str, ...] | None = None
    thread: int = 0


@value
class ModelReplied:
    """The request before was answered. `seconds`: virtual time from request to the reply's end."""

    reply: Reply
    seconds: float = 0.0


@value
class ModelFailed:
    """The request before was not (wholly) answered."""

    fault: Fault
    seconds: float = 0.0


@value
class ToolsRan:
    """A reply's tools ran, in order of start. `seconds`: virtual time of the whole round after the reply's end."""

    runs: tuple[ToolRun, ...]
    seconds: float = 0.0


@value
class OutOfScript:
    """The script has nothing (more) to answer with: the run can't go on."""

    agent: str | None = None


@value
class Unbounded:
    """Nothing would ever stop this run; whoever drives it gave up."""


@value
class Aborted:
    """The caller gave up, before a request or while tools ran (`runs` are those that had started)."""

    runs: tuple[ToolRun, ...] = ()
    seconds: float = 0.0


@value
class TimedOut:
    """The caller's timer went off, before the reply came or while tools ran (`runs` are those that had ended)."""

    runs: tuple[ToolRun, ...] = ()
    seconds: float = 0.0


@value
class Waited:
    """Virtual time passed; negative: a parallel branch began anew where another one had begun."""

    seconds: float = 0.0


@value
class RunFinished:
    """The run is over."""

    outcome: Outcome
    count: float = 0
    seconds: float = 0.0


Event = (
    RunStarted
    | ModelRequested
    | ModelReplied
    | ModelFailed
    | ToolsRan
    | OutOfScript
    | Unbounded
    | Aborted
    | TimedOut
    | Waited
    | RunFinished
)
