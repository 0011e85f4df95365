"""One HTTP/1.1 connection of the wire server: httptools reads the requests, an Endpoint answers them, in order.

An Endpoint never waits, so most answers are written in the same step in which the last byte of the request came: no task, no queue, one
write. Only an answer that has a pace is sent by a task; what comes meanwhile on the connection waits.
"""

from __future__ import annotations

import asyncio
import http
import re
import socket
import struct
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools

from agentsim.http.codecs import likely_codec
from agentsim.http.provider import Endpoint
from agentsim.http.reading import TOO_LARGE
from agentsim.limits import limit
from agentsim.wire.base import HttpRequest, HttpResponse

#: Closing a socket with this option set sends a reset.
RESET = struct.pack("ii", 1, 0)

#: How a body's end is known: by its length, its last chunk, or the connection's end.
LENGTH, CHUNKED, TO_THE_END = "length", "chunked", "to the end"

#: Seconds for which a client is read on that was refused in the middle of its request.
_PATIENCE = 2.0

#: So much comes at once, of which some may be a body.
_READ = 256 * 1024

#: Java's client offers HTTP/2 with each request, whose body the parser would then take for HTTP/2.
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in http.HTTPStatus}
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_LAST = b"0\r\n\r\n"


class Connection(asyncio.Protocol):
    """Answers the requests of one client.

    Args:
        endpoint: what answers.
        alive: the server's connections; this one is in there as long as it is open.
    """

    __slots__ = (
        "_alive", "_body", "_closing", "_endpoint", "_head", "_headers", "_is_head", "_largest", "_longest", "_parser", "_size",
        "_target", "_task", "_transport", "_waiting",
    )  # fmt: skip

    def __init__(self, endpoint: Endpoint, alive: set[Connection]) -> None:
        self._endpoint, self._alive = endpoint, alive
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self._task: asyncio.Task[None] | None = None
        self._waiting: deque[tuple[HttpResponse, bool, bool]] = deque()
        self._closing = False
        self._largest, self._longest = limit("request_body_bytes"), limit("request_header_bytes")
        self._head: int | None = 0
        self._target, self._headers, self._body, self._size = b"", dict[str, str](), list[bytes](), 0

    # --- asyncio's side ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        self._transport = transport
        self._alive.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """It has gone; nothing more is sent."""
        self._alive.discard(self)
        self._closing = True
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Bytes of one or more requests."""
        if self._closing:
            return
        if self._head is not None:
            self._head += len(data)
            if self._head > self._longest + _READ:  # headers without end would all be kept
                self._closing = True
                self._transport.abort()
                return
        if b"pgrade:" in data:
            data = _UPGRADE.sub(b"\r\nx-no-upgrade:", data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # CONNECT: what follows is in another protocol
            self._closing = True
            self._transport.close()
        except httptools.HttpParserError:
            self._refuse_the_rest(_plain(400, "Invalid HTTP request received."))

    def pause_writing(self) -> None:
        """The client reads more slowly than it asks."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._transport.resume_reading()

    def close(self) -> bool:
        """The server stops: close at once where no answer is on its way; returns whether one is."""
        if self._task is not None:
            return True
        self._transport.close()
        return False

    # --- the parser's side -------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head = 0
        self._target, self._headers, self._body, self._size = b"", {}, [], 0

    def on_url(self, part: bytes) -> None:
        """Of the request's target; it may come in pieces."""
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """A client that asks whether it may send its body is told so."""
        self._head = None
        if "expect" in self._headers and self._headers["expect"].lower() == "100-continue" and self._task is None:
            self._transport.write(_CONTINUE)

    def on_body(self, part: bytes) -> None:
        """Of the body; one that is too large is refused before it has all arrived."""
        self._size += len(part)
        if self._size <= self._largest:
            self._body.append(part)
        elif not self._closing:
            refusal = likely_codec(self._request(b"")).refuse(TOO_LARGE, "0")
            self._refuse_the_rest(_head(refusal, LENGTH, len(refusal.body), False) + refusal.body)

    def on_message_complete(self) -> None:
        """A whole request."""
        if self._closing:
            return
        body = self._body
        request = self._request(body[0] if len(body) == 1 else b"".join(body))
        try:
            response = self._endpoint(request)
        except Exception:  # Endpoints answer their own mistakes, so this is one of ours
            self._refuse_the_rest(_plain(500, "Internal Server Error"))
            raise
        is_head, stays = request.method == "HEAD", self._parser.should_keep_alive()
        if self._task is None:
            self._send(response, is_head, stays)
        else:
            self._waiting.append((response, is_head, stays))

    def _request(self, body: bytes) -> HttpRequest:
        target = self._target.decode("latin-1")
        if not target.startswith("/") and "://" in target:
            target = "/" + target.partition("://")[2].partition("/")[2]
        if "%" in target:
            path, mark, query = target.partition("?")
            target = unquote(path) + mark + query
        return HttpRequest(self._parser.get_method().decode("ascii"), target, self._headers, body)

    # --- answers -----------------------------------------------------------------------------------------------

    def _send(self, response: HttpResponse, is_head: bool, stays: bool) -> None:
        """Send an answer, at once or at its pace, up to where its connection goes away."""
        if response.headless:
            self._go_away(response)
            return
        framing = self._framing(response)
        stays = stays and framing != TO_THE_END
        if (response.delays or response.silence is not None) and not is_head:
            self._task = asyncio.get_running_loop().create_task(self._send_slowly(response, framing, stays))
            return
        body = response.chunks[0] if len(response.chunks) == 1 else b"".join(response.chunks)
        head = _head(response, framing, len(body), stays)
        if is_head:
            self._transport.write(head)
        elif framing != CHUNKED:
            self._transport.write(head + body)
        elif response.broken is None:
            self._transport.write(b"%b%x\r\n%b\r\n%b" % (head, len(body), body, _LAST) if body else head + _LAST)
        else:
            self._transport.write(head + _chunk(body))
        self._sent(response, stays)

    async def _send_slowly(self, response: HttpResponse, framing: str, stays: bool) -> None:
        silence, delays = response.silence, response.delays or (0.0,) * len(response.chunks)
        if silence is not None and silence.before < 0:
            await asyncio.sleep(silence.seconds)
        self._transport.write(_head(response, framing, sum(map(len, response.chunks)), stays))
        for index, (chunk, delay) in enumerate(zip(response.chunks, delays, strict=True)):
            await asyncio.sleep(delay + (silence.seconds if silence is not None and silence.before == index else 0.0))
            self._transport.write(_chunk(chunk) if framing == CHUNKED else chunk)
        if framing == CHUNKED and response.broken is None:
            self._transport.write(_LAST)
        self._task = None
        self._sent(response, stays)
        while self._waiting and self._task is None and not self._closing:
            self._send(*self._waiting.popleft())

    def _framing(self, response: HttpResponse) -> str:
        """How the client knows where the body ends; HTTP/1.0 has no chunks."""
        if response.length is not None or (not response.streams and response.broken is None):
            return LENGTH
        return TO_THE_END if self._parser.get_http_version() == "1.0" else CHUNKED

    def _sent(self, response: HttpResponse, stays: bool) -> None:
        if response.broken is not None:
            self._go_away(response)
        elif not stays:
            self._closing = True
            self._transport.close()

    def _go_away(self, response: HttpResponse) -> None:
        """Close the connection, reset it, or say nothing more until the client goes.

        A server that listens can't refuse a connection: where that is wanted it resets the one that it has.
        """
        self._closing = True
        if response.broken == "stall":
            return
        reset = response.broken in ("reset", "refuse")
        if reset and (sock := self._transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._transport.abort() if reset else self._transport.close()

    def _refuse_the_rest(self, answer: bytes) -> None:
        """Answer, and read what the client still sends without looking at it: closing at once would reset the answer away."""
        self._closing = True
        self._transport.write(answer)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(_PATIENCE, self._transport.close)


def _head(response: HttpResponse, framing: str, length: int, stays: bool) -> bytes:
    lines = _LINES.get(response.status) or f"HTTP/1.1 {response.status} \r\n"
    for name, value in response.headers:
        lines += f"{name}: {value}\r\n"
    if framing == LENGTH:
        lines += f"content-length: {length if response.length is None else response.length}\r\n"
    elif framing == CHUNKED:
        lines += "transfer-encoding: chunked\r\n"
    return (f"{lines}\r\n" if stays else f"{lines}connection: close\r\n\r\n").encode("latin-1")


def _plain(status: int, text: str) -> bytes:
    """An answer below the providers' level."""
    response = HttpResponse(status, (("content-type", "text/plain; charset=utf-8"),))
    return _head(response, LENGTH, len(text), False) + text.encode()


def _chunk(data: bytes) -> bytes:
    """A piece of a body; an empty one would be the body's end."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
