"""The workbench of a loop: history, counters, and the few steps that every SDK's loop is made of.

A loop is a generator function that gets a Run, yields actions and is sent events. It calls the model with
`yield from run.call(…)`, runs tools with `yield from run.settle(…)`, and returns an Outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.actions import Action, CallModel, RunTools, ToRun, Wait
from agentsim.core.events import (
    Aborted,
    Event,
    Fault,
    ModelFailed,
    ModelReplied,
    Outcome,
    OutOfScript,
    TimedOut,
    ToolRun,
    ToolsRan,
    Unbounded,
)
from agentsim.core.fate import fate
from agentsim.core.messages import Message, Reply, ToolResult, Usage, user_text
from agentsim.core.style import Style
from agentsim.core.tools import AgentSpec, Decision, ToolSpec
from agentsim.core.value import value
from agentsim.core.wires import Seen, SeenCall, arrived, see


class Stopped(Exception):
    """The world ended the run (no more script, unbounded): no loop has a say in it."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


@value
class Failed:
    """A model call that got no reply after all its attempts. `aborted`, `timed_out`: the caller gave up instead."""

    fault: Fault
    attempts: int
    aborted: bool = False
    timed_out: bool = False


@value
class Retry:
    """Which faults a client sends again, and how often.

    Args:
        retries: of one model call, after the first attempt.
        statuses: below 500 that are sent again.
        server_errors: 500 and above too.
        connection: connections that end before headers too.
        before_output: streams that fail or are reset before the first character too; other streams that began never are.
    """

    retries: int = 2
    statuses: frozenset[int] = frozenset({408, 409, 429})
    server_errors: bool = True
    connection: bool = True
    before_output: bool = False

    def again(self, fault: Fault, attempts: int) -> bool:
        """Whether a client sends the request once more after `attempts` attempts."""
        if attempts > self.retries:
            return False
        if fault.in_stream:
            return self.before_output and fault.after_characters == 0 and fault.disconnect != "end"
        if fault.status is None:
            return self.connection
        return fault.status in self.statuses or (self.server_errors and fault.status >= 500)

    def wait(self, fault: Fault) -> float:
        """Seconds that the client waits before it does: what the provider asks for; unstated back-off counts 0."""
        return fault.retry_after or 0.0

    def whole(self, fault: Fault) -> bool:
        """Whether the request that is sent again after this fault asks for the reply in one piece: a stream's last resort."""
        return False


NO_RETRY = Retry(0)

Checked = Callable[[SeenCall], ToolResult | None]
Steps = Generator[Action, Event, Any]


@dataclass(slots=True)
class Setup:
    """What is settled before a run starts.

    Args:
        style, wire, streamed: who loops, over what.
        limit: what `style.read_limit` made of the knob.
        agent: the main agent: its tools and handoffs.
        server_tools: tools that run at the provider, by name.
        agents: the other agents by name.
        prompts: one run each, on one thread; empty where `messages` starts in the middle.
        approvals: the answers of each resume, in order; None: each tool's own `approved` answers.
        output: says what is wrong with a structured output; None where none is asked for. `output_title`: of its schema.
        price: USD per million tokens, input and output.
        options: what `style.configure` made of the option tree.
        limit_is_default: nobody set the knob; its default may mean more than the same value does.
    """

    style: Style
    wire: str
    streamed: bool
    limit: float | None
    agent: AgentSpec = field(default_factory=AgentSpec)
    server_tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    prompts: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    approvals: tuple[tuple[Decision, ...], ...] | None = None
    output: Callable[[Any], str | None] | None = None
    price: tuple[float, float] | None = None
    options: Any = None
    limit_is_default: bool = False
    output_title: str | None = None


@dataclass(slots=True)
class Ledger:
    """What a run and the runs of its subagents share.

    Args:
        clock: virtual seconds so far.
        cost: USD so far; 0 without a price.
        threads: conversations so far.
        resumes: resumes so far.
    """

    clock: float = 0.0
    cost: float = 0.0
    threads: int = 1
    resumes: int = 0


class Run:
    """One run in the making. Loops read and write it; nobody else does.

    Attributes:
        history: the messages that the next request carries.
        count: units that the limit compares, completed so far in this prompt's run; `total`: in the runs before it.
        calls, requests, rounds: model calls, requests and tool rounds so far.
        last: the last reply; `broken_off`: it is what had arrived of a stream that broke.
        all_text, last_text: texts of all replies joined; of the last reply that had any.
        agent: whose turn it is; `tools` are its tools.
        offered: names of the tools in the next requests; None: all of the agent's. `output_tool`: see CallModel.
        ledger: clock and cost, shared with subagents.
        memory: whatever a loop keeps over the prompts of one thread.
        aborted, timed_out: the caller gave up, or its timer went off, while tools ran.
    """

    __slots__ = (
        "_sent", "aborted", "agent", "all_text", "broken_off", "calls", "count", "history", "last", "last_text", "ledger", "limit",
        "memory", "offered", "options", "output_tool", "requests", "rounds", "server_tools", "setup", "streamed", "style",
        "thread", "timed_out", "tools", "total", "wire",
    )  # fmt: skip

    def __init__(self, setup: Setup, agent: AgentSpec | None = None, ledger: Ledger | None = None) -> None:
        self.setup = setup
        self.style, self.wire, self.streamed = setup.style, setup.wire, setup.streamed
        self.limit, self.options, self.server_tools = setup.limit, setup.options, setup.server_tools
        if self.options is None and setup.style.configure is not None:
            self.options = setup.style.configure({})
        self.agent = agent or setup.agent
        self.tools = self.agent.tools
        self.ledger = ledger or Ledger()
        self.thread = 0
        self.history: list[Message] = [] if agent else list(setup.messages)
        self.offered: tuple[str, ...] | None = None
        self.output_tool: str | None = None
        self._sent = 0
        self.count: float = 0
        self.total: float = 0
        self.calls = self.requests = self.rounds = 0
        self.last: Seen | None = None
        self.all_text = self.last_text = ""
        self.memory: dict[str, Any] = {}
        self.aborted = self.timed_out = self.broken_off = False

    # -- several agents, prompts and resumes --------------------------------------------------------------------

    def child(self, agent: AgentSpec) -> Run:
        """A run of another agent with a history of its own; clock and cost are shared."""
        child = Run(self.setup, agent, self.ledger)
        child.thread = self.ledger.threads
        self.ledger.threads += 1
        child.limit = agent.limit
        return child

    def hand_over(self, agent: AgentSpec) -> None:
        """The other agent goes on with this history."""
        self.agent, self.tools = agent, agent.tools

    def begin(self, prompt: str) -> None:
        """A further prompt: a run of its own on the same thread, with a limit of its own."""
        self.total, self.count = self.total + self.count, 0
        self.all_text = self.last_text = ""
        self.last = None
        self.say(prompt)

    def next_answers(self, waiting: Sequence[SeenCall]) -> tuple[Decision, ...] | None:
        """What the next resume says to calls that wait for an approval; None: nobody resumes.

        `approvals` of the scenario are taken one list a resume; without them each waiting call gets what its tool's
        `approved` says, all in one resume, and a tool that says nothing leaves the run waiting.
        """
        scripted = self.setup.approvals
        at, self.ledger.resumes = self.ledger.resumes, self.ledger.resumes + 1
        if scripted is not None:
            return scripted[at] if at < len(scripted) else None
        answers = []
        for call in waiting:
            spec = self.tools.get(call.name)
            approval = spec.approval if spec is not None else None
            if approval is not None and approval.kind != "none":
                answers.append(Decision(approval.kind, call.id, approval.message, approval.input))
        return tuple(answers) or None

    # -- history ------------------------------------------------------------------------------------------------

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
        """Keep the first `kept` messages of the history and put `new` behind them; what is the same there was sent before."""
        same = kept
        for old, now in zip(self.history[kept:], new, strict=False):
            if old != now:
                break
            same += 1
        self._sent = min(self._sent, same)
        self.history[kept:] = new

    def send_anew(self) -> None:
        """The next request has nothing of the one before: the SDK words the same history in another way."""
        self._sent = 0

    # -- the model ----------------------------------------------------------------------------------------------

    def request(
        self, after: float = 0.0, deadline: float | None = None, whole: bool = False, same: bool = False
    ) -> CallModel:
        """The next request: what is new since the one before."""
        kept, self._sent = self._sent, len(self.history)
        self.requests += 1
        new, name = tuple(self.history[kept:]), self.agent.name or None
        return CallModel(kept, new, after, name, self.offered, self.output_tool, deadline, self.thread, whole, same)

    def call(
        self, retry: Retry = NO_RETRY, *, deadline: float | None = None, whole: bool = False, same: bool = False
    ) -> Generator[Action, Event, Seen | Failed]:
        """Call the model, with the client's retries.

        Args:
            retry: which faults are sent again.
            deadline: clock time at which the caller's timer goes off.
            whole: ask for the reply in one piece, also where the loop streams.
            same: see CallModel.
        Returns:
            The reply as this wire's client sees it, or Failed.
        """
        attempts, after = 0, 0.0
        while True:
            event = yield self.request(after, None if deadline is None else deadline - self.ledger.clock, whole, same)
            attempts += 1
            if type(event) is ModelReplied:
                self.ledger.clock += after + event.seconds
                return self._took(event.reply)
            if type(event) is ModelFailed:
                self.ledger.clock += after + event.seconds
                if not retry.again(event.fault, attempts):
                    return Failed(event.fault, attempts)
                after, whole = retry.wait(event.fault), retry.whole(event.fault)
            elif type(event) is Aborted:
                return Failed(Fault(type="aborted"), attempts, aborted=True)
            elif type(event) is TimedOut:
                self.ledger.clock += event.seconds
                return Failed(Fault(type="timeout"), attempts, timed_out=True)
            else:
                raise Stopped(self._stopped(event))

    def partly(self, fault: Fault, *, finished: bool = False) -> tuple[Seen, bool]:
        """What had arrived of a reply that broke off, as the last reply; and whether its last block is unfinished.

        Args:
            finished: leave an unfinished block out.
        """
        reply, unfinished = arrived(fault)
        self.broken_off = True
        if finished and unfinished:
            reply = Reply(reply.blocks[:-1], None)
        return self._saw(reply), unfinished

    def _took(self, reply: Reply) -> Seen:
        self.calls += 1
        self.broken_off = False
        if self.setup.price is not None:
            self.ledger.cost += cost_of(reply.usage, self.setup.price)
        return self._saw(reply)

    def _saw(self, reply: Reply) -> Seen:
        self.last = seen = see(reply, self.wire, self.streamed)
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

    # -- time ---------------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> Steps:
        """Let virtual time pass; negative seconds go back to where a parallel branch began."""
        if seconds:
            yield Wait(seconds)
            self.ledger.clock += seconds

    def side_by_side(self, branches: Sequence[Callable[[], Steps]]) -> Generator[Action, Event, list[Any]]:
        """Run branches that overlap: each begins where the first began, and time goes on when the last has ended."""
        begin, end, results = self.ledger.clock, self.ledger.clock, []
        for branch in branches:
            yield from self.wait(begin - self.ledger.clock)
            results.append((yield from branch()))
            end = max(end, self.ledger.clock)
        yield from self.wait(end - self.ledger.clock)
        return results

    # -- tools --------------------------------------------------------------------------------------------------

    def use(
        self,
        calls: Sequence[ToRun],
        *,
        batches: Sequence[int] = (),
        workers: int | None = None,
        eager: bool = False,
        deadline: float | None = None,
        same_round: bool = False,
    ) -> Generator[Action, Event, tuple[ToolRun, ...]]:
        """Run tools; one tool round where there is at least one.

        Args:
            calls: in order of start.
            batches, workers, eager: see RunTools.
            deadline: clock time at which the caller's timer goes off.
            same_round: calls of the same reply ran before.
        Returns:
            The runs in that order. Where the caller gave up meanwhile, those that ended, and `aborted` or `timed_out` is set.
        """
        if not calls:
            return ()
        left = None if deadline is None else deadline - self.ledger.clock
        event = yield RunTools(tuple(calls), tuple(batches), workers, eager, self.agent.name or None, left)
        kind = type(event)
        if kind is not ToolsRan:
            self.aborted, self.timed_out = kind is Aborted, kind is TimedOut
            if not (self.aborted or self.timed_out):
                raise Stopped(self._stopped(event))
        self.ledger.clock += event.seconds  # type: ignore[union-attr]
        runs: tuple[ToolRun, ...] = event.runs  # type: ignore[union-attr]
        self.rounds += bool(runs) and not same_round
        return runs

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
            The results in the order of the calls (those of runs that an abort cut off are missing), and the runs.
        """
        results: list[ToolResult | None] = [refuse(call) for call in calls]
        due = [call for call, result in zip(calls, results, strict=True) if result is None]
        runs = yield from self.use(
            [ToRun(call.id, call.name, call.arguments) for call in due],
            batches=(1,) * len(due) if sequential else (),
            workers=workers,
        )
        if len(runs) == len(results):
            return Settled(tuple([render(run) for run in runs]), runs)
        rendered = iter([render(run) for run in runs])
        settled = (r if r is not None else next(rendered, None) for r in results)
        return Settled(tuple(r for r in settled if r is not None), runs)

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
        ended = ended or self._fate(bad_call, dropped)
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
        ended = ended or self._fate(bad_call, dropped)
        return Outcome(ended, "error", finish, text, type_, message, reported)

    def _fate(self, bad_call: bool, dropped: bool) -> str:
        """What became of the last reply. Of a stream that broke off nobody knows that it was an answer."""
        ended = fate(self.last, bad_call=bad_call, dropped=dropped) if self.last is not None else "empty"
        return "broken_stream" if self.broken_off and ended in ("answer", "empty") else ended


@value
class Settled:
    """A reply's calls, answered: `results` in their order, `runs` those that were run."""

    results: tuple[ToolResult, ...]
    runs: tuple[ToolRun, ...]


def fault_ending(fault: Fault) -> str:
    """The contract's `ended` of a run that a fault ended."""
    return "broken_stream" if fault.in_stream else "http_error"


def cost_of(usage: Usage | None, price: tuple[float, float]) -> float:
    """USD of one reply. Without usage it has input 10 and output 5; cached input is charged as input.

    Args:
        usage: tokens of the reply.
        price: USD per million tokens, input and output.
    """
    usage = usage or Usage()
    tokens_in = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    return (tokens_in * price[0] + usage.output_tokens * price[1]) / 1e6
