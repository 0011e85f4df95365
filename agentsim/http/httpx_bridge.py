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
                for index, (chunk, delay) in enumerate(zip(response.chunks, response.delays, strict=True)):
                    time.sleep(delay + silent(lib, response, self._request, index))
                    yield chunk
            self._break()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            response = self._response
            if not response.delays:
                if response.chunks:
                    yield response.chunks[0] if len(response.chunks) == 1 else b"".join(response.chunks)
            else:
                for index, (chunk, delay) in enumerate(zip(response.chunks, response.delays, strict=True)):
                    await asyncio.sleep(delay + silent(lib, response, self._request, index))
                    yield chunk
            self._break()

        def _break(self) -> None:
            if self._response.broken is not None:
                raise disconnected(lib, self._response, self._request)

    return Stream


def silent(lib: Any, response: HttpResponse, request: Any, index: int) -> float:
    """Seconds to wait before a chunk (-1: the headers) because the answer pauses there.

    Raises:
        The library's own read time-out, at once, where the client would have given up before the pause ends.
    """
    silence = response.silence
    if silence is None or silence.before != index:
        return 0.0
    patience = (request.extensions.get("timeout") or {}).get("read")
    if patience is not None and patience <= silence.seconds:
        raise lib.ReadTimeout("The read operation timed out", request=request)
    return silence.seconds if silence.real else 0.0


def disconnected(lib: Any, response: HttpResponse, request: Any) -> Exception:
    """What the library raises where the connection goes away."""
    error: Exception | None = None
    if response.broken == "reset":
        error = lib.ReadError("[Errno 104] Connection reset by peer", request=request)
    elif response.broken == "refuse":
        error = lib.ConnectError("[Errno 111] Connection refused", request=request)
    elif response.broken == "stall":  # at once: nobody waits for a client's patience to end, or for ever
        error = lib.ReadTimeout("The read operation timed out", request=request)
    if error is not None:
        return error
    text = (
        "Server disconnected without sending a response."
        if response.headless
        else "peer closed connection without sending complete message body (incomplete chunked read)"
    )
    closed: Exception = lib.RemoteProtocolError(text, request=request)
    return closed


def library_response(lib: Any, request: Any, response: HttpResponse) -> Any:
    """The library's own response; silence before its headers is waited for where that is asked for.

    Raises:
        The library's own transport error, where the connection goes away before the headers.
    """
    if response.headless or response.silence is not None:
        time.sleep(_before_headers(lib, request, response))
    return _response(lib, request, response)


async def async_library_response(lib: Any, request: Any, response: HttpResponse) -> Any:
    """As `library_response`, others running meanwhile.

    Raises:
        The library's own transport error, where the connection goes away before the headers.
    """
    if response.headless or response.silence is not None:
        await asyncio.sleep(_before_headers(lib, request, response))
    return _response(lib, request, response)


def _before_headers(lib: Any, request: Any, response: HttpResponse) -> float:
    if response.headless:
        raise disconnected(lib, response, request)
    return silent(lib, response, request, -1)


def _response(lib: Any, request: Any, response: HttpResponse) -> Any:
    headers = list(response.headers)
    if response.length is not None or not response.streams:
        length = sum(map(len, response.chunks)) if response.length is None else response.length
        headers.append(("content-length", str(length)))
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
            return await async_library_response(lib, request, self._answer(neutral(request, await request.aread())))

    return EndpointTransport
