"""One call of an SDK's client that something in this process answers: `calls.py CLIENT DOOR`.

CLIENT: anthropic, openai, httpx. DOOR: agentsim (plays a script to an unchanged client), client (a client that agentsim made),
respx, vcrpy, and floor: a transport that returns constant bytes and checks nothing.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker import serve

warnings.simplefilter("ignore")
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hi there"}],
    "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
}  # fmt: skip
CHAT = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi there"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}  # fmt: skip
SAID = [{"role": "user", "content": "hi"}]
SCRIPT = {"agentsim": 1, "prompt": "hi", "replies": [{"text": "Hi there", "repeat": "forever"}]}
CLAUDE = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
Made = tuple[type, dict[str, Any], Callable[[Any], Any]]


def anthropic() -> Made:
    """The Messages API by its SDK."""
    import anthropic as sdk

    return (
        sdk.Anthropic,
        {"api_key": "k", "max_retries": 0},
        lambda client: client.messages.create(model="m", max_tokens=9, messages=SAID).content[0].text,
    )


def openai() -> Made:
    """Chat Completions by its SDK."""
    import openai as sdk

    return (
        sdk.OpenAI,
        {"api_key": "k", "max_retries": 0},
        lambda client: client.chat.completions.create(model="m", messages=SAID).choices[0].message.content,
    )


def httpx() -> Made:
    """The Messages API by hand, over the older httpx."""
    import httpx as lib

    asked = {"model": "m", "max_tokens": 9, "messages": SAID}

    def call(client: Any) -> Any:
        answer = client.post("https://api.anthropic.com/v1/messages", headers=CLAUDE, json=asked)
        return answer.json()["content"][0]["text"]

    return lib.Client, {}, call


CLIENTS = {"anthropic": anthropic, "openai": openai, "httpx": httpx}
URLS = {
    "anthropic": "https://api.anthropic.com/v1/messages",
    "openai": "https://api.openai.com/v1/chat/completions",
    "httpx": "https://api.anthropic.com/v1/messages",
}


def main(name: str, door: str) -> None:
    """Open the door, make the client, serve."""
    cls, settings, call = CLIENTS[name]()
    answer = CHAT if name == "openai" else MESSAGE
    with contextlib.ExitStack() as stack:
        client = DOORS[door](stack, name, cls, settings, answer)

        def step() -> None:
            assert call(client) == "Hi there"

        serve(step)


def by_agentsim(stack: Any, name: str, cls: Any, settings: dict[str, Any], answer: Any) -> Any:
    import agentsim as sim

    stack.enter_context(sim.play(SCRIPT))
    return cls(**settings)


def by_client(stack: Any, name: str, cls: Any, settings: dict[str, Any], answer: Any) -> Any:
    import agentsim as sim

    return stack.enter_context(sim.play(SCRIPT)).client(cls, **settings)


def by_respx(stack: Any, name: str, cls: Any, settings: dict[str, Any], answer: Any) -> Any:
    """respx mocks the older httpx itself; the SDKs' httpx2 with pytest-httpx2, which registers its mocker."""
    import httpx
    import pytest_httpx2  # noqa: F401
    import respx

    using = {} if name == "httpx" else {"using": "httpcore2"}
    router = stack.enter_context(respx.mock(assert_all_called=False, **using))
    router.post(URLS[name]).mock(return_value=httpx.Response(200, json=answer))
    return cls(**settings)


def by_vcrpy(stack: Any, name: str, cls: Any, settings: dict[str, Any], answer: Any) -> Any:
    import vcr

    request = {"method": "POST", "uri": URLS[name], "body": "", "headers": {}}
    headers = {"content-type": ["application/json"]}
    body = {"string": json.dumps(answer)}
    response = {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": body}
    cassette = {"version": 1, "interactions": [{"request": request, "response": response}]}
    path = Path(stack.enter_context(tempfile.TemporaryDirectory()), "cassette.json")
    path.write_text(json.dumps(cassette), "utf-8")
    recorder = vcr.VCR(record_mode="none", serializer="json")
    stack.enter_context(recorder.use_cassette(str(path), allow_playback_repeats=True))
    return cls(**settings)


def by_nothing(stack: Any, name: str, cls: Any, settings: dict[str, Any], answer: Any) -> Any:
    import httpx
    import httpx2

    lib: Any = httpx if name == "httpx" else httpx2
    transport = lib.MockTransport(lambda request: lib.Response(200, json=answer))
    return cls(transport=transport) if name == "httpx" else cls(http_client=lib.Client(transport=transport), **settings)


DOORS = {"agentsim": by_agentsim, "client": by_client, "respx": by_respx, "vcrpy": by_vcrpy, "floor": by_nothing}

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
