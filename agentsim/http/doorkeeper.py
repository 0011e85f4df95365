"""Whom a server on this machine answers: nobody whom a page in somebody's browser has sent.

A page of a foreign site can send requests to this machine, and with a name of its own that leads here (DNS rebinding) even read
the answers. Both show: the first in `Origin`, the second in `Host`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from agentsim.http.asgi import Receive, Scope, Send, answer
from agentsim.http.codecs import likely_codec
from agentsim.http.guard import allowed, is_local
from agentsim.http.provider import Endpoint
from agentsim.limits import limit
from agentsim.wire.base import Complaint, HttpRequest, HttpResponse

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def doored(endpoint: Endpoint, hosts: Collection[str] = ()) -> Endpoint:
    """The Endpoint, behind a look at whom a request is for and who sent it; `hosts` as `guarded`."""

    def door(request: HttpRequest) -> HttpResponse:
        complaint = refusal(request.headers, hosts) or _too_long(request)
        return endpoint(request) if complaint is None else likely_codec(request).refuse(complaint, "0")

    return door


def guarded(app: App, hosts: Collection[str] = ()) -> App:
    """The same for an ASGI application.

    Args:
        app: an ASGI application.
        hosts: names by which this machine may be asked, beside its own; `*.example.com` for all below one.
    """

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            request = HttpRequest(
                scope["method"], f"{scope['path']}?{scope['query_string'].decode('latin-1')}", headers
            )
            complaint = refusal(headers, hosts) or _too_long(request)
            if complaint is not None:
                await answer(likely_codec(request).refuse(complaint, "0"), send)
                return
        await app(scope, receive, send)

    return door


def refusal(headers: Mapping[str, str], hosts: Collection[str] = ()) -> Complaint | None:
    """Why a request is not answered; None where it is.

    Args:
        headers: names in lower case.
        hosts: as `guarded`.
    """
    host = headers.get("host")
    if host is not None and not _is_ours(_name(f"//{host}"), hosts):
        return _foreign(f"the Host {host!r}", _name(f"//{host}"))
    origin = headers.get("origin")
    if origin is not None and not _is_ours(_name(origin), hosts):
        return _foreign(f"the Origin {origin!r}", _name(origin))
    return None


def _foreign(what: str, name: str) -> Complaint:
    way = f"; `agentsim serve --allow-host {name}` lets it in" if name else ""
    text = f"agentsim: {what[:200]} is not this machine, and may be a web page's doing{way}"
    return Complaint("is_for_this_machine", text, 403, "permission_error")


def _too_long(request: HttpRequest) -> Complaint | None:
    most = limit("request_header_bytes")
    size = len(request.url) + sum([len(name) + len(value) + 4 for name, value in request.headers.items()])
    if size <= most:
        return None
    return Complaint(
        "headers_are_small_enough", f"agentsim: more than {most} bytes of headers", 431, "request_too_large"
    )


@lru_cache(maxsize=256)
def _name(url: str) -> str:
    """The host that a URL names, without port; "" where it names none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_ours(name: str, hosts: Collection[str]) -> bool:
    """Whether a name is this machine's. A number is: nobody can make his name resolve to what has none."""
    if not name:
        return False
    if is_local(name) or allowed(name, hosts):
        return True
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def bounded(protocol: Any) -> Any:
    """A protocol class of the server that hangs up on a request whose headers never end.

    Args:
        protocol: `uvicorn.protocols.http.httptools_impl.HttpToolsProtocol`, which would keep them all.
    """

    class Bounded(protocol):  # type: ignore[misc]
        _head = 0
        _in_head = True

        def data_received(self, data: bytes) -> None:
            if self._in_head:
                self._head += len(data)
                if self._head > limit("request_header_bytes") + _READ:
                    self.transport.abort()
                    return
            super().data_received(data)

        def on_message_begin(self) -> None:
            self._in_head, self._head = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_head = False
            super().on_headers_complete()

    return Bounded


#: A loop reads so many bytes at once, of which some may be a body.
_READ = 256 * 1024
