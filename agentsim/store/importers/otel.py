"""OpenTelemetry: GenAI spans in the conventions' several ages, and the AI SDK's spans.

A span of a model request holds the whole history and the reply, where content is recorded at all. Spans of agents repeat what
their requests' spans say, so they are only read where there is nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentsim.core.messages import Message, Text, Usage
from agentsim.store.importers import Importer
from agentsim.store.importers.any_message import ai_sdk_parts, messages_of, said_blocks, spoken
from agentsim.store.importers.blocks import as_dict, as_list, number, text_of
from agentsim.store.importers.chat_messages import declared_tools
from agentsim.store.importers.exchanges import Asked
from agentsim.store.importers.otel_spans import Span, has_model_attribute, indexed, loaded, spans_of
from agentsim.store.importers.said import CHAT, Said, failed
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.threads import Threads
from agentsim.store.recording import STOP_REASONS, Declared, Recording

_MODEL_OPERATIONS = ("chat", "generate_content", "text_completion")


def _recording(
    source: Source,
    shape: Shape,
    name: str,
    is_request: Callable[[Span], bool],
    read: Callable[[Span], tuple[Asked, Said]],
) -> Recording:
    values = [v for _, v in source.records()] if shape.kind == "lines" else shape.value
    spans = sorted(spans_of(values), key=lambda span: span.start)
    requests = [span for span in spans if is_request(span)] or [span for span in spans if _has_output(span)]
    traces: dict[str, Threads] = {}
    silent = 0
    for place, span in enumerate(requests, 1):
        asked, said = read(span)
        silent += not said.blocks and said.fault is None and not asked.messages
        traces.setdefault(span.trace, Threads()).take(asked, said, place)
    for span in spans:
        if span not in requests:
            source.skip(
                f"span {span.name or str(span.attributes.get('gen_ai.operation.name', 'of something else'))}"[:100]
            )
    conversations = tuple(c for threads in traces.values() for c in threads.conversations())
    notes = (f"{silent} spans without content: it was left out when they were recorded",) if silent else ()
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    return Recording(name, conversations, {}, notes, (STOP_REASONS,) if missing else ())


# -- the AI SDK's spans -------------------------------------------------------------------------------------------------


def _is_ai_sdk_request(span: Span) -> bool:
    operation = text_of(span.attributes.get("ai.operationId")) or span.name
    return operation.startswith("ai.") and operation.endswith((".doGenerate", ".doStream"))


def _ai_sdk(span: Span) -> tuple[Asked, Said]:
    a = span.attributes
    prompt = loaded(a.get("ai.prompt.messages"))
    messages, system = messages_of(prompt if isinstance(prompt, list) else a.get("ai.prompt.messages"))
    tools = {}
    for tool in as_list(a.get("ai.prompt.tools")):
        tools.update(declared_tools([loaded(tool)]))
    content: list[dict[str, Any]] = []
    text = a.get("ai.response.text", a.get("ai.response.object"))
    if isinstance(text, str) and text:
        content.append({"type": "text", "text": text})
    reasoning = text_of(a.get("ai.response.reasoning"))
    if reasoning:
        content.insert(0, {"type": "reasoning", "text": reasoning})
    content += [{**as_dict(call), "type": "tool-call"} for call in as_list(loaded(a.get("ai.response.toolCalls")))]
    usage = _usage(a, "ai.usage.inputTokens", "ai.usage.outputTokens") or _usage(
        a, "ai.usage.promptTokens", "ai.usage.completionTokens"
    )
    said = Said(said_blocks(ai_sdk_parts(content)), text_of(a.get("ai.response.finishReason")), usage)
    return Asked(CHAT, messages, system, tools), _failed(span, said)


def _usage(attributes: dict[str, Any], given: str, made: str) -> Usage | None:
    total, output = _whole(attributes.get(given)), _whole(attributes.get(made))
    return None if total is None and output is None else Usage(total or 0, output or 0)


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isdigit() and len(value) < 12:
        return int(value)
    return number({"n": value}, "n")


def _failed(span: Span, said: Said) -> Said:
    if (span.failed is not None or span.attributes.get("error.type")) and not said.blocks and said.raw is None:
        kind = text_of(span.attributes.get("error.type")) or "api_error"
        return failed(span.failed or "", kind)
    return said


# -- GenAI's conventions --------------------------------------------------------------------------------------------------


def _is_genai_request(span: Span) -> bool:
    a = span.attributes
    operation = a.get("gen_ai.operation.name") or a.get("llm.request.type")
    if operation is None and a.get("openinference.span.kind") is not None:
        return a.get("openinference.span.kind") == "LLM"
    if operation is not None:
        return operation in _MODEL_OPERATIONS
    return "gen_ai.request.model" in a and not str(a.get("traceloop.span.kind", "")).startswith(
        ("agent", "workflow", "task", "tool")
    )


def _has_output(span: Span) -> bool:
    keys = ("gen_ai.output.messages", "gen_ai.completion", "ai.response.finishReason", "llm.output_messages")
    return any(key.startswith(keys) for key in span.attributes)


def _genai(span: Span) -> tuple[Asked, Said]:
    a = span.attributes
    messages, system = _input(span)
    instructions = loaded(a.get("gen_ai.system_instructions"))
    if isinstance(instructions, list):
        texts = [t for p in instructions if (t := text_of(as_dict(p).get("content")))]
        system = system or "\n\n".join(texts) or None
    tools: dict[str, Declared] = declared_tools(loaded(a.get("gen_ai.tool.definitions")))
    usage = _usage(a, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens") or _usage(
        a, "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"
    )
    reasons = loaded(a.get("gen_ai.response.finish_reasons"))
    first = as_list(reasons)[0] if as_list(reasons) else reasons
    said = _output(span)
    said.raw = said.raw or text_of(first)
    said.usage = usage
    return Asked(CHAT, messages, system, tools), _failed(span, said)


def _input(span: Span) -> tuple[list[Message], str | None]:
    a = span.attributes
    for key in ("gen_ai.input.messages", "gen_ai.prompt"):
        if a.get(key) is not None:
            return messages_of(loaded(a[key]))
    if found := indexed(a, "gen_ai.prompt"):
        return messages_of(list(map(_flat, found)))
    if found := indexed(a, "llm.input_messages"):
        return messages_of([_flat(as_dict(entry.get("message")) or entry) for entry in found])
    return messages_of([_event(name, values) for name, values in span.events if name in _EVENT_ROLES])


_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def _event(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """An event of the older conventions as a message."""
    message = {key: loaded(value) for key, value in attributes.items()}
    return {"role": _EVENT_ROLES.get(name, "assistant"), "tool_call_id": message.get("id"), **message}


def _flat(message: dict[str, Any]) -> dict[str, Any]:
    """A message out of indexed attributes: its calls are flat, or nested by one more name."""
    calls = []
    for call in as_list(message.get("tool_calls")):
        call = as_dict(as_dict(call).get("tool_call")) or as_dict(call)
        function = as_dict(call.get("function")) or call
        calls.append(
            {"id": call.get("id"), "function": {"name": function.get("name"), "arguments": function.get("arguments")}}
        )
    content = loaded(message.get("content"))
    if not isinstance(content, list):
        content = message.get("content")
    contents = [as_dict(as_dict(c).get("message_content")) or as_dict(c) for c in as_list(message.get("contents"))]
    return {**message, "content": content if content is not None else contents, "tool_calls": calls}


def _output(span: Span) -> Said:
    a = span.attributes
    found: list[Any] = []
    for key in ("gen_ai.output.messages", "gen_ai.completion"):
        if not found and a.get(key) is not None:
            value = loaded(a[key])
            found = value if isinstance(value, list) else [value]
    found = found or list(map(_flat, indexed(a, "gen_ai.completion")))
    found = found or [_flat(as_dict(entry.get("message")) or entry) for entry in indexed(a, "llm.output_messages")]
    if not found:
        choices = [_event("", values) for name, values in span.events if name == "gen_ai.choice"]
        found = [{**as_dict(c.get("message")), **c} if as_dict(c.get("message")) else c for c in choices]
    if not found:
        return Said()
    first = found[0]
    if isinstance(first, str):
        return Said([Text(first)])
    first = {"role": "assistant", **as_dict(first)}
    message = spoken(first)
    return Said(said_blocks(message.parts) if message else [], text_of(first.get("finish_reason")))


def _fits_ai_sdk(value: Any) -> bool:
    return any(
        any(k.startswith(("ai.operationId", "ai.prompt", "ai.response")) for k in s.attributes) for s in spans_of(value)
    )


def _fits_genai(value: Any) -> bool:
    return any(has_model_attribute(span.attributes) for span in spans_of(value))


AI_SDK = Importer(
    "otel-aisdk-spans",
    "AI SDK spans",
    ("document", "lines"),
    _fits_ai_sdk,
    lambda source, shape: _recording(source, shape, "otel-aisdk-spans", _is_ai_sdk_request, _ai_sdk),
)
GENAI = Importer(
    "otel-genai",
    "OpenTelemetry GenAI spans",
    ("document", "lines"),
    _fits_genai,
    lambda source, shape: _recording(source, shape, "otel-genai", _is_genai_request, _genai),
)
