"""`agentsim.play`: one scenario, one piece of code under test."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from agentsim.core.events import Event, ModelReplied, ModelRequested
from agentsim.core.messages import ToolResult
from agentsim.core.transcript import Transcript
from agentsim.errors import AgentsimError, RuleBroken, ScriptError, ScriptUnfinished, UsageError, kind
from agentsim.http.environment import dummy_keys, for_subprocess
from agentsim.http.guard import closed_network, host_names
from agentsim.http.inject import make_client
from agentsim.http.intercept import let_through, listening
from agentsim.http.log import RefusedRequest, SentRequest, is_helped, led, streams
from agentsim.http.provider import Provider, Settings
from agentsim.http.replay import Replayer
from agentsim.judge.case import Case, Got
from agentsim.judge.check import settled
from agentsim.judge.expected import expectation_problems
from agentsim.judge.outcome import UNKNOWN, crash_of, got_of
from agentsim.judge.rules import Verdict
from agentsim.scenario.load import load, loads
from agentsim.scenario.model import FOREVER, Entry, Scenario, ScriptedReply
from agentsim.store.recording import Recording, by_thread
from agentsim.styles import find
from agentsim.wire.base import HttpRequest, HttpResponse

_numbers = itertools.count(1)

Source = Scenario | str | os.PathLike[str] | Mapping[str, Any]


def play(
    scenario: Source,
    *,
    strict: bool = True,
    off: Iterable[str] = (),
    allow_hosts: Iterable[str] = (),
    real_time: bool = False,
    intercept: bool = True,
) -> Sim:
    """Play a scenario to the code that runs inside the `with` block.

    Args:
        scenario: from `agentsim.load`; also a file's path, or a mapping.
        strict: whether histories are refused that the provider refuses.
        off: names of strictness rules that are switched off.
        allow_hosts: hosts that may be reached; everything else but this machine is closed.
        real_time: whether the scenario's `seconds` are waited for.
        intercept: whether requests of this process are answered; without, only `sim.client` and `sim.environment` are.
    Returns:
        A context manager that gives the Sim.
    Raises (when the block ends):
        ScriptExhausted: more replies were asked for than the script has.
        ScriptUnfinished: fewer were.
        ScriptError: a request was not the one that a reply is for.
        RuleBroken: a request was refused as the provider would have.
        UnscriptedRequest: something was asked for that no provider has.
    Example:
        >>> with agentsim.play({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello."}]}) as sim:
        ...     client = sim.client(anthropic.Anthropic)
        ...     messages = [{"role": "user", "content": sim.prompt}]
        ...     client.messages.create(model="claude-sonnet-5", max_tokens=99, messages=messages).content[0].text
        'Hello.'
    """
    if isinstance(scenario, Mapping):
        scenario = loads(scenario)
    elif not isinstance(scenario, Scenario):
        if not isinstance(scenario, str | os.PathLike):
            raise UsageError(f"play: expected a Scenario, a file's path or a mapping, but {kind(scenario)} came")
        scenario = load(scenario)
    settings = Settings(off=_switched_off("play", strict, off), real_time=real_time)
    return Sim(scenario, settings, allow_hosts, intercept)


def _switched_off(call: str, strict: object, off: object) -> tuple[str, ...]:
    """The names of the strictness rules that a call switches off.

    Raises:
        UsageError: `strict` is no boolean, `off` no list of names.
    """
    if not isinstance(strict, bool):
        raise UsageError(
            f"{call}: strict is True or False, but {kind(strict)} came; off=[...] switches single rules off"
        )
    if isinstance(off, str | bytes) or not isinstance(off, Iterable):
        raise UsageError(f"{call}: off is a list of strictness rules' names, but {kind(off)} came")
    return tuple(off) if strict else ("all",)


def replay(
    recording: str | os.PathLike[str] | bytes | Recording,
    *,
    lenient: bool | str | Iterable[str] = False,
    strict: bool = True,
    off: Iterable[str] = (),
    allow_hosts: Iterable[str] = (),
    intercept: bool = True,
) -> Sim:
    """Play a recording to the code that runs inside the `with` block, and fail where it asks something else.

    Of each recorded conversation the next request is expected: the same system prompt, texts, calls and results, and no tool
    that was not offered then.

    Args:
        recording: a file that `agentsim import` reads, its bytes, or what an importer made of it.
        lenient: True: dates, times, ids, long numbers and the width of white space may differ; regular expressions: what they
            match may differ as well.
        strict, off, allow_hosts, intercept: as `play`.
    Returns:
        A context manager that gives the Sim.
    Raises (at once):
        TranscriptError: the file is no recording, or holds no reply.
    Raises (when the block ends):
        ScriptError: a request was not what the recording has next; says the nearest and the first difference.
        ScriptExhausted: the recording ends before a request.
        ScriptUnfinished: recorded replies were not asked for.
    Example:
        >>> with agentsim.replay("refund.http.jsonl") as sim:  # doctest: +SKIP
        ...     my_agent(sim.prompt)
    """
    if not isinstance(recording, Recording):
        from agentsim.store.importers import read

        if not isinstance(recording, bytes | str | os.PathLike):
            raise UsageError(f"replay: expected a recording, its file's path or bytes, but {kind(recording)} came")
        recording = read(recording if isinstance(recording, bytes) else os.fspath(recording))
    provider = Replayer(recording, lenient, Settings(off=_switched_off("replay", strict, off)))
    return Sim(provider.scenario, provider.settings, allow_hosts, intercept, provider)


class Sim:
    """A scenario that is being played: what `agentsim.play` and the fixture `sim` give.

    Attributes:
        scenario: which.
        key: an API key that leads to it, where several play at once.
        allow_hosts: hosts that may be reached.
        got, crash: what the caller of the code under test got, as far as that is known.
    """

    def __init__(
        self,
        scenario: Scenario,
        settings: Settings,
        allow_hosts: Iterable[str],
        intercept: bool,
        provider: Provider | None = None,
    ) -> None:
        self.scenario = scenario
        self.key = f"sim-{next(_numbers)}"
        self.allow_hosts = host_names(allow_hosts, "allow_hosts")
        self._intercept = intercept
        self._provider = provider or Provider(scenario, settings)
        self._stack = contextlib.ExitStack()
        self._server: Any = None
        self.got: Got | None = None
        self.crash: str | None = None

    # --- what the code under test needs ------------------------------------------------------------------------

    @property
    def prompt(self) -> str:
        """The scenario's (first) prompt.

        Raises:
            UsageError: it has none.
        """
        if not self.scenario.prompts:
            raise UsageError(f"scenario {self.scenario.name!r} has no prompt; it starts from its messages")
        return self.scenario.prompts[0]

    @property
    def prompts(self) -> tuple[str, ...]:
        """All of its prompts."""
        return self.scenario.prompts

    def client(self, cls: Any, **settings: Any) -> Any:
        """A client of an SDK's class that is born connected to the script.

        Args:
            cls: `anthropic.Anthropic`, `openai.AsyncOpenAI`, `google.genai.Client`, `httpx.Client` and their kin.
            settings: further arguments of the class.
        """
        return make_client(cls, self._provider, self.key, settings)

    @property
    def environment(self) -> dict[str, str]:
        """Base URLs and keys for a child process, this process's own environment included; starts the server."""
        return {**os.environ, **for_subprocess(self.loopback(), os.environ, self.key)}

    def loopback(self) -> str:
        """URL of a server that plays this scenario; started when it is first asked for."""
        if self._server is None:
            from agentsim.http.server import Server

            self._server = self._stack.enter_context(Server(self._provider))
            let_through(f"127.0.0.1:{self._server.port}")
        return str(self._server.url)

    # --- what came of it ---------------------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """What happened so far."""
        return Transcript(self._provider.events)

    @property
    def model_calls(self) -> int:
        """Requests that got a reply."""
        return sum(type(event) is ModelReplied for event in self._provider.events)

    def count(self, style: str) -> float:
        """What happened so far, counted in a style's own unit: its loop is given the same replies and results, without a limit.

        A loop that ends at a reply which the code under test went on from (a pause, say) has counted as far as that reply.

        Args:
            style: a name of `agentsim styles`.
        Returns:
            Steps, turns, super-steps or whatever its limit counts; 0 before the first reply. Of several conversations the sum.
        Raises:
            UsageError: no such style.
        """
        from agentsim.judge.simulate import prepare
        from agentsim.store.scenarios import scenarios_of

        found, played = find(style), Recording("played", by_thread(self._provider.events))
        return sum(prepare(scenario, found).result(None).count for scenario in scenarios_of(played, self.scenario.name))

    @property
    def requests(self) -> list[SentRequest]:
        """Every request, in order."""
        return self._provider.requests

    @property
    def called(self) -> bool:
        """Whether there was any request."""
        return bool(self._provider.requests)

    @property
    def call_count(self) -> int:
        """How many requests there were."""
        return len(self._provider.requests)

    @property
    def refused_requests(self) -> Sequence[RefusedRequest]:
        """Requests that were refused as the provider would have."""
        return self._provider.refused

    @property
    def tool_results(self) -> list[ToolResult]:
        """Results that the code under test has sent, each when its call was first answered."""
        return tool_results(self._provider.events)

    @property
    def unused_replies(self) -> int:
        """Replies never asked for."""
        return self._provider.player.unused

    @property
    def errors(self) -> Sequence[Exception]:
        """What will be raised when the session closes."""
        return self._provider.errors

    def check_expectations(self, answer: Any = UNKNOWN) -> None:
        """Hold the run against the scenario's `expect`, as far as the wire shows it.

        Args:
            answer: what the code under test gave its caller.
        Raises:
            ScriptError: says what was expected and what came.
        """
        wrong = list(expectation_problems(self.scenario.expect or {}, self.transcript, self.tool_results, answer))
        if wrong:
            raise ScriptError(f"scenario {self.scenario.name!r}: {'; '.join(wrong)}")

    # --- the loop rules ----------------------------------------------------------------------------------------

    def check(self, *rules: str, answer: Any = UNKNOWN, limit: float | None = None) -> list[Verdict]:
        """Hold what happened against the loop rules.

        Args:
            rules: names of the rules to look at; none: all.
            answer: what the code under test gave its caller: None or "" is no answer. Left out, an exception that left
                the `with` block is known, and else the rules about answers are not applicable.
            limit: model calls that the code under test was told to make at most.
        Returns:
            What each rule says: passed, or not applicable where this run can't tell.
        Raises:
            RuleBroken: rules are broken; says which, by what, and shows the run.
            UsageError: there is no such rule.
        """
        __tracebackhide__ = True
        return settled(self.case(answer=answer, limit=limit), rules)

    def case(self, *, answer: Any = UNKNOWN, limit: float | None = None) -> Case:
        """What the rules judge: what happened, and what is known beside it."""
        got = self.got if answer is UNKNOWN else got_of(answer)
        sent = [each for each in self.requests if each.messages]
        case = Case(
            self._provider.events,
            next((each.wire for each in reversed(sent)), None),
            got,
            crash=self.crash,
            finished=True,
            endless=any(entry.repeat == FOREVER and not is_last_word(entry) for entry in self.scenario.script),
            limit=limit,
            schemas={o.name: o.schema for each in sent for o in each.offers or () if not o.server and o.schema},
            refused=[(each.rule, each.message) for each in self.refused_requests],
        )
        if len(sent) == len(case.exchanges):
            numbered = list(enumerate(sent, 1))
            case.resent = frozenset(
                n for n, each in numbered if each.headers.get("x-stainless-retry-count", "0") != "0"
            )
            case.whole = frozenset(n for n, each in numbered if not streams(each))
            case.helped = frozenset(n for n, each in numbered if is_helped(each))
            case.led = frozenset(led(sent))
        return case

    # --- the session itself ------------------------------------------------------------------------------------

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; what every door leads to."""
        return self._provider(request)

    def blame(self, error: Exception) -> None:
        """Keep an error, to be raised when the session closes."""
        self._provider.errors.append(error)

    def __enter__(self) -> Sim:
        self._open()
        return self

    @contextlib.contextmanager
    def running(self) -> Iterator[Sim]:
        """Play while it is open, without judging at the end: `close` does that."""
        self._open()
        try:
            yield self
        finally:
            self._stack.close()

    def _open(self) -> None:
        keys = dummy_keys(os.environ, self.key)
        os.environ.update(keys)
        self._stack.callback(lambda: [os.environ.pop(name, None) for name in keys])
        if self._intercept:
            self._stack.enter_context(closed_network(self.allow_hosts, self.blame))
            self._stack.enter_context(listening(self))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self._stack.close()
        if error is None:
            self.close()
        elif isinstance(error, Exception):
            self.explain(error)
        return False

    def close(self) -> None:
        """Raise what went wrong: the harness's errors, then refused requests, then replies never asked for."""
        self._raise_harness_error(None)
        if self._provider.refused:
            raise RuleBroken(_refusals(self._provider.refused))
        unused = self.unused_replies
        if unused and not self.scenario.unused_replies_allowed:
            what = "1 reply was" if unused == 1 else f"{unused} replies were"
            raise ScriptUnfinished(f"{what} never asked for, of scenario {self.scenario.name!r}{self._where()}")

    def _where(self) -> str:
        """Where the script stands, and what could be the reason."""
        if isinstance(self._provider, Replayer):
            return f"; {self._provider.missing}"
        if not self.called:
            return "; no request came: was the agent called, in this process, by a client on httpx, httpx2 or aiohttp?"
        at = self._provider.player.next_unused
        where = f"; the next is replies[{at}]" if at < len(self.scenario.script) else ""
        return f"{where} (`unused_replies: allow` in the scenario permits it)"

    def explain(self, error: Exception) -> None:
        """The code under test threw: note it, and say what the client may have swallowed.

        Raises:
            AgentsimError: the harness's error, from this one, where there was one before it.
        """
        self.got, self.crash = got_of(error), crash_of(error)
        if not isinstance(error, AgentsimError):
            self._raise_harness_error(error)
        if self._provider.refused:
            error.add_note(f"agentsim: {_refusals(self._provider.refused)}")

    def _raise_harness_error(self, cause: Exception | None) -> None:
        errors = list(self._provider.errors)
        if not errors:
            return
        first = errors[0]
        for other in dict.fromkeys(str(error) for error in errors[1:]):
            if other != str(first):
                first.add_note(f"and then: {other}")
        raise first from cause


def tool_results(events: Iterable[Event]) -> list[ToolResult]:
    """The results in a run's requests, each when its call was first answered."""
    found: list[ToolResult] = []
    seen: set[tuple[int, str]] = set()
    for event in events:
        if type(event) is not ModelRequested:
            continue
        for message in event.new:
            for part in message.content:
                if type(part) is ToolResult and (event.thread, part.call_id) not in seen:
                    seen.add((event.thread, part.call_id))
                    found.append(part)
    return found


def is_last_word(entry: Entry) -> bool:
    """Whether an entry is a plain answer: a script that ends in it again and again is not endless."""
    if not isinstance(entry, ScriptedReply) or entry.extras or entry.reply.calls:
        return False
    return entry.reply.stop_reason in ("end_turn", "stop_sequence") and bool(entry.reply.text.strip())


def _refusals(refused: Sequence[RefusedRequest]) -> str:
    lines = [f"request {each.request} was refused ({each.rule}): {each.message}" for each in refused]
    return "\n".join(lines)
