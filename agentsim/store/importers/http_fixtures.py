"""Lists of HTTP exchanges in JSON: nock's fixtures, and snapshots of httpx requests and responses."""

from __future__ import annotations

from typing import Any

from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, text_of
from agentsim.store.importers.exchanges import Exchange, header_map, recording_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import Recording


def _nock(entry: dict[str, Any]) -> Exchange:
    scope, path = text_of(entry.get("scope")) or "", text_of(entry.get("path")) or ""
    status = entry.get("status")
    return Exchange(
        (text_of(entry.get("method")) or "GET").upper(),
        scope + path,
        entry.get("body"),
        status if isinstance(status, int) else None,
        entry.get("response"),
        header_map(entry.get("rawHeaders") or entry.get("headers")),
    )


def _httpx(entry: dict[str, Any]) -> Exchange:
    request, response = as_dict(entry.get("request")), as_dict(entry.get("response"))
    status = response.get("status_code", response.get("status"))
    return Exchange(
        (text_of(request.get("method")) or "GET").upper(),
        text_of(request.get("url")) or "",
        request.get("body", request.get("content")),
        status if isinstance(status, int) else None,
        response.get("body", response.get("content")),
        header_map(response.get("headers")),
    )


def _is_nock(entry: Any) -> bool:
    return isinstance(entry, dict) and {"scope", "path", "response"} <= entry.keys()


def _is_httpx(entry: Any) -> bool:
    return (
        isinstance(entry, dict) and "url" in as_dict(entry.get("request")) and isinstance(entry.get("response"), dict)
    )


def _read_nock(source: Source, shape: Shape) -> Recording:
    entries = [entry for entry in shape.value if _kept(entry, _is_nock, source)]
    return recording_of(map(_nock, entries), source, NOCK.name)


def _read_httpx(source: Source, shape: Shape) -> Recording:
    entries = [entry for entry in shape.value if _kept(entry, _is_httpx, source)]
    return recording_of(map(_httpx, entries), source, HTTPX.name)


def _kept(entry: Any, is_one: Any, source: Source) -> bool:
    if not is_one(entry):
        source.skip("entry that is no HTTP exchange")
    return bool(is_one(entry))


def _fits(is_one: Any) -> Any:
    return lambda value: isinstance(value, list) and any(map(is_one, value))


NOCK = Importer("nock", "nock fixtures", ("document",), _fits(_is_nock), _read_nock)
HTTPX = Importer("httpx-snapshot", "httpx snapshots", ("document",), _fits(_is_httpx), _read_httpx)
