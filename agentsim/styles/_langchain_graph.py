"""The edges of LangChain's graphs: which node is due after which.

    beforeAgent … -> beforeModel … -> model -> … afterModel (in reverse) -> tools -> beforeModel …
                                                                         -> … afterAgent (in reverse) -> END

Read in langchain 1.5.14 (`ReactAgent`) and 1.5.2 (`create_agent`), and measured: the languages differ in where a jump leads.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_messages import Said
from agentsim.styles._langchain_middleware import POINTS, Middleware
from agentsim.styles._langchain_thread import Thread

#: A node: the hook (or "model", "tools") and, of a hook, its middleware's place in the list. None is END.
Node = tuple[str, int]
MODEL: Node = ("model", 0)
TOOLS: Node = ("tools", 0)


class Graph:
    """The nodes of one agent and the edges between them.

    Attributes:
        entry: where a run begins. `loop`: where each round begins. `exit`: where it ends.
    """

    def __init__(self, thread: Thread) -> None:
        self.thread, self.stack = thread, thread.stack
        self.chains = {point: _chain(point, thread.stack) for point in POINTS}
        self.loop: Node = _first(self.chains["before_model"]) or MODEL
        self.entry: Node = _first(self.chains["before_agent"]) or self.loop
        self.exit: Node | None = _first(self.chains["after_agent"])
        wrapped = any(middleware.wraps_tools for middleware in self.stack)
        javascript_prebuilt = thread.entry.prebuilt and not thread.python
        self.has_tools = bool(thread.run.tools) or wrapped or javascript_prebuilt

    def after(self, node: Node) -> Node | None:
        """The node that is due after `node`, whose hook may have asked for a jump."""
        thread = self.thread
        if node == MODEL:
            return _first(self.chains["after_model"]) or self._route(None)
        if node == TOOLS:
            return self._after_tools()
        point, _ = node
        chain = self.chains[point]
        following = chain[chain.index(node) + 1] if node != chain[-1] else None
        if point == "after_model" and following is None:
            return self._route(node)
        default = following or {"before_agent": self.loop, "before_model": MODEL, "after_agent": None}.get(point)
        jump = thread.jump if self._may_jump(node) else None
        return default if jump is None else self._jumped(jump, node)

    def _may_jump(self, node: Node) -> bool:
        point, at = node
        return bool(self.stack[at].jumps.get(point))

    def _end(self, to: Node | None) -> Node | None:
        """A rule of the user's ends the run."""
        self.thread.why = self.thread.reason
        return to

    def _jumped(self, jump: str, node: Node) -> Node | None:
        """Where a jump leads. JavaScript goes to the model itself, and to END from all but beforeAgent."""
        thread = self.thread
        if jump == "model" and thread.python and node == self.loop:
            # LangGraph knows no edge from a node to itself here.
            raise Leaves("KeyError", repr(f"{self.stack[node[1]].name}.{node[0]}"), "stop_condition")
        if jump == "model":
            return self.loop if thread.python else MODEL
        if jump == "tools" and self.has_tools:
            return self._tools_of_last()
        straight = not thread.python and node[0] != "before_agent"
        return self._end(None if straight else self.exit)

    def _tools_of_last(self) -> Node:
        """A jump to the tools: the newest AI message's calls."""
        reply = self.thread.last_ai()
        if reply is None:
            python = self.thread.python
            text = "No AIMessage found in input" if python else "ToolNode only accepts AIMessages as input."
            raise Leaves("ValueError" if python else "Error", text, "stop_condition")
        self.thread.due = [c for c in reply.calls if self.thread.python or c.id not in self.thread.answered]
        self.thread.one_task = True
        return TOOLS

    # -- after the model ----------------------------------------------------------------------------------------

    def _route(self, node: Node | None) -> Node | None:
        """After the model and its hooks: tools, the model again, or the exit. No stop reason is ever read."""
        if self.thread.entry.prebuilt:
            return self._route_prebuilt()
        return self._route_python(node) if self.thread.python else self._route_javascript(node)

    def _route_prebuilt(self) -> Node | None:
        thread = self.thread
        calls = thread.messages[-1].calls
        if not calls or not self.has_tools:
            return None
        thread.due = [call for call in calls if thread.python or call.id not in thread.answered]
        return TOOLS

    def _route_python(self, node: Node | None) -> Node | None:
        thread = self.thread
        by_output_tool = thread.run.output_tool is not None
        jump = thread.jump if node is not None else None
        if not self.has_tools and not by_output_tool:
            may = jump is not None and node is not None and self._may_jump(node)
            return self._jumped(jump or "", node or MODEL) if may else self.exit
        if jump is not None and node is not None:
            return self._jumped(jump, node)
        if not self.has_tools:
            return self.exit if thread.structured else self.loop
        reply = thread.last_ai()
        if reply is None or not reply.calls:
            return self.exit
        answered = _answers_behind(thread.messages)
        pending = [c for c in reply.calls if c.id not in answered and c.name != thread.run.output_tool]
        if pending:
            thread.due = pending
            return TOOLS
        return self.exit if thread.structured else self.loop

    def _route_javascript(self, node: Node | None) -> Node | None:
        """Behind the model itself (`node` None), or behind its last hook, which may jump, but not on a text."""
        thread, last = self.thread, self.thread.messages[-1]
        if thread.asks_again:
            if self.chains["after_model"] and self.exit is not None:
                thread.clash = (
                    2  # the last afterModel hook leads to the exit while the model's new reply leads to the first
                )
            return MODEL
        if last.kind == "ai" and not last.calls:
            ended_by_limit = thread.jump == "end" and thread.reason == "limit"  # its message is the last one
            return self._end(self.exit) if ended_by_limit else self.exit
        if node is not None and thread.jump is not None and self._may_jump(node):
            return self._end(self.exit) if thread.jump == "end" else self._jumped(thread.jump, node)
        if last.kind != "ai" and node is None:
            return self._left_with(last)
        reply = thread.last_ai()
        calls = [c for c in reply.calls if c.name != thread.run.output_tool] if reply is not None else []
        pending = [call for call in calls if call.id not in thread.answered]
        if not self.has_tools or not calls or (not pending and last.kind != "ai"):
            return self._left_with(last)
        all_again = thread.options.version == "v2" and (node is None or not pending)
        thread.due, thread.one_task = calls if all_again else pending, thread.options.version != "v2"
        return TOOLS

    def _left_with(self, last: Said) -> Node | None:
        """The run ends on a tool message: of a direct tool, or of a blocked call."""
        if last.kind == "tool":
            self.thread.why = "limit" if last.failed else "tool_result"
        return self.exit

    # -- after the tools ----------------------------------------------------------------------------------------

    def _after_tools(self) -> Node | None:
        """Back to the model, unless the results are the answer (return_direct)."""
        thread = self.thread
        prebuilt, python = thread.entry.prebuilt, thread.python
        done = (
            self._direct_prebuilt()
            if prebuilt
            else self._direct_python() or thread.structured
            if python
            else self._direct_javascript()
        )
        if not done and python and not prebuilt and self._wrong_output():
            thread.why = "bad_call"
            return self.exit
        if not done:
            if not prebuilt and not python and self._ends_too():
                thread.clash = 1
            return self.loop
        thread.why = None if thread.structured else "tool_result"
        return self.exit

    def _wrong_output(self) -> bool:
        """Python takes even the answer to a wrong output for the output, where another call ran beside it."""
        name = self.thread.run.output_tool
        return any(said.name == name and not said.failed for said in _results_behind(self.thread.messages))

    def _direct_prebuilt(self) -> bool:
        """Any result of a direct tool, in Python any call of one too."""
        thread = self.thread
        reply = thread.last_ai()
        called = {c.name for c in reply.calls} if reply is not None and thread.python else set()
        specs = thread.run.tools
        return any(name in specs and specs[name].return_direct for name in called) or any(
            thread.direct(said) for said in _results_behind(thread.messages)
        )

    def _direct_python(self) -> bool:
        """All calls of known tools are of direct ones, whatever came of them."""
        thread = self.thread
        reply, specs = thread.last_ai(), thread.run.tools
        known = [specs[c.name] for c in reply.calls if c.name in specs] if reply is not None else []
        return bool(known) and all(spec.return_direct for spec in known)

    def _ends_too(self) -> bool:
        """JavaScript, v2: of several tasks one leads to the exit and another to the model, and both begin with a hook."""
        thread = self.thread
        tasks = thread.results if thread.options.version == "v2" else []
        ends = any(thread.direct(said) and not said.failed for said in tasks)
        return ends and self.exit is not None and self.loop != MODEL

    def _direct_javascript(self) -> bool:
        """Each call is a task with an edge of its own (v1: all are one task): no task may want the model."""
        thread = self.thread
        results = thread.results[-1:] if thread.options.version == "v1" else thread.results
        return bool(results) and all(thread.direct(said) and not said.failed for said in results)


def _chain(point: str, stack: Sequence[Middleware]) -> list[Node]:
    """The nodes of one hook in the order in which they run: after-hooks in reverse."""
    nodes = [(point, at) for at, middleware in enumerate(stack) if point in middleware.points]
    return nodes[::-1] if point.startswith("after") else nodes


def _first(chain: Sequence[Node]) -> Node | None:
    return chain[0] if chain else None


def _results_behind(messages: Sequence[Said]) -> list[Said]:
    """The tool messages at the end."""
    results: list[Said] = []
    for said in reversed(messages):
        if said.kind != "tool":
            break
        results.append(said)
    return results


def _answers_behind(messages: Sequence[Said]) -> set[str]:
    """Ids of the calls that were answered behind the newest AI message."""
    ids: set[str] = set()
    for said in reversed(messages):
        if said.kind == "ai":
            break
        if said.kind == "tool":
            ids.add(said.call_id)
    return ids
