"""Many sessions behind one address: which scenario a request plays, and in whose conversation.

A session is named by its path (`/s/NAME/v1/…`) or its API key (`sim-NAME`), else its scenario is the one whose prompt is
the first user message. A conversation that begins anew begins the scenario anew; `NAME:ANYTHING` is one session for ever.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import unquote

from agentsim.core.messages import Message
from agentsim.http.agents import Agents
from agentsim.http.provider import Provider, Settings
from agentsim.http.reading import Reading, read
from agentsim.scenario.model import Scenario
from agentsim.scenario.play import Played
from agentsim.wire.base import Complaint, HttpRequest, HttpResponse, ModelRequest, Refused

#: So many sessions are alive under one name and key, and in all; the oldest are forgotten.
MOST_ALIKE = 64
MOST = 4096


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
        self._lobby = _Lobby(self._settings)
        self._opened: dict[str, Provider] = {}
        self._alive: OrderedDict[tuple[str, str], list[Provider]] = OrderedDict()
        self._agents: dict[str, Agents] = {}
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
        reading = read(request)
        if reading is None:
            return self._lobby.unknown(request)
        return self.provider(reading, request).answer(reading, request)

    def provider(self, reading: Reading, request: HttpRequest) -> Provider:
        """The session that a request belongs to; made where it begins one, the lobby where no scenario is called for."""
        key = api_key(request)
        name = _name(request, key)
        with self._lock:
            opened = self._opened.get(name or key)
            if opened is not None:
                return opened
            scenario, rest = self._scenario(name, reading)
            if scenario is None:
                return self._lobby
            if rest is not None:
                return self._named(scenario, f"{scenario}:{rest}")
            provider = self._of_client(scenario, key, reading, request)
            self._lobby.lend(reading.opening.conversation, provider)
            return provider

    def _scenario(self, name: str | None, reading: Reading) -> tuple[str | None, str | None]:
        """The scenario's name, None where there is none, and what stands behind the colon."""
        start = reading.opening
        if name is not None:
            plain, colon, rest = name.partition(":")
            if plain in self.scenarios:
                return plain, rest if colon else None
            there = ", ".join(self.scenarios) or "none"
            self._lobby.why = f"no scenario is named {plain!r}; there are {there}"
            return None, None
        if len(self.scenarios) == 1:
            return next(iter(self.scenarios)), None
        found = self._by_prompt.get(start.prompt) if reading.route.operation == "generate" else None
        found = found or self._continued(start.parent or reading.route.id, start.conversation)
        if found is not None:
            return found, None
        shown = start.prompt if len(start.prompt) <= 80 else f"{start.prompt[:80]}…"
        how = "name one by path (/s/NAME/v1) or key (sim-NAME)"
        self._lobby.why = f"no scenario has the prompt {shown!r}; {how}"
        return None, None

    def _continued(self, parent: str, conversation: str | None) -> str | None:
        """The scenario whose stored reply or conversation this request is about."""
        for (name, _), providers in reversed(self._alive.items()):
            if any(_holds(provider, parent, conversation) for provider in providers):
                return name
        return None

    def _named(self, scenario: str, key: str) -> Provider:
        provider = self._opened.get(key)
        if provider is None:
            provider = self._opened[key] = self._new(scenario)
            if len(self._opened) > MOST:
                del self._opened[next(iter(self._opened))]
        return provider

    def _of_client(self, scenario: str, key: str, reading: Reading, request: HttpRequest) -> Provider:
        alive = self._alive.setdefault((scenario, key), [])
        if reading.route.operation != "generate":
            if alive:
                return next((each for each in reversed(alive) if reading.route.id in each.memory.turns), alive[-1])
        elif reading.opening.begins:
            if alive and self._goes_on(alive[-1], scenario, reading, request):
                return alive[-1]
        elif alive:
            return alive[-1] if len(alive) == 1 else _best(alive, reading, request)
        alive.append(self._new(scenario))
        if len(alive) > MOST_ALIKE:
            del alive[0]
        if len(self._alive) > MOST:
            self._alive.popitem(last=False)
        return alive[-1]

    def _goes_on(self, last: Provider, scenario: str, reading: Reading, request: HttpRequest) -> bool:
        """Whether a request without any reply in it still belongs to the session before."""
        if (last.replies == 0 and not last.failed_last) or request.headers.get("x-stainless-retry-count", "0") != "0":
            return True
        if last.failed_last and last.player.unused:
            return True
        if reading.opening.prompt in last.scenario.prompts[1:]:
            return True
        agents = self._agents[scenario]
        return agents.several and reading.asked is not None and agents.of(reading.asked) is not None

    def _new(self, scenario: str) -> Provider:
        self._made += 1
        if scenario not in self._agents:
            self._agents[scenario] = Agents(self.scenarios[scenario])
        return Provider(self.scenarios[scenario], self._settings, f"{self._made}x", self._agents[scenario])


class _Lobby(Provider):
    """Answers what belongs to no scenario: models, token counts, requests that are refused anyway, new conversations.

    Attributes:
        why: the request at hand has no scenario.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(Scenario("none"), settings, "0x")
        self.why = ""

    def lend(self, conversation: str | None, provider: Provider) -> None:
        """Let a session use a conversation that was made here."""
        made = self.memory.conversations.get(conversation or "")
        if made is not None:
            provider.memory.conversations[made.id] = made

    def _next(self, asked: ModelRequest, history: tuple[Message, ...], agent: str | None) -> Played:
        raise Refused(Complaint("is_known", f"agentsim: {self.why}", 404, "not_found_error"))


def _holds(provider: Provider, parent: str, conversation: str | None) -> bool:
    return parent in provider.memory.turns or conversation in provider.memory.conversations


def _name(request: HttpRequest, key: str) -> str | None:
    """NAME of `/s/NAME/…` or of the key `sim-NAME`."""
    path = request.path
    if path.startswith("/s/"):
        return unquote(path[3:].partition("/")[0])
    return key[4:] if key.startswith("sim-") else None


def _best(alive: list[Provider], reading: Reading, request: HttpRequest) -> Provider:
    """The session whose conversation this request goes on; the latest, where several could be."""
    start = reading.opening
    if start.parent is not None or start.conversation is not None:
        stored = (each for each in reversed(alive) if _holds(each, start.parent or "", start.conversation))
        return next(stored, alive[-1])
    try:
        messages = reading.codec.decode_request(request, reading.body).messages
    except Exception:  # a refusal, or a mistake of ours: whoever answers comes to it again, and tells which
        return alive[-1]
    return max(reversed(alive), key=lambda provider: provider.fits(messages))
