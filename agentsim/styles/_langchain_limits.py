"""Limits of model calls and of tool calls: nodes that count, and end the run with a message that looks like an answer.

    modelCallLimit   beforeModel: a limit is reached: "error" throws; "end" adds a message in the model's name and jumps to the end
                     afterModel: both counts + 1;   afterAgent (JavaScript): the run's count = 0
    toolCallLimit    afterModel: counts the reply's calls before any of them runs, and answers those above the limit

JavaScript resets a run's count in afterAgent alone, which the jump to the end skips; in Python it is no part of the saved state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentsim.core.wires import SeenCall
from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_messages import Said, ai, tool
from agentsim.styles._langchain_middleware import Hook, Middleware

if TYPE_CHECKING:
    from agentsim.styles._langchain_thread import Thread


class ModelCallLimit(Middleware):
    """Counts model calls after each, and looks before the next."""

    jumps = {"before_model": ("end",)}

    def __init__(self, name: str, settings: Mapping[str, Any], python: bool) -> None:
        super().__init__(name, settings, python)
        self.points = frozenset({"before_model", "after_model"} | (set() if python else {"after_agent"}))

    def hook(self, point: str, thread: Thread) -> Hook:
        """Look, count, or (JavaScript, where a run ends naturally) begin anew."""
        yield from ()
        of_thread, of_run = thread.counts[self.name], thread.run_counts[self.name]
        if point == "after_model":
            of_thread["calls"] += 1
            of_run["calls"] += 1
        elif point == "after_agent":
            of_run.clear()
        elif text := self._exceeded(of_thread["calls"], of_run["calls"]):
            if self.settings.get("exit_behavior") == "error":
                type_ = "ModelCallLimitExceededError" if self.python else "ModelCallLimitMiddlewareError"
                raise Leaves(type_, text, "limit")
            thread.add(ai(text))
            thread.reason = "limit"
            return "end"
        return None

    def _exceeded(self, of_thread: int, of_run: int) -> str:
        limits = (
            (self.settings.get("thread_limit"), of_thread, "thread"),
            (self.settings.get("run_limit"), of_run, "run"),
        )
        over = [(limit, count, what) for limit, count, what in limits if limit is not None and count >= limit]
        if not over:
            return ""
        if self.python:
            told = ", ".join(f"{what} limit ({count}/{limit})" for limit, count, what in over)
        else:
            told = f"{over[0][2]} level call limit reached with {over[0][1]} model calls"
        return f"Model call limits exceeded: {told}"


class ToolCallLimit(Middleware):
    """Counts a reply's calls before any of them runs; the first ones are those that are allowed."""

    jumps = {"after_model": ("end",)}

    def __init__(self, name: str, settings: Mapping[str, Any], python: bool) -> None:
        super().__init__(name, settings, python)
        self.points = frozenset({"after_model"} | (set() if python else {"after_agent"}))

    def hook(self, point: str, thread: Thread) -> Hook:
        """Answer the calls above the limit; then as `exitBehavior` says."""
        yield from ()
        if point == "after_agent":
            thread.run_counts[self.name].clear()
            return None
        reply = thread.last_ai()
        if reply is None or not reply.calls:
            return None
        only = self.settings.get("tool_name")
        before = thread.counts[self.name]["calls"]
        blocked = self._separate([call for call in reply.calls if only is None or call.name == only], thread)
        if not blocked:
            return None
        exit_ = self.settings.get("exit_behavior", "continue")
        if exit_ == "error":
            raise Leaves("ToolCallLimitExceededError", self._final(thread, len(blocked)), "limit")
        if exit_ == "end":
            return self._end(thread, reply, blocked, before)
        for call in blocked:
            thread.add(self._answer(thread, call, self._refusal()))
        return None

    def _separate(self, calls: list[SeenCall], thread: Thread) -> list[SeenCall]:
        """Count the calls; those above the limit."""
        of_thread, of_run = thread.counts[self.name], thread.run_counts[self.name]
        limits = self.settings.get("thread_limit"), self.settings.get("run_limit")
        blocked = []
        for call in calls:
            counts = of_thread["calls"], of_run["calls"]
            if any(limit is not None and count + 1 > limit for limit, count in zip(limits, counts, strict=True)):
                blocked.append(call)
                continue
            of_thread["calls"] += 1
            of_run["calls"] += 1
        of_run["calls"] += len(blocked)
        return blocked

    def _end(self, thread: Thread, reply: Said, blocked: list[SeenCall], before: int) -> str:
        final = self._final(thread, len(blocked))
        pending = self._pending(reply, blocked)
        if pending and not self.python:
            names = ", ".join(dict.fromkeys(call.name for call in pending))
            raise Leaves(
                "Error",
                f"Cannot end execution with other tool calls pending. Found calls to: {names}. Use 'continue' or 'error' "
                "behavior instead.",
                "limit",
            )
        for call in blocked:
            thread.add(self._answer(thread, call, self._refusal()))
        for call in pending:
            text = "Execution stopped before this tool call could run because another tool call in the same batch exceeded the limit."
            thread.add(self._answer(thread, call, text))
        thread.add(ai(final))
        if self.python:
            thread.counts[self.name]["calls"] = before
        thread.reason = "limit"
        return "end"

    def _pending(self, reply: Said, blocked: list[SeenCall]) -> list[SeenCall]:
        """The reply's other calls: Python answers them, JavaScript throws because of them (not of calls to one tool)."""
        if self.python:
            ids = {call.id for call in blocked}
            return [call for call in reply.calls if call.id not in ids]
        only = self.settings.get("tool_name")
        if only is not None:
            return [call for call in reply.calls if call.name != only]
        if len({call.name for call in reply.calls}) <= 1:
            return []
        allowed = [call for call in reply.calls if call not in blocked]
        return allowed or list(reply.calls)

    def _answer(self, thread: Thread, call: SeenCall, text: str) -> Said:
        return tool(thread.run, call, text, failed=True, python=self.python)

    def _refusal(self) -> str:
        only = self.settings.get("tool_name")
        what = f"Do not call '{only}' again." if only else "Do not make additional tool calls."
        return f"Tool call limit exceeded. {what}"

    def _final(self, thread: Thread, blocked: int) -> str:
        limits = (
            ("thread", thread.counts[self.name]["calls"] + blocked, self.settings.get("thread_limit")),
            ("run", thread.run_counts[self.name]["calls"], self.settings.get("run_limit")),
        )
        told = [
            f"{what} limit exceeded ({count}/{limit} calls)"
            for what, count, limit in limits
            if limit is not None and count > limit
        ]
        only = self.settings.get("tool_name")
        return f"{f'{only!r} tool' if only else 'Tool'} call limit reached: {' and '.join(told)}."
