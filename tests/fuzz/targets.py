"""What is fuzzed: functions of bytes that end well, whatever the bytes are. Anything else that they raise is a finding.

`python -m tests.fuzz NAME` runs one of them with atheris; the plain suite replays the corpus, where every finding has a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from agentsim.core.events import Fault
from agentsim.core.messages import Reply
from agentsim.errors import AgentsimError, ScenarioError, TranscriptError
from agentsim.http.codecs import CODECS
from agentsim.http.provider import Settings
from agentsim.http.sessions import Sessions
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.report.transcript import transcript_lines
from agentsim.scenario.dump import dumps
from agentsim.scenario.load import loads
from agentsim.store.importers import read
from agentsim.store.recording import facts, scenarios
from agentsim.styles import find
from agentsim.wire.base import HttpRequest, HttpResponse, decoded
from agentsim.wire.sse import Decoder

CORPUS = Path(__file__).parent / "corpus"

PATHS = (
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/responses/input_tokens",
    "/v1/responses/compact",
    "/v1/conversations",
    "/v1/chat/completions",
    "/v1beta/models/g:generateContent",
    "/v1beta/models/g:streamGenerateContent?alt=sse",
    "/v1/models",
)
HEADERS = {"authorization": "Bearer k", "x-goog-api-key": "k", "anthropic-version": "2026-10-21"}
SCRIPT = {
    "agentsim": 1,
    "prompt": "hi",
    "replies": [{"text": "hello", "tool_use": {"look": {"a": 1}}, "repeat": "forever"}],
}


def scenario(data: bytes) -> None:
    """A scenario file is read or refused with lines; what was read is written and read again as the same, and can be run."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    try:
        found = loads(text)
    except ScenarioError as error:
        if not error.problems or not all(problem.message for problem in error.problems):
            raise RuntimeError("refused without a reason") from error
        return
    assert loads(dumps(found)) == found
    try:
        result = prepare(found, find("reference"), max_calls=20).result(DEFAULT)
    except AgentsimError:
        return
    json.dumps(result.to_dict())
    list(transcript_lines(result.transcript))


@cache
def sessions() -> Sessions:
    """One server for all inputs: none may harm those after it."""
    return Sessions({"only": loads(SCRIPT)}, Settings(keep=False))


def request(data: bytes) -> None:
    """Any body to any path gets an answer in a provider's shape, and no mistake of the harness."""
    path = PATHS[data[0] % len(PATHS)] if data else PATHS[0]
    method = "GET" if path == "/v1/models" else "POST"
    response = sessions()(HttpRequest(method, path, HEADERS, data[1:]))
    assert 200 <= response.status < 500, response
    assert b"agentsim failed" not in response.body, response.body
    if not response.streams:
        json.loads(response.body)


def stream(data: bytes) -> None:
    """Any answer is a reply, a fault, or said to be none of the provider's."""
    wires = list(CODECS.values())
    codec = wires[data[0] % len(wires)] if data else wires[0]
    kind = "text/event-stream" if data and data[0] & 8 else "application/json"
    status = 500 if data and data[0] & 16 else 200
    response = HttpResponse(status, (("content-type", kind),), (data[1:],))
    try:
        said = decoded(codec, response)
    except ValueError:
        return
    assert isinstance(said, Reply | Fault)


def events(data: bytes) -> None:
    """Server-sent events are the same however their bytes were cut."""
    whole = Decoder()
    expected = [*whole.feed(data[1:]), *whole.close()]
    size = max(1, data[0] % 17) if data else 1
    pieces, found = Decoder(), []
    for at in range(1, len(data), size):
        found += pieces.feed(data[at : at + size])
    assert [*found, *pieces.close()] == expected


def recording(data: bytes) -> None:
    """A recording of any format is read or refused in one line; what was read can be told and played."""
    try:
        found = read(data)
    except TranscriptError as error:
        if len(str(error).splitlines()) != 1:
            raise RuntimeError("refused in more than a line") from error
        return
    json.dumps(facts(found))
    for made in scenarios(found):
        dumps(made)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (scenario, request, stream, events, recording)
}
