"""One graph at work: its messages and counters, and what its model and tools nodes do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.fate import fate
from agentsim.core.messages import Message, Reply, ToolCall
from agentsim.core.run import Failed, Run
from agentsim.core.tools import Decision
from agentsim.core.wires import ANTHROPIC, CHAT, Seen, SeenCall, parse, see
from agentsim.styles._langchain_faults import Leaves, failure, retry_of
from agentsim.styles._langchain_messages import BadMessage, Said, ai, from_history, read, tool
from agentsim.styles._langchain_middleware import Asked, Middleware
from agentsim.styles._langchain_options import Options, stack_of
from agentsim.styles._langchain_output import by_provider, by_tool, output_name
from agentsim.styles._langchain_tools import PYTHON_WORKERS, Texts, Wrapper, run_calls

SORRY = "Sorry, need more steps to process this request."
Steps = Generator[Action, Event, None]

_SUMMARIZE = (
    "<role>\nContext Extraction Assistant\n</role>\n\n<primary_objective>\nYour sole objective in this task is to extract the "
    "highest quality/most relevant context from the conversation history below.\n</primary_objective>\n\n<messages>\nMessages to "
    "summarize:\n{messages}\n</messages>"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the entry points differ.

    Args:
        python: the language.
        prebuilt: the older react agent, which knows no middleware.
    """

    python: bool
    prebuilt: bool


class Thread:
    """The state of a graph; it outlives a run where there is a checkpointer.

    Attributes:
        messages: the state's messages. `answered`: ids of the calls that have a tool message.
        counts, run_counts: what limit middlewares count, by name: over the thread, and (Python) in one run.
        due: the calls that the next tools step answers. `one_task`: JavaScript gives them to one task, as after a jump. `results`: the messages that the last one gave.
        jump, reason: where the last hook jumps to, and what that ends the run as.
        why: the contract's word for a run that an edge ended; None where it is the last reply's fate.
        clash: JavaScript: in so many steps two hooks that both write `jumpTo` run side by side; 0: none do.
        decisions: a resume's, until the node that asked has taken them.
        retries: a middleware's number of retries for the inner caller; None: its own.
        at: the node that runs.
        strategy: how structured output is asked for: Python always, JavaScript on OpenAI's wires leaves it to the provider.
        structured, asks_again: the output is there; it was wrong.
    """

    def __init__(self, run: Run, entry: Entry, options: Options) -> None:
        self.run, self.entry, self.options = run, entry, options
        self.python = entry.python
        self.at: tuple[str, int] = ("model", 0)
        self.stack: list[Middleware] = stack_of(options, run.tools.values(), entry.python, entry.prebuilt)
        self.texts = Texts(entry.python, entry.prebuilt)
        self.messages: list[Said] = []
        self.answered: set[str] = set()
        self._unread = False
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.run_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.decisions: Sequence[Decision] | None = None
        self.retries: int | None = None
        self.replace(from_history(run.history))
        self.begin()
        self.strategy = options.strategy or ("tool" if run.wire == ANTHROPIC and not entry.python else "provider")
        if run.setup.output is not None and not entry.prebuilt and self.strategy == "tool":
            run.output_tool = output_name(run.setup.output_title, entry.python)

    def begin(self) -> None:
        """A new run, or a resume, on this thread."""
        self.due: list[SeenCall] = []
        self.one_task = self.options.version != "v2"
        self.results: list[Said] = []
        self.jump: str | None = None
        self.reason = "stop_condition"
        self.why: str | None = None
        self.structured = self.asks_again = self.stalled = self.cut_off = False
        self.clash = 0
        if self.python:
            self.run_counts.clear()

    # -- messages -----------------------------------------------------------------------------------------------

    def add(self, said: Said) -> None:
        """Append a message."""
        self.messages.append(said)
        self._note(said)
        if said.message is not None:
            self.run.history.append(said.message)

    def replace(self, messages: list[Said]) -> None:
        """Put other messages in place of the state's."""
        self.messages, self.answered, self._unread = messages, set(), False
        for said in messages:
            self._note(said)
        told = [said.message for said in messages if said.message is not None]
        kept = _common(self.run.history, told)
        self.run.rewrite(kept, told[kept:])

    def revise(self, old: Said, new: Said) -> None:
        """Put one message in place of another."""
        at = len(self.messages) - 1
        while self.messages[at] is not old:
            at -= 1
        self.messages[at] = new
        if new.message != old.message:
            told = [said.message for said in self.messages[at:] if said.message is not None]
            self.run.rewrite(len(self.run.history) - len(told), told)

    def last_ai(self) -> Said | None:
        """The newest AI message."""
        return next((said for said in reversed(self.messages) if said.kind == "ai"), None)

    def _note(self, said: Said) -> None:
        if said.kind == "tool":
            self.answered.add(said.call_id)
        self._unread = self._unread or bool(said.invalid)

    def direct(self, said: Said) -> bool:
        """Whether this is the result of a return_direct tool."""
        spec = self.run.tools.get(said.name)
        return said.kind == "tool" and spec is not None and spec.return_direct

    # -- the model node -----------------------------------------------------------------------------------------

    def ask(self) -> Steps:
        """The model node."""
        if not self.python and not self.entry.prebuilt and self.messages and self._is_final(self.messages[-1]):
            return  # JavaScript comes here once more after a direct tool, and does nothing
        if self.python and not self.entry.prebuilt:
            self._answer_invalid()
        self.structured = self.asks_again = self.cut_off = False
        self.why = None
        for said in (yield from self._asked([m for m in self.stack if m.wraps_model])):
            self.add(said)

    def _is_final(self, last: Said) -> bool:
        return self.direct(last) and not last.failed

    def _answer_invalid(self) -> None:
        """Python's createAgent answers calls that it could not read, in front of all other results."""
        if not self._unread:
            return
        answered, patched, changed = set(self.answered), [], False
        for said in self.messages:
            patched.append(said)
            for call in said.invalid:
                if call.id not in answered:
                    text = f"Tool call {call.name} with id {call.id} could not be executed - arguments were malformed or truncated."
                    patched.append(tool(self.run, call, text, failed=True, python=True))
                    answered.add(call.id)
                    changed = True
        if changed:
            self.replace(patched)

    def _asked(self, wrappers: list[Middleware]) -> Asked:
        """A model call inside its wrapModelCall hooks."""
        if not wrappers:
            return (yield from self._reply())
        return (yield from wrappers[0].wrap_model(self, lambda: self._asked(wrappers[1:])))

    def _reply(self, attempt: int = 1) -> Asked:
        """A model call without its wrappers; `attempt` counts those whose JSON the client could not read."""
        seen = yield from self._called()
        if isinstance(seen, Failed):
            seen = self._what_arrived(seen)
        try:
            reply = read(seen, self.python)
        except BadMessage as error:
            raise Leaves("ValidationError", str(error), "bad_call", retryable=True) from None
        if self.cut_off:
            reply = Said("ai", reply.text, reply.message, reply.calls, reply.invalid)
        if self._needs_more_steps(reply):
            return [ai(SORRY, "sorry")]
        if self.run.setup.output is None or self.entry.prebuilt:
            return [reply]
        if self.strategy == "tool":
            return by_tool(self, reply)
        if self.python and seen.wire == CHAT and seen.cut:
            text = "Could not parse response content as the length limit was reached"
            raise Leaves("LengthFinishReasonError", text, None)
        if not self.python and self._unparsable(seen):
            return (yield from self._again(attempt + 1))
        return by_provider(self, reply)

    def _called(self) -> Generator[Action, Event, Seen | Failed]:
        """The client's call. A reply that is left out for want of content is sent all the same while it is the last message."""
        run = self.run
        if not self.messages or self.messages[-1].message is not None:
            return (yield from run.call(retry_of(self.python, self.retries)))
        told = len(run.history)
        run.history.append(Message("assistant", ()))
        try:
            return (yield from run.call(retry_of(self.python, self.retries)))
        finally:
            run.rewrite(told)

    def _unparsable(self, seen: Seen) -> bool:
        """OpenAI's client for JavaScript parses the output itself: its error is one that LangChain retries."""
        if self.run.wire == ANTHROPIC or seen.streamed or seen.calls or seen.refusal is not None:
            return False
        return parse(seen.text)[1] and (self.run.wire == CHAT or not seen.cut)

    def _again(self, attempt: int) -> Asked:
        if attempt > retry_of(self.python, self.retries).retries + 1:
            raise Leaves("SyntaxError", "Error reading response: invalid structured output JSON.", None)
        return (yield from self._reply(attempt))

    def _what_arrived(self, failed: Failed) -> Seen:
        """A stream that ends early without an error is taken as a whole reply."""
        fault = failed.fault
        if failed.aborted or not (fault.in_stream and fault.disconnect == "end"):
            raise failure(self.run, failed, self.python)
        seen, unfinished = self.run.partly(fault)
        self.cut_off = True
        rest = fault.partial.blocks[len(seen.reply.blocks) :] if fault.partial is not None else ()
        if not unfinished and rest and isinstance(rest[0], ToolCall):
            begun = ToolCall(rest[0].id, rest[0].name, "")  # its name has arrived, and it is taken for a call
            return see(Reply((*seen.reply.blocks, begun), None), seen.wire, seen.streamed)
        return seen

    def _needs_more_steps(self, reply: Said) -> bool:
        """Python's react agent counts the steps that are left, and gives up in time."""
        if not (self.python and self.entry.prebuilt) or not reply.calls or self.run.limit is None:
            return False
        return self.run.limit - self.run.count - 1 < 2

    def summarize(self, messages: Sequence[Said]) -> Generator[Action, Event, str]:
        """A model call about some messages: it is no super-step, and its request is a conversation of its own."""
        told = "\n".join(f"{_SPEAKER[said.kind]}: {said.text}" for said in messages)
        child = self.run.child(self.run.agent)
        child.say(_SUMMARIZE.format(messages=told))
        seen = yield from child.call(retry_of(self.python))
        self.run.calls += child.calls
        self.run.requests += child.requests
        if not isinstance(seen, Failed):
            return seen.text.strip()
        error = failure(self.run, seen, self.python)
        if self.python:
            raise error
        return f"Error generating summary: Error: {error.message}"

    # -- the tools node -----------------------------------------------------------------------------------------

    def answer(self) -> Steps:
        """The tools node: every call that is due, in one super-step."""
        due = self.due
        one_task_each = not self.python and not self.entry.prebuilt and not self.one_task
        if one_task_each and self.options.concurrency == 1 and len(due) > 1:
            # LangGraph JS forgets the tasks that had to wait: the first tool runs, and nothing is written.
            due, self.stalled = due[:1], True
        made = yield from run_calls(self.run, due, self.texts, self._wrappers(), self._workers(), one_task_each)
        self.results = [] if self.stalled else self._one_an_id(made)
        for said in self.results:
            self.add(said)

    def _wrappers(self) -> list[Wrapper]:
        def bound(middleware: Middleware) -> Wrapper:
            return lambda call, inner: middleware.wrap_tool(self, call, inner)

        return [bound(middleware) for middleware in self.stack if middleware.wraps_tools]

    def _workers(self) -> int | None:
        if self.python:
            return self.options.concurrency or PYTHON_WORKERS
        return None if self.one_task else self.options.concurrency

    def _one_an_id(self, made: list[Said]) -> list[Said]:
        """JavaScript with one task for all calls, streamed, keeps the last of several results of one id, in the first one's place."""
        if self.python or not self.one_task or not self.run.streamed:
            return made
        last = {said.call_id: said for said in made}
        return list(last.values())

    # -- the end ------------------------------------------------------------------------------------------------

    def result(self) -> Outcome:
        """The state that the graph returns: its last message is the answer."""
        last = self.messages[-1]
        return self.run.returned(last.text, last.finish, ended=self._ended(last), reported=steps_of(self.run))

    def paused(self) -> Outcome:
        """The state that an interrupt returns."""
        last = self.messages[-1]
        return self.run.returned(last.text, last.finish, done=False, ended="approval", reported=steps_of(self.run))

    def _ended(self, last: Said) -> str:
        if self.why is not None:
            return self.why
        if last.name == "sorry":
            return "limit"
        if last.name in ("failed", "made"):
            return self.reason
        if self.structured:
            return "answer"
        if self.cut_off:
            return "broken_stream"
        if self.run.last is None:
            return "empty"
        reply = self.last_ai()
        unknown = reply is not None and any(call.name not in self.run.tools for call in reply.calls)
        bad = reply is not None and bool(reply.invalid or unknown)
        return fate(self.run.last, bad_call=bad, dropped=reply is not None and bool(reply.calls))


_SPEAKER = {"human": "Human", "ai": "AI", "tool": "Tool"}


def steps_of(run: Run) -> int:
    """Super-steps so far, of all the runs on the thread."""
    return int(run.total + run.count)


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    alike = 0
    for a, b in zip(one, other, strict=False):
        if a is not b and a != b:
            break
        alike += 1
    return alike
