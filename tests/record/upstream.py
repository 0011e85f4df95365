"""A provider for recorders to talk to: another agentsim server, and one that waits where it is told to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import agentsim
from agentsim.http.provider import Provider, Settings
from agentsim.http.server import Server

SCENARIO = """
agentsim: 1
name: upstream
prompt: Refund order 42
tools:
  lookup_order: {input: {order_id: integer}, returns: "order {order_id}: shipped"}
replies:
  - {text: Let me look., tool_use: {lookup_order: {order_id: 42}}}
  - text: Refunded.
"""


@contextmanager
def provider(text: str = SCENARIO) -> Iterator[tuple[str, Provider]]:
    """Its URL, and what it saw."""
    endpoint = Provider(agentsim.loads(text), Settings())
    with Server(endpoint) as server:
        yield server.url, endpoint


#: A stream of the Messages API in two halves.
FIRST = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",'
    b'"model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one "}}\n\n'
)
SECOND = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"two"}}\n\n'
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},'
    b'"usage":{"output_tokens":2}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)


class Slow:
    """An ASGI application that sends the first half of a stream, and the second when it is let go.

    Attributes:
        go: lets it go on.
        left: the client went away before.
    """

    def __init__(self) -> None:
        self.go = threading.Event()
        self.left = threading.Event()
        self.headers: dict[str, str] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        self.headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        while (await receive()).get("more_body"):
            pass
        gone = asyncio.ensure_future(receive())
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": FIRST, "more_body": True})
        while not self.go.is_set():
            await asyncio.sleep(0.01)
            if gone.done():
                self.left.set()
                return
        gone.cancel()
        await send({"type": "http.response.body", "body": SECOND, "more_body": False})


def files(folder: Path) -> set[str]:
    """Names of what a recorder wrote."""
    return {path.name for path in folder.iterdir()}
