"""Recorded traffic as JSON Lines: a header with a version, then an exchange a line, each written when it is finished.

What is written is what may be: headers by an allow-list, no query but what names a version, no secret in a body. So a log can be
committed, and a recorder that is killed leaves every finished exchange readable. No clock times, no ports: the same run gives the
same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from agentsim.store.secrets import Secrets, is_secret_name, looks_random
from agentsim.wire.base import HttpRequest

VERSION = 1
HEADER = "agentsim_recording"

#: Headers that are written; no key, no cookie and no account's name is among them.
REQUEST_HEADERS = frozenset(
    {"content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta", "user-agent", "x-stainless-retry-count"}
)  # fmt: skip
RESPONSE_HEADERS = frozenset({"content-type", "retry-after", "retry-after-ms", "x-should-retry"})
QUERY = frozenset({"beta", "alt", "api-version", "stream", "limit", "after", "order"})

#: Headers whose values are secret wherever they turn up.
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "proxy-authorization", "cookie", "set-cookie")

#: Headers that are not written, and whose values are no secrets all the same.
_HARMLESS = frozenset(
    {"accept-encoding", "accept-language", "connection", "content-length", "host", "origin", "referer", "traceparent", "tracestate",
     "transfer-encoding", "te", "via", "date", "x-request-id", "idempotency-key", "sec-fetch-mode"}
)  # fmt: skip


def first_line() -> bytes:
    """The line that a log begins with."""
    return _line({HEADER: VERSION})


def line_of(
    number: int,
    request: HttpRequest,
    status: int | None,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    broken: str | None,
    secrets: Secrets,
) -> bytes:
    """One exchange as a line.

    Args:
        number: of the request, counted from 1 as they began.
        request: as the client sent it, its URL as the provider has it.
        status: of HTTP; None where the connection went away before.
        headers: of the response.
        body: of the response, decompressed; as much as arrived.
        broken: "end" or "reset" where the connection went away in the middle, "client" where the client's did; else None.
        secrets: what must not be written; learns the keys that the request carries.
    """
    headers = list(headers)
    secrets.add(keys_of(request.headers))
    secrets.add(value for name, value in request.headers.items() if not harmless(name) and looks_random(value))
    secrets.add(keys_of({name.lower(): value for name, value in headers}))
    secrets.add(value for name, value in parse_qsl(urlsplit(request.url).query) if name not in QUERY)
    response: dict[str, Any] = {"status": status, "headers": _headers(headers, RESPONSE_HEADERS, secrets)}
    response["body"] = _body(body, secrets)
    if broken is not None:
        response["broken"] = broken
    asked = {
        "method": request.method,
        "url": secrets.hidden(_url(request.url)),
        "headers": _headers(request.headers.items(), REQUEST_HEADERS, secrets),
        "body": _body(request.body, secrets),
    }
    return _line({"number": number, "request": asked, "response": response})


def request_key(method: str, url: str, body: Any) -> str:
    """What two requests have in common that ask for the same; of a body as `in_value` leaves it."""
    return json.dumps([method, urlsplit(url).path, body], sort_keys=True)


def harmless(name: str) -> bool:
    """Whether a request header's value is known to be no secret."""
    return name in REQUEST_HEADERS or name in _HARMLESS or name.startswith("x-stainless-")


def keys_of(headers: Mapping[str, str]) -> list[str]:
    """The secret values that headers carry, by their names."""
    found: list[str] = []
    for name, value in headers.items():
        if name not in KEY_HEADERS and not is_secret_name(name):
            continue
        if "cookie" in name:
            found += [pair.partition("=")[2].strip() for pair in value.split(";")]
        else:
            found += [value, value.rpartition(" ")[2]]
    return found


def plain_url(url: str) -> str:
    """A URL without user, port and query; of this machine's only the path."""
    return _url(url).partition("?")[0]


def _url(url: str) -> str:
    parts = urlsplit(url)
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name in QUERY])
    host = parts.hostname or ""
    local = host in ("", "127.0.0.1", "localhost", "::1")
    return ("" if local else f"{parts.scheme}://{host}") + parts.path + (f"?{query}" if query else "")


def _headers(headers: Iterable[tuple[str, str]], allowed: frozenset[str], secrets: Secrets) -> dict[str, str]:
    return {name.lower(): secrets.hidden(value) for name, value in headers if name.lower() in allowed}


def _body(body: bytes, secrets: Secrets) -> Any:
    """A body as JSON where it is some, else as text; None where there is none."""
    if not body:
        return None
    try:
        return secrets.in_value(json.loads(body))
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        return secrets.in_events(text) if text.lstrip()[:5] in ("data:", "event", ": ") else secrets.hidden(text)


def _line(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a character, which UTF-8 can't hold
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"
