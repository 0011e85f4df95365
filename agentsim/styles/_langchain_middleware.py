"""LangChain's middlewares: hooks that are nodes of the graph (a super-step each), and wrappers that cost nothing.

Measured, and read in langchain 1.5.14 (JavaScript) and 1.5.2 (Python). A hook returns where to jump, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from agentsim.core.actions import Action
from agentsim.core.events import Event
from agentsim.core.scripted import Raised
from agentsim.core.wires import SeenCall
from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_messages import Said, ai, human, tool
from agentsim.styles._langchain_tools import Chain, Inner, Thrown

if TYPE_CHECKING:
    from agentsim.styles._langchain_thread import Thread

Hook = Generator[Action, Event, str | None]
Asked = Generator[Action, Event, list[Said]]

POINTS = ("before_agent", "before_model", "after_model", "after_agent")


class Middleware:
    """One entry of the middleware list.

    Attributes:
        name: unique in its list.
        points: hooks that it has; each is a node of the graph.
        jumps: hook -> destinations that it may jump to.
        wraps_model, wraps_tools: whether it wraps these.
    """

    points: frozenset[str] = frozenset()
    jumps: Mapping[str, tuple[str, ...]] = {}
    wraps_model = wraps_tools = False

    def __init__(self, name: str, settings: Mapping[str, Any], python: bool) -> None:
        self.name, self.settings, self.python = name, settings, python

    def hook(self, point: str, thread: Thread) -> Hook:
        """Run the node of this hook."""
        raise NotImplementedError

    def wrap_model(self, thread: Thread, inner: Callable[[], Asked]) -> Asked:
        """Run a model call, or something in its place."""
        return (yield from inner())

    def wrap_tool(self, thread: Thread, call: SeenCall, inner: Inner) -> Chain:
        """Run a tool call, or something in its place."""
        return (yield from inner(call))

    def raised(self, error: Raised) -> Leaves:
        """What a user's function threw, on its way out of the run."""
        name = "Exception" if self.python and error.type == "Error" else error.type
        return Leaves(name, error.message, "stop_condition")


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


class ToolRetry(Middleware):
    """Runs a throwing tool again, inside the same super-step."""

    wraps_tools = True

    def wrap_tool(self, thread: Thread, call: SeenCall, inner: Inner) -> Chain:
        """Up to `maxRetries` further attempts, then a message, or the error."""
        attempts = self.settings.get("max_retries", 2) + 1
        for _ in range(attempts):
            made = yield from inner(call)
            if isinstance(made, Said):
                return made
        assert isinstance(made, Thrown)
        if self.settings.get("on_failure") == "error":
            return made
        kind = "ToolInvocationError" if made.invocation else made.type
        text = f"Tool '{call.name}' failed after {_attempts(attempts)} with {kind}"
        text += f": {made.message}. Please try again." if self.python else ""
        return tool(thread.run, call, text, failed=True, python=self.python)


def _attempts(count: int) -> str:
    return f"{count} attempt{'s' if count > 1 else ''}"


class ToolError(Middleware):
    """A user's function makes a message of what a tool threw."""

    wraps_tools = True

    def __init__(self, name: str, settings: Mapping[str, Any], python: bool) -> None:
        super().__init__(name, settings, python)
        self._on_error = settings["on_error"].start()

    def wrap_tool(self, thread: Thread, call: SeenCall, inner: Inner) -> Chain:
        """The function's text in place of the error; None lets the error go on."""
        made = yield from inner(call)
        if isinstance(made, Said):
            return made
        try:
            text = self._on_error()
        except Raised as error:
            left = self.raised(error)
            return Thrown(left.type, left.message)
        return made if text is None else tool(thread.run, call, text, failed=True, python=self.python)


class ModelRetry(Middleware):
    """Asks again where a model call failed; JavaScript then switches its own retries off."""

    wraps_model = True

    def wrap_model(self, thread: Thread, inner: Callable[[], Asked]) -> Asked:
        """Up to `maxRetries` further attempts; then a message in the model's name, or the error."""
        retries, attempts = self.settings.get("max_retries", 2), 0
        before, thread.retries = thread.retries, None if self.python else 0
        try:
            while True:
                attempts += 1
                try:
                    return (yield from inner())
                except Leaves as error:
                    if error.ended == "aborted" or (self.python and not error.retryable):
                        raise
                    if error.retryable and attempts <= retries:
                        continue
                    if self.settings.get("on_failure") == "error":
                        raise
                    thread.reason = error.ended or "http_error"
                    kind, text = error.kind, error.message
                    return [ai(f"Model call failed after {_attempts(attempts)} with {kind}: {text}", "failed")]
        finally:
            thread.retries = before


class Summarization(Middleware):
    """Replaces the older messages by a summary, which a model call of its own writes."""

    points = frozenset({"before_model"})

    def hook(self, point: str, thread: Thread) -> Hook:
        """Summarize if there are `trigger` messages, all but the last `keep`."""
        messages = thread.messages
        if len(messages) < self.settings["trigger"]:
            return None
        cut = _safe_cut(messages, len(messages) - self.settings["keep"])
        if cut <= 0:
            return None
        summary = yield from thread.summarize(messages[:cut])
        told = human(f"Here is a summary of the conversation to date:\n\n{summary}")
        thread.replace([told, *messages[cut:]])
        return None


def _safe_cut(messages: list[Said], cut: int) -> int:
    """Where the history may be cut: not between a call and its result."""
    if cut <= 0 or cut >= len(messages) or messages[cut].kind != "tool":
        return cut
    behind = [m for m in messages[cut:] if m.kind == "tool"]
    ids = {m.call_id for m in behind}
    for at in range(cut - 1, -1, -1):
        if messages[at].kind == "ai" and ids & {call.id for call in messages[at].calls}:
            return at
    return cut + len(behind)


class Custom(Middleware):
    """createMiddleware / AgentMiddleware: a user's functions."""

    def __init__(self, name: str, settings: Mapping[str, Any], python: bool) -> None:
        super().__init__(name, settings, python)
        self._functions = {key: function.start() for key, function in settings["functions"].items()}
        self.points = frozenset(point for point in POINTS if point in self._functions)
        self.jumps = settings["jumps"]
        self.wraps_model, self.wraps_tools = "wrap_model" in self._functions, "wrap_tool" in self._functions

    def hook(self, point: str, thread: Thread) -> Hook:
        """What the function returns: nothing, or where to jump."""
        yield from thread.run.wait(self.settings["functions"][point].seconds)
        try:
            value = self._functions[point]()
        except Raised as error:
            raise self.raised(error) from None
        jump = value.get("jump_to" if self.python else "jumpTo") if isinstance(value, Mapping) else None
        allowed = self.jumps.get(point, ())
        if jump is not None and not self.python and jump not in allowed:
            hook = point.split("_")[0] + point.split("_")[1].capitalize()
            wanted = (
                f"must be one of: {', '.join(allowed)}."
                if allowed
                else f"no {hook}.canJumpTo defined in middleware {self.name}"
            )
            raise Leaves("Error", f"Invalid jump target: {jump}, {wanted}.", "stop_condition")
        thread.reason = "stop_condition"
        return jump

    def wrap_model(self, thread: Thread, inner: Callable[[], Asked]) -> Asked:
        """`handler` is the reply; another text is a message in its place."""
        try:
            value = self._functions["wrap_model"]()
        except Raised as error:
            raise self.raised(error) from None
        if value == "handler":
            return (yield from inner())
        thread.reason = "stop_condition"
        return [ai(str(value), "made")]

    def wrap_tool(self, thread: Thread, call: SeenCall, inner: Inner) -> Chain:
        """`handler` is what the tool gives; another text is the result in its place."""
        try:
            value = self._functions["wrap_tool"]()
        except Raised as error:
            left = self.raised(error)
            return Thrown(left.type, left.message)
        if value == "handler":
            return (yield from inner(call))
        return tool(thread.run, call, str(value), python=self.python)
