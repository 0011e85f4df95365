"""Responses: a list of items (`to_input_list`), a request's body, a response's body, several of them."""

from __future__ import annotations

from typing import Any

from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.responses_items import ItemReader, declared_tools, is_item, is_telling, items_of
from agentsim.store.importers.said import RESPONSES, said
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import REPLY_BOUNDARIES, STOP_REASONS, Recording


def _read(source: Source, shape: Shape) -> Recording:
    value = [v for _, v in source.records()] if shape.kind == "lines" else shape.value
    if isinstance(value, dict) and isinstance(value.get("input_list"), list):
        return _items("openai-agents-items", value["input_list"], source)
    if isinstance(value, list) and any(map(_is_response, value)):
        return _responses(value, source)
    if _is_response(value):
        return _responses([value], source)
    if isinstance(value, dict):
        items = items_of(value.get("input", value.get("items", value.get("output"))))
        return _items(IMPORTER.name, list(items), source, value)
    return _items(IMPORTER.name, value, source)


def _items(name: str, items: list[Any], source: Source, body: dict[str, Any] | None = None) -> Recording:
    builder = ConversationBuilder()
    if body is not None:
        builder.system = text_of(body.get("instructions"))
        builder.declared = declared_tools(body.get("tools"))
    reader = ItemReader(builder, source.skip)
    for place, item in enumerate(items, 1):
        reader.item(item, place)
    reader.close()
    return Recording(name, (builder.conversation(),), inferred=(STOP_REASONS, REPLY_BOUNDARIES))


def _responses(bodies: list[Any], source: Source) -> Recording:
    """Bodies of responses; one that names another as its predecessor continues its conversation."""
    builders: list[ConversationBuilder] = []
    by_id: dict[str, ConversationBuilder] = {}
    for place, body in enumerate(bodies, 1):
        if not _is_response(body):
            source.skip("entry that is no response")
            continue
        answer = said(body, RESPONSES)
        builder = by_id.get(text_of(body.get("previous_response_id")) or "")
        if builder is None:
            builder = ConversationBuilder()
            builders.append(builder)
        builder.declared.update(declared_tools(body.get("tools")))
        builder.system = builder.system or text_of(body.get("instructions"))
        if answer.fault is not None:
            builder.fail(answer.fault)
        else:
            builder.reply(answer.blocks, answer.raw, place, usage=answer.usage)
        if answer.id:
            by_id[answer.id] = builder
    notes = ("requests are not recorded, only replies",)
    return Recording(IMPORTER.name, tuple(b.conversation() for b in builders), notes=notes)


def _is_response(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("output"), list) and (
        value.get("object") == "response" or ("status" in value and "id" in value and all(map(is_item, value["output"])))
    )  # fmt: skip


def _fits(value: Any) -> bool:
    if _is_response(value):
        return True
    if isinstance(value, dict):
        inner = value.get("input_list")
        if isinstance(inner, list):
            return any(map(is_item, inner))
        return (
            _is_items(value.get("input"))
            or (isinstance(value.get("input"), str) and "model" in value)
            or _is_items(value.get("items"))
        )
    return isinstance(value, list) and (any(map(_is_response, value)) or _is_items(value))


def _is_items(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    known = [item for item in value if is_item(item)]
    return (
        any(map(is_telling, value))
        and 2 * len(known) >= len(value)
        and not any("parts" in as_dict(v) for v in as_list(value))
    )


IMPORTER = Importer("responses", "OpenAI Responses items and bodies", ("document", "lines"), _fits, _read)
