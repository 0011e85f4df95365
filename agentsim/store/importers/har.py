"""HAR files (HTTP Archive 1.2), as browsers, proxies and Polly.js write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.exchanges import Exchange, from_base64, header_map, recording_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import Recording


def _text(content: dict[str, Any]) -> Any:
    text = content.get("text")
    if content.get("encoding") == "base64" and isinstance(text, str):
        return from_base64(text)
    return text


def _exchanges(value: dict[str, Any]) -> Iterator[Exchange]:
    for entry in as_list(value["log"]["entries"]):
        request, response = as_dict(as_dict(entry).get("request")), as_dict(as_dict(entry).get("response"))
        status = response.get("status")
        yield Exchange(
            (text_of(request.get("method")) or "").upper(),
            text_of(request.get("url")) or "",
            _text(as_dict(request.get("postData"))),
            status if isinstance(status, int) else None,
            _text(as_dict(response.get("content"))),
            header_map(response.get("headers")),
        )


def _read(source: Source, shape: Shape) -> Recording:
    return recording_of(_exchanges(shape.value), source, IMPORTER.name)


def _fits(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(as_dict(value.get("log")).get("entries"), list)


IMPORTER = Importer("har", "HAR files", ("document",), _fits, _read)
