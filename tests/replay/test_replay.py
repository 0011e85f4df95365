"""A recording against today's agent: it passes where it asks what was asked then, and fails where it asks something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import pytest

import agentsim
from agentsim.core.messages import Message, Text, ToolCall, ToolResult, user_text
from agentsim.store.importers import read
from agentsim.store.replaying import Expected, Lenience, difference

TOOL = {
    "name": "lookup",
    "description": "",
    "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
}


def said(*content: dict[str, Any], stop: str = "end_turn", number: int = 1) -> dict[str, Any]:
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": list(content),
        "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def call(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "lookup", "input": {"n": number}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def log(*exchanges: tuple[dict[str, Any], dict[str, Any]]) -> bytes:
    lines: list[Any] = [{"agentsim_recording": 1}]
    for number, (asked, reply) in enumerate(exchanges, 1):
        request = {"method": "POST", "url": "/v1/messages", "headers": {}, "body": asked}
        lines.append({"number": number, "request": request, "response": {"status": 200, "headers": {}, "body": reply}})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages), "tools": [TOOL], **more}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def result(number: int, words: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": words}


ONE = log(
    (asked(user("Find 1")), said(call(1), stop="tool_use")),
    (asked(user("Find 1"), assistant(call(1)), user([result(1, "one")])), said(text("It is one."), number=2)),
)


def agent(prompt: str = "Find 1", found: str = "one", **more: Any) -> str:
    """A loop of one tool over the official SDK, in its simplest form."""
    client = anthropic.Anthropic(max_retries=0)
    messages: list[Any] = [{"role": "user", "content": prompt}]
    while True:
        reply = client.messages.create(model="m", max_tokens=9, messages=messages, **{"tools": [TOOL], **more})
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        answers = [{"type": "tool_result", "tool_use_id": c.id, "content": found} for c in calls]
        messages.append({"role": "user", "content": answers})


def fails(recording: bytes, run: Any, **more: Any) -> str:
    with pytest.raises(agentsim.ScriptError) as caught, agentsim.replay(recording, **more):
        run()
    return str(caught.value)


def test_the_agent_that_was_recorded_passes_and_gets_the_recorded_answer() -> None:
    with agentsim.replay(ONE) as sim:
        assert agent(sim.prompt) == "It is one."
    assert sim.model_calls == 2
    assert [result.output for result in sim.tool_results] == ["one"]


def test_another_prompt_fails_with_the_first_difference() -> None:
    message = fails(ONE, lambda: agent("Find 2"))
    assert "recorded request 1" in message
    assert "message 1: text: expected 'Find 1', came 'Find 2' (from character 6 on)" in message


def test_another_result_fails_at_the_request_that_carries_it() -> None:
    message = fails(ONE, lambda: agent(found="two"))
    assert message.startswith("request 2 is not what the recording has next (recorded request 2)")
    assert "message 3: result of call 1: expected 'one', came 'two'" in message


def test_a_new_tool_fails_and_a_tool_less_does_not() -> None:
    other = {**TOOL, "name": "delete_all"}
    assert "delete_all was not offered then" in fails(ONE, lambda: agent(tools=[TOOL, other]))
    with agentsim.replay(ONE):
        agent(tools=[TOOL])


def test_another_system_prompt_fails() -> None:
    recording = log((asked(user("hi"), system="Be brief."), said(text("Hi."))))
    with agentsim.replay(recording):
        agent("hi", system="Be brief.")
    assert "the system prompt: expected 'Be brief.'" in fails(recording, lambda: agent("hi", system="Be long."))


def test_a_request_too_many_is_told_as_one_behind_the_end() -> None:
    def twice() -> None:
        agent()
        agent()

    message = fails(ONE, twice)
    assert "request 3: the recording ends before it" in message
    assert "recorded request 1, asked before" in message


def test_a_request_too_few_is_told_as_the_one_that_was_never_asked() -> None:
    with pytest.raises(agentsim.ScriptUnfinished, match="recorded request 2 was never asked"), agentsim.replay(ONE):
        anthropic.Anthropic().messages.create(model="m", max_tokens=9, messages=[user("Find 1")], tools=[TOOL])  # type: ignore[list-item]


def test_of_several_recorded_requests_the_nearest_is_named() -> None:
    recording = log(
        (asked(user("Find the red house")), said(text("a"))), (asked(user("Sell it")), said(text("b"), number=2))
    )
    message = fails(recording, lambda: agent("Find the blue house"))
    assert "next (recorded request 1 of conversation 1 or recorded request 1 of conversation 2)" in message
    assert "the nearest is recorded request 1 of conversation 1" in message


def test_conversations_that_went_on_side_by_side_may_come_in_another_order() -> None:
    recording = log((asked(user("left")), said(text("L"))), (asked(user("right")), said(text("R"), number=2)))
    with agentsim.replay(recording):
        assert (agent("right"), agent("left")) == ("R", "L")


def test_the_same_conversation_twice_is_played_in_the_order_of_the_file() -> None:
    recording = log((asked(user("roll")), said(text("3"))), (asked(user("roll")), said(text("5"), number=2)))
    with agentsim.replay(recording):
        assert (agent("roll"), agent("roll")) == ("3", "5")


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("Today is 2026-11-30.", "Today is 2027-01-02."),
        ("It is 2026-11-30T10:11:12Z", "It is 2027-01-02T03:04:05.678+01:00"),
        ("Today is Monday, November 30, 2026", "Today is Saturday, January 2, 2027"),
        ("Sent 30 Nov 2026 at 9:15 am", "Sent 2 Jan 2027 at 11:05 pm"),
        ("Run 5f3c9a1e-0b1d-4c5e-8f7a-1234567890ab", "Run 0a3c9a1e-0b1d-4c5e-8f7a-abcdefabcdef"),
        ("Session sess_A1b2C3d4E5", "Session sess_Z9y8X7w6V5"),
        ("commit 3f2a9c1d7e", "commit 00ff11ee22"),
        ("ticket 10020030", "ticket 10020031"),
        ("two  words", "two\nwords"),
    ],
)
def test_lenient_lets_dates_and_ids_differ(then: str, now: str) -> None:
    recording = log((asked(user(then)), said(text("ok"))))
    assert "message 1" in fails(recording, lambda: agent(now))
    with agentsim.replay(recording, lenient=True):
        agent(now)


@pytest.mark.parametrize(("then", "now"), [("Refund order 42", "Refund order 43"), ("in May I go", "in June we go")])
def test_lenient_is_not_blind(then: str, now: str) -> None:
    recording = log((asked(user(then)), said(text("ok"))))
    assert "message 1" in fails(recording, lambda: agent(now), lenient=True)


def test_a_regular_expression_says_what_else_may_differ() -> None:
    recording = log((asked(user("for alice@example.com")), said(text("ok"))))
    with agentsim.replay(recording, lenient=[r"\S+@\S+"]):
        agent("for bob@example.org")
    with pytest.raises(agentsim.UsageError, match="no regular expression"):
        agentsim.replay(recording, lenient=["("])


def test_ids_that_a_client_rewrites_are_no_difference() -> None:
    def history(identity: str) -> list[Message]:
        return [
            user_text("go"),
            Message("assistant", (ToolCall(identity, "f", '{"a": 1, "b": 2}'),)),
            Message("user", (ToolResult(identity, "x"),)),
        ]

    expected = Expected([], Lenience())
    assert difference(expected.read(history("a"), None, None), expected.read(history("b"), None, None)) is None


def test_the_layout_of_arguments_and_of_texts_in_blocks_is_no_difference() -> None:
    expected = Expected([], Lenience())
    one = [Message("assistant", (ToolCall("a", "f", '{"a":1,"b":2}'),)), Message("user", (Text("x"), Text("y")))]
    other = [Message("assistant", (ToolCall("a", "f", '{"b": 2, "a": 1}'),)), user_text("x\ny")]
    assert difference(expected.read(one, None, None), expected.read(other, None, None)) is None


def test_a_secret_that_was_removed_from_the_recording_is_no_difference() -> None:
    recording = log((asked(user("use [Anthropic key removed]")), said(text("ok"))))
    with agentsim.replay(recording):
        agent("use sk-ant-api03-abcdefghij")


def test_any_recording_that_is_imported_can_be_replayed() -> None:
    messages = [user("Find 1"), assistant(call(1)), user([result(1, "one")]), assistant(text("It is one."))]
    with agentsim.replay(json.dumps(messages).encode()) as sim:
        assert agent(sim.prompt) == "It is one."


def test_a_recorded_failure_fails_again_and_the_retry_is_expected() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    lines = log((asked(user("hi")), overloaded), (asked(user("hi")), said(text("Hi.")))).replace(
        b'"status": 200', b'"status": 529', 1
    )
    with agentsim.replay(lines):
        client = anthropic.Anthropic(max_retries=1)
        reply = client.messages.create(model="m", max_tokens=9, messages=[user("hi")], tools=[TOOL])  # type: ignore[list-item]
        assert reply.content[0].text == "Hi."  # type: ignore[union-attr]


def test_a_file_without_a_reply_is_no_replay(tmp_path: Path) -> None:
    with pytest.raises(agentsim.TranscriptError, match="holds no reply"):
        agentsim.replay(json.dumps([user("hi")]).encode())
    with pytest.raises(agentsim.TranscriptError, match="No such file"):
        agentsim.replay(tmp_path / "none.jsonl")


def test_what_was_sent_back_is_expected_and_not_what_was_said() -> None:
    """A client that leaves something of a reply out did so when it was recorded, too."""
    recording = read(
        log(
            (asked(user("hi")), said(text("Let me see."), call(1), stop="tool_use")),
            (asked(user("hi"), assistant(call(1)), user([result(1, "one")])), said(text("Done."), number=2)),
        )
    )
    _, second = Expected.of(recording).tracks[0].steps
    assert second.asked.lines[1] == ("assistant", (("call of lookup", '{"n": 1}'),))
