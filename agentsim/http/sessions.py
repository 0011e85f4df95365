"""Many sessions behind one address: which scenario a request plays, and in whose conversation.

A session is named by its path (`/s/NAME/v1/…`) or its API key (`sim-NAME`), else its scenario is the one whose prompt is
the first user message. A conversation that begins anew begins the scenario anew; `NAME:ANYTHING` is one session for ever.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from agentsim.errors import AgentsimError, UnscriptedRequest
from agentsim.http.agents import Agents
from agentsim.http.codecs import codec_of
from agentsim.http.provider import Provider, Settings, parsed
from agentsim.scenario.model import Scenario
from agentsim.wire.base import Codec, Complaint, HttpRequest, HttpResponse, Refused

#: So many sessions are alive under one name and key, and in all; the oldest are forgotten.
MOST_ALIKE = 64
MOST = 4096


@dataclass(frozen=True, slots=True)
class Opening:
    """What a body shows of its conversation before it is read.

    Args:
        prompt: text of the first user message.
        begins: it holds no reply yet and continues nothing that is stored.
        parent: id of the stored reply that it continues.
    """

    prompt: str
    begins: bool
    parent: str | None = None


def opening(body: Any) -> Opening:
    """The opening of a request of any provider."""
    if not isinstance(body, dict):
        return Opening("", True)
    thread = body.get("thread")
    parent = thread.get("previous_message_id") if isinstance(thread, dict) else body.get("previous_response_id")
    items = body.get("messages") or body.get("input") or body.get("contents") or []
    if isinstance(items, str):
        return Opening(items, parent is None, parent)
    prompt, replied = "", False
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        role = item.get("role")
        if role == "user" and not prompt:
            prompt = _text(item.get("content", item.get("parts")))
        if role in ("assistant", "model") or (role is None and item.get("type") != "message"):
            replied = True
            break
    begins = not replied and parent is None and not body.get("conversation")
    return Opening(prompt, begins, parent if isinstance(parent, str) else None)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def api_key(request: HttpRequest) -> str:
    """The key that the request carries, in any provider's place."""
    headers = request.headers
    key = headers.get("x-api-key") or headers.get("x-goog-api-key") or headers.get("api-key")
    return key or headers.get("authorization", "").removeprefix("Bearer ").strip() or request.query.get("key", "")


class Sessions:
    """An Endpoint for many scenarios and many clients at once.

    Args:
        scenarios: by the name under which paths and keys call for them.
        settings: of every session that begins by itself.
    """

    def __init__(self, scenarios: Mapping[str, Scenario], settings: Settings | None = None) -> None:
        self.scenarios = dict(scenarios)
        self._settings = settings or Settings(keep=False)
        self._opened: dict[str, Provider] = {}
        self._alive: OrderedDict[tuple[str, str], list[Provider]] = OrderedDict()
        self._made = 0
        self._lock = threading.RLock()
        self._by_prompt: dict[str, str] = {}
        for name, scenario in self.scenarios.items():
            if scenario.prompts:
                self._by_prompt.setdefault(scenario.prompts[0], name)

    def open(self, key: str, scenario: Scenario, settings: Settings | None = None) -> Provider:
        """A session of one's own: requests with path `/s/KEY/…`, or with API key `sim-KEY` or KEY, are its own."""
        provider = Provider(scenario, settings or Settings())
        with self._lock:
            self._opened[key] = provider
        return provider

    def close(self, key: str) -> None:
        """Forget a session that was opened."""
        with self._lock:
            self._opened.pop(key, None)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        found = codec_of(request)
        if found is None:
            return Provider(_NOTHING, self._settings).unknown(request)
        codec, route = found
        body, wrong = parsed(request)
        try:
            provider = self.provider(codec, request, body)
        except AgentsimError as error:
            complaint = Complaint("is_known", f"agentsim: {error}", 404, "not_found_error")
            return codec.refuse(complaint, str(self._made))
        return provider.answer(codec, route, request, body, wrong)

    def provider(self, codec: Codec, request: HttpRequest, body: Any) -> Provider:
        """The session that a request belongs to; made where it begins one.

        Raises:
            UnscriptedRequest: no scenario is called for.
        """
        key = api_key(request)
        name = _name(request, key)
        with self._lock:
            opened = self._opened.get(name or key)
            if opened is not None:
                return opened
            start = opening(body)
            scenario, rest = self._scenario(name, start)
            if rest is not None:
                return self._named(scenario, f"{scenario}:{rest}")
            return self._of_client(scenario, key, codec, request, body, start)

    def _scenario(self, name: str | None, start: Opening) -> tuple[str, str | None]:
        """The scenario's name, and what stands behind the colon."""
        if name is not None:
            plain, colon, rest = name.partition(":")
            if plain in self.scenarios:
                return plain, rest if colon else None
            raise UnscriptedRequest(f"no scenario is named {plain!r}; there are {', '.join(self.scenarios) or 'none'}")
        if len(self.scenarios) == 1:
            return next(iter(self.scenarios)), None
        found = self._by_prompt.get(start.prompt)
        if found is not None:
            return found, None
        alive = self._continued(start)
        if alive is not None:
            return alive, None
        shown = start.prompt if len(start.prompt) <= 80 else f"{start.prompt[:80]}…"
        raise UnscriptedRequest(
            f"no scenario has the prompt {shown!r}; name one by path (/s/NAME/v1) or key (sim-NAME)"
        )

    def _continued(self, start: Opening) -> str | None:
        """The scenario whose stored reply this request continues."""
        for (name, _), providers in reversed(self._alive.items()):
            if any(start.parent in provider.memory.turns for provider in providers):
                return name
        return None

    def _named(self, scenario: str, key: str) -> Provider:
        provider = self._opened.get(key)
        if provider is None:
            provider = self._opened[key] = self._new(scenario)
            if len(self._opened) > MOST:
                del self._opened[next(iter(self._opened))]
        return provider

    def _of_client(
        self, scenario: str, key: str, codec: Codec, request: HttpRequest, body: Any, start: Opening
    ) -> Provider:
        alive = self._alive.setdefault((scenario, key), [])
        if start.begins:
            if alive and self._goes_on(alive[-1], codec, request, body, start):
                return alive[-1]
        elif alive:
            return alive[-1] if len(alive) == 1 else _best(alive, codec, request, body, start)
        alive.append(self._new(scenario))
        if len(alive) > MOST_ALIKE:
            del alive[0]
        self._alive.move_to_end((scenario, key))
        if len(self._alive) > MOST:
            self._alive.popitem(last=False)
        return alive[-1]

    def _goes_on(self, last: Provider, codec: Codec, request: HttpRequest, body: Any, start: Opening) -> bool:
        """Whether a request without any reply in it still belongs to the session before."""
        if last.replies == 0 or last.failed_last or request.headers.get("x-stainless-retry-count", "0") != "0":
            return True
        if start.prompt in last.scenario.prompts[1:]:
            return True
        if not last.scenario.agents:
            return False
        try:
            return Agents(last.scenario).of(codec.decode_request(request, body)) is not None
        except Refused:
            return False

    def _new(self, scenario: str) -> Provider:
        self._made += 1
        return Provider(self.scenarios[scenario], replace(self._settings, prefix=f"{self._made}x"))


_NOTHING = Scenario("nothing")


def _name(request: HttpRequest, key: str) -> str | None:
    """NAME of `/s/NAME/…` or of the key `sim-NAME`."""
    path = request.path
    if path.startswith("/s/"):
        return unquote(path[3:].partition("/")[0])
    return key[4:] if key.startswith("sim-") else None


def _best(alive: list[Provider], codec: Codec, request: HttpRequest, body: Any, start: Opening) -> Provider:
    """The session whose conversation this request goes on; the latest, where several could be."""
    if start.parent is not None:
        stored = (provider for provider in reversed(alive) if start.parent in provider.memory.turns)
        return next(stored, alive[-1])
    try:
        messages = codec.decode_request(request, body).messages
    except Refused:
        return alive[-1]
    return max(reversed(alive), key=lambda provider: provider.fits(messages))
