"""LlamaIndex: FunctionAgent.run, ReActAgent.run and AgentWorkflow.run. An answer that arrives at the cap is thrown away.

Measured on llama-index-core 0.14.25 (llama-index-llms-anthropic 0.12.3, llama-index-llms-openai 0.8.3):

    n = 0
    loop:
      reply = model call: memory, then the scratchpad of this run
      n += 1
      n >= max_iterations (20; 0 counts as unset):               # before anybody looks at the reply
        early_stopping_method "force": raise WorkflowRuntimeError
        "generate": one more call without tools, over the memory alone; return its text
      ReAct, an empty or unreadable text: the reply and what is wrong with it are shown once; continue
      no calls: the scratchpad becomes memory; return the text
      run the calls, at most 4 at once; errors become results; a return_direct tool that did not fail: return its output

So a cap of N is N model calls and N-1 tool rounds. Arguments are never validated: the function gets them as keywords, and cut ones are
completed and run. Stop reasons are never read. FunctionAgent streams by default. The ReAct agent offers no tools: calls are lines of
text ("Action: lookup"), so a scripted call is such a text here, and results are texts of the user.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Fault, Outcome
from agentsim.core.messages import Message, Text, ToolResult
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.style import Style
from agentsim.core.value import value
from agentsim.core.wires import ANTHROPIC, CHAT, Seen
from agentsim.styles._llama_index_options import OPTIONS, configure
from agentsim.styles._llama_index_react import ReAct
from agentsim.styles._llama_index_replies import Functions, Leaves, Step, Talk, misfit, so_far
from agentsim.styles._python_clients import client_error, ending


@value
class TwoLayers(Retry):
    """OpenAI's whole replies: LlamaIndex calls the client, which sends 4 requests, 3 times for what may pass."""

    retries: int = 3

    def again(self, fault: Fault, attempts: int) -> bool:
        """Whether there is one more request: the client's, or a new call of it."""
        of_client = attempts % (self.retries + 1)
        if of_client:
            return Retry.again(self, fault, of_client)
        may_pass = fault.status is None or fault.status == 429 or fault.status >= 500
        return may_pass and not fault.in_stream and attempts < 3 * (self.retries + 1)


#: The provider clients' retries as LlamaIndex sets them, by wire and streaming.
RETRIES = {
    (ANTHROPIC, False): Retry(10), (ANTHROPIC, True): Retry(10), (CHAT, False): TwoLayers(), (CHAT, True): Retry(3),
}  # fmt: skip
#: Steps of the workflow that run at once.
WORKERS = 4


def loop(run: Run, talk: type[Talk]) -> Generator[Action, Event, Outcome]:
    """One run: see the module."""
    kept = len(run.history)
    try:
        return (yield from converse(run, talk(run), kept))
    except Leaves as error:
        run.rewrite(kept)  # what the run had done is in no memory
        return run.threw(error.type, error.message, error.ended)


def converse(run: Run, talk: Talk, kept: int) -> Generator[Action, Event, Outcome]:
    """The agent's steps. `kept`: how much of the history is memory."""
    while True:
        seen = yield from ask(run)
        step = talk.read(seen)
        run.count += 1
        if run.limit is not None and run.count >= run.limit:
            return (yield from early_stop(run, talk, kept))
        if not talk.take(step):
            continue
        if not step.calls:
            talk.finish()
            return run.returned(step.text)
        direct = yield from answer(run, talk, step)
        if direct is not None:
            talk.finish()
            return run.returned(direct, ended="tool_result")


def ask(run: Run) -> Generator[Action, Event, Seen]:
    """Call the model. A stream that merely ends is taken for a whole reply."""
    seen = yield from run.call(RETRIES[run.wire, run.streamed])
    if not isinstance(seen, Failed):
        return seen
    if seen.aborted:
        raise Leaves("CancelledError", "", "aborted")
    if seen.fault.disconnect == "end" and seen.fault.in_stream:
        return so_far(*run.partly(seen.fault))
    raise Leaves(*client_error(run.wire, seen.fault), ending(seen))


def early_stop(run: Run, talk: Talk, kept: int) -> Generator[Action, Event, Outcome]:
    """The cap: an error, or one more call that sees nothing of the calls and results so far."""
    if run.options.early_stopping_method == "force":
        raise Leaves("WorkflowRuntimeError", over(run.limit), "limit")
    run.rewrite(kept)
    run.offered = ()
    seen = yield from ask(run)
    run.offered = None
    text = talk.said(seen)
    run.history.append(Message("assistant", (Text(text or ""),) if text or run.wire == CHAT else ()))
    return run.returned(text, ended="limit")


def answer(run: Run, talk: Talk, step: Step) -> Generator[Action, Event, str | None]:
    """Run a reply's calls and show their results; the output of the first return_direct tool that did not fail."""
    given: dict[int, tuple[str, bool]] = {}
    due: list[tuple[int, ToRun]] = []
    for at, call in enumerate(step.calls):
        spec = run.tools.get(call.name)
        if spec is None or spec.client:
            given[at] = (f"Tool {call.name} not found. Please select a tool that is available.", True)
        elif (problem := misfit(call.name, spec.schema, call.arguments)) is not None:
            given[at] = (problem, True)
        else:
            defaults = {k: p.get("default") for k, p in spec.schema.get("properties", {}).items()}
            due.append((at, ToRun(call.id, call.name, {**defaults, **call.arguments})))
    runs = yield from run.use([one for _, one in due], workers=WORKERS)
    if run.aborted:
        raise Leaves("CancelledError", "", "aborted")
    given |= {at: (str(done.output), done.is_error) for (at, _), done in zip(due, runs, strict=True)}
    direct = None
    results: list[ToolResult] = []
    for at, call in enumerate(step.calls):
        output, failed = given[at]
        results.append(ToolResult(call.id, output))
        spec = run.tools.get(call.name)
        if spec is not None and spec.return_direct and not failed and direct is None:
            direct = output
    talk.show(results)
    return direct


def over(limit: Any) -> str:
    """WorkflowRuntimeError's words."""
    return (
        f"Max iterations of {limit:g} reached! Either something went wrong, or you can increase the max iterations with "
        "`.run(.., max_iterations=...)` or use `early_stopping_method='generate'` to generate a final response instead."
    )


def _style(name: str, talk: type[Talk], wires: tuple[str, ...] = (ANTHROPIC, CHAT)) -> Style:
    return Style(
        name=name,
        sdk="llama-index-core 0.14.25",
        unit="iteration",
        knob="max_iterations",
        default=20,
        loop=partial(loop, talk=talk),
        checks="after each reply, before it is looked at",
        at_limit='raises WorkflowRuntimeError, even where the last reply was the answer; with early_stopping_method "generate" '
        "returns the text of one more call without tools",
        wires=wires,
        streams=None,
        read_limit=lambda given: given or 20,
        options=OPTIONS,
        configure=configure,
    )


STYLES = (
    _style("llama-index/FunctionAgent.run", Functions),
    _style("llama-index/ReActAgent.run", ReAct, (CHAT,)),
    _style("llama-index/AgentWorkflow.run", Functions),
)
