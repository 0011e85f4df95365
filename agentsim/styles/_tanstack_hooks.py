"""TanStack AI's middleware hooks in one call of chat(): who is asked when, and what 0.58.0 makes of the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event
from agentsim.core.run import Run
from agentsim.core.scripted import Function
from agentsim.styles._tanstack_adapters import compact
from agentsim.styles._tanstack_options import Middleware, State

Decision = Mapping[str, Any] | None


class AbandonedByHook(Exception):
    """onBeforeToolCall said `abort`: the run ends with no finish and no error."""


class Hooks:
    """The middleware of one call of chat(), asked in the order of the list."""

    def __init__(self, run: Run, middleware: Sequence[Middleware]) -> None:
        self._all = [_Started(run, each) for each in middleware]

    def begin_turn(self) -> None:
        """The budget for each turn starts anew, before a turn and after its tools."""
        for each in self._all:
            each.this_turn = 0

    def before(self) -> Generator[Action, Event, Decision]:
        """What the first hook that decides says of the next call; None: run it."""
        for each in self._all:
            decision = yield from each.before()
            if decision is not None:
                return decision
        return None

    def after(self, *, documented: bool = False) -> Generator[Action, Event, Decision]:
        """Call onAfterToolCall; 0.58.0 has no use for what it returns, the documentation takes a `replaceResult`."""
        replaced = None
        for each in self._all:
            said = yield from each.after()
            replaced = said if documented and said is not None else replaced
        return replaced

    def should_continue(self, state: State) -> Generator[Action, Event, str | None]:
        """Ask until one says no, in the contract's words; `true` and null cannot overrule anybody."""
        for each in self._all:
            if (yield from each.says_no(state)):
                return "stop_condition"
        return None


class _Started:
    """One middleware with the counts of its functions."""

    def __init__(self, run: Run, middleware: Middleware) -> None:
        self.run, self.middleware = run, middleware
        self.this_turn = 0
        self._calls: dict[int, Callable[..., Any]] = {}

    def _ask(self, function: Function | None) -> Generator[Action, Event, Any]:
        if function is None:
            return None
        yield from self.run.wait(function.seconds)
        return self._calls.setdefault(id(function), function.start())()

    def before(self) -> Generator[Action, Event, Decision]:
        decision: Decision = yield from self._ask(self.middleware.before)
        most = self.middleware.per_turn
        if decision is not None or most is None:
            return decision
        self.this_turn += 1
        if self.this_turn <= most:
            return None
        return {"type": "skip", "result": {"error": f"Skipped: exceeded maxToolCallsPerTurn ({compact(most)})"}}

    def after(self) -> Generator[Action, Event, Decision]:
        said: Decision = yield from self._ask(self.middleware.after)
        return said

    def says_no(self, state: State) -> Generator[Action, Event, bool]:
        if (yield from self._ask(self.middleware.should_continue)) is False:
            return True
        return self.middleware.most is not None and state.tool_call_count >= self.middleware.most
