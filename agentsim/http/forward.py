"""Passing requests through to the real provider, or to another server, byte for byte as they come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from agentsim.errors import UsageError, not_installed
from agentsim.http.asgi import Receive, Scope, Send, answer, hang_up, lifespan, whole_body
from agentsim.http.codecs import likely_codec
from agentsim.http.guard import is_local
from agentsim.http.reading import TOO_LARGE
from agentsim.http.record import Recorder
from agentsim.wire.base import Complaint, HttpRequest, HttpResponse
from agentsim.wire.gemini import GEMINI

#: Wire -> the name under which `--upstream NAME=URL` speaks of its provider.
NAMES = {ANTHROPIC: "anthropic", RESPONSES: "openai", CHAT: "openai", GEMINI: "gemini"}
#: Provider -> where it lives, without a version, and the variables that lead elsewhere.
HOMES = {
    "anthropic": ("https://api.anthropic.com", ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_API_BASE")),
    "openai": ("https://api.openai.com", ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    "gemini": ("https://generativelanguage.googleapis.com", ("GOOGLE_GEMINI_BASE_URL",)),
}
#: A client in this process says by this header where it meant to go; its value begins with the recorder's token.
TARGET = "x-agentsim-upstream"

#: Marks requests of the recorder's own, which are not led to it again.
OWN = "agentsim_recorder"

#: Headers of one connection, and those that are made anew for the next one.
_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length",
     "accept-encoding", "expect", TARGET}
)  # fmt: skip


def upstreams(given: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """Where each provider's requests go: as said, else as the environment says, else the provider's own address.

    Args:
        given: `URL` for all, or `NAME=URL` for one of HOMES.
        environment: of the command.
    Raises:
        UsageError: an unknown provider, or no URL.
    """
    found = {}
    for name, (home, variables) in HOMES.items():
        named = next((environment[v] for v in variables if environment.get(v)), home)
        found[name] = named.rstrip("/").removesuffix("/v1")
    for each in given:
        name, equals, url = each.partition("=")
        if not equals or "/" in name:
            name, url = "", each
        if name and name not in HOMES:
            raise UsageError(f"--upstream: there is no provider {name!r}; there are {', '.join(HOMES)}")
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"--upstream wants a URL or NAME=URL, but {each!r} came")
        for one in [name] if name else HOMES:
            found[one] = url.rstrip("/").removesuffix("/v1")
    return found


def local(targets: Mapping[str, str]) -> bool:
    """Whether everything goes to this machine, so that any key will do."""
    return all(is_local(HttpRequest("GET", url + "/").host) for url in targets.values())


@dataclass(slots=True)
class Forward:
    """An ASGI application that passes requests on and keeps what it saw.

    Args:
        recorder: keeps it.
        targets: provider -> base URL, from `upstreams`.
        token: whoever knows it may say where a request goes.
        tell: is told of what went wrong.
    """

    recorder: Recorder
    targets: Mapping[str, str]
    token: str = ""
    tell: Callable[[str], None] = lambda text: None
    _clients: dict[bool, Any] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, self._closing(send))
            return
        if scope["type"] != "http":
            raise ConnectionError("only HTTP is passed through")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        path = scope.get("raw_path", b"").decode("latin-1").partition("?")[0] or scope["path"]
        path += f"?{query}" if query else ""
        body = await whole_body(receive)
        request = HttpRequest(scope["method"], self._base(path, headers) + path, headers, body or b"")
        if body is None:
            await answer(likely_codec(request).refuse(TOO_LARGE, "0"), send)
            return
        known = self.recorder.recorded(request)
        if known is not None:
            await answer(known, send)
            return
        await self._pass(request, scope, receive, send)

    def _closing(self, send: Send) -> Send:
        """Closes the clients before it tells that all is closed."""

        async def tell(message: dict[str, Any]) -> None:
            if message["type"] == "lifespan.shutdown.complete":
                for client in self._clients.values():
                    await client.aclose()
            await send(message)

        return tell

    def _base(self, path: str, headers: Mapping[str, str]) -> str:
        token, _, url = headers.get(TARGET, "").partition(" ")
        if url and self.token and token == self.token:
            return url
        return self.targets[NAMES[likely_codec(HttpRequest("POST", path, headers)).wire]]

    async def _pass(self, request: HttpRequest, scope: Scope, receive: Receive, send: Send) -> None:
        httpx = _httpx()
        client = self._client(request)
        number = self.recorder.begin(request)
        sent = [(name, value) for name, value in request.headers.items() if name not in _HOP]
        # Compressed answers could not be kept as they pass.
        sent.append(("accept-encoding", "identity"))
        try:
            asked = client.build_request(
                request.method, request.url, headers=sent, content=request.body, extensions={OWN: True}
            )
            response = await client.send(asked, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            if number is not None:
                self.recorder.drop()
            await self._unreachable(request, error, send)
            return
        except httpx.TransportError as error:
            how = "reset" if isinstance(error, httpx.ReadError) else "end"
            self._keep(number, request, None, (), b"", how)
            await _hang_up(how, headless=True, send=send)
            return
        await self._stream(request, number, response, receive, send)

    def _client(self, request: HttpRequest) -> Any:
        """A client; what goes to this machine goes by no proxy."""
        here = is_local(request.host)
        if here not in self._clients:
            httpx = _httpx()
            wait = httpx.Timeout(None, connect=60)
            self._clients[here] = httpx.AsyncClient(timeout=wait, follow_redirects=False, trust_env=not here)
        return self._clients[here]

    async def _stream(
        self, request: HttpRequest, number: int | None, response: Any, receive: Receive, send: Send
    ) -> None:
        """Send each piece on as it comes; what came is kept, whole or not."""
        httpx = _httpx()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _HOP]
        length = response.headers.get("content-length")
        raw = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in headers]
        if length is not None:
            raw.append((b"content-length", length.encode()))
        pieces: list[bytes] = []
        broken: str | None = None
        gone = asyncio.ensure_future(_until_gone(receive, asyncio.current_task()))
        try:
            await send({"type": "http.response.start", "status": response.status_code, "headers": raw})
            async for piece in response.aiter_raw():
                pieces.append(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except httpx.TransportError as error:
            broken = "reset" if isinstance(error, httpx.ReadError) else "end"
        except asyncio.CancelledError:
            broken = "client"
        finally:
            gone.cancel()
            with contextlib.suppress(Exception):
                await response.aclose()
            # Kept before the client learns of the end, so that it can't be gone with the process that it ends.
            self._keep(number, request, response.status_code, headers, b"".join(pieces), broken)
        if broken == "client":
            return
        if broken is not None:
            await _hang_up(broken, headless=False, send=send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _unreachable(self, request: HttpRequest, error: Exception, send: Send) -> None:
        text = f"agentsim record: {request.url.partition('?')[0]} can't be reached: {error or type(error).__name__}"
        self.tell(text)
        response = likely_codec(request).refuse(Complaint("harness", text, 502, "api_error"), "0")
        await answer(response, send)

    def _keep(self, number: int | None, request: HttpRequest, *rest: Any) -> None:
        if number is None:
            return
        try:
            self.recorder.keep(number, request, *rest)
        except (OSError, ValueError) as error:  # a full disk must not take the agent's answer away
            self.tell(f"agentsim record: an exchange could not be kept: {error}")


async def _until_gone(receive: Receive, task: asyncio.Task[Any] | None) -> None:
    """Stop reading from the provider once the client has gone: nobody pays for what nobody reads."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            if task is not None:
                task.cancel()
            return


async def _hang_up(how: str, *, headless: bool, send: Send) -> None:
    hang_up(HttpResponse(0, broken="reset" if how == "reset" else "end", headless=headless), send)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise UsageError(not_installed("recording", "httpx", "record")) from error
    return httpx
