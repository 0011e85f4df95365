"""The workbench of a loop: history, counters, and the few steps that every SDK's loop is made of.

A loop is a generator function that gets a Run, yields actions and is sent events. It calls the model with
`yield from run.call(…)`, runs tools with `yield from run.settle(…)`, and returns an Outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.actions import Action, CallModel, RunTools, ToRun
from agentsim.core.events import (
    Aborted,
    Event,
    Fault,
    ModelFailed,
    ModelReplied,
    Outcome,
    OutOfScript,
    ToolRun,
    ToolsRan,
    Unbounded,
)
from agentsim.core.fate import fate
from agentsim.core.messages import Message, ToolResult, user_text
from agentsim.core.style import Style
from agentsim.core.tools import ToolSpec
from agentsim.core.wires import Seen, SeenCall, see


class Stopped(Exception):
    """The world ended the run (no more script, unbounded): no loop has a say in it."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Failed:
    """A model call that got no reply after all its attempts. `aborted`: the caller gave up instead."""

    fault: Fault
    attempts: int
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """Which faults a client sends again, and how often.

    Args:
        retries: of one model call, after the first attempt.
        statuses: below 500 that are sent again.
        server_errors: 500 and above too.
        connection: connections that end before headers too.
    """

    retries: int = 2
    statuses: frozenset[int] = frozenset({408, 409, 429})
    server_errors: bool = True
    connection: bool = True

    def again(self, fault: Fault, attempts: int) -> bool:
        """Whether a client sends the request once more after `attempts` attempts. A stream that has begun never is."""
        if attempts > self.retries or fault.in_stream:
            return False
        if fault.status is None:
            return self.connection
        return fault.status in self.statuses or (self.server_errors and fault.status >= 500)


NO_RETRY = Retry(0)

Checked = Callable[[SeenCall], ToolResult | None]


@dataclass(slots=True)
class Setup:
    """What is settled before a run starts.

    Args:
        style, wire, streamed: who loops, over what.
        limit: what `style.read_limit` made of the knob.
        tools: the client's tools by name; `server_tools` those that run at the provider.
        prompts: one run each, on one thread; empty where `messages` starts in the middle.
        options: what `style.configure` made of the option tree.
    """

    style: Style
    wire: str
    streamed: bool
    limit: float | None
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    server_tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    prompts: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    options: Any = None


class Run:
    """One run in the making. Loops read and write it; nobody else does.

    Attributes:
        history: the messages that the next request carries.
        count: units that the limit compares, completed so far in this prompt's run; `total`: in the runs before it.
        calls, requests, rounds: model calls, requests and tool rounds so far.
        last: the last reply.
        all_text, last_text: texts of all replies joined; of the last reply that had any.
    """

    __slots__ = (
        "_sent",
        "all_text",
        "calls",
        "count",
        "history",
        "last",
        "last_text",
        "limit",
        "options",
        "requests",
        "rounds",
        "server_tools",
        "setup",
        "streamed",
        "style",
        "tools",
        "total",
        "wire",
    )

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.style, self.wire, self.streamed = setup.style, setup.wire, setup.streamed
        self.limit, self.options = setup.limit, setup.options
        self.tools, self.server_tools = setup.tools, setup.server_tools
        self.history: list[Message] = list(setup.messages)
        self._sent = 0
        self.count: float = 0
        self.total: float = 0
        self.calls = self.requests = self.rounds = 0
        self.last: Seen | None = None
        self.all_text = self.last_text = ""

    # -- history ------------------------------------------------------------------------------------------------

    def begin(self, prompt: str) -> None:
        """A further prompt: a run of its own on the same thread, with a limit of its own."""
        self.total, self.count = self.total + self.count, 0
        self.all_text = self.last_text = ""
        self.last = None
        self.say(prompt)

    def say(self, text: str) -> None:
        """Append a user message of one text block."""
        self.history.append(user_text(text))

    def reply_with(self, seen: Seen) -> None:
        """Send the reply back as it came; a reply without content is not sent back."""
        if seen.reply.blocks:
            self.history.append(Message("assistant", seen.reply.blocks))

    def answer_with(self, results: Sequence[ToolResult]) -> None:
        """Append one user message with all results; none where there are none."""
        if results:
            self.history.append(Message("user", tuple(results)))

    def rewrite(self, kept: int, new: Sequence[Message] = ()) -> None:
        """Keep the first `kept` messages of the history and put `new` behind them."""
        self._sent = min(self._sent, kept)
        self.history[kept:] = new

    # -- the model ----------------------------------------------------------------------------------------------

    def request(self, after: float = 0.0) -> CallModel:
        """The next request: what is new since the one before."""
        kept, self._sent = self._sent, len(self.history)
        self.requests += 1
        return CallModel(kept, tuple(self.history[kept:]), after)

    def call(self, retry: Retry = NO_RETRY) -> Generator[Action, Event, Seen | Failed]:
        """Call the model, with the client's retries.

        Returns:
            The reply as this wire's client sees it, or Failed.
        """
        attempts, after = 0, 0.0
        while True:
            event = yield self.request(after)
            attempts += 1
            if type(event) is ModelReplied:
                return self._took(see(event.reply, self.wire, self.streamed))
            if type(event) is ModelFailed:
                if not retry.again(event.fault, attempts):
                    return Failed(event.fault, attempts)
                after = event.fault.retry_after or 0.0
            elif type(event) is Aborted:
                return Failed(Fault(type="aborted"), attempts, aborted=True)
            else:
                raise Stopped(self._stopped(event))

    def _took(self, seen: Seen) -> Seen:
        self.calls += 1
        self.last = seen
        if seen.text:
            self.last_text = seen.text
            self.all_text += seen.text
        return seen

    def _stopped(self, event: Event) -> Outcome:
        if type(event) is OutOfScript:
            return Outcome("out_of_script", "stopped")
        if type(event) is Unbounded:
            return Outcome("unbounded", "stopped")
        raise TypeError(f"{type(event).__name__} does not answer a model request")

    # -- tools --------------------------------------------------------------------------------------------------

    def use(
        self,
        calls: Sequence[ToRun],
        *,
        batches: Sequence[int] = (),
        workers: int | None = None,
        eager: bool = False,
    ) -> Generator[Action, Event, tuple[ToolRun, ...]]:
        """Run tools. One tool round where there is at least one."""
        if not calls:
            return ()
        event = yield RunTools(tuple(calls), tuple(batches), workers, eager)
        if type(event) is not ToolsRan:
            raise Stopped(self._stopped(event))
        self.rounds += 1
        return event.runs

    def settle(
        self,
        calls: Sequence[SeenCall],
        refuse: Checked,
        render: Callable[[ToolRun], ToolResult],
        *,
        sequential: bool = False,
        workers: int | None = None,
    ) -> Generator[Action, Event, Settled]:
        """Answer a reply's calls: those that `refuse` answers are not run, the others are.

        Args:
            calls: the reply's calls.
            refuse: a call's result where it is not run (unknown tool, bad input), else None.
            render: a run's result.
            sequential: one after the other; otherwise side by side.
            workers: how many at once.
        Returns:
            The results in the order of the calls, and the runs.
        """
        results: list[ToolResult | None] = [refuse(call) for call in calls]
        due = [call for call, result in zip(calls, results, strict=True) if result is None]
        runs = yield from self.use(
            [ToRun(call.id, call.name, call.arguments) for call in due],
            batches=(1,) * len(due) if sequential else (),
            workers=workers,
        )
        rendered = iter([render(run) for run in runs])
        return Settled(tuple(r if r is not None else next(rendered) for r in results), runs)

    def problem(self, call: SeenCall) -> str | None:
        """Why a careful client would not run this call: "unknown", "json" or "schema: …"; None where it would."""
        spec = self.tools.get(call.name)
        if spec is None:
            return "unknown"
        if call.broken:
            return "json"
        wrong = spec.problem(call.arguments)
        return None if wrong is None else f"schema: {wrong}"

    # -- the end ------------------------------------------------------------------------------------------------

    def returned(
        self,
        text: str | None,
        finish: str | None = None,
        *,
        done: bool = True,
        ended: str | None = None,
        reported: int | None = None,
        bad_call: bool = False,
        dropped: bool = False,
    ) -> Outcome:
        """The SDK returned. `ended` None: the last reply's fate; `done`: the SDK's own signal says that it finished."""
        if ended is None:
            ended = fate(self.last, bad_call=bad_call, dropped=dropped) if self.last is not None else "empty"
        return Outcome(ended, "answer" if done else "stopped", finish, text, reported_count=reported)

    def threw(
        self,
        type_: str,
        message: str,
        ended: str | None = None,
        *,
        finish: str | None = None,
        text: str | None = None,
        reported: int | None = None,
        bad_call: bool = False,
        dropped: bool = False,
    ) -> Outcome:
        """The SDK threw, or emitted an error. `ended` None: the last reply's fate."""
        if ended is None:
            ended = fate(self.last, bad_call=bad_call, dropped=dropped) if self.last is not None else "empty"
        return Outcome(ended, "error", finish, text, type_, message, reported)


@dataclass(frozen=True, slots=True)
class Settled:
    """A reply's calls, answered: `results` in their order, `runs` those that were run."""

    results: tuple[ToolResult, ...]
    runs: tuple[ToolRun, ...]


def fault_ending(fault: Fault) -> str:
    """The contract's `ended` of a run that a fault ended."""
    return "broken_stream" if fault.in_stream else "http_error"
