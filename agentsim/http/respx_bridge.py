"""For those who route with respx: a scenario as a route's side effect, on httpx and on httpx2.

respx patches `httpcore` and does not see clients of httpx2. `install` teaches it `httpcore2`, so that
`respx.mock(using="httpcore2")` sees them; routes are still written with httpx's classes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

from agentsim.http.httpx_bridge import library_response, neutral
from agentsim.wire.base import HttpRequest, HttpResponse


class Answers(Protocol):
    """A session, or anything else that answers."""

    def answer(self, request: HttpRequest) -> HttpResponse:
        """The answer to one request."""


def side_effect(sim: Answers) -> Callable[[Any], Any]:
    """A side effect that answers a route's requests from a session.

    `respx.post("https://api.anthropic.com/v1/messages").mock(side_effect=side_effect(sim))`
    """

    def answer(request: Any) -> Any:
        lib = importlib.import_module(type(request).__module__.partition(".")[0])
        return library_response(lib, request, sim.answer(neutral(request, request.read())))

    return answer


def install() -> None:
    """Register the mocker "httpcore2" with respx; doing it again changes nothing.

    Raises:
        ImportError: respx or httpcore2 is not installed.
    """
    import httpcore2
    from respx.mocks import HTTPCoreMocker, Mocker

    if "httpcore2" in Mocker.registry:
        return

    class HTTPCore2Mocker(HTTPCoreMocker):
        name = "httpcore2"
        targets = [target.replace("httpcore.", "httpcore2.", 1) for target in HTTPCoreMocker.targets]

        @classmethod
        def from_sync_httpx_response(cls, httpx_response: Any, target: Any, **kwargs: Any) -> Any:
            return httpcore2.Response(
                status=httpx_response.status_code,
                headers=httpx_response.headers.raw,
                content=httpx_response.stream,
                extensions=httpx_response.extensions,
            )
