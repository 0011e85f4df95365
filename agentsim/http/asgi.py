"""What an ASGI application of ours is made of: it waits for other servers, which an Endpoint never does."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from agentsim.limits import limit
from agentsim.wire.base import HttpResponse

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

#: Closing a socket with this option set sends a reset.
_LINGER = struct.pack("ii", 1, 0)


class Hung(Exception):
    """The connection is to go away in the middle of an answer, as the scenario says."""


async def lifespan(receive: Receive, send: Send) -> None:
    """Agree to start and to stop; returns when the server stops."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def whole_body(receive: Receive) -> bytes | None:
    """The whole body; None where it is too large, which is told before it has all arrived."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    chunks, size, most = [body], len(body), limit("request_body_bytes")
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Hung("the client has gone")
        chunk = message.get("body", b"")
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            return None
    return b"".join(chunks)


async def answer(response: HttpResponse, send: Send, receive: Receive | None = None) -> None:
    """Send an answer, at its pace, up to where its connection goes away.

    Args:
        response: what is sent.
        send: ASGI's.
        receive: ASGI's; tells when the client has gone, where nothing more comes for it.
    """
    if response.headless:
        await _go_away(response, send, receive)
    await _pause(response, -1)
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    if response.length is not None:
        headers.append((b"content-length", b"%d" % response.length))
    elif not response.streams and response.broken is None:
        headers.append((b"content-length", b"%d" % sum(map(len, response.chunks))))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    broken = response.broken is not None
    if not response.delays:
        body = response.chunks[0] if len(response.chunks) == 1 else b"".join(response.chunks)
        await send({"type": "http.response.body", "body": body, "more_body": broken})
    else:
        last = len(response.chunks) - 1
        for index, (chunk, delay) in enumerate(zip(response.chunks, response.delays, strict=True)):
            await _pause(response, index)
            await asyncio.sleep(delay)
            await send({"type": "http.response.body", "body": chunk, "more_body": broken or index < last})
    if broken:
        await _go_away(response, send, receive)


async def _pause(response: HttpResponse, index: int) -> None:
    if response.silence is not None and response.silence.before == index:
        await asyncio.sleep(response.silence.seconds)


async def _go_away(response: HttpResponse, send: Send, receive: Receive | None) -> None:
    """Hang up; or say nothing more, until the client does."""
    if response.broken == "stall" and receive is not None:
        while (await receive())["type"] != "http.disconnect":
            pass
        raise Hung("the client has gone")
    hang_up(response, send)


def hang_up(response: HttpResponse, send: Send) -> None:
    """Let the connection go, with a reset where that is wanted; the server sees an exception and closes it.

    A server that listens can't refuse a connection: where that is wanted it resets the one that it has.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        reset = response.broken in ("reset", "refuse")
        if reset and (sock := transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        transport.abort() if reset else transport.close()
    raise Hung("the scenario disconnects here")
