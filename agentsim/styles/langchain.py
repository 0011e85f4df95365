"""LangChain's agents on LangGraph, JavaScript and Python: the budget is counted in super-steps.

Measured on langchain 1.5.14 with @langchain/langgraph 1.7.3 (JavaScript) and langchain 1.5.2 with langgraph 1.2.24 (Python). LangGraph:

    step = 1
    loop:
      no node is due: return                               # the natural end
      run the nodes that are due; step += 1
      step > limit: raise GraphRecursionError              # BEFORE it is asked whether anything is left to do

and the graph of create_agent / createAgent, where every hook of a middleware is a node, and the reply's stop reason is never read:

    beforeAgent hooks
    loop:
      beforeModel hooks
      model
      afterModel hooks, in reverse
      no tool calls: exit
      tools, all calls of the reply in one super-step       # the results of return_direct tools: exit
    exit: afterAgent hooks, in reverse

So r round trips take S = BA + AA + (r + 1)(BM + 1 + AM) + r super-steps and need a limit of S + 1: at S everything has run, and
it still throws. A resume begins anew with limit + 2.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Run
from agentsim.core.style import Refused, Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from agentsim.styles._langchain_approval import Interrupted
from agentsim.styles._langchain_claims import CLAIMS
from agentsim.styles._langchain_faults import Leaves
from agentsim.styles._langchain_graph import MODEL, TOOLS, Graph, Node
from agentsim.styles._langchain_messages import human
from agentsim.styles._langchain_options import JAVASCRIPT, PREBUILT, PYTHON, reader
from agentsim.styles._langchain_sums import formula
from agentsim.styles._langchain_thread import SORRY, Entry, Thread, steps_of

SDK_JS = "langchain 1.5.14, @langchain/langgraph 1.7.3"
SDK_PY = "langchain 1.5.2, langgraph 1.2.24"

#: What a resume may run beyond the limit: the interrupted node again, and one more.
RESUME = 2


CLASH = (
    'Invalid update for channel "jumpTo" with values [null,null]: UntrackedValue(guard=true) can receive only one value per step. '
    "Use guard=false if you want to store any one of multiple values."
)


class Over(Exception):
    """The super-step budget is used up."""


def agent(run: Run, entry: Entry) -> Generator[Action, Event, Outcome]:
    """One invocation of the graph, with its resumes."""
    thread, graph = _thread(run, entry)
    if entry.python and run.streamed and thread.options.concurrency == 1:
        return Outcome("unbounded", "stopped")  # the one worker waits for itself: no request ever goes out
    at, budget = graph.entry, run.limit
    while True:
        try:
            yield from walk(thread, graph, at, budget)
            return thread.result()
        except Over:
            return run.threw("GraphRecursionError", over(run, entry), "limit", reported=steps_of(run))
        except Leaves as error:
            return run.threw(error.type, error.message, error.ended, reported=steps_of(run))
        except Interrupted as pause:
            if not _kept(run) and not entry.python:
                return run.threw("GraphValueError", "No checkpointer set", "approval", reported=steps_of(run))
            answers = _answers(run, pause) if _kept(run) else None
            if answers is None:
                return thread.paused()
            thread.begin()
            thread.decisions = answers
            run.total, run.count = run.total + run.count, 0
            at, budget = thread.at, None if run.limit is None else run.limit + RESUME


def walk(thread: Thread, graph: Graph, at: Node, budget: float | None) -> Generator[Action, Event, None]:
    """LangGraph's loop: run what is due, count it, look at the budget, and only then at what is due next."""
    run, due = thread.run, at
    while True:
        thread.at = due
        yield from perform(thread, due)
        if thread.stalled:
            thread.why = "dropped_calls"
            return
        run.count += 1
        if budget is not None and run.count + 1 > budget:
            raise Over
        following = graph.after(due)
        if following is None:
            return
        due = following


def perform(thread: Thread, node: Node) -> Generator[Action, Event, None]:
    """One super-step."""
    thread.jump = None
    if thread.clash:
        thread.clash -= 1
        if not thread.clash:
            raise Leaves("InvalidUpdateError", CLASH, "stop_condition")
    if node == MODEL:
        yield from thread.ask()
    elif node == TOOLS:
        yield from thread.answer()
    else:
        point, at = node
        thread.jump = yield from thread.stack[at].hook(point, thread)


def _thread(run: Run, entry: Entry) -> tuple[Thread, Graph]:
    """The thread that the prompts share, at the beginning of a run."""
    thread = run.memory.get("thread")
    if thread is None:
        options = PREBUILT[entry.python] if entry.prebuilt else run.options
        thread = Thread(run, entry, options)
        run.memory["thread"], run.memory["graph"] = thread, Graph(thread)
    else:
        prompt = run.history.pop()  # Run.begin put it there; the thread keeps its own account
        thread.begin()
        thread.add(human(prompt.content[0].text))  # type: ignore[union-attr]
    return thread, run.memory["graph"]


def _kept(run: Run) -> bool:
    """Whether there is a checkpointer: several prompts and a scenario's approvals need one."""
    asked = any(tool.approval is not None for tool in run.tools.values())
    return asked or len(run.setup.prompts) > 1 or bool(run.options and run.options.checkpointer)


def _answers(run: Run, pause: Interrupted) -> Any:
    """A resume's decisions; None where nobody answers for one of the calls."""
    answers = run.next_answers(pause.waiting)
    if run.setup.approvals is None and answers is not None and len(answers) < len(pause.waiting):
        return None
    return answers


def over(run: Run, entry: Entry) -> str:
    """GraphRecursionError's words."""
    reached = f"Recursion limit of {run.limit:g} reached without hitting a stop condition. You can increase the limit by setting the"
    docs = "https://docs.langchain.com/oss"
    if entry.python:
        key, where = (
            "`recursion_limit`",
            f"\nFor troubleshooting, visit: {docs}/python/langgraph/errors/GRAPH_RECURSION_LIMIT",
        )
    else:
        key, where = (
            '"recursionLimit"',
            f"\n\nTroubleshooting URL: {docs}/javascript/langgraph/GRAPH_RECURSION_LIMIT/\n",
        )
    return f"{reached} {key} config key.{where}"


# -- styles ---------------------------------------------------------------------------------------------------------


def limit_js(value: Any) -> float | Refused | None:
    """recursionLimit must be at least 1."""
    return Refused("Error", 'Passed "recursionLimit" must be at least 1.') if value < 1 else value


def limit_python(value: Any) -> float | Refused | None:
    """recursion_limit must be at least 1."""
    return Refused("ValueError", "recursion_limit must be at least 1") if value < 1 else value


def _style(name: str, entry: Entry, default: float) -> Style:
    def loop(run: Run) -> Generator[Action, Event, Outcome]:
        return agent(run, entry)

    gives_up = entry.prebuilt and entry.python
    sorry = f' (an even limit: returns "{SORRY}")' if gives_up else ""
    options = {} if entry.prebuilt else PYTHON if entry.python else JAVASCRIPT
    return Style(
        name=name,
        sdk=SDK_PY if entry.python else SDK_JS,
        unit="super-step",
        knob="recursion_limit" if entry.python else "recursionLimit",
        default=default,
        loop=loop,
        checks="after every super-step, before it is asked whether anything is left to do",
        at_limit=f"throws GraphRecursionError, even when the answer is there{sorry}",
        signal="" if entry.prebuilt else "the state has no __interrupt__",
        wires=(ANTHROPIC, CHAT, RESPONSES),
        streams=None,
        read_limit=limit_python if entry.python else limit_js,
        options=options,
        configure=None if entry.prebuilt else reader(entry.python),
        claims=CLAIMS,
        formula=lambda options, rounds: formula(options, rounds, entry.python, entry.prebuilt),
    )


STYLES = (
    _style("langchain-js/createAgent", Entry(python=False, prebuilt=False), 25),
    _style("langchain-js/createReactAgent", Entry(python=False, prebuilt=True), 25),
    _style("langchain/create_agent", Entry(python=True, prebuilt=False), 9_999),
    _style("langchain/create_react_agent", Entry(python=True, prebuilt=True), 10_007),
)
