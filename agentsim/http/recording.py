"""Recording a command, or this process: a server that passes through, and the ways that lead to it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentsim.http.environment import base_urls, for_subprocess
from agentsim.http.forward import OWN, TARGET, Forward, local, upstreams
from agentsim.http.httpx_bridge import neutral
from agentsim.http.intercept import LIBRARIES, is_provider_request, let_through
from agentsim.http.on_import import forget, when_imported
from agentsim.http.record import Recorder
from agentsim.http.serve import run_command
from agentsim.http.server import Server


def record(
    recorder: Recorder,
    targets: Mapping[str, str],
    command: Sequence[str],
    *,
    port: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> int:
    """Run a command whose requests pass through a recorder.

    Args:
        recorder: keeps them; the caller finishes it.
        targets: where they go, from `upstreams`.
        command: is run with the base-URL variables set; keys stay as they are.
        port: of 127.0.0.1; 0 takes a free one.
        tell: is told of what went wrong.
    Returns:
        The command's exit status.
    Raises:
        UsageError: the command can't be run, or the port not be had.
    """
    with Server(None, port, app=Forward(recorder, targets, tell=tell)) as server:
        child = for_subprocess(server.url, os.environ)
        if not local(targets):  # a real provider: a dummy key would only hide another way to sign in
            child = {name: value for name, value in child.items() if name in base_urls("") or "proxy" in name.lower()}
        return run_command(command, {**os.environ, **child})


@contextlib.contextmanager
def passing_through(
    recorder: Recorder, *, upstream: Sequence[str] = (), tell: Callable[[str], None] = lambda text: None
) -> Iterator[str]:
    """While it is open, provider requests of this process pass through a recorder.

    Those of httpx and httpx2 clients go wherever they were meant to, whenever the client was made; other libraries find the
    recorder by the base-URL variables.

    Args:
        recorder: keeps them; the caller finishes it.
        upstream: as `--upstream`; none: where each request was meant to go.
        tell: is told of what went wrong.
    Returns:
        The recorder's URL, for child processes.
    """
    token = secrets.token_hex(8)
    targets = upstreams(tuple(upstream), os.environ)
    with Server(None, app=Forward(recorder, targets, token, tell)) as server:
        let_through(f"127.0.0.1:{server.port}")
        saved = {name: os.environ.get(name) for name in base_urls("")}
        os.environ.update(base_urls(server.url))
        undo: list[Callable[[], None]] = []
        meant = "" if upstream else token

        def patch(lib: Any) -> None:
            undo.extend(_patch(lib, server.url, meant))

        for name in LIBRARIES:
            when_imported(name, patch)
        try:
            yield server.url
        finally:
            for name in LIBRARIES:
                forget(name, patch)
            for each in reversed(undo):
                each()
            for name, value in saved.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _patch(lib: Any, url: str, token: str) -> list[Callable[[], None]]:
    """Lead a library's provider requests to `url`; returns what undoes it."""
    undo: list[Callable[[], None]] = []
    for cls, base, method in (
        (lib.Client, lib.HTTPTransport, "handle_request"),
        (lib.AsyncClient, lib.AsyncHTTPTransport, "handle_async_request"),
    ):
        real = cls._transport_for_url

        def transport_for_url(self: Any, target: Any, _real: Any = real, _base: Any = base, _way: str = method) -> Any:
            transport = _real(self, target)
            if not isinstance(transport, _base):
                return transport
            return _Led(lib, transport, _base, url, token, _way)

        cls._transport_for_url = transport_for_url
        undo.append(lambda cls=cls, real=real: setattr(cls, "_transport_for_url", real))  # type: ignore[misc]
    return undo


class _Led:
    """A transport that sends provider requests to the recorder, over the same library's own transport."""

    def __init__(self, lib: Any, real: Any, base: Any, url: str, token: str, way: str) -> None:
        self._lib, self._real, self._base, self._url, self._token = lib, real, base, url, token
        setattr(self, way, getattr(self, f"_{way}"))

    def _handle_request(self, request: Any) -> Any:
        led = self._led(request, request.read())
        return self._real.handle_request(request) if led is None else self._transport().handle_request(led)

    async def _handle_async_request(self, request: Any) -> Any:
        led = self._led(request, await request.aread())
        if led is None:
            return await self._real.handle_async_request(request)
        return await self._transport().handle_async_request(led)

    def _transport(self) -> Any:
        """One for a request: it belongs to no event loop, and its connection closes with the response."""
        return self._base(verify=False, limits=self._lib.Limits(max_keepalive_connections=0))

    def _led(self, request: Any, body: bytes) -> Any:
        plain = neutral(request, body)
        if OWN in request.extensions:
            return None
        if plain.url.startswith(self._url) or not is_provider_request(plain):
            return None
        headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() != "host"]
        scheme, _, rest = plain.url.partition("://")
        host, _, path = rest.partition("/")
        if self._token:
            headers.append((TARGET, f"{self._token} {scheme}://{host}"))
        return self._lib.Request(
            request.method, f"{self._url}/{path}", headers=headers, content=body, extensions=request.extensions
        )
