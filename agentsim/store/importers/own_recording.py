"""agentsim's own recordings of HTTP traffic: a header, then an exchange a line, in the order in which they were finished."""

from __future__ import annotations

from typing import Any

from agentsim.store.httplog import HEADER, VERSION
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.exchanges import Exchange, header_map, recording_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import Recording


def _exchange(value: dict[str, Any]) -> Exchange:
    request, response = as_dict(value.get("request")), as_dict(value.get("response"))
    status = response.get("status")
    return Exchange(
        (text_of(request.get("method")) or "POST").upper(),
        text_of(request.get("url")) or "",
        request.get("body"),
        status if isinstance(status, int) and not isinstance(status, bool) else None,
        response.get("body"),
        header_map(response.get("headers")),
        text_of(response.get("broken")),
    )


def _read(source: Source, shape: Shape) -> Recording:
    found: list[tuple[int, Exchange]] = []
    for number, value in source.records():
        value = as_dict(value)
        if HEADER in value:
            if value[HEADER] != VERSION:
                raise source.error(f"expected a recording of version {VERSION}, found {value[HEADER]!r}", number)
        elif isinstance(value.get("request"), dict) and isinstance(value.get("response"), dict):
            began = value.get("number")
            found.append((began if isinstance(began, int) else number, _exchange(value)))
        else:
            source.skip("line that is no HTTP exchange")
    found.sort(key=lambda each: each[0])  # requests that overlap are written as they end
    return recording_of((exchange for _, exchange in found), source, IMPORTER.name)


def _fits(value: Any) -> bool:
    values = as_list(value)
    return bool(values) and HEADER in as_dict(values[0])


IMPORTER = Importer("agentsim-recording", "agentsim recordings", ("lines",), _fits, _read)
