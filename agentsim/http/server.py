"""An Endpoint on 127.0.0.1, or where it is told to listen, in a thread of its own or in the foreground."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from types import TracebackType
from typing import Any, Protocol

from agentsim.errors import UsageError, not_installed
from agentsim.http.provider import Endpoint

HOST = "127.0.0.1"

#: Seconds for which a server that stops waits for answers that are on their way.
_GRACE = 1.0


class _Running(Protocol):
    """What serves: `run` returns after `stop` or a signal."""

    def run(self, sock: socket.socket) -> None: ...

    def stop(self) -> None: ...


class Server:
    """A wire server for other processes.

    Args:
        endpoint: answers the requests.
        port: 0 takes a free one.
        app: an ASGI application in place of an endpoint.
        host: the address that it listens on.
        allow_hosts: names by which requests may ask for it, beside this machine's own.
    Raises:
        UsageError: the port is taken, the address is none of this machine's, or no server is installed.
    """

    def __init__(
        self,
        endpoint: Endpoint | None,
        port: int = 0,
        *,
        app: Any = None,
        host: str = HOST,
        allow_hosts: Collection[str] = (),
    ) -> None:
        from agentsim.http.doorkeeper import doored, guarded

        served = _Uvicorn(guarded(app, allow_hosts)) if endpoint is None else _Own(doored(endpoint, allow_hosts))
        self._running: _Running = served
        self.host = host
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Its base URL for clients of this machine, without path."""
        everywhere = self.host in ("0.0.0.0", "::", "")
        host = HOST if everywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def run(self) -> None:
        """Serve until interrupted."""
        self._running.run(self._socket)

    def start(self) -> Server:
        """Serve in a thread; connections are taken from now on."""
        self._thread = threading.Thread(target=self.run, name="agentsim-server", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving and wait for it."""
        self._running.stop()
        if self._thread is not None:
            self._thread.join(10)
            self._thread = None
        self._socket.close()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Own:
    """Serves an Endpoint by `Connection`, which knows that an Endpoint never waits."""

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            from agentsim.http.connection import Connection
        except ImportError as error:
            raise _not_installed("httptools") from error
        self._alive: set[Connection] = set()
        self._make = lambda: Connection(endpoint, self._alive)
        self._lock = threading.RLock()  # a signal may come while the main thread holds it
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    def run(self, sock: socket.socket) -> None:
        with _signals(self.stop), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve(sock))

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._end.set)

    async def _serve(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        with self._lock:
            self._loop = loop
            if self._stopped:
                self._end.set()
        server = await loop.create_server(self._make, sock=sock)
        try:
            await self._end.wait()
        finally:
            with self._lock:
                self._loop = None
            server.close()
            await self._say_goodbye()

    async def _say_goodbye(self) -> None:
        """Close what is idle at once, and what is being answered when it is, or after a while."""
        until = asyncio.get_running_loop().time() + _GRACE
        while [each for each in list(self._alive) if each.close()] and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.01)


class _Uvicorn:
    """Serves an ASGI application."""

    def __init__(self, app: Any) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise _not_installed("uvicorn") from error
        config = uvicorn.Config(
            app,
            http=_protocol(),
            lifespan="on",
            log_config=None,
            log_level=60,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            ws="none",
            timeout_keep_alive=300,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)

    def run(self, sock: socket.socket) -> None:
        self._server.run(sockets=[sock])

    def stop(self) -> None:
        self._server.should_exit = True


def _not_installed(package: str) -> UsageError:
    return UsageError(not_installed("the wire server", package, "serve"))


def _loop_factory() -> Any:
    """uvloop's loop where it is installed: half the time of asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """In the main thread, an interrupt or a termination stops the server in good order, and then does what it does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def note(number: int, frame: Any) -> None:
        caught.append(number)
        stop()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for each in reversed(caught):
        signal.raise_signal(each)


def _protocol() -> Any:
    """How uvicorn reads HTTP: by httptools, with a bound on headers; by h11, which has one of its own, where that is not installed."""
    from agentsim.http.doorkeeper import bounded

    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"
    return bounded(HttpToolsProtocol)


def _listen(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise UsageError(f"port {port} of {host} can't be had: {error.strerror}") from error
    sock.set_inheritable(False)
    return sock
