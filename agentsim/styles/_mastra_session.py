"""One run of Mastra's agent in the making: its message list, its texts, its hooks, and the calls that wait for an approval."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Part, ServerCall, ServerResult, ToolCall, Usage
from agentsim.core.run import Retry, Run
from agentsim.core.scripted import Raised
from agentsim.core.tools import Decision
from agentsim.core.wires import ANTHROPIC, Seen
from agentsim.styles._mastra_calls import Call, accept, output
from agentsim.styles._mastra_history import History, Invocation, as_client, said
from agentsim.styles._mastra_options import Options, Step, truthy
from agentsim.styles._mastra_replies import with_own_ids

DECLINED = "Tool call was not approved by the user"
INCOMPLETE = "Completion check results: the task is not complete yet."


class Error(NamedTuple):
    """What a step without a whole reply ended in."""

    type: str
    message: str
    ended: str | None


class Session:
    """One call of the SDK, and its resumes: those keep the steps and the agent's own options, not the call's.

    Attributes:
        cap: `maxSteps`, 5 where there is neither one nor a `stopWhen`; None: never.
        max_steps: what `maxSteps` says; None: it was not given.
        steps: the finished ones of this call.
        waiting: calls that somebody is asked to approve; `rest`: those and what is not settled behind them.
        failed: a call of this step ended in an error; `client`: one waits for the client.
        errors: what the steps that got no whole reply ended in.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.options: Options = run.options
        self.history = History(run)
        self._before = run.total
        self.resumed = self.feedback_stop = False
        self.errors: list[Error] = []
        self.waiting: list[Call] = []
        self.rest: list[Call] = []
        self.failed = self.client = False
        self.deadline = None if self.options.total is None else run.ledger.clock + self.options.total
        self.retry = Retry(self.options.retries)
        self._texts: list[str] = []
        self._called = False
        explicit = not run.setup.limit_is_default
        self.max_steps = (float("inf") if run.limit is None else run.limit) if explicit else self.options.max_steps
        self._begin(self.options)
        self.cap = run.limit if explicit else self.max_steps or (None if self.options.stop_when is not None else 5)

    def _begin(self, options: Options) -> None:
        self.steps: list[Step] = []
        self.conditions = [condition.start() for condition in options.stop_when or ()]
        self.own_conditions = options.stop_when or ()
        self.on_iteration = options.on_iteration.start() if options.on_iteration else None
        self.scorers = [scorer.start() for scorer in options.scorers]

    def resume(self) -> None:
        """Approvals were answered: a call of the SDK of its own, with a count of its own and no options of the call."""
        run, options = self.run, self.options
        run.total, run.count = run.total + run.count, 0
        self.resumed, self.deadline = True, None
        self.max_steps = options.resumed_steps or options.max_steps
        self.cap = self.max_steps or 5
        self._begin(Options())

    def step_deadline(self) -> float | None:
        """When the timer of a model call goes off; tools are outside the step's."""
        step = self.options.step if not self.resumed else None
        ends = [self.deadline, None if step is None else self.run.ledger.clock + step]
        return min((end for end in ends if end is not None), default=None)

    def which_timeout(self) -> str:
        """Whose timer went off."""
        return "totalMs" if self.deadline is not None and self.run.ledger.clock >= self.deadline else "stepMs"

    # -- a reply --------------------------------------------------------------------------------------------------

    def took(self, seen: Seen) -> None:
        """A step's reply."""
        self._texts.append(seen.text + (seen.refusal or ""))
        self._called = self._called or any(isinstance(b, ToolCall | ServerCall) for b in seen.reply.blocks)
        self.failed = self.client = False

    def no_reply(self) -> None:
        """A step without a reply has no text."""
        self._texts.append("")

    def accept(self, seen: Seen) -> list[Call]:
        """The reply's calls, put into the message list with the rest of it."""
        run = self.run
        calls = [accept(call, run.tools, run.wire, run.streamed) for call in with_own_ids(seen)]
        by_block, parts = iter(calls), list[Part | Invocation]()
        invocations: dict[str, Invocation] = {}
        for part in self._server_parts(said(seen.reply.blocks, run.wire, run.streamed), seen):
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            call = next(by_block)
            if call.id not in invocations:
                invocations[call.id] = Invocation(call.id, call.name, call.arguments)
                parts.append(invocations[call.id])
        self.history.add(parts)
        return calls

    def _server_parts(self, parts: list[Part], seen: Seen) -> Sequence[Part | Invocation]:
        run = self.run
        if not run.streamed:
            return parts
        results = [b for b in seen.reply.blocks if isinstance(b, ServerResult) and b.name not in run.server_tools]
        names = {b.id: b.name for b in seen.reply.blocks if isinstance(b, ServerCall)}
        return as_client(parts, [r for r in results if names.get(r.call_id) not in run.server_tools])

    # -- tools ----------------------------------------------------------------------------------------------------

    def execute(self, calls: Sequence[Call]) -> Generator[Action, Event, None]:
        """Run a step's calls up to the first that waits for an approval."""
        self.client = any(call.client for call in calls)
        yield from self._settle(calls, self._workers(calls), {})

    def answer(self, decision: Decision) -> Generator[Action, Event, bool]:
        """Settle what a person's word says, and what stands behind it; whether anything waits anew.

        A word that names no call settles all that wait.
        """
        named = [call for call in self.waiting if decision.call_id in (None, call.id)]
        before = self.waiting
        yield from self._settle(self.rest, self.options.workers, {call.id: decision for call in named})
        return any(call not in before for call in self.waiting)

    def _workers(self, calls: Sequence[Call]) -> int:
        """One at a time where an approval may be asked for, or a call is of an unknown tool."""
        tools = self.run.tools
        looked_at = [call.name for call in calls] if self.options.called_only else list(tools)
        if self.options.approve_all or any(name in tools and tools[name].approval for name in looked_at):
            return 1
        return 1 if any(call.name not in tools for call in calls) else self.options.workers

    def _asks(self, call: Call) -> bool:
        spec = self.run.tools.get(call.name)
        return spec is not None and not spec.client and (self.options.approve_all or spec.approval is not None)

    def _settle(
        self, calls: Sequence[Call], workers: int, answers: dict[str, Decision]
    ) -> Generator[Action, Event, None]:
        told: list[tuple[Call, str, bool]] = []
        due: list[Call] = []
        self.waiting, self.rest = [], []
        for at, call in enumerate(calls):
            answer = answers.get(call.id)
            if answer is None and self._asks(call):
                self.waiting.append(call)
                self.rest.append(call)
                if workers == 1 and not answers:
                    self.rest = list(calls[at:])
                    break
            elif answer is not None and answer.kind == "reject":
                told.append((call, answer.message or DECLINED, False))
            elif call.result is not None:
                told.append((call, call.result, call.failed))
            elif not call.client:
                due.append(call)
        yield from self._use(due, workers, told)

    def _use(self, due: list[Call], workers: int, told: list[tuple[Call, str, bool]]) -> Generator[Action, Event, None]:
        """Run calls, the second of an id after the others, and write all results: errors first."""
        run = self.run
        first = {id(call) for call in {call.id: call for call in reversed(due)}.values()}
        due.sort(key=lambda call: id(call) not in first)
        to_run = [ToRun(call.id, call.name, call.input) for call in due]
        runs = yield from run.use(to_run, workers=workers, deadline=self.deadline)
        told += [(call, output(done), done.is_error) for call, done in zip(due, runs, strict=False)]
        for call, text, wrong in sorted(told, key=lambda item: not item[2]):
            self.history.answer(call.id, call.name, call.arguments, text, wrong and run.wire == ANTHROPIC)
            self.failed = self.failed or wrong
        self.history.write()

    # -- after a step ---------------------------------------------------------------------------------------------

    def finish_step(self, seen: Seen | None) -> None:
        """The step is finished, with a reply or without: the only counter there is."""
        usage = (seen and seen.reply.usage) or Usage()
        tokens = usage.input_tokens + usage.output_tokens
        tokens += usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        self.steps.append(Step(tuple(call.name for call in seen.calls) if seen else (), tokens))
        self.run.count += 1

    def task_incomplete(self) -> Generator[Action, Event, bool]:
        """Ask isTaskComplete's scorers; one that throws has not passed. A check that fails is fed back."""
        passed = []
        for scorer, function in zip(self.scorers, self.options.scorers, strict=False):
            yield from self.run.wait(function.seconds)
            try:
                passed.append(scorer() == 1)
            except Raised:
                passed.append(False)
        if not passed or (any(passed) if self.options.any_scorer else all(passed)):
            return False
        self.history.say(INCOMPLETE, closing=True)
        return True

    def stopped(self) -> Generator[Action, Event, str | None]:
        """Ask every condition; what stopped the run in the contract's words, None where nothing does."""
        said = []
        for condition, ask in zip(self.own_conditions, self.conditions, strict=True):
            if condition.function is not None:
                yield from self.run.wait(condition.function.seconds)
            said.append(truthy(ask(self.steps)))
        if any(said) or self.feedback_stop:
            return "stop_condition"
        return "limit" if self.cap is not None and self.run.count == self.cap else None

    def iteration_complete(self, goes_on: bool, stop: str | None) -> Generator[Action, Event, tuple[bool, str | None]]:
        """Call onIterationComplete: whether the run goes on after it, and what stops it. What it throws is swallowed."""
        self.feedback_stop = False
        if self.on_iteration is None or self.options.on_iteration is None:
            return goes_on, stop
        yield from self.run.wait(self.options.on_iteration.seconds)
        try:
            said = self.on_iteration() or {}
        except Raised:
            return goes_on, stop
        wish, below = said.get("continue"), self.max_steps is None or self.run.count < self.max_steps
        if said.get("feedback") and goes_on:
            self.history.say(said["feedback"])
            self.feedback_stop = wish is False
        elif wish is False:
            return goes_on, stop or "stop_condition"
        elif wish is True and below:
            return True, None
        return goes_on, stop

    # -- the end --------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """generate joins the texts of all steps, and so does a resumed run; stream only where no step had a call."""
        last = self.run.streamed and self._called and not self.resumed
        return self.last_text if last else "".join(self._texts)

    @property
    def last_text(self) -> str:
        """The last step's text."""
        return self._texts[-1] if self._texts else ""

    @property
    def reported(self) -> int:
        """`steps.length`: those before a resume are among them."""
        return int(self.run.total - self._before + self.run.count)

    def returned(self, finish: str | None, ended: str | None) -> Outcome:
        """The SDK returned."""
        self.history.end()
        return self.run.returned(self.text, finish, done=finish == "stop", ended=ended, reported=self.reported)

    def threw(self, name: str, message: str, ended: str | None, *, failed_steps: int = 1) -> Outcome:
        """generate throws and nothing is left; stream ends with an error chunk, and `steps` has the failed one."""
        if not self.run.streamed:
            self.history.forget()
            return self.run.threw(name, message, ended)
        self.history.end()
        reported = self.reported + failed_steps
        return self.run.threw(name, message, ended, finish="error", text=self.text, reported=reported)

    def threw_late(self, finish: str | None) -> Outcome:
        """At the end generate throws the first error; stream has shown each, so that the last one is what is known."""
        if not self.run.streamed:
            self.history.forget()
            return self.run.threw(*self.errors[0])
        self.history.end()
        return self.run.threw(*self.errors[-1], finish=finish, text=self.text, reported=self.reported)

    def rejected(self, name: str, message: str, ended: str | None) -> Outcome:
        """Both throw, and a stream shows nothing more."""
        self.history.forget()
        return self.run.threw(name, message, ended)
