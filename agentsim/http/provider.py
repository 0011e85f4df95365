"""A fake provider: answers the requests of one piece of code under test from a scenario.

It is an Endpoint, a function from HttpRequest to HttpResponse, and neither opens sockets nor waits. What it answers is as
the real service would: unreadable, incomplete and inconsistent requests are refused in its words. Mistakes of the harness
(a script that is at its end, a reply that the wire can't say) are answered as an error of the provider's, because clients
swallow exceptions from below; they are kept in `errors` and meant to be raised when the session closes.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agentsim.core.events import Event, Fault, ModelFailed, ModelReplied, ModelRequested, OutOfScript, RunStarted
from agentsim.core.messages import Message, Reply, ServerCall, ServerResult
from agentsim.drive.clock import arrival
from agentsim.errors import AgentsimError, ScriptError, ScriptExhausted, UnscriptedRequest
from agentsim.http.agents import Agents
from agentsim.http.codecs import KNOWN_PATHS, likely_codec
from agentsim.http.log import RefusedRequest, SentRequest
from agentsim.http.pacing import paced
from agentsim.http.reading import Reading, read
from agentsim.http.rendering import encode
from agentsim.http.spoil import spoiled
from agentsim.http.threads import Thread, Threads, common
from agentsim.scenario.model import Scenario, seen_instead
from agentsim.scenario.play import Played, Player, RequestView
from agentsim.wire.base import (
    Codec,
    Complaint,
    Context,
    HttpRequest,
    HttpResponse,
    ModelRequest,
    Offer,
    Refused,
)
from agentsim.wire.memory import Memory
from agentsim.wire.rules import check_off

Endpoint = Callable[[HttpRequest], HttpResponse]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a provider behaves.

    Args:
        off: names of strictness rules that are switched off; "all" switches all off.
        real_time: whether the scenario's `seconds` are waited for.
        keep: whether requests and events are kept for the caller to look at; without, of errors only the latest are.
        tell: is told of each error of the harness and each refused request, where nobody looks at them in the end.
        tools: names of the tools that `"*"` may call; None: every one that a request offers.
        watch: is told of each request for a reply before it is answered, with the names of the tools that it offers.
    Raises:
        UsageError: there is no such rule.
    """

    off: Collection[str] = ()
    real_time: bool = False
    keep: bool = True
    tools: Collection[str] | None = None
    watch: Callable[[Collection[str]], None] | None = None
    tell: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        check_off(self.off)


_SERVER = (ServerCall, ServerResult)
_FEW = 64

T = TypeVar("T")
Kept = list[T] | deque[T]


class _Everything:
    """A collection that holds every rule's name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 1


class Provider:
    """Plays one scenario to one piece of code under test.

    Args:
        scenario: what is played.
        settings: how it behaves.
        prefix: stands before the ids of replies, so that many providers behind one address differ.
        agents: the scenario's, where many providers share them.
    Attributes:
        events: what happened, as a transcript has it.
        requests: every request, readable or not.
        refused: the requests that the real API would have rejected.
        errors: mistakes of the harness, to be raised when the session closes.
    """

    def __init__(
        self,
        scenario: Scenario,
        settings: Settings | None = None,
        prefix: str = "",
        agents: Agents | None = None,
    ) -> None:
        self.scenario = scenario
        self.settings = settings or _DEFAULT
        self.prefix = prefix
        self.player = Player(scenario)
        self.memory = Memory()
        self.events: list[Event] = []
        self.requests: list[SentRequest] = []
        self.refused: Kept[RefusedRequest] = [] if self.settings.keep else deque(maxlen=_FEW)
        self.errors: Kept[Exception] = [] if self.settings.keep else deque(maxlen=_FEW)
        self.number = 0
        self.replies = 0
        self.failed_last = False
        self._agents = agents or Agents(scenario)
        self._agent_of: dict[str, str | None] = {}
        self._threads = Threads()
        self._names: dict[str, str] = {}
        self._lock = threading.RLock()
        self._off: Collection[str] = _Everything() if "all" in self.settings.off else self.settings.off
        if self.settings.keep:
            prompt = scenario.prompts[0] if scenario.prompts else None
            self.events.append(RunStarted(prompt, scenario.messages))

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        reading = read(request)
        return self.unknown(request) if reading is None else self.answer(reading, request)

    def unknown(self, request: HttpRequest) -> HttpResponse:
        """The answer to a URL that no provider has."""
        text = f"{request.method} {request.url} is no request that agentsim knows; it answers {', '.join(KNOWN_PATHS)}"
        self._blame(UnscriptedRequest(text))
        complaint = Complaint("is_known", text, 404, "not_found_error")
        return likely_codec(request).refuse(complaint, self._tag(self._count()))

    def answer(self, reading: Reading, request: HttpRequest) -> HttpResponse:
        """Answer one request that was read."""
        codec = reading.codec
        if reading.route.operation == "ignored":
            return codec.other(reading.route, request, {}, self.memory, "0")
        with self._lock:
            number = self._count()
            tag = self._tag(number)
            exchange = _Exchange()
            try:
                complaint = codec.headers_complaint(request, self._off) or reading.wrong
                if complaint is not None:
                    raise Refused(complaint)
                if reading.route.operation != "generate":
                    return codec.other(reading.route, request, reading.body, self.memory, tag)
                return self._generate(reading, request, exchange, tag)
            except Refused as refused:
                self._note_refusal(number, refused.complaint)
                return codec.refuse(refused.complaint, tag)
            except AgentsimError as error:
                self._blame(error, exchange.agent)
                return codec.refuse(Complaint("harness", f"agentsim: {error}"), tag)
            except Exception as error:  # a mistake of ours must not look like one of the client's
                self._blame(error)
                return codec.refuse(Complaint("harness", f"agentsim failed: {type(error).__name__}: {error}"), tag)
            finally:
                if self.settings.keep:
                    self.requests.append(exchange.logged(number, request, codec.wire))

    def fits(self, messages: tuple[Message, ...]) -> int:
        """How well a conversation goes on what this session has seen; 0: not at all."""
        return self._threads.fit(messages)

    def _count(self) -> int:
        with self._lock:
            self.number += 1
            return self.number

    def _tag(self, number: int) -> str:
        return f"{self.prefix}{number}"

    def _blame(self, error: Exception, agent: str | None = None) -> None:
        self.errors.append(error)
        if self.settings.keep and type(self.events[-1]) is ModelRequested:
            failed = ModelFailed(Fault(400, "invalid_request_error", str(error)))
            self.events.append(OutOfScript(agent) if isinstance(error, ScriptExhausted) else failed)
        if self.settings.tell is not None:
            self.settings.tell(f"{self.scenario.name}: {error}")

    def _note_refusal(self, number: int, complaint: Complaint) -> None:
        self.refused.append(RefusedRequest(number, complaint.rule, complaint.message))
        if self.settings.tell is not None:
            rule, words = complaint.rule, complaint.message
            self.settings.tell(f"{self.scenario.name}: request {number} was refused ({rule}): {words}")
        if self.settings.keep and self.events and type(self.events[-1]) is ModelRequested:
            self.events.append(ModelFailed(Fault(complaint.status, complaint.type, complaint.message)))

    # --- replies -----------------------------------------------------------------------------------------------

    def _generate(self, reading: Reading, request: HttpRequest, exchange: _Exchange, tag: str) -> HttpResponse:
        codec = reading.codec
        asked = self._read(reading, request)
        history = codec.history(asked, self.memory)
        agent = self._agent(asked)
        thread = self._threads.find(history, agent)
        kept = common(thread.history, history)
        exchange.messages, exchange.agent = history, agent
        exchange.offered, exchange.offers, exchange.system = asked.offered, asked.offers, asked.system
        if self.settings.keep:
            self.events.append(ModelRequested(kept, history[kept:], agent, asked.offered, thread.number))
        if self.settings.watch is not None:
            self.settings.watch(asked.offered or ())
        self._judge(reading, asked, history, thread, kept)
        played = self._next(asked, history, agent)
        exchange.reply, exchange.fault = reply, fault = self._said(played, asked)
        response = self._encode(codec, asked, played, reply, fault, tag)
        if reply is not None:
            self._remember(codec, asked, history, reply, tag)
        if played.entry.chaos is not None:
            response = spoiled(response, played.entry.chaos, self.settings.real_time)
            seen = seen_instead(played.entry, fault, asked.stream)
            whole = reply is not None and _is_unended(played, asked)
            exchange.fault = replace(seen, partial=reply) if seen is not None and whole else seen
            exchange.reply = None if exchange.fault is not None else reply
        self.failed_last = played.fault is not None or exchange.fault is not None
        self._note(played, exchange.reply, exchange.fault)
        return response

    def _read(self, reading: Reading, request: HttpRequest) -> ModelRequest:
        """The request in neutral words, server tools under the names that the scenario gave them."""
        codec, body, asked = reading.codec, reading.body, reading.asked
        complaint = reading.complaint
        if asked is None:
            items = body.get("messages") or body.get("input") if isinstance(body, dict) else None
            asked = codec.decode_request(request, body, self._threads.like(items), self.memory)
            complaint = codec.body_complaint(asked, self._off)
        elif complaint is not None and self._off:
            complaint = codec.body_complaint(asked, self._off)
        if complaint is not None:
            raise Refused(complaint)
        return replace(asked, messages=tuple(map(self._renamed, asked.messages))) if self._names else asked

    def _agent(self, asked: ModelRequest) -> str | None:
        """Whose request it is; a thread that goes on without a system prompt is still its agent's."""
        if asked.offers is None and asked.parent in self._agent_of:
            return self._agent_of[asked.parent]
        return self._agents.of(asked)

    def _renamed(self, message: Message) -> Message:
        """Server calls and results with the scenario's names for them, where the wire has none."""
        changed = False
        content = list(message.content)
        for index, part in enumerate(content):
            if isinstance(part, ServerCall) and self._names.get(part.id, part.name) != part.name:
                content[index], changed = replace(part, name=self._names[part.id]), True
            elif isinstance(part, ServerResult) and self._names.get(part.call_id, part.name) != part.name:
                content[index], changed = replace(part, name=self._names[part.call_id]), True
        return Message(message.role, tuple(content)) if changed else message

    def _judge(
        self, reading: Reading, asked: ModelRequest, history: tuple[Message, ...], thread: Thread, kept: int
    ) -> None:
        """Refuse what the provider refuses; only what is new is looked at, and of the same opening nothing is."""
        judged = min(kept, thread.judged)
        thread.asked, thread.history, thread.judged = asked, history, 0
        if asked is reading.asked and not self._off:
            complaint = reading.misfit
        else:
            context = Context(history, self.memory, judged, self.memory.resumes(history), self._off)
            complaint = reading.codec.history_complaint(asked, context)
        if complaint is not None:
            raise Refused(complaint)
        thread.judged = len(history)

    def _next(self, asked: ModelRequest, history: tuple[Message, ...], agent: str | None) -> Played:
        offered = None if asked.offers is None else {o.name: o.schema for o in asked.offers if not o.server}
        withheld: tuple[str, ...] = ()
        if offered and self.settings.tools is not None:
            withheld = tuple(name for name in offered if name not in self.settings.tools)
            offered = {name: schema for name, schema in offered.items() if name in self.settings.tools}
        output_tool = self._agents.output_tool(asked)
        view = RequestView(history, offered, output_tool=output_tool, system=asked.system or "", withheld=withheld)
        played = self.player.next_entry(agent, view)
        if played is None:
            whose = f"agent {agent!r} of scenario" if agent else "scenario"
            count = self._agents.replies(agent)
            raise ScriptExhausted(
                f"model call {self.replies + 1}, but {whose} {self.scenario.name!r} has {count} "
                f"{'reply' if count == 1 else 'replies'}"
            )
        if played.complaint is not None:
            raise ScriptError(played.complaint)
        return played

    def _said(self, played: Played, asked: ModelRequest) -> tuple[Reply | None, Fault | None]:
        """The reply or the fault; a fault inside a stream is only seen by who streams."""
        fault = played.fault
        if fault is not None and fault.in_stream and not asked.stream and fault.partial is not None:
            return self._named(fault.partial), None
        if fault is not None:
            return None, fault if fault.partial is None else replace(fault, partial=self._named(fault.partial))
        assert played.reply is not None
        return self._named(played.reply), None

    def _named(self, reply: Reply) -> Reply:
        """The reply with the tool's name in each server result, which may be given without its call."""
        if not any([type(block) in _SERVER for block in reply.blocks]):
            return reply
        blocks = list(reply.blocks)
        for index, block in enumerate(blocks):
            if isinstance(block, ServerCall):
                self._names[block.id] = block.name
            elif isinstance(block, ServerResult):
                name = block.name or self._names.get(block.call_id, "")
                self._names[block.call_id] = name
                blocks[index] = replace(block, name=name)
        return replace(reply, blocks=tuple(blocks))

    def _encode(
        self, codec: Codec, asked: ModelRequest, played: Played, reply: Reply | None, fault: Fault | None, tag: str
    ) -> HttpResponse:
        size, real = played.characters_per_chunk, self.settings.real_time
        if reply is None:
            assert fault is not None
            response = codec.encode_fault(fault, asked, tag, size)
        elif _is_unended(played, asked):
            lost = Fault(200, after_characters=sys.maxsize, disconnect="end", partial=reply)
            response = replace(codec.encode_fault(lost, asked, tag, size), broken=None)
        else:
            if real or played.entry.chaos is not None:  # which need it piece by piece
                response = codec.encode_reply(reply, asked, tag, size)
            else:
                response = encode(codec, reply, asked, tag, size)
        return paced(response, played.pace) if real else response

    def _note(self, played: Played, reply: Reply | None, fault: Fault | None) -> None:
        """Write down what the client saw, and when."""
        self.replies += reply is not None
        if not self.settings.keep:
            return
        size, chaos = played.characters_per_chunk, played.entry.chaos
        seconds = 0.0 if chaos is None else chaos.seconds
        if reply is not None:
            self.events.append(ModelReplied(reply, seconds + arrival(reply, played.pace, size).seconds))
        elif fault is not None:
            seconds += arrival(fault.partial or Reply(), played.pace, size).seconds
            self.events.append(ModelFailed(fault, seconds))

    def _remember(
        self, codec: Codec, asked: ModelRequest, history: tuple[Message, ...], reply: Reply, tag: str
    ) -> None:
        self.memory.saw(reply)
        if self._agents.several:
            self._agent_of[codec.reply_id(tag)] = self._agent(asked)
        codec.keep(asked, history, reply, tag, self.memory)


def _is_unended(played: Played, asked: ModelRequest) -> bool:
    """Whether everything arrives but the end of the stream, and the body ends all the same."""
    chaos = played.entry.chaos
    return chaos is not None and chaos.unended and asked.stream


@dataclass(slots=True)
class _Exchange:
    """What is known of one request for a reply; filled as it becomes known."""

    messages: tuple[Message, ...] = ()
    offered: tuple[str, ...] | None = None
    offers: tuple[Offer, ...] | None = None
    agent: str | None = None
    reply: Reply | None = None
    fault: Fault | None = None
    system: str | None = None

    def logged(self, number: int, request: HttpRequest, wire: str) -> SentRequest:
        """The entry of the log."""
        return SentRequest(
            number,
            request.method,
            request.url,
            request.headers,
            request.body,
            wire,
            self.messages,
            self.offered,
            self.offers,
            self.agent,
            self.reply,
            self.fault,
            self.system,
        )


_DEFAULT = Settings()
