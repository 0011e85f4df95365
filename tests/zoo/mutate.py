"""Mutation testing of the careful loops: does `sim.check()` over the catalogue catch a loop that somebody changes?

    python -m tests.zoo.mutate [claude|claude_streamed|claude_async|responses|…] …

Each mutant is one small change of one careful loop, made in memory. What it does on each scenario of the catalogue is held against what
the loop itself does: the same requests, results and ending everywhere is no change of behaviour, and such a mutant is not counted. Of the
others it counts those that a loop rule finds, that the session complains about (a refused request), that crash or that ask nothing at all: a
test would fail. The rest survive; each has to stand in SURVIVORS with the reason why no rule is broken.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from agentsim.errors import AgentsimError
from agentsim.http.provider import Settings
from agentsim.judge.outcome import UNKNOWN
from agentsim.judge.rules import judge
from agentsim.scenario.catalogue import catalogue
from agentsim.scenario.model import Scenario
from agentsim.session import Sim
from tests.zoo import tools
from tests.zoo.mutants import Mutant, mutants

HERE = Path(__file__).parent
#: name of a careful loop -> its module and class; of a variant only what it does otherwise is changed.
LOOPS = {
    "claude": ("claude", "Claude"),
    "claude_streamed": ("claude", "StreamedClaude"),
    "claude_async": ("claude", "AsyncClaude"),
    "responses": ("responses", "Responses"),
    "responses_stored": ("responses", "Responses"),
    "responses_streamed": ("responses", "StreamedResponses"),
    "responses_async": ("responses", "AsyncResponses"),
    "chat": ("chat", "Chat"),
    "chat_streamed": ("chat", "StreamedChat"),
    "chat_async": ("chat", "AsyncChat"),
}
#: A run that sends more requests, or takes more seconds of this process's time, does not end by itself.
REQUESTS, SECONDS = 30, 10
#: So many of all loops' mutants have to be caught.
AIM = 0.9
#: What is seen without a rule: a test fails of it all the same.
UNRULED = frozenset({"crash", "asks nothing"})

_ENDS = "an empty reply ends the run at once, without an answer, as it may"
_ASKS = "empty replies are asked again until the limit, not once; that has an end too"
_SAME = "the same request is sent again after an empty reply, which only the Messages API calls wrong"
_BROKEN = "a broken stream ends the run at once, or later, without an answer, as it may"
#: change -> why a loop with it breaks no rule: what it changes is the loop's own choice, or can't be seen.
SURVIVORS = {
    "Claude.__init__: turn round: False": _ENDS,
    "Claude.result: without: 'content'": "a result may be empty; what the tool gave is not known on the wire",
    "Claude.result: without: 'is_error'": "the result's text says that it is an error",
    "StreamedResponses.ask: other word: 'response.incomplete'": "a cut reply is asked again as a broken stream is; no answer comes of it",
    "StreamedResponses.on_empty: without: *self.items": "a text in place of the history may be a summary of it",
    "StreamedResponses.on_empty: without: {'role': 'user', 'content': 'Your reply was empty. Please answer.'}": _SAME,
    "StreamedResponses.on_empty: drop: self.items = "
    "[*self.items, {'role': 'user', 'content': 'Your reply was empty. Please answer.'}]": _SAME,
    "StreamedChat.on_empty: drop: self.messages.append({'role': 'user', 'content': 'Your reply was empty. Please answer.'})": _SAME,
}
for _loop in ("Claude", "StreamedResponses", "StreamedChat"):
    for _what in ("always: self.asked_again", "turn round: False"):
        SURVIVORS[f"{_loop}.on_empty: {_what}"] = _ENDS
    for _what in (
        "never: self.asked_again",
        "drop: self.asked_again = True",
        "drop: raise LoopError('the model answered nothing, twice')",
        "turn round: True",
    ):
        SURVIVORS[f"{_loop}.on_empty: {_what}"] = _ASKS
for _what in ("Claude.step: never: not text", "Responses.step: never: not reply.output_text"):
    SURVIVORS[_what] = "an empty text is given, which is no answer either"
for _loop in ("StreamedClaude", "StreamedResponses", "StreamedChat"):
    for _what in ("always: self.broken > 2", "turn round: self.broken > 2"):
        SURVIVORS[f"{_loop}.on_broken: {_what}"] = _BROKEN
for _what in ("always: error.status_code != 200", "one more: 200"):
    SURVIVORS[f"StreamedClaude.ask: {_what}"] = _BROKEN
for _what in (
    "result: none for: call.name",
    "result: none for: call.input",
    "run_tool: none for: name",
    "run_tool: none for: given",
):
    SURVIVORS[f"Claude.{_what}"] = "every result is an error and is marked as one; the tool might really have failed"


class _NoEnd(BaseException):
    """Stops a run from within a request; a client's `except Exception` does not catch it."""


@dataclass(slots=True)
class Behaviour:
    """What a loop does on one scenario: what was sent, what its caller got, and what is wrong with that."""

    did: Any
    broken: frozenset[str]


def behaviour(call: Callable[[str], Any], scenario: Scenario, stem: str) -> Behaviour:
    """Play a scenario to a loop, and check it."""
    tools._runs = itertools.count(1)
    tools.failing = stem == "failing_tool"
    count = itertools.count(1)

    def request(_: Any) -> None:
        if next(count) > REQUESTS:
            raise _NoEnd

    sim = Sim(scenario, Settings(watch=request), (), True)
    answer: Any = UNKNOWN
    session = stopped = None
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with sim:
            try:
                answer = call(sim.prompt)
            except _NoEnd:
                stopped = "no end"
            except Exception as error:  # as a test does that looks at the rules only
                answer = error
    except AgentsimError as error:
        session = type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    case = sim.case(answer=answer)
    case.stopped = stopped
    broken = {verdict.rule for verdict in judge(case) if verdict.failed}
    if session is not None:
        broken.add(session)
    if case.got == "crash":
        broken.add("crash")
    if not sim.called:
        broken.add("asks nothing")
    said = answer if isinstance(answer, str) else None
    return Behaviour((sim.transcript.events, case.got, said), frozenset(broken))


def _caller(module: ModuleType, name: str, loop: str) -> Callable[[str], Any]:
    made = getattr(module, name)

    def call(prompt: str) -> Any:
        run = made(prompt)
        if loop == "responses_stored":
            run.stored = True
        return asyncio.run(run.arun()) if hasattr(run, "arun") else run.run()

    return call


@functools.cache
def usual(loop: str) -> dict[str, Behaviour]:
    """What the loop itself does on each scenario that its wire can say; nothing is wrong with it."""
    wire, name = LOOPS[loop]
    call = _caller(importlib.import_module(f"tests.zoo.{wire}"), name, loop)
    found = {stem: behaviour(call, scenario, stem) for stem, scenario in catalogue().items()}
    said = {stem: each for stem, each in found.items() if each.broken != {"CannotExpress"}}
    wrong = {stem: each.broken for stem, each in said.items() if each.broken}
    assert not wrong, wrong
    return said


@functools.cache
def all_mutants(loop: str) -> list[Mutant]:
    """The changes of a loop."""
    wire, name = LOOPS[loop]
    return list(mutants(HERE / f"{wire}.py", name))


def judged(loop: str, mutant: Mutant) -> frozenset[str] | None:
    """What is found in a mutant: rules and complaints, none where it survives; None where it behaves as the loop does."""
    wire, name = LOOPS[loop]
    call = _caller(mutant.module(importlib.import_module(f"tests.zoo.{wire}")), name, loop)
    scenarios = catalogue_once()
    differs, unruled = False, frozenset[str]()
    for stem, before in usual(loop).items():
        now = behaviour(call, scenarios[stem], stem)
        if now.broken - UNRULED:
            return now.broken
        differs = differs or now.did != before.did
        unruled |= now.broken
    return unruled if differs else None


@functools.cache
def catalogue_once() -> dict[str, Scenario]:
    """The catalogue, read once."""
    return catalogue()


def _too_long(*_: Any) -> None:
    raise _NoEnd


def survey(loop: str) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Each change of a loop in words, and what is found in it."""
    signal.signal(signal.SIGVTALRM, _too_long)
    for mutant in all_mutants(loop):
        yield mutant.what, judged(loop, mutant)


def main() -> int:
    """Survey the loops named on the command line, or all; 1 where too few mutants are caught, or one survives without a reason."""
    fine, every = True, []
    for loop in sys.argv[1:] or LOOPS:
        found = [(what, broken) for what, broken in survey(loop) if broken is not None]
        every += [broken for _, broken in found]
        survivors = [what for what, broken in found if not broken]
        print(f"{loop}: {_told([broken for _, broken in found])}")
        for what in survivors:
            print(f"  survives: {what}: {SURVIVORS.get(what, 'WHY?')}", flush=True)
        fine = fine and all(what in SURVIVORS for what in survivors)
    print(f"together: {_told(every)}")
    return not (fine and sum(map(bool, every)) >= AIM * len(every))


def _told(found: list[frozenset[str]]) -> str:
    caught, ruled = sum(map(bool, found)), sum(bool(broken - UNRULED) for broken in found)
    return f"{caught} of {len(found)} caught ({caught / max(1, len(found)):.1%}), {ruled} of them by a rule or a refused request"


if __name__ == "__main__":
    raise SystemExit(main())
