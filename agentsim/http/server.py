"""An Endpoint on 127.0.0.1, in a thread of its own or in the foreground."""

from __future__ import annotations

import socket
import threading
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
        port: of 127.0.0.1; 0 takes a free one.
        app: an ASGI application in place of an endpoint.
    Raises:
        UsageError: the port is taken, or no server is installed.
    """

    def __init__(self, endpoint: Endpoint | None, port: int = 0, *, app: Any = None) -> None:
        from agentsim.http.asgi import application

        uvicorn = _uvicorn()
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app if endpoint is None else application(endpoint),
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
        """Its base URL, without path."""
        return f"http://{HOST}:{self.port}"

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


def _listen(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.bind((HOST, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise UsageError(f"port {port} of {HOST} can't be had: {error.strerror}") from error
    sock.set_inheritable(False)
    return sock
