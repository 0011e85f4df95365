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
