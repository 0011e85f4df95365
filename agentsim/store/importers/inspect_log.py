"""Inspect logs: `.json`, and `.eval`, a zip archive with a member for each sample.

Only the last reply of a sample has its stop reason beside the messages. Long texts are placeholders into `attachments`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentsim.core.messages import Block, Message, ServerCall, Text, Thinking, ToolCall
from agentsim.errors import TranscriptError
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers import Importer
from agentsim.store.importers.archive import Members, open_archive
from agentsim.store.importers.blocks import as_dict, as_list, text_of, usage
from agentsim.store.importers.chat_messages import declared_tools, parts_of
from agentsim.store.importers.source import Shape, Source, reason
from agentsim.store.recording import STOP_REASONS, Recording

_ATTACHMENT = "attachment://"


def _samples(source: Source, shape: Shape) -> Iterator[Any]:
    if shape.kind == "document":
        yield from as_list(shape.value.get("samples")) if "samples" in shape.value else [shape.value]
        return
    members = Members(source, open_archive(source))
    found = list(members.named("samples/", ".json"))
    if not found:
        raise source.error("a zip archive without samples: not an Inspect log")
    for info in found:
        data = members.read(info)
        try:
            yield json.loads(data)
        except (ValueError, RecursionError) as error:
            source.skip(f"member {info.filename}: {reason(error)}")


def _read(source: Source, shape: Shape) -> Recording:
    conversations = []
    place = 0
    for sample in _samples(source, shape):
        if not isinstance(sample, dict):
            source.skip("sample that is no object")
            continue
        reader = _Sample(sample, source)
        place = reader.read(place)
        conversations.append(reader.builder.conversation())
    if not conversations and source.skipped:
        raise TranscriptError("none of its samples can be read", file=source.name)
    notes = () if conversations else ("it holds no samples",)
    return Recording(IMPORTER.name, tuple(conversations), {}, notes, (STOP_REASONS,))


class _Sample:
    """One sample's messages."""

    def __init__(self, sample: dict[str, Any], source: Source) -> None:
        self.sample, self.source = sample, source
        self.attachments = as_dict(sample.get("attachments"))
        self.builder = ConversationBuilder(f"sample {sample.get('id')}")
        self.events = [e for e in as_list(sample.get("events")) if as_dict(e).get("event") == "model"]

    def read(self, place: int) -> int:
        """Take all messages.

        Returns:
            The last place that was given.
        """
        messages = [m for m in as_list(self.sample.get("messages")) if isinstance(m, dict)]
        replies = [m for m in messages if m.get("role") == "assistant"]
        choice = as_dict(next(iter(as_list(as_dict(self.sample.get("output")).get("choices"))), None))
        stops = self._stops()
        for event in self.events[:1]:
            self.builder.declared = declared_tools(as_dict(event).get("tools"))
        for message in messages:
            role = message.get("role")
            if role == "assistant" and message.get("source") == "input":
                self.builder.insert(Message("assistant", tuple(self._blocks(message))))
            elif role == "assistant":
                place += 1
                last = message is replies[-1]
                raw = text_of(choice.get("stop_reason")) if last else None
                tokens = usage(as_dict(self.sample.get("output")).get("usage")) if last else None
                stop = stops.get(text_of(message.get("id")) or "")
                self.builder.reply(self._blocks(message), raw, place, usage=tokens, stop=None if raw else _known(stop))
            elif role == "tool":
                self._result(message)
            elif role == "user":
                self.builder.say(*self._content(message))
            elif role == "system":
                texts = [p.text for p in self._content(message) if isinstance(p, Text)]
                self.builder.system = "\n\n".join(filter(None, [self.builder.system, *texts]))
            else:
                self.source.skip("entry that is no message")
        return place

    def _stops(self) -> dict[str, str]:
        """Stop reasons of the model events, by the reply's message id."""
        found = {}
        for event in self.events:
            for choice in as_list(as_dict(as_dict(event).get("output")).get("choices"))[:1]:
                identity = text_of(as_dict(as_dict(choice).get("message")).get("id"))
                if identity and isinstance(as_dict(choice).get("stop_reason"), str):
                    found[identity] = choice["stop_reason"]
        return found

    def _result(self, message: dict[str, Any]) -> None:
        error = as_dict(message.get("error"))
        content = self._resolved(message.get("content"))
        if error and not content:
            content = text_of(error.get("message")) or ""
        if isinstance(content, list) and len(content) == 1 and as_dict(content[0]).get("type") == "text":
            content = content[0].get("text", "")
        self.builder.result(text_of(message.get("tool_call_id")) or "", "" if content is None else content, bool(error))

    def _content(self, message: dict[str, Any]) -> list[Block]:
        return parts_of(self._resolved(message.get("content")))

    def _blocks(self, message: dict[str, Any]) -> list[Block]:
        blocks: list[Block] = []
        content = self._resolved(message.get("content"))
        for part in content if isinstance(content, list) else [content]:
            kind = as_dict(part).get("type")
            if kind == "reasoning":
                blocks.append(Thinking(text_of(part.get("reasoning")) or "", text_of(part.get("signature")) or ""))
            elif kind == "tool_use":
                blocks.append(
                    ServerCall(
                        text_of(part.get("id")) or "",
                        text_of(part.get("name")) or "",
                        arguments_text(part.get("arguments")),
                    )
                )
            else:
                blocks += parts_of([part] if isinstance(part, dict) else part)
        for call in as_list(message.get("tool_calls")):
            call = as_dict(call)
            name = text_of(call.get("function")) or text_of(as_dict(call.get("function")).get("name")) or ""
            arguments = self._resolved(call.get("arguments", as_dict(call.get("function")).get("arguments")))
            blocks.append(ToolCall(text_of(call.get("id")) or "", name, arguments_text(arguments)))
        return blocks

    def _resolved(self, value: Any, depth: int = 0) -> Any:
        """A value with its attachments in place."""
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            return self.attachments.get(value[len(_ATTACHMENT) :], value)
        if depth > 20:
            return value
        if isinstance(value, list):
            return [self._resolved(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {key: self._resolved(item, depth + 1) for key, item in value.items()}
        return value


def _known(stop: str | None) -> str | None:
    from agentsim.store.building import WORDS

    return None if stop in (None, "unknown") else WORDS.get(stop, stop)


def _fits(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("eval"), dict) and ("samples" in value or "plan" in value):
        return True
    return {"id", "epoch", "messages", "target"} <= value.keys()


IMPORTER = Importer("inspect-log", "Inspect logs", ("document", "zip"), _fits, _read)
