"""aimock fixtures: `{fixtures: [{match: {userMessage, sequenceIndex, …}, response: {content | toolCalls | error}}]}`.

Replies to one user's text are one conversation, in the order of their sequence. Results of tools are not in the file.
"""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Block, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, number, text_of, usage
from agentsim.store.importers.said import error_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import STOP_REASONS, Recording


def _blocks(response: dict[str, Any]) -> list[Block]:
    if isinstance(response.get("blocks"), list):
        return [block for item in response["blocks"] if (block := _block(as_dict(item)))]
    blocks: list[Block] = []
    if reasoning := text_of(response.get("reasoning")):
        blocks.append(Thinking(reasoning))
    if content := text_of(response.get("content")):
        blocks.append(Text(content))
    return blocks + [_call(as_dict(call)) for call in as_list(response.get("toolCalls"))]


def _block(item: dict[str, Any]) -> Block | None:
    kind = item.get("type")
    if kind == "text":
        return Text(text_of(item.get("text")) or "")
    if kind in ("reasoning", "thinking"):
        return Thinking(text_of(item.get("text")) or text_of(item.get("thinking")) or "")
    return _call(item) if kind == "toolCall" else None


def _call(call: dict[str, Any]) -> ToolCall:
    return ToolCall(
        text_of(call.get("id")) or "", text_of(call.get("name")) or "", arguments_text(call.get("arguments"))
    )


def _read(source: Source, shape: Shape) -> Recording:
    groups: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
    for place, fixture in enumerate(_fixtures(shape.value), 1):
        fixture = as_dict(fixture)
        response = fixture.get("response")
        if not isinstance(response, dict):
            source.skip("fixture without a response")
            continue
        match = as_dict(fixture.get("match"))
        user = text_of(match.get("userMessage")) or text_of(match.get("inputText")) or ""
        groups.setdefault(user, []).append((number(match, "sequenceIndex") or 0, place, response))
    builders = []
    for user, entries in groups.items():
        builder = ConversationBuilder(records_results=False)
        builders.append(builder)
        if user:
            builder.say(Text(user))
        for _, place, response in sorted(entries, key=lambda entry: entry[:2]):
            _answer(builder, response, place, source)
    conversations = tuple(builder.conversation() for builder in builders if not builder.empty)
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    return Recording(
        IMPORTER.name, conversations, {}, ("tools' results are not recorded",), (STOP_REASONS,) if missing else ()
    )


def _answer(builder: ConversationBuilder, response: dict[str, Any], place: int, source: Source) -> None:
    if response.get("error") is not None:
        status = number(response, "status") or number(as_dict(response["error"]), "status") or 500
        builder.fail(error_of(response, status))
    elif {"content", "toolCalls", "blocks", "reasoning"} & response.keys():
        raw = text_of(response.get("finishReason"))
        builder.reply(_blocks(response), raw, place, usage=usage(response.get("usage")))
    else:
        source.skip(f"response that is no message ({', '.join(map(str, list(response)[:3]))})")


def _fixtures(value: Any) -> list[Any]:
    return as_list(value.get("fixtures")) if isinstance(value, dict) else as_list(value)


def _fits(value: Any) -> bool:
    fixtures = _fixtures(value)
    return any(
        isinstance(as_dict(f).get("match"), dict) and isinstance(as_dict(f).get("response"), dict) for f in fixtures
    )


IMPORTER = Importer("aimock", "aimock fixtures", ("document",), _fits, _read)
