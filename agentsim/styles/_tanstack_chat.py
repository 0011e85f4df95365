"""One call of TanStack AI's chat() in the making: its counters, its hooks, and how it runs a turn's calls.

Measured on @tanstack/ai 0.58.0. Calls run one after the other, in order; every failure is a result, never marked as an error.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.coerce import strip_unknown
from agentsim.core.events import Event, ToolRun
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.run import Run
from agentsim.core.scripted import Raised
from agentsim.core.tools import Decision, ToolSpec
from agentsim.core.wires import ANTHROPIC, parse
from agentsim.styles._tanstack_adapters import Use, compact, readable
from agentsim.styles._tanstack_hooks import AbandonedByHook, Hooks
from agentsim.styles._tanstack_options import Options, State, Strategy

DECLINED = {"error": "User declined tool execution"}
#: The documentation gives the gist of the text, and the code.
CUT_CALL = {
    "error": "The output limit cut this tool call off, so it was not run. Send the call again; split a large input into"
    " smaller parts.",
    "code": "max_tokens",
}


class Chat:
    """One call of chat(): its counters are its own, and a resume is a new call.

    Attributes:
        run, options, documented: of the loop; `documented`: as the documentation describes it.
        finish: the finish reason of the last RUN_FINISHED event; `reason`: the one that strategies see.
        shown: the last text message; None where there was none.
        approvals: calls that wait for a person; `handed_back`: calls that wait for the client.
    """

    def __init__(self, run: Run, documented: bool, answers: Sequence[tuple[Use, Decision]] = ()) -> None:
        self.run, self.documented = run, documented
        self.options: Options = run.options
        self.answers = {use.id: answer for use, answer in answers}
        self.finish: str | None = None
        self.reason: str | None = None
        self.shown: str | None = None
        self.approvals: list[Use] = []
        self.handed_back: list[Use] = []
        self.hooks = Hooks(run, self.options.middleware)
        self._counted: set[str] = set()
        self._last_turn = self._messages = self._told = 0
        self._ran = False
        self._strategy = _strategy(run, documented).start()

    # -- the strategy ---------------------------------------------------------------------------------------------

    def stopped(self) -> Generator[Action, Event, str | None]:
        """Ask the strategy and the hooks, both always; None: they let the run go on."""
        history = self.run.history
        self._messages += messages(history[self._told :])
        self._told = len(history)
        state = State(int(self.run.count), self.reason, self._messages, len(self._counted), self._last_turn)
        no = self._strategy(state)
        also = yield from self.hooks.should_continue(state)
        if also is None and no == "stop_condition" and self.options.strategy is None:
            return self.reason  # the documented default: it is the reply that ended the run
        return also or no

    def show(self, text: str | None) -> None:
        """A turn that has a text message shows it; without one the message before is still the last."""
        self.shown = self.shown if text is None else text

    # -- tools ----------------------------------------------------------------------------------------------------

    @property
    def goes_on(self) -> tuple[str, ...]:
        """Finish reasons after which a turn's calls are answered."""
        return ("tool_calls", "length") if self.documented else ("tool_calls",)

    def no_calls(self) -> str:
        """The turn had no call to answer."""
        self._last_turn = 0
        return "stop"

    def _record(self, calls: Sequence[Use]) -> None:
        """Count a turn's calls; an id that was seen before is not counted again."""
        self._last_turn = len(calls)
        self._counted |= {call.id for call in calls}

    def execute_given(self, calls: Sequence[Use]) -> Generator[Action, Event, str]:
        """Run the calls of the given messages that have no result; by the documentation not those that were cut."""
        cut = [call for call in calls if self.documented and call.unreadable is not None]
        if cut:
            yield from self.refuse_cut(cut)
        return (yield from self.execute([call for call in calls if call not in cut]))

    def execute(self, calls: Sequence[Use]) -> Generator[Action, Event, str]:
        """Run calls in order and put their results into the history.

        Returns:
            "wait" where a person or the client has to say something first, else "continue".
        Raises:
            AbandonedByHook, Raised: a hook ended the run after the calls before; their results are lost.
        """
        self._record(calls)
        asking = any(self._is_open(call) for call in calls)
        results: list[ToolResult] = []
        self._ran = False
        for call in calls:
            results += [ToolResult(call.id, text) for text in (yield from self._settle(call, asking))]
        if self.run.aborted:  # looked at only here: the calls behind the one that gave up ran too
            return "aborted"
        self.hooks.begin_turn()
        self.run.answer_with(results)
        return "wait" if self.approvals or self.handed_back else "continue"

    def _settle(self, call: Use, asking: bool) -> Generator[Action, Event, list[str]]:
        """The results of a call; none where it waits."""
        spec = self._spec(call)
        if spec is None:
            return [_error(f"Unknown tool: {call.name}")]
        is_open = self._is_open(call)
        if asking and not is_open and (spec.approval is not None or not self._is_client(spec)):
            return []  # where somebody is asked, what could run waits too
        if wrong := self._wrong(call, spec):
            return [_error(wrong)]
        answer = self.answers.get(call.id)
        if is_open:
            self.approvals.append(call)
        elif answer is not None and answer.kind == "reject":
            return [compact(DECLINED)]
        elif self._is_client(spec):
            self.handed_back.append(call)
        else:
            return (yield from self._run(call, spec))
        return []

    def _run(self, call: Use, spec: ToolSpec) -> Generator[Action, Event, list[str]]:
        """A call that may run, after what the hooks say of it."""
        answer = self.answers.get(call.id)
        edited = answer is not None and answer.kind == "edit" and answer.input is not None
        given = answer.input if answer is not None and edited else strip_unknown(spec.schema, call.arguments)
        decision = yield from self.hooks.before()
        kind = decision.get("type") if decision else None
        if decision is not None and kind == "skip":
            replaced = yield from self.hooks.after(documented=self.documented)
            return [as_text((replaced or decision).get("result"))]
        if kind == "abort":
            raise AbandonedByHook
        if decision is not None and kind == "transformArgs":
            given = decision.get("args") or {}
        runs = yield from self.run.use([ToRun(call.id, call.name, given)], same_round=self._ran)
        self._ran = True
        text = render(runs[0])
        try:
            replaced = yield from self.hooks.after(documented=self.documented)
        except Raised as thrown:
            if runs[0].is_error:
                raise
            # still inside the tool's own try: the hook's error is a second result, and the hook is called again
            yield from self.hooks.after(documented=self.documented)
            return [text] if self.run.wire == ANTHROPIC else [text, _error(thrown.message)]
        return [as_text(replaced.get("result")) if replaced else text]

    def refuse_cut(self, calls: Sequence[Use]) -> Generator[Action, Event, str]:
        """As the documentation has it: a call that the output limit cut gets an error result, which a hook may replace."""
        self._record(calls)
        results = []
        for call in calls:
            replaced = yield from self.hooks.after(documented=True)
            results.append(ToolResult(call.id, as_text(replaced.get("result") if replaced else CUT_CALL)))
        self.run.answer_with(results)
        return "continue"

    def _spec(self, call: Use) -> ToolSpec | None:
        return self.run.tools.get(call.name) or (self.run.server_tools.get(call.name) if call.server else None)

    def _is_client(self, spec: ToolSpec) -> bool:
        """Whether the tool has no implementation on this side; `.client(fn)` is one."""
        return spec.server or (spec.client and spec.name not in self.options.client_functions)

    def _is_open(self, call: Use) -> bool:
        spec = self._spec(call)
        return spec is not None and spec.approval is not None and call.id not in self.answers

    def _wrong(self, call: Use, spec: ToolSpec) -> str | None:
        if call.unreadable is not None:
            return f"Failed to parse tool arguments as JSON: {call.unreadable}"
        problem = None if call.server else spec.problem(call.arguments)
        return f"Input validation failed for tool {call.name}: Validation failed: {problem}" if problem else None


def _strategy(run: Run, documented: bool) -> Strategy:
    """The strategy of the tree, and the limit as one more; by the documentation the default also looks at `length`."""
    parts = [run.options.strategy] if run.options.strategy is not None else []
    if run.limit is not None:
        parts.append(Strategy(most=run.limit))
    if documented and run.setup.limit_is_default and run.options.strategy is None:
        parts.insert(0, Strategy(reasons=("length",)))
    return Strategy(parts=tuple(parts))


def messages(history: Sequence[Message]) -> int:
    """How many messages the SDK counts: each tool result is one of its own."""
    count = 0
    for message in history:
        results = sum(isinstance(part, ToolResult) for part in message.content)
        count += results + (len(message.content) > results or not message.content)
    return count


def unanswered(history: Sequence[Message]) -> list[Use]:
    """The calls of the given messages that have no result; those that ran at the provider are none of them."""
    done = {part.call_id for message in history for part in message.content if isinstance(part, ToolResult)}
    return [
        _given(part)
        for message in history
        for part in message.content
        if isinstance(part, ToolCall) and part.id not in done
    ]


def _given(call: ToolCall) -> Use:
    value, broken = parse(call.arguments.strip() or "{}")
    return Use(call.id, call.name, readable(value), call.arguments if broken else None)


def render(done: ToolRun) -> str:
    """A tool's output as it is sent."""
    if done.is_error:
        return _error(done.output if isinstance(done.output, str) else compact(done.output))
    return as_text(done.output)


def as_text(value: Any) -> str:
    """A result as text: JSON; a string that is JSON is read and written again, others stay as they are."""
    if not isinstance(value, str):
        return compact(value)
    read, broken = parse(value)
    if broken:
        return value
    return read if isinstance(read, str) else compact(read)


def _error(text: str) -> str:
    return compact({"error": text})
