"""What the real APIs refuse, told from a neutral history."""

from __future__ import annotations

import pytest

from agentsim.core.messages import Message, Part, ServerCall, ServerResult, Text, ToolCall, ToolResult, user_text
from agentsim.wire.strict import complaints

CLAUDE, RESPONSES, CHAT = "anthropic-messages", "openai-responses", "openai-chat"
WIRES = [CLAUDE, RESPONSES, CHAT]


def user(*parts: Part) -> Message:
    return Message("user", parts)


def said(*parts: Part) -> Message:
    return Message("assistant", parts)  # type: ignore[arg-type]


def call(call_id: str = "call_1") -> ToolCall:
    return ToolCall(call_id, "lookup", "{}")


def result(call_id: str = "call_1") -> ToolResult:
    return ToolResult(call_id, "ok")


ASK = user_text("hi")
SEARCH = ServerCall("srvtoolu_1", "web_search", "{}")
FOUND = ServerResult("srvtoolu_1", [], "web_search")


def rules(history: list[Message], wire: str = CLAUDE, **more: object) -> list[str]:
    return [rule for rule, _ in complaints(history, wire, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "history",
    [
        [ASK],
        [ASK, said(call()), user(result())],
        [ASK, said(call("a"), call("b")), user(result("b"), result("a"))],
        [ASK, said(call("a"), call("b")), user(result("b")), user(result("a"), Text("and?"))],
        [ASK, said(Text("hello")), user_text("go on")],
    ],
)
def test_sound_histories_are_taken(history: list[Message], wire: str) -> None:
    assert complaints(history, wire, ["lookup"]) == []


def test_claude_wants_every_call_answered_in_the_next_message() -> None:
    history = [ASK, said(call("toolu_A"), call("toolu_B")), user_text("well?")]
    assert complaints(history, CLAUDE) == [
        (
            "every_call_is_answered",
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A, toolu_B. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        )
    ]


def test_claude_wants_answers_before_text() -> None:
    history = [ASK, said(call()), user(Text("here:"), result())]
    [(rule, text)] = complaints(history, CLAUDE)
    assert rule == "answers_come_first"
    assert "immediately after: call_1." in text


def test_claude_wants_a_call_for_each_answer() -> None:
    assert complaints([user(result("toolu_X"))], CLAUDE) == [
        (
            "no_answer_without_a_call",
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        )
    ]


def test_claude_wants_one_answer_for_each_call() -> None:
    history = [ASK, said(call("toolu_X")), user(result("toolu_X"), result("toolu_X"))]
    assert complaints(history, CLAUDE) == [
        (
            "one_answer_for_each_call",
            "messages.2.content.1: each tool_use must have a single result. "
            "Found multiple `tool_result` blocks with id: toolu_X",
        )
    ]


def test_claude_wants_unique_ids_over_the_whole_request() -> None:
    history = [ASK, said(call()), user(result()), said(call()), user(result())]
    assert complaints(history, CLAUDE) == [("ids_are_unique", "messages.3.content.0: `tool_use` ids must be unique")]


def test_claude_wants_ids_of_letters_and_digits() -> None:
    history = [ASK, said(call("a.b")), user(result("a.b"))]
    assert complaints(history, CLAUDE) == [
        ("ids_are_legal", "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    ]


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ("", "no_empty_text", "messages: text content blocks must be non-empty"),
        (" \n", "no_blank_text", "messages: text content blocks must contain non-whitespace text"),
    ],
)
def test_claude_wants_text_in_text_blocks(text: str, rule: str, words: str) -> None:
    assert complaints([ASK, said(Text(text)), ASK], CLAUDE) == [(rule, words)]


def test_claude_takes_blank_text_beside_a_call() -> None:
    assert rules([ASK, said(Text(" "), call()), user(result())]) == []
    assert rules([ASK, said(Text(""), call()), user(result())]) == ["no_empty_text"]


def test_claude_wants_no_empty_message() -> None:
    assert complaints([ASK, said(), ASK], CLAUDE) == [
        (
            "no_empty_message",
            "messages.1: all messages must have non-empty content except for the optional final assistant message",
        )
    ]


def test_newer_claude_models_take_no_prefill() -> None:
    assert complaints([ASK, said(Text("The"))], CLAUDE) == [
        (
            "no_prefill",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
    ]


def test_older_claude_models_take_a_prefill_that_ends_without_a_space() -> None:
    assert rules([ASK, said(Text("The"))], prefill=True) == []
    assert rules([ASK, said(Text("The "))], prefill=True) == ["no_trailing_whitespace"]


def test_a_pause_sent_back_last_is_no_prefill() -> None:
    assert rules([ASK, said(Text("let me "), SEARCH)]) == []
    assert rules([ASK, said(Text("let me "))], resumes=True) == []
    assert rules([ASK, said(SEARCH), said(FOUND, Text("done")), ASK]) == []


def test_a_server_call_without_its_result_is_legal_only_in_a_final_pause() -> None:
    assert complaints([ASK, said(SEARCH), ASK], CLAUDE) == [
        (
            "server_calls_are_paired",
            "messages.1: `web_search` tool use with id `srvtoolu_1` was found without "
            "a corresponding `web_search_tool_result` block",
        )
    ]


def test_a_server_call_may_get_its_result_after_the_client_calls_beside_it() -> None:
    history = [ASK, said(SEARCH, call()), user(result())]
    assert rules(history) == []
    assert rules([*history, said(FOUND, Text("done")), ASK]) == []
    assert rules([*history, said(Text("done")), ASK]) == ["server_calls_are_paired"]


def test_a_server_result_needs_its_call() -> None:
    assert complaints([ASK, said(FOUND, Text("x")), ASK], CLAUDE) == [
        (
            "no_server_answer_without_a_call",
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. "
            "Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
        )
    ]


def test_claude_wants_unique_tool_names_that_fit_its_pattern() -> None:
    assert complaints([ASK], CLAUDE, ["a", "a b", "a"]) == [
        ("tool_names_are_legal", "tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
        ("tool_names_are_unique", "tools: Tool names must be unique."),
    ]


def test_responses_wants_an_output_for_each_call_and_a_call_for_each_output() -> None:
    assert complaints([ASK, said(call("call_X"))], RESPONSES) == [
        ("every_call_is_answered", "No tool output found for function call call_X.")
    ]
    assert complaints([ASK, user(result("call_X"))], RESPONSES) == [
        ("no_answer_without_a_call", "No tool call found for function call output with call_id call_X.")
    ]


def test_chat_wants_tool_messages_directly_behind_the_calls() -> None:
    history = [ASK, said(call("call_X")), user(Text("wait"), result("call_X"))]
    assert complaints(history, CHAT) == [
        (
            "every_call_is_answered",
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            "The following tool_call_ids did not have response messages: call_X",
        ),
        (
            "no_answer_without_a_call",
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        ),
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_looked_at_before_is_not_told_again(wire: str) -> None:
    history = [ASK, said(call()), ASK]
    assert rules(history, wire) == ["every_call_is_answered"]
    assert rules(history, wire, new_from=1) == ["every_call_is_answered"]
    assert rules(history, wire, new_from=2) == ["every_call_is_answered"]
    assert rules([*history, said(Text("hm")), ASK], wire, new_from=3) == []
