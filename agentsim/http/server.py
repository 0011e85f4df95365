"""An Endpoint on 127.0.0.1, or where it is told to listen, in a thread of its own or in the foreground."""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection
from types import TracebackType
from typing import Any

from agentsim.errors import UsageError
from agentsim.http.provider import Endpoint

HOST = "127.0.0.1"


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError("the wire server needs uvicorn; install agentsim[serve]") from error
    return uvicorn


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
        from agentsim.http.asgi import application
        from agentsim.http.doorkeeper import guarded

        uvicorn = _uvicorn()
        self.host = host
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        served = app if app is not None else application(endpoint)  # type: ignore[arg-type]  # one of both is given
        config = uvicorn.Config(
            guarded(served, allow_hosts),
            http=_protocol(),
            lifespan="on" if app is not None else "off",
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
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Its base URL for clients of this machine, without path."""
        everywhere = self.host in ("0.0.0.0", "::", "")
        host = HOST if everywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def run(self) -> None:
        """Serve until interrupted."""
        self._server.run(sockets=[self._socket])

    def start(self) -> Server:
        """Serve in a thread; connections are taken from now on."""
        self._thread = threading.Thread(target=self.run, name="agentsim-server", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving and wait for it."""
        self._server.should_exit = True
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


def _protocol() -> Any:
    """How HTTP is read: by httptools, with a bound on headers; by h11, which has one of its own, where that is not installed."""
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
