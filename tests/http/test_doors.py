"""Three doors to one provider: a client is injected, or intercepted, or served, and gets the same bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import pytest

from agentsim.core.messages import Reply, Text, ToolCall, Usage
from agentsim.http.codecs import CODECS
from agentsim.scenario.load import loads
from agentsim.scenario.model import Scenario
from agentsim.session import Sim, play
from agentsim.wire.base import HttpResponse

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
DOORS = ("inject", "intercept", "serve")
HOSTS = {
    "anthropic-messages": ("https://api.anthropic.com", "/v1/messages"),
    "openai-responses": ("https://api.openai.com", "/v1/responses"),
    "openai-chat": ("https://api.openai.com", "/v1/chat/completions"),
    "gemini": ("https://generativelanguage.googleapis.com", "/v1beta/models/gemini-4:generateContent"),
}
HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21", "x-goog-api-key": "k"}
SAID = Reply((Text("héllo 😀"), ToolCall("call_1", "look", '{"a": 1}')), "tool_use", Usage(10, 5))


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return loads(
        {
            "agentsim": 1,
            "prompt": "hi",
            "tools": {"look": {"input": {"a": "integer"}}},
            "replies": [{"text": "héllo 😀", "tool_use": {"look": {"a": 1}}, "stream": {"characters_per_chunk": 3}}],
        }
    )


def body_of(wire: str, stream: bool) -> dict[str, Any]:
    if wire == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    if wire == "openai-responses":
        return {"model": "m", "input": "hi", "stream": stream}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    return body | ({"max_tokens": 9} if wire == "anthropic-messages" else {"stream_options": {"include_usage": True}})


def url_of(sim: Sim, door: str, wire: str, stream: bool) -> str:
    host, path = HOSTS[wire]
    if wire == "gemini" and stream:
        path = path.replace(":generate", ":streamGenerate") + "?alt=sse"
    return (sim.loopback() if door == "serve" else host) + path


def sync_exchange(lib: Any, sim: Sim, door: str, url: str, body: Any) -> HttpResponse:
    client = sim.client(lib.Client) if door == "inject" else lib.Client()
    with client, client.stream("POST", url, json=body, headers=HEADERS) as response:
        chunks = tuple(response.iter_raw())
        return HttpResponse(response.status_code, tuple(response.headers.items()), chunks)


def async_exchange(lib: Any, sim: Sim, door: str, url: str, body: Any) -> HttpResponse:
    async def exchange() -> HttpResponse:
        client = sim.client(lib.AsyncClient) if door == "inject" else lib.AsyncClient()
        async with client, client.stream("POST", url, json=body, headers=HEADERS) as response:
            chunks = [chunk async for chunk in response.aiter_raw()]
            return HttpResponse(response.status_code, tuple(response.headers.items()), tuple(chunks))

    return asyncio.run(exchange())


@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("exchange", [sync_exchange, async_exchange], ids=["sync", "async"])
@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("wire", HOSTS)
def test_every_door_gives_the_same_reply(
    wire: str, door: str, lib: str, exchange: Callable[..., HttpResponse], stream: bool, scenario: Scenario
) -> None:
    with play(scenario) as sim:
        url = url_of(sim, door, wire, stream)
        response = exchange(LIBRARIES[lib], sim, door, url, body_of(wire, stream))
        assert response.status == 200
        assert response.streams is stream
        assert CODECS[wire].decode_reply(response) == SAID
    assert sim.requests[-1].body == body_of(wire, stream)
    assert sim.requests[-1].wire == wire


@pytest.fixture
def disconnecting() -> Callable[[Any], Scenario]:
    def make(disconnect: Any) -> Scenario:
        return loads(
            {
                "agentsim": 1,
                "prompt": "hi",
                "replies": [{"content": [{"text": "Hello there"}], "disconnect": disconnect}, {"text": "again"}],
                "unused_replies": "allow",
            }
        )

    return make


@pytest.mark.parametrize("how", ["end", "reset"])
@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize("door", DOORS)
def test_a_connection_that_goes_away_is_the_librarys_own_error(
    door: str, lib: str, how: str, disconnecting: Callable[[Any], Scenario]
) -> None:
    library = LIBRARIES[lib]
    with play(disconnecting({"after_characters": 5, "how": how})) as sim:
        url = url_of(sim, door, "anthropic-messages", True)
        received = b""
        client = sim.client(library.Client) if door == "inject" else library.Client()
        with client, pytest.raises((library.ReadError, library.RemoteProtocolError)):  # noqa: PT012
            body = body_of("anthropic-messages", True)
            with client.stream("POST", url, json=body, headers=HEADERS) as response:
                for chunk in response.iter_raw():
                    received += chunk
        if how == "end":
            assert b"Hello" in received
        assert b"there" not in received


@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize("door", DOORS)
def test_a_connection_may_go_away_before_the_headers(door: str, lib: str) -> None:
    library = LIBRARIES[lib]
    with play(loads({"agentsim": 1, "prompt": "hi", "replies": [{"disconnect": {"before": "headers"}}]})) as sim:
        client = sim.client(library.Client) if door == "inject" else library.Client()
        url = url_of(sim, door, "anthropic-messages", False)
        with client, pytest.raises((library.ReadError, library.RemoteProtocolError)):
            client.post(url, json=body_of("anthropic-messages", False), headers=HEADERS)


def test_the_same_session_gives_the_same_bytes(scenario: Scenario) -> None:
    def once() -> bytes:
        with play(scenario) as sim, sim.client(httpx2.Client) as client:
            url = url_of(sim, "inject", "openai-responses", True)
            answer = client.post(url, content=json.dumps(body_of("openai-responses", True)), headers=HEADERS)
            return bytes(answer.content)

    assert once() == once()
