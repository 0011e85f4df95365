"""Gemini's format behind the same seam."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.events import Fault
from agentsim.core.messages import Message, Reply, Text, Thinking, ToolCall, ToolResult, Usage
from agentsim.errors import CannotExpress
from agentsim.wire.base import HttpRequest, ModelRequest
from agentsim.wire.gemini import GeminiCodec

CODEC = GeminiCodec()
texts = st.text('abc{}"\\ é😀\r\n', min_size=1, max_size=20)
objects = st.dictionaries(texts, texts | st.integers(), max_size=2)
calls = st.builds(ToolCall, st.text("abc123", min_size=1), st.text("abc", min_size=1), objects.map(json.dumps))
replies = st.builds(
    lambda blocks, usage: Reply(
        tuple(blocks), "tool_use" if any(isinstance(block, ToolCall) for block in blocks) else "end_turn", usage
    ),
    st.lists(st.builds(Text, texts) | calls | st.builds(Thinking, texts, st.text("abc")), min_size=1, max_size=4),
    st.builds(Usage, st.integers(0, 999), st.integers(0, 999), st.integers(0, 999)),
)


def asked(*, stream: bool, **body: Any) -> ModelRequest:
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    return CODEC.decode_request(HttpRequest("POST", f"/v1beta/models/gemini-4-pro:{verb}"), contents | body)


def joined(reply: Reply) -> Reply:
    """Texts that follow each other are one, since a stream has no blocks."""
    blocks: list[Any] = []
    for block in reply.blocks:
        if isinstance(block, Text) and blocks and isinstance(blocks[-1], Text):
            blocks[-1] = Text(blocks[-1].text + block.text)
        else:
            blocks.append(block)
    return replace(reply, blocks=tuple(blocks))


@pytest.mark.parametrize("stream", [False, True])
@given(reply=replies, size=st.none() | st.integers(1, 9), cut=st.integers(1, 7))
def test_a_reply_comes_back_as_it_was(stream: bool, reply: Reply, size: int | None, cut: int) -> None:
    response = CODEC.encode_reply(reply, asked(stream=stream), "1", size)
    assert CODEC.decode_reply(response) == joined(reply)
    if stream:
        body = response.body
        pieces = tuple(body[at : at + cut] for at in range(0, len(body), cut))
        assert CODEC.decode_reply(replace(response, chunks=pieces)) == joined(reply)


@pytest.mark.parametrize(
    ("stop", "word"),
    [("end_turn", "STOP"), ("max_tokens", "MAX_TOKENS"), ("refusal", "SAFETY"), ("brand_new", "brand_new")],
)
def test_reasons_have_geminis_words(stop: str, word: str) -> None:
    body = json.loads(CODEC.encode_reply(Reply((Text("x"),), stop), asked(stream=False), "1").body)
    assert body["candidates"][0]["finishReason"] == word


@pytest.mark.parametrize(
    "reply",
    [
        Reply((Text("x"),), "pause_turn"),
        Reply((ToolCall("a", "f", '{"x": '),), "max_tokens"),
        Reply((Text("x"),), "tool_use"),
        Reply((ToolCall("a", "f", "{}"),), "end_turn"),
    ],
)
def test_what_gemini_cannot_say_is_told(reply: Reply) -> None:
    with pytest.raises(CannotExpress):
        CODEC.encode_reply(reply, asked(stream=False), "1")


def test_a_history_is_read_with_and_without_ids() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "x"}}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"error": "no"}}}]},
    ]
    assert asked(stream=False, contents=contents).messages == (
        Message("user", (Text("hi"),)),
        Message("assistant", (ToolCall("f", "f", '{"a": 1}'),)),
        Message("user", (ToolResult("f", "x"),)),
        Message("assistant", (ToolCall("c1", "f", "{}"),)),
        Message("user", (ToolResult("c1", {"error": "no"}, True),)),
    )


def test_tools_and_the_system_prompt_are_read() -> None:
    declared = {"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}
    request = asked(
        stream=True,
        tools=[{"functionDeclarations": [declared]}, {"googleSearch": {}}],
        systemInstruction={"parts": [{"text": "Be brief."}]},
    )
    assert (request.model, request.stream, request.system) == ("gemini-4-pro", True, "Be brief.")
    assert [(offer.name, offer.server) for offer in request.offers or ()] == [("f", False), ("googleSearch", True)]


@pytest.mark.parametrize(("status", "word"), [(429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (503, "UNAVAILABLE")])
def test_errors_have_geminis_shape(status: int, word: str) -> None:
    response = CODEC.encode_fault(Fault(status, "", "no"), asked(stream=False), "1")
    assert json.loads(response.body) == {"error": {"code": status, "message": "no", "status": word}}
    assert dict(response.headers)["retry-after-ms"] == "1"


def test_a_fault_inside_a_stream_lets_so_many_characters_through() -> None:
    fault = Fault(200, "overloaded_error", "busy", None, 3, None, Reply((Text("Hello"),)))
    told = CODEC.decode_reply(CODEC.encode_fault(fault, asked(stream=True), "1", 2))
    assert isinstance(told, Fault)
    assert told.partial is not None
    assert (told.partial.text, told.message) == ("Hel", "busy")
