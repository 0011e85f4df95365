"""decode(encode(x)) == x for every codec, whole and streamed, at every boundary between bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.events import Fault
from agentsim.core.messages import (
    Block,
    RedactedThinking,
    Refusal,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, cannot_express, see
from agentsim.errors import CannotExpress
from agentsim.wire.anthropic import AnthropicCodec
from agentsim.wire.base import Codec, HttpRequest, HttpResponse, ModelRequest
from agentsim.wire.chat import ChatCodec
from agentsim.wire.responses import ResponsesCodec

CODECS: dict[str, Codec] = {ANTHROPIC: AnthropicCodec(), CHAT: ChatCodec(), RESPONSES: ResponsesCodec()}
BODIES: dict[str, dict[str, Any]] = {
    ANTHROPIC: {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    CHAT: {"model": "gpt-6", "messages": [{"role": "user", "content": "hi"}]},
    RESPONSES: {"model": "gpt-6", "input": "hi", "include": ["reasoning.encrypted_content"]},
}


def asked(wire: str, *, stream: bool, **more: Any) -> ModelRequest:
    body = {**BODIES[wire], "stream": stream, **more}
    if wire == CHAT and stream:
        body["stream_options"] = {"include_usage": True}
    return CODECS[wire].decode_request(HttpRequest("POST", "/"), body)


texts = st.text(st.characters(codec="utf-8"), max_size=40)
words = st.text('abc{}[]"\\ é\u2028😀\r\n', max_size=40)
ids = st.text("abcdef0123456789_-", min_size=1, max_size=12)
objects = st.dictionaries(words, words | st.integers() | st.booleans() | st.none(), max_size=3)
arguments = objects.map(json.dumps) | words | st.sampled_from(["[1]", "null", '{"order_id": 4', '{"a":1}'])
calls = st.builds(ToolCall, ids, ids, arguments)
blocks = st.one_of(
    st.builds(Text, texts),
    calls,
    st.builds(Thinking, texts, ids),
    st.builds(RedactedThinking, ids),
    st.builds(Refusal, texts, st.none() | st.sampled_from(["cyber", "bio"])),
    st.builds(ServerCall, ids, st.just("web_search"), objects.map(json.dumps)),
    st.builds(ServerResult, ids, texts | objects | st.lists(texts, min_size=1), st.just("web_search")),
)
counts = st.integers(0, 10**6)
stops = st.sampled_from(
    ["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn", "stop_sequence", "compaction", "brand_new", None]
)
replies = st.builds(
    Reply,
    st.lists(blocks, max_size=4).map(tuple),
    stops,
    st.none() | st.builds(Usage, counts, counts, counts, counts),
)


def as_sent(reply: Reply, wire: str, *, stream: bool) -> Reply:
    """What of a reply can be told from the bytes: each wire has no more room than this."""
    usage = reply.usage or Usage()
    seen = see(reply, wire, stream)
    if wire == ANTHROPIC:
        return Reply(tuple(_claude(seen.reply, reply, stream=stream)), reply.stop_reason, usage)
    if wire == CHAT:
        said: list[Block] = [Text(seen.text)] if any(isinstance(block, Text) for block in reply.blocks) else []
        if seen.refusal is not None:
            said = [*([Text(seen.text)] if seen.text or (_has_refusal(reply) and said) else []), Refusal(seen.refusal)]
        stop = "end_turn" if reply.stop_reason in ("stop_sequence", "refusal") else reply.stop_reason
        stop = "refusal" if stop == "end_turn" and seen.refusal is not None else stop
        return Reply((*said, *reply.calls), stop, usage)
    return Reply(tuple(_responses(reply)), _responses_stop(reply), usage)


def _has_refusal(reply: Reply) -> bool:
    return any(isinstance(block, Refusal) for block in reply.blocks)


def _claude(seen: Reply, reply: Reply, *, stream: bool) -> Iterator[Block]:
    category = next((block.category for block in reply.blocks if isinstance(block, Refusal)), None)
    told: list[Block] = []
    for block in seen.blocks:
        if isinstance(block, ToolCall | ServerCall) and not stream:
            told.append(replace(block, arguments=json.dumps(json.loads(block.arguments))))
        else:
            told.append(block)
    if reply.stop_reason == "refusal" and category is not None:
        if told and isinstance(told[-1], Text):
            told[-1] = Refusal(told[-1].text, category)
        else:
            told.append(Refusal("", category))
    yield from told


def _responses(reply: Reply) -> Iterator[Block]:
    refused = reply.stop_reason == "refusal" and not _has_refusal(reply)
    for block in reply.blocks:
        match block:
            case Text(text) if refused:
                yield Refusal(text)
            case Text(""):
                yield block
            case Refusal(text):
                yield Refusal(text)
            case ServerResult():
                continue
            case _:
                yield block


def _responses_stop(reply: Reply) -> str:
    if reply.stop_reason == "max_tokens":
        return "max_tokens"
    if reply.calls:
        return "tool_use"
    refused = _has_refusal(reply) or (reply.stop_reason == "refusal" and reply.text)
    return "refusal" if refused else "end_turn"


def bytewise(response: HttpResponse, size: int) -> HttpResponse:
    body = response.body
    return replace(response, chunks=tuple(body[at : at + size] for at in range(0, len(body), size)))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", CODECS)
@given(reply=replies, size=st.none() | st.integers(1, 9), cut=st.integers(1, 7))
def test_a_reply_comes_back_as_it_was(wire: str, stream: bool, reply: Reply, size: int | None, cut: int) -> None:
    codec, request = CODECS[wire], asked(wire, stream=stream)
    if cannot_express(reply, wire):
        with pytest.raises(CannotExpress):
            codec.encode_reply(reply, request, "1", size)
        return
    response = codec.encode_reply(reply, request, "1", size)
    assert codec.decode_reply(response) == as_sent(reply, wire, stream=stream)
    if stream:
        assert codec.decode_reply(bytewise(response, cut)) == codec.decode_reply(response)


@pytest.mark.parametrize("wire", CODECS)
@given(reply=replies)
def test_what_is_seen_agrees_with_the_bytes(wire: str, reply: Reply) -> None:
    if cannot_express(reply, wire):
        return
    for stream in (False, True):
        seen = see(reply, wire, stream)
        told = CODECS[wire].decode_reply(CODECS[wire].encode_reply(reply, asked(wire, stream=stream), "1"))
        assert isinstance(told, Reply)
        assert [(call.id, call.name) for call in told.calls] == [(call.id, call.name) for call in seen.calls]
        for call, wanted in zip(told.calls, seen.calls, strict=True):
            if wanted.broken:
                assert call.arguments == wanted.raw
            else:
                assert json.loads(call.arguments) == wanted.arguments
        refusals = [block.text for block in told.blocks if isinstance(block, Refusal)]
        if wire != ANTHROPIC:
            assert "".join(block.text for block in told.blocks if isinstance(block, Text)) == seen.text
            assert ("".join(refusals) if refusals else None) == seen.refusal
        else:
            assert told.text == seen.text


def test_a_stream_may_be_cut_at_every_byte() -> None:
    reply = Reply((Text("héllo 😀"), ToolCall("call_1", "f", '{"é": 1}')), "tool_use", Usage())
    for wire, codec in CODECS.items():
        response = codec.encode_reply(reply, asked(wire, stream=True), "1", 2)
        body = response.body
        for at in range(len(body) + 1):
            assert codec.decode_reply(replace(response, chunks=(body[:at], body[at:]))) == reply, (wire, at)


@pytest.mark.parametrize("disconnect", [None, "end", "reset"])
@pytest.mark.parametrize("wire", CODECS)
@given(data=st.data())
def test_a_fault_lets_so_many_characters_through(wire: str, disconnect: str | None, data: st.DataObject) -> None:
    partial = Reply((Text("Let me see."), ToolCall("call_1", "f", '{"a": 1}')), "tool_use")
    after = data.draw(st.integers(0, len(partial.text) + 8))
    fault = Fault(200, "overloaded_error", "Overloaded", None, after, disconnect, partial)
    size = data.draw(st.none() | st.integers(1, 5))
    response = CODECS[wire].encode_fault(fault, asked(wire, stream=True), "1", size)
    assert (response.status, response.broken) == (200, disconnect)
    told = CODECS[wire].decode_reply(response)
    assert isinstance(told, Fault)
    assert told.partial is not None
    arrived = told.partial.text + "".join(call.arguments for call in told.partial.calls)
    assert arrived == ('Let me see.{"a": 1}')[:after]
    assert told.after_characters == after
    if disconnect is None:
        assert told.message == "Overloaded"
    whole = CODECS[wire].encode_fault(fault, asked(wire, stream=False), "1", size)
    assert CODECS[wire].decode_reply(whole) == replace(partial, usage=Usage())


@pytest.mark.parametrize("wire", CODECS)
@pytest.mark.parametrize("status", [400, 401, 408, 409, 429, 500, 503, 529])
def test_an_error_keeps_its_status_and_tells_when_to_come_again(wire: str, status: int) -> None:
    response = CODECS[wire].encode_fault(Fault(status, "", "no"), asked(wire, stream=True), "1")
    told = CODECS[wire].decode_reply(response)
    assert isinstance(told, Fault)
    assert (told.status, told.message) == (status, "no")
    retried = status in (408, 409, 429) or status >= 500
    assert dict(response.headers).get("retry-after-ms") == ("1" if retried else None)
    slow = CODECS[wire].encode_fault(Fault(status, "", "no", 2.0), asked(wire, stream=True), "1")
    assert dict(slow.headers)["retry-after"] == "2"


@pytest.mark.parametrize("wire", CODECS)
def test_a_disconnect_before_the_headers_sends_nothing(wire: str) -> None:
    response = CODECS[wire].encode_fault(Fault(disconnect="reset"), asked(wire, stream=True), "1")
    assert (response.headless, response.broken, response.chunks) == (True, "reset", ())
