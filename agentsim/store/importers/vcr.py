"""VCR cassettes in YAML or JSON: VCR.py's `interactions`, Ruby's `http_interactions`, and LangChain's parallel lists `requests` and
`responses`.

A body is `parsed_body`, a text, base64 of a text or of gzip, or a mapping of one of those; each side for itself. Other recorders
write websocket frames and gRPC samples under the same top key: those are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.exchanges import Exchange, from_base64, header_map, recording_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import Recording


def _body(side: dict[str, Any]) -> Any:
    if side.get("parsed_body") is not None:
        return side["parsed_body"]
    body = side.get("body", side.get("content"))
    if isinstance(body, dict) and {"string", "base64_string", "text"} & body.keys():
        if isinstance(body.get("base64_string"), str):
            return from_base64(body["base64_string"])
        return body.get("string", body.get("text"))
    return body


def _status(response: dict[str, Any]) -> int | None:
    status = response.get("status", response.get("status_code"))
    code = as_dict(status).get("code") if isinstance(status, dict) else status
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    return Exchange(
        (text_of(request.get("method")) or "POST").upper(),
        text_of(request.get("uri")) or text_of(request.get("url")) or "",
        _body(request),
        _status(response),
        _body(response),
        header_map(response.get("headers")),
    )


def _interactions(value: dict[str, Any], source: Source) -> Iterator[Exchange]:
    for entry in as_list(value.get("interactions", value.get("http_interactions"))):
        entry = as_dict(entry)
        if isinstance(entry.get("request"), dict) and isinstance(entry.get("response"), dict):
            yield _exchange(entry["request"], entry["response"])
        else:
            source.skip(f"entry that is no HTTP exchange but {_named(entry)}")


def _named(entry: dict[str, Any]) -> str:
    if {"frames", "direction", "websocket"} & entry.keys() or "websocket" in str(entry.get("kind", "")):
        return "websocket frames"
    if {"request_sample", "raw", "rpc"} & entry.keys():
        return "a gRPC sample"
    return f"an entry with {', '.join(map(str, list(entry)[:6])) or 'nothing'}"


def _read(source: Source, shape: Shape) -> Recording:
    value = shape.value
    if "interactions" in value or "http_interactions" in value:
        return recording_of(_interactions(value, source), source, "vcr")
    requests, responses = as_list(value["requests"]), as_list(value["responses"])
    if len(requests) != len(responses):
        source.skip("request without a response" if len(requests) > len(responses) else "response without a request")
    pairs = zip(requests, responses, strict=False)
    exchanges = (_exchange(as_dict(request), as_dict(response)) for request, response in pairs)
    return recording_of(exchanges, source, "vcr-langchain-gz")


def _fits(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("interactions", value.get("http_interactions")), list):
        return True
    requests = value.get("requests")
    return (
        isinstance(requests, list)
        and isinstance(value.get("responses"), list)
        and all(isinstance(r, dict) for r in requests)
    )


IMPORTER = Importer("vcr", "VCR cassettes", ("document",), _fits, _read)
