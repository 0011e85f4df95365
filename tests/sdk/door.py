"""The agentsim server as the other end of a measured run: it plays a scenario to a real SDK and tells what it saw."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace
from typing import Any

import measure
from environments import without_moments, without_places
from scripts import short_name

from agentsim.core.events import OutOfScript
from agentsim.core.history import join, short
from agentsim.core.messages import Message, Reply, ToolCall
from agentsim.core.transcript import Transcript
from agentsim.http.log import SentRequest
from agentsim.http.provider import Provider, Settings
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.judge.refused import refused_requests
from agentsim.scenario.model import Entry, Scenario, ScriptedReply
from agentsim.wire.base import HttpRequest, HttpResponse

Json = dict[str, Any]

#: Failures ask for a retry at once, so that back-off costs no time. Both: most clients read the first, LangChain JS the second only.
AT_ONCE = (("retry-after", "0"), ("retry-after-ms", "1"))
#: Nothing is refused, so that a run goes on as it would with a provider that forgives; what would have been refused is compared.
LENIENT = Settings(off=("all",))


@dataclass(frozen=True)
class Seen:
    """What a real SDK did with a scenario.

    Args:
        row: as the measured rows are, with `refused_requests` beside it.
        transcript: what the server saw.
    """

    row: Json
    transcript: Transcript


class Door:
    """A running server with a session for each case."""

    def __init__(self) -> None:
        self.sessions = Sessions({})
        self.server = Server(self._answer)
        self._numbers = itertools.count()

    def __enter__(self) -> Door:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def _answer(self, request: HttpRequest) -> HttpResponse:
        response = self.sessions(request)
        if response.status < 400 or response.headless:
            return response
        return replace(response, headers=(*response.headers, *AT_ONCE))

    def play(self, scenario: Scenario, driver: measure.Driver, asked: Json, prefix: str = "") -> Seen | None:
        """Let a driver run its SDK on a scenario.

        Args:
            asked: what `measure.question` gives.
            prefix: stands before the names of tools where the SDK renames them ("mcp__sim__").
        Returns:
            None where the driver can't express what it was asked.
        """
        number = next(self._numbers)
        key = f"k{number}"
        told = _twice(scenario) if asked["says_twice"] else scenario
        provider = self.sessions.open(key, _prefixed(told, prefix), LENIENT)
        sent = {name: value for name, value in asked.items() if name not in ("case", "full", "variant")}
        where = {"base_url": f"{self.server.url}/s/{key}", "api_key": f"sim-{key}"}
        try:
            answer = driver.ask({"id": number, **sent, **where})
        finally:
            self.sessions.close(key)
        if answer.get("skip"):
            return None
        said = without_moments(without_places(json.dumps(answer))).replace(where["base_url"], "BASE_URL")
        answer = json.loads(said.replace(self.server.url.removeprefix("http://"), "HOST"))
        return _seen(asked, answer, provider)


def _twice(scenario: Scenario) -> Scenario:
    """The scenario for a text protocol, which has two requests for a reply without calls."""
    entries = scenario.script
    doubled = [
        one for one in entries for _ in range(2 if isinstance(one, ScriptedReply) and not one.reply.calls else 1)
    ]
    return replace(scenario, script=tuple(doubled))


def _prefixed(scenario: Scenario, prefix: str) -> Scenario:
    """The scenario with its calls under the names that the SDK offers the tools by."""
    if not prefix:
        return scenario
    return replace(scenario, script=tuple(_prefixed_entry(entry, scenario, prefix) for entry in scenario.script))


def _prefixed_entry(entry: Entry, scenario: Scenario, prefix: str) -> Entry:
    if not isinstance(entry, ScriptedReply):
        return entry
    blocks = tuple(
        replace(b, name=prefix + b.name) if isinstance(b, ToolCall) and b.name in scenario.tools else b
        for b in entry.reply.blocks
    )
    return replace(entry, reply=replace(entry.reply, blocks=blocks))


def _seen(asked: Json, answer: Json, provider: Provider) -> Seen:
    transcript = Transcript(provider.events)
    seen = {
        "requests": [_request(request) for request in provider.requests if request.messages or request.offered],
        "unbounded": False,
        "out_of_script": any(isinstance(event, OutOfScript) for event in provider.events),
    }
    row = measure.row(asked, answer, seen, asked["threads"])
    row["refused_requests"] = refused_requests(transcript, asked["wire"])
    return Seen(row, transcript)


def _request(request: SentRequest) -> Json:
    """One request in the words of the rig's own server."""
    messages = join([_plain(message) for message in request.messages])
    reply = request.reply or Reply()
    return {
        "faulted": request.fault is not None,
        "messages": [short(message) for message in messages],
        "full": [repr(message) for message in messages],
        "calls": [{"id": call.id, "name": short_name(call.name), "args": _arguments(call)} for call in reply.calls],
    }


def _plain(message: Message) -> Message:
    """The message with the names of its tools as the scenario has them."""
    parts = tuple(
        replace(part, name=short_name(part.name)) if isinstance(part, ToolCall) else part for part in message.content
    )
    return replace(message, content=parts)


def _arguments(call: ToolCall) -> Json:
    try:
        value = json.loads(call.arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
