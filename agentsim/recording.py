"""Recording a scenario in a test: requests go to the real provider, and what it says is kept as a scenario file.

Only where `--agentsim-record` asks for it. Keys are sent on and never written down; what is written are replies and faults.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentsim.core.events import Fault
from agentsim.core.messages import Message
from agentsim.core.tools import ToolOutcome, ToolSpec
from agentsim.errors import UsageError
from agentsim.http.codecs import HOSTS, codec_of
from agentsim.http.environment import KEYS
from agentsim.http.provider import Settings
from agentsim.http.reading import read
from agentsim.scenario.dump import dumps, to_data
from agentsim.scenario.load import from_data, load
from agentsim.scenario.model import UNREADABLE, Entry, Scenario, ScriptedFault, ScriptedReply
from agentsim.session import Sim
from agentsim.store.httplog import keys_of
from agentsim.store.secrets import Secrets, secret_values
from agentsim.wire.base import HttpRequest, HttpResponse, Offer, decoded

#: Headers that are the connection's own, and encodings that would have to be undone.
_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding", "content-encoding"})
SECONDS = 600.0


def recorded(path: Path, mode: str, allow_hosts: Sequence[str], prompt: str | None = None) -> Sim | None:
    """A session that records a scenario, or None where its file is to be played.

    Args:
        path: of the scenario's file.
        mode: "once" (where there is no file), "new" (that, and what a script that ran out lacks), "all" (always).
        allow_hosts: hosts that may be reached beside the providers'.
        prompt: what the test asks, where no file says it yet.
    """
    known = load(path) if path.exists() else None
    if mode == "once" and known is not None:
        return None
    scenario = known or Scenario(path.name.removesuffix(".yaml").removesuffix(".scenario"), (prompt,) if prompt else ())
    if mode == "all" or known is None:
        scenario = replace(scenario, script=())
    return Recorder(scenario, path, (*allow_hosts, *HOSTS))


class Recorder(Sim):
    """A session whose script is still to be written."""

    def __init__(self, scenario: Scenario, path: Path, allow_hosts: Sequence[str]) -> None:
        super().__init__(scenario, Settings(), allow_hosts, True)
        if not any(os.environ.get(name) for name in KEYS):
            raise UsageError(f"recording needs a provider's key in one of {', '.join(KEYS)}")
        self.path = path
        self.entries: list[Entry] = []
        self.offers: dict[str, Offer] = {}
        self.results: dict[str, list[object]] = {}
        self.first = ""
        self.keys: list[str] = []
        self._names: dict[str, str] = {}

    def answer(self, request: HttpRequest) -> HttpResponse:
        """The script's reply while it lasts, then the real provider's."""
        reading = read(request)
        if reading is None or reading.route.operation != "generate" or self._provider.player.unused:
            return super().answer(request)
        response = forwarded(request)
        self._keep(request, response)
        return response

    def _keep(self, request: HttpRequest, response: HttpResponse) -> None:
        self.keys += keys_of(request.headers)
        found, reading = codec_of(request), read(request)
        assert found is not None
        assert reading is not None
        asked = reading.asked or found[0].decode_request(request, reading.body, None, self._provider.memory)
        self.first = self.first or reading.opening.prompt
        self.offers.update({offer.name: offer for offer in asked.offers or ()})
        self._keep_results(asked.messages)
        try:
            said = decoded(found[0], response)
        except ValueError as error:
            said = Fault(response.status, UNREADABLE, str(error)[:200], after_characters=0)
        self.entries.append(ScriptedFault(said) if isinstance(said, Fault) else ScriptedReply(said))
        if not isinstance(said, Fault):
            self._names.update({call.id: call.name for call in said.calls})

    def _keep_results(self, messages: Sequence[Message]) -> None:
        for part in (part for message in messages[-1:] for part in message.content):
            call_id = getattr(part, "call_id", None)
            if call_id in self._names:
                self.results.setdefault(self._names[call_id], []).append(getattr(part, "output", ""))

    def close(self) -> None:
        """Write the file, where anything was recorded; what is left of an older script is no mistake."""
        self._raise_harness_error(None)
        if self.entries:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(dumps(self._without_secrets(self.written())), "utf-8")

    def _without_secrets(self, scenario: Scenario) -> Scenario:
        """The scenario as it may be written: nothing in it that was a key of a request or of the environment."""
        secrets = Secrets([*secret_values(os.environ), *self.keys])
        return from_data(secrets.in_value(to_data(scenario)), scenario.name)

    def written(self) -> Scenario:
        """The scenario as it is now."""
        prompts = self.scenario.prompts or ((self.first,) if self.first else ())
        tools = dict(self.scenario.tools) or {name: self._tool(offer) for name, offer in self.offers.items()}
        return replace(self.scenario, prompts=prompts, tools=tools, script=(*self.scenario.script, *self.entries))

    def _tool(self, offer: Offer) -> ToolSpec:
        outputs = self.results.get(offer.name) or [""]
        outcomes = tuple(ToolOutcome("returns", output) for output in outputs)
        return ToolSpec(
            offer.name, description=offer.description, schema=offer.schema, outcomes=outcomes, server=offer.server
        )


def forwarded(request: HttpRequest) -> HttpResponse:
    """The real provider's answer, whole; a streamed one comes as one piece."""
    headers = {name: value for name, value in request.headers.items() if name not in _OWN}
    asked = urllib.request.Request(request.url, request.body or None, headers, method=request.method)
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            return HttpResponse(answer.status, tuple(_headers(answer)), (answer.read(),))
    except urllib.error.HTTPError as error:
        return HttpResponse(error.code, tuple(_headers(error)), (error.read(),))
    except OSError as error:
        raise UsageError(f"recording: {request.url} can't be reached: {error}") from error


def _headers(answer: object) -> Iterator[tuple[str, str]]:
    for name, value in answer.headers.items():  # type: ignore[attr-defined]
        if name.lower() not in _OWN:
            yield name.lower(), value
