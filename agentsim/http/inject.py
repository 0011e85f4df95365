"""Clients that are born connected to a script: no sockets, no patches, no TLS context to build."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from agentsim.errors import UsageError
from agentsim.http.httpx_bridge import Answer, transport_class


def make_client(cls: Any, answer: Answer, key: str, settings: dict[str, Any]) -> Any:
    """A client of a class whose requests are answered by `answer`.

    Args:
        cls: `anthropic.Anthropic`, `openai.AsyncOpenAI` and their kin, `google.genai.Client`, or `httpx.Client`,
            `httpx2.AsyncClient` and the like.
        key: the API key, where none is given.
        settings: further arguments of the class.
    Raises:
        UsageError: it is not known how such a client is connected.
    """
    library = _library_of(cls)
    if library is not None:
        return cls(transport=transport_class(library)(answer), **settings)
    if cls.__module__.startswith("google.genai"):
        return _genai(cls, answer, key, settings)
    base = _base_client(cls)
    if base is None:
        raise UsageError(
            f"sim.client does not know how to connect {getattr(cls, '__qualname__', cls)!r}; it takes the clients of "
            "anthropic, openai and google-genai, and those of httpx and httpx2; anything else is intercepted by play()"
        )
    lib = importlib.import_module("httpx2" if "httpx2" in vars(base) else "httpx")
    is_async = any(each.__name__ == "AsyncAPIClient" for each in cls.__mro__)
    client = lib.AsyncClient if is_async else lib.Client
    http_client = client(transport=transport_class(lib)(answer), trust_env=False, follow_redirects=True)
    return cls(**{"api_key": key, "http_client": http_client, **settings})


def _library_of(cls: Any) -> Any:
    """httpx or httpx2, where the class is one of their clients."""
    for name in ("httpx", "httpx2"):
        lib = sys.modules.get(name)
        if lib is not None and isinstance(cls, type) and issubclass(cls, lib.Client | lib.AsyncClient):
            return lib
    return None


def _base_client(cls: Any) -> Any:
    """The module of an SDK's base client, as the generated SDKs have one."""
    for each in getattr(cls, "__mro__", ()):
        if each.__module__.endswith("._base_client"):
            return sys.modules[each.__module__]
    return None


def _genai(cls: Any, answer: Answer, key: str, settings: dict[str, Any]) -> Any:
    types = importlib.import_module("google.genai.types")
    lib = importlib.import_module("httpx2" if "httpx2" in sys.modules else "httpx")
    transport = transport_class(lib)(answer)
    options = types.HttpOptions(
        httpx_client=lib.Client(transport=transport, trust_env=False),
        httpx_async_client=lib.AsyncClient(transport=transport, trust_env=False),
    )
    return cls(**{"api_key": key, "http_options": options, **settings})
