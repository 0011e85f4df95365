"""OpenAI Agents SDK: a serialised RunState of Python or JavaScript, and exported traces."""

from __future__ import annotations

import json
from typing import Any

from agentsim.core.messages import Block
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of, usage
from agentsim.store.importers.responses_items import (
    ItemReader,
    blocks_of,
    call_id,
    is_item,
    is_model_made,
    is_result,
    items_of,
    output_of,
)
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording


def _either(value: dict[str, Any], snake: str) -> Any:
    """A field in Python's or JavaScript's spelling."""
    head, *rest = snake.split("_")
    return value.get(snake, value.get(head + "".join(part.title() for part in rest)))


def _read_state(source: Source, shape: Shape) -> Recording:
    state = shape.value
    builder = ConversationBuilder(text_of(as_dict(_either(state, "current_agent")).get("name")) or "")
    first = ItemReader(builder, source.skip)
    for item in items_of(_either(state, "original_input")):
        first.item(item, 0)
    first.close()
    results = _results(state)
    if not as_list(_either(state, "model_responses")):
        _from_items(builder, state, source)
    for place, response in enumerate(as_list(_either(state, "model_responses")), 1):
        items = [item for item in as_list(as_dict(response).get("output")) if isinstance(item, dict)]
        blocks: list[Block] = [block for item in items if is_model_made(item) for block in blocks_of(item)]
        builder.reply(blocks, None, place, usage=usage(as_dict(response).get("usage")))
        for item in items:
            waiting = results.get(call_id(item))
            if is_model_made(item) and waiting:
                builder.result(call_id(item), waiting.pop(0))
    builder.pending |= _pending(state)
    version = text_of(state.get("$schemaVersion"))
    notes = [f"RunState {version}"] if version else []
    if builder.pending:
        notes.append(f"{len(builder.pending)} calls wait for approval")
    return Recording(STATE.name, (builder.conversation(),), {}, tuple(notes), (STOP_REASONS,))


def _from_items(builder: ConversationBuilder, state: dict[str, Any], source: Source) -> None:
    """A state without responses: what the model made in a row is a reply."""
    reader = ItemReader(builder, source.skip)
    for place, entry in enumerate(as_list(_either(state, "generated_items")), 1):
        entry = as_dict(entry)
        if entry.get("type") != "tool_approval_item":
            reader.item(_either(entry, "raw_item"), place)
    reader.close()


def _results(state: dict[str, Any]) -> dict[str, list[Any]]:
    """Outputs by call id, in order."""
    found: dict[str, list[Any]] = {}
    for entry in as_list(_either(state, "generated_items")):
        raw = as_dict(_either(as_dict(entry), "raw_item"))
        if is_result(raw):
            found.setdefault(call_id(raw), []).append(output_of(raw))
    return found


def _pending(state: dict[str, Any]) -> set[str]:
    data = as_dict(as_dict(_either(state, "current_step")).get("data"))
    items = [as_dict(_either(as_dict(entry), "raw_item")) for entry in as_list(data.get("interruptions"))]
    return {call_id(item) for item in items if call_id(item)}


def _fits_state(value: Any) -> bool:
    if not isinstance(value, dict) or "$schemaVersion" not in value:
        return False
    return isinstance(_either(value, "model_responses"), list) or isinstance(_either(value, "generated_items"), list)


# -- traces -------------------------------------------------------------------------------------------------------------


def _spans(value: Any) -> list[dict[str, Any]]:
    entries = value if isinstance(value, list) else as_list(as_dict(value).get("data") or as_dict(value).get("items"))
    return [entry for entry in entries if isinstance(entry, dict)]


def _is_span(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("object") == "trace.span" or isinstance(value.get("span_data"), dict))


def _read_traces(source: Source, shape: Shape) -> Recording:
    values = [v for _, v in source.records()] if shape.kind == "lines" else [shape.value]
    entries = [span for value in values for span in ([value] if _is_span(value) else _spans(value))]
    traces: dict[str, ConversationBuilder] = {}
    outputs = _tool_outputs(entries)
    for place, span in enumerate(sorted(filter(_is_span, entries), key=lambda s: str(s.get("started_at") or "")), 1):
        data = as_dict(span.get("span_data"))
        if data.get("type") not in ("generation", "response"):
            continue
        builder = traces.setdefault(str(span.get("trace_id")), ConversationBuilder(str(span.get("trace_id") or "")))
        _reply(builder, span, data, place, source)
        for name, waiting in outputs.get(str(span.get("trace_id")), {}).items():
            _answer(builder, name, waiting)
    conversations = tuple(builder.conversation() for builder in traces.values())
    notes = () if conversations else ("it holds no generation: traces keep the content of Responses at the provider",)
    return Recording(TRACES.name, conversations, {}, notes, (STOP_REASONS,))


def _tool_outputs(entries: list[dict[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = {}
    for span in entries:
        data = as_dict(span.get("span_data"))
        if data.get("type") == "function" and data.get("output") is not None:
            by_name = found.setdefault(str(span.get("trace_id")), {})
            by_name.setdefault(str(data.get("name")), []).append(data["output"])
    return found


def _reply(
    builder: ConversationBuilder, span: dict[str, Any], data: dict[str, Any], place: int, source: Source
) -> None:
    if builder.empty:
        for message in as_list(data.get("input")):
            if as_dict(message).get("role") == "user":
                builder.say(*blocks_of({"type": "message", "content": message.get("content")}))
    if span.get("error"):
        source.skip("model request that failed")
        return
    blocks: list[Block] = []
    for item in as_list(data.get("output")):
        item = as_dict(item)
        if is_item(item) and is_model_made(item):
            blocks += blocks_of(item)
        for call in as_list(item.get("tool_calls")):
            function = as_dict(as_dict(call).get("function"))
            blocks += blocks_of({"type": "function_call", "call_id": as_dict(call).get("id"), **function})
    builder.reply(blocks, None, place, usage=usage(data.get("usage")))


def _answer(builder: ConversationBuilder, name: str, outputs: list[Any]) -> None:
    """Function spans have names only: outputs go to the last reply's calls of that name, in order."""
    for call in builder.last_calls:
        if call.name == name and outputs:
            output = outputs.pop(0)
            builder.result(call.id, output if isinstance(output, str) else json.dumps(output, default=str))


def _fits_traces(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(_is_span(v) or any(map(_is_span, _spans(v))) for v in values)


STATE = Importer("openai-agents-runstate", "OpenAI Agents RunState", ("document",), _fits_state, _read_state)
TRACES = Importer("openai-agents-traces", "OpenAI Agents traces", ("document", "lines"), _fits_traces, _read_traces)
