"""Requests of httpx and httpx2 clients, answered in process: sync and async, built before or after.

Two hooks, because each alone misses some. `_transport_for_url` of clients catches requests before anybody's mock of the
transports sees them, aiohttp transports included, and leaves a caller's own MockTransport alone. `handle_request` of
the network transports catches those that a caller's own transport wraps. aiohttp itself is led to a loopback server.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from agentsim.errors import UnscriptedRequest, UsageError
from agentsim.http.codecs import HOSTS, codec_of, likely_codec
from agentsim.http.guard import allowed, is_local
from agentsim.http.httpx_bridge import async_library_response, library_response, neutral
from agentsim.http.on_import import forget, when_imported
from agentsim.http.sessions import api_key
from agentsim.wire.base import Complaint, HttpRequest, HttpResponse, read_json

LIBRARIES = ("httpx", "httpx2")


class Listener(Protocol):
    """Who gets requests: a playing session."""

    @property
    def key(self) -> str:
        """The API key that names it."""

    @property
    def allow_hosts(self) -> Iterable[str]:
        """Hosts that may be reached."""

    def answer(self, request: HttpRequest) -> HttpResponse:
        """The answer to a request of a provider's."""

    def loopback(self) -> str:
        """URL of a server that gives the same answers."""

    def blame(self, error: Exception) -> None:
        """Keep an error to be raised when the session closes."""


@dataclass(slots=True)
class _State:
    lock: threading.RLock = field(default_factory=threading.RLock)
    listeners: list[Listener] = field(default_factory=list)
    servers: set[str] = field(default_factory=set)
    undo: list[Callable[[], None]] = field(default_factory=list)


_state = _State()
_here: contextvars.ContextVar[tuple[Listener, ...]] = contextvars.ContextVar("agentsim_listeners", default=())


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """While it is open, provider requests of this process go to `listener`."""
    with _state.lock:
        _state.listeners.append(listener)
        if len(_state.listeners) == 1:
            _install()
    token = _here.set((*_here.get(), listener))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # closed in another context than it was opened in
            _here.reset(token)
        with _state.lock:
            _state.listeners.remove(listener)
            if not _state.listeners:
                _uninstall()


def let_through(netloc: str) -> None:
    """Requests to this `host:port` are a loopback server's own."""
    _state.servers.add(netloc)


def listener_of(request: HttpRequest) -> Listener:
    """Who gets this request: the only listener, the innermost of this context, or the one whose key it carries.

    Raises:
        UsageError: there are several, and nothing tells which.
    """
    playing = _state.listeners
    if len(playing) == 1:
        return playing[0]
    for listener in reversed(_here.get()):
        if listener in playing:
            return listener
    key = api_key(request)
    for listener in playing:
        if listener.key == key:
            return listener
    raise UsageError(
        f"{len(playing)} scenarios play at once and this request belongs to none of them by its context; "
        f"make the client with sim.client(…), or give it the API key sim.key ({', '.join(each.key for each in playing)})"
    )


def is_provider_request(request: HttpRequest) -> bool:
    """Whether a request is one that codecs speak: by its host, else by its path and the shape of its body."""
    if request.host in HOSTS:
        return True
    if codec_of(request) is None or not request.body:
        return False
    try:
        body = read_json(request.body)
    except ValueError:
        return False
    if not isinstance(body, dict):
        return False
    return ("model" in body and ("messages" in body or "input" in body)) or "contents" in body


def answered(request: HttpRequest) -> HttpResponse | None:
    """The answer to a provider's request; None for any other."""
    if _netloc(request.url) in _state.servers or not is_provider_request(request):
        return None
    try:
        return listener_of(request).answer(request)
    except UsageError as error:
        for listener in _state.listeners:
            listener.blame(error)
        return likely_codec(request).refuse(Complaint("harness", f"agentsim: {error}"), "0")


def _netloc(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _refusal(request: HttpRequest, lib: Any, real: Any) -> str | None:
    """Why a request that is no provider's can't go on; None where it may."""
    host = request.host
    if is_local(host) or any(allowed(host, each.allow_hosts) for each in _state.listeners) or _mocked_below(lib, real):
        return None
    return (
        f"{request.method} {request.url} is no request that agentsim knows, and {host} is not among the allowed hosts"
    )


def _mocked_below(lib: Any, real: Any) -> bool:
    """Whether somebody else's mock stands behind the transport, and so nothing leaves."""
    if not str(getattr(real, "__module__", "")).startswith(lib.__name__):
        return True
    core = sys.modules.get("httpcore2" if lib.__name__ == "httpx2" else "httpcore")
    handle = getattr(getattr(core, "ConnectionPool", None), "handle_request", None)
    return handle is not None and not str(getattr(handle, "__module__", "")).startswith(core.__name__)  # type: ignore[union-attr]


# --- patches ---------------------------------------------------------------------------------------------------------


def _install() -> None:
    for name in LIBRARIES:
        when_imported(name, _patch_library)
    when_imported("aiohttp", _patch_aiohttp)


def _uninstall() -> None:
    for name in LIBRARIES:
        forget(name, _patch_library)
    forget("aiohttp", _patch_aiohttp)
    while _state.undo:
        _state.undo.pop()()


def _patch(owner: Any, name: str, new: Any) -> None:
    real = owner.__dict__[name]
    setattr(owner, name, new)

    def undo() -> None:
        if owner.__dict__.get(name) is new:
            setattr(owner, name, real)

    _state.undo.append(undo)


def _patch_library(lib: ModuleType) -> None:
    if getattr(lib.Client, "_agentsim_patched", False):  # `httpx2.alias_httpx()` makes both names one module
        return
    lib.Client._agentsim_patched = True
    _state.undo.append(lambda: delattr(lib.Client, "_agentsim_patched"))
    door = _door_class(lib)
    for client in (lib.Client, lib.AsyncClient):
        _patch_client(lib, client, door)
    _patch_transports(lib)


def _patch_client(lib: ModuleType, client: Any, door: Any) -> None:
    real = client._transport_for_url

    def transport_for_url(self: Any, url: Any) -> Any:
        transport = real(self, url)
        return door(transport) if _is_network(lib, transport) else transport

    _patch(client, "_transport_for_url", transport_for_url)


def _is_network(lib: ModuleType, transport: Any) -> bool:
    """Whether a transport goes to the network: the library's own, or one over aiohttp (litellm hides one)."""
    if isinstance(transport, lib.HTTPTransport | lib.AsyncHTTPTransport):
        return True
    return any("aiohttp" in each.__module__ for each in type(transport).__mro__)


def _door_class(lib: Any) -> Any:
    """A transport that asks first, and goes on to the real one."""

    class Door(lib.BaseTransport, lib.AsyncBaseTransport):  # type: ignore[misc]
        def __init__(self, real: Any) -> None:
            self.real = real

        def handle_request(self, request: Any) -> Any:
            response = answered(neutral(request, request.read()))
            return self.real.handle_request(request) if response is None else library_response(lib, request, response)

        async def handle_async_request(self, request: Any) -> Any:
            response = answered(neutral(request, await request.aread()))
            if response is not None:
                return await async_library_response(lib, request, response)
            return await self.real.handle_async_request(request)

    return Door


def _patch_transports(lib: Any) -> None:
    real_sync = lib.HTTPTransport.handle_request
    real_async = lib.AsyncHTTPTransport.handle_async_request

    def own(request: Any, body: bytes, real: Any) -> HttpResponse | None:
        """The response where it is ours to give, an exception where the request must not go on, else None."""
        plain = neutral(request, body)
        response = answered(plain)
        if response is not None:
            return response
        if _netloc(plain.url) not in _state.servers and (why := _refusal(plain, lib, real)):
            _blame_all(UnscriptedRequest(why))
            raise lib.ConnectError(f"agentsim: {why}", request=request)
        return None

    def handle_request(self: Any, request: Any) -> Any:
        response = own(request, request.read(), real_sync)
        return real_sync(self, request) if response is None else library_response(lib, request, response)

    async def handle_async_request(self: Any, request: Any) -> Any:
        response = own(request, await request.aread(), real_async)
        if response is not None:
            return await async_library_response(lib, request, response)
        return await real_async(self, request)

    _patch(lib.HTTPTransport, "handle_request", handle_request)
    _patch(lib.AsyncHTTPTransport, "handle_async_request", handle_async_request)


def _blame_all(error: Exception) -> None:
    for listener in _state.listeners:
        listener.blame(error)


def _patch_aiohttp(lib: Any) -> None:
    """aiohttp has no transport to replace: its requests to providers go to a loopback server instead."""
    real = lib.ClientSession._request

    async def request(self: Any, method: str, str_or_url: Any, **more: Any) -> Any:
        url = str(self._build_url(str_or_url))
        if HttpRequest(method, url).host in HOSTS:
            headers = {str(k).lower(): str(v) for k, v in dict(more.get("headers") or {}).items()}
            listener = listener_of(HttpRequest(method, url, headers))
            rest = url.partition("://")[2].partition("/")[2]
            str_or_url = f"{listener.loopback()}/{rest}"
            more = {**more, "ssl": True, "proxy": None}
        return await real(self, method, str_or_url, **more)

    _patch(lib.ClientSession, "_request", request)
