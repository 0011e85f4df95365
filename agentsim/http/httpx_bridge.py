"""Between httpx (either generation) and an Endpoint: requests one way, the library's own responses the other.

The library's module is a parameter: `httpx` and `httpx2` have the same classes, but each insists on its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

from agentsim.wire.base import HttpRequest, HttpResponse

Answer = Callable[[HttpRequest], HttpResponse]


def neutral(request: Any, body: bytes) -> HttpRequest:
    """A library's request as a neutral one."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers.raw}
    return HttpRequest(request.method, str(request.url), headers, body)


@cache
def _stream_class(lib: Any) -> Any:
    """A stream that is both of the library's kinds, since clients assert one or the other."""

    class Stream(lib.SyncByteStream, lib.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, response: HttpResponse, request: Any) -> None:
            self._response = response
            self._request = request

        def __iter__(self) -> Iterator[bytes]:
            response = self._response
            if not response.delays:
                if response.chunks:
                    yield response.chunks[0] if len(response.chunks) == 1 else b"".join(response.chunks)
            else:
                for chunk, delay in zip(response.chunks, response.delays, strict=True):
                    time.sleep(delay)
                    yield chunk
            self._break()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            response = self._response
            if not response.delays:
                if response.chunks:
                    yield response.chunks[0] if len(response.chunks) == 1 else b"".join(response.chunks)
            else:
                for chunk, delay in zip(response.chunks, response.delays, strict=True):
                    await asyncio.sleep(delay)
                    yield chunk
            self._break()

        def _break(self) -> None:
            if self._response.broken is not None:
                raise disconnected(lib, self._response, self._request)

    return Stream


def disconnected(lib: Any, response: HttpResponse, request: Any) -> Exception:
    """What the library raises where the connection goes away."""
    if response.broken == "reset":
        error: Exception = lib.ReadError("[Errno 104] Connection reset by peer", request=request)
        return error
    text = (
        "Server disconnected without sending a response."
        if response.headless
        else "peer closed connection without sending complete message body (incomplete chunked read)"
    )
    closed: Exception = lib.RemoteProtocolError(text, request=request)
    return closed


def library_response(lib: Any, request: Any, response: HttpResponse) -> Any:
    """The library's own response.

    Raises:
        The library's own transport error, where the connection goes away before the headers.
    """
    if response.headless:
        raise disconnected(lib, response, request)
    headers = list(response.headers)
    if not response.streams:
        headers.append(("content-length", str(sum(map(len, response.chunks)))))
    stream = _stream_class(lib)(response, request)
    return lib.Response(response.status, headers=headers, stream=stream, extensions={"http_version": b"HTTP/1.1"})


@cache
def transport_class(lib: Any) -> Any:
    """A transport that is an Endpoint's, for clients sync and async."""

    class EndpointTransport(lib.BaseTransport, lib.AsyncBaseTransport):  # type: ignore[misc]
        def __init__(self, answer: Answer) -> None:
            self._answer = answer

        def handle_request(self, request: Any) -> Any:
            return library_response(lib, request, self._answer(neutral(request, request.read())))

        async def handle_async_request(self, request: Any) -> Any:
            return library_response(lib, request, self._answer(neutral(request, await request.aread())))

    return EndpointTransport
