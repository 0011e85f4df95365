"""Requests that the real APIs refuse are refused in their words, and each rule can be switched off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsim.http.provider import Provider, Settings
from agentsim.scenario.load import loads
from agentsim.wire.base import HttpRequest

CLAUDE, RESPONSES, CHAT, GEMINI = (
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/g:generateContent",
)
KEY = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}
OLD = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
HI = {"role": "user", "content": "hi"}


def provider(**settings: Any) -> Provider:
    replies = {"agentsim": 1, "prompt": "hi", "replies": [{"text": "ok", "repeat": "forever"}]}
    return Provider(loads(replies), Settings(**settings))


def post(to: Provider, path: str, body: Any, headers: dict[str, str] = KEY) -> tuple[int, Any]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = to(HttpRequest("POST", path, headers, content))
    return response.status, json.loads(response.body)


def claude(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-5", "max_tokens": 9, "messages": list(messages), **more}


def use(id: str = "toolu_A", **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_use", "id": id, "name": "f", "input": {}, **more}


def result(id: str = "toolu_A") -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_result", "tool_use_id": id, "content": "x"}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def thought(text: str = "hm", signature: str = "s") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_X", "name": "web_search", "input": {"query": "q"}}
ADVICE = {
    "type": "advisor_tool_result",
    "tool_use_id": "srvtoolu_X",
    "content": {"type": "advisor_result", "text": "y"},
}
OLDER = {"model": "claude-sonnet-4-5-20250929", "max_tokens": 4096}
THINKS = {"type": "enabled", "budget_tokens": 1024}

CLAUDE_ROWS: list[tuple[str, Any, dict[str, str], str]] = [
    (
        "every_call_is_answered",
        claude(HI, said(use("toolu_A"), use("toolu_B")), HI),
        KEY,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A, toolu_B. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    (
        "no_answer_without_a_call",
        claude(told(result("toolu_X"))),
        KEY,
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. Each `tool_result` block "
        "must have a corresponding `tool_use` block in the previous message.",
    ),
    (
        "no_server_answer_without_a_call",
        claude(HI, said(ADVICE, text("y")), HI),
        KEY,
        "messages.1.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_X. Each "
        "`advisor_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ),
    (
        "one_answer_for_each_call",
        claude(HI, said(use()), told(result(), result())),
        KEY,
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
        "toolu_A",
    ),
    (
        "ids_are_unique",
        claude(HI, said(use(), use()), told(result())),
        KEY,
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    (
        "ids_are_legal",
        claude(HI, said(text("a"), use("a.b")), told(result("a.b"))),
        KEY,
        "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        "has_required_fields",
        claude(HI, said({"type": "tool_use", "id": "a", "name": "f"}), told(result("a"))),
        KEY,
        "messages.1.content.0.tool_use.input: Field required",
    ),
    (
        "answers_come_first",
        claude(HI, said(use()), told(text("here"), result())),
        KEY,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A. Each `tool_use` "
        "block must have a corresponding `tool_result` block in the next message.",
    ),
    ("no_empty_text", claude(told(text(""))), KEY, "messages: text content blocks must be non-empty"),
    ("no_blank_text", claude(told(text(" "))), KEY, "messages: text content blocks must contain non-whitespace text"),
    (
        "no_empty_message",
        claude(HI, said(), HI),
        KEY,
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    (
        "no_trailing_whitespace",
        claude(HI, said(text("So ")), **OLDER),
        KEY,
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    (
        "no_prefill",
        claude(HI, said(text("So"))),
        KEY,
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    (
        "thinking_comes_first",
        claude(HI, said(use()), told(result()), **OLDER, thinking=THINKS),
        KEY,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
        "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
        "requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    ),
    (
        "no_thinking_when_disabled",
        claude(HI, said(thought(), text("So")), **OLDER, thinking={"type": "disabled"}),
        KEY,
        "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain "
        "`thinking`. To use thinking blocks, enable `thinking` in your request.",
    ),
    (
        "tool_names_are_legal",
        claude(HI, tools=[{**TOOL, "name": "a b"}]),
        KEY,
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    ("tool_names_are_unique", claude(HI, tools=[TOOL, TOOL]), KEY, "tools: Tool names must be unique."),
    ("has_required_fields", {"model": "m", "messages": [HI]}, KEY, "max_tokens: Field required"),
    ("has_messages", claude(), KEY, "messages: at least one message is required"),
    (
        "server_calls_are_paired",
        claude(HI, said(SEARCH), HI),
        KEY,
        "messages.1: `web_search` tool use with id `srvtoolu_X` was found without a corresponding "
        "`web_search_tool_result` block",
    ),
    ("no_unknown_fields", claude(HI, bogus=1), KEY, "bogus: Extra inputs are not permitted"),
    ("no_unknown_fields", claude(HI, thread={"type": "create"}), KEY, "thread: Extra inputs are not permitted"),
    (
        "no_unknown_fields",
        claude(HI, said(use()), told({**result(), "isError": True})),
        KEY,
        "messages.2.content.0.tool_result.isError: Extra inputs are not permitted",
    ),
    ("no_removed_fields", claude(HI, temperature=1.0), KEY, "temperature: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("rule", "body", "headers", "words"), CLAUDE_ROWS, ids=[row[0] for row in CLAUDE_ROWS])
def test_claude_refuses_in_its_own_words(rule: str, body: Any, headers: dict[str, str], words: str) -> None:
    strict = provider()
    status, answer = post(strict, CLAUDE, body, headers)
    error = {"type": "invalid_request_error", "message": words}
    assert (status, answer) == (400, {"type": "error", "error": error, "request_id": "req_1"})
    assert [(each.request, each.rule) for each in strict.refused] == [(1, rule)]
    lenient = provider(off=("all",))
    assert post(lenient, CLAUDE, body, headers)[0] == 200
    assert post(provider(off=(rule,)), CLAUDE, body, headers)[1].get("error", {}).get("message") != words


def test_claude_wants_thinking_back_as_it_was() -> None:
    scenario = loads(
        {
            "agentsim": 1,
            "prompt": "hi",
            "tools": {"f": {"input": {}}},
            "replies": [
                {"content": [{"thinking": "let me see", "signature": "sig"}, {"tool_use": {"name": "f", "input": {}}}]},
                {"text": "ok"},
            ],
        }
    )
    to = Provider(scenario)
    reply = post(to, CLAUDE, claude(HI, tools=[TOOL]))[1]
    changed = [{**reply["content"][0], "thinking": "let me se"}, reply["content"][1]]
    status, answer = post(to, CLAUDE, claude(HI, said(*changed), told(result("call_1")), tools=[TOOL]))
    assert status == 400
    assert answer["error"]["message"].startswith(
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
    )
    assert post(to, CLAUDE, claude(HI, said(*reply["content"]), told(result("call_1")), tools=[TOOL]))[0] == 200


def test_the_older_version_of_claude_still_takes_what_the_newer_refuses() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    body = claude(HI, said(document, text("x")), HI, temperature=0.5, top_p=1)
    assert post(provider(), CLAUDE, body, OLD)[0] == 200
    assert post(provider(), CLAUDE, body, KEY)[0] == 400


@pytest.mark.parametrize(
    ("path", "headers", "status", "kind"),
    [
        (CLAUDE, {"anthropic-version": "2026-10-21"}, 401, "authentication_error"),
        (CLAUDE, {"x-api-key": "k"}, 400, "invalid_request_error"),
        (CHAT, {}, 401, "invalid_request_error"),
        (RESPONSES, {}, 401, "invalid_request_error"),
    ],
)
def test_a_request_without_key_or_version_is_refused(
    path: str, headers: dict[str, str], status: int, kind: str
) -> None:
    answer = post(provider(), path, claude(HI), headers)
    assert (answer[0], answer[1]["error"]["type"]) == (status, kind)


def items(*given: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-6", "input": list(given), **more}


CALL = {"type": "function_call", "call_id": "call_X", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_X", "output": "x"}
USER = {"role": "user", "content": "hi"}
LONG = "c" * 116
RESPONSES_ROWS: list[tuple[str, Any, int, str, str | None, str | None]] = [
    (
        "every_call_is_answered",
        items(USER, CALL),
        400,
        "No tool output found for function call call_X.",
        "input",
        None,
    ),
    (
        "no_answer_without_a_call",
        items(USER, OUTPUT),
        400,
        "No tool call found for function call output with call_id call_X.",
        "input",
        None,
    ),
    (
        "ids_are_unique",
        items(USER, {**CALL, "id": "fc_X"}, OUTPUT, {**CALL, "id": "fc_X"}),
        400,
        "Duplicate item found with id fc_X. Remove duplicate items from your input and try again.",
        "input",
        None,
    ),
    (
        "item_ids_have_their_prefix",
        items(USER, {**CALL, "id": "call_X"}, OUTPUT),
        400,
        "Invalid 'input[1].id': 'call_X'. Expected an ID that begins with 'fc'.",
        "input[1].id",
        "invalid_value",
    ),
    (
        "call_ids_are_short",
        items({**CALL, "call_id": LONG}, {**OUTPUT, "call_id": LONG}),
        400,
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 116 instead.",
        "input[0].call_id",
        "string_above_max_length",
    ),
    (
        "references_are_stored",
        items(USER, {"type": "item_reference", "id": "rs_X"}),
        404,
        "Item with id 'rs_X' not found. Items are not persisted when `store` is set to false. Try again with `store` set "
        "to true, or remove this item from your input.",
        "input",
        None,
    ),
    (
        "parents_are_stored",
        items(USER, previous_response_id="resp_X"),
        400,
        "Previous response with id 'resp_X' not found.",
        "previous_response_id",
        "previous_response_not_found",
    ),
    (
        "has_legal_roles",
        items({"role": "tool", "content": "x"}),
        400,
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        "input[0]",
        "invalid_value",
    ),
    (
        "no_unknown_fields",
        items(USER, bogus=1),
        400,
        "Unknown parameter: 'bogus'.",
        "bogus",
        "unknown_parameter",
    ),
]


@pytest.mark.parametrize(
    ("rule", "body", "status", "words", "param", "code"), RESPONSES_ROWS, ids=[row[0] for row in RESPONSES_ROWS]
)
def test_responses_refuses_in_its_own_words(
    rule: str, body: Any, status: int, words: str, param: str | None, code: str | None
) -> None:
    strict = provider()
    response = strict(HttpRequest("POST", RESPONSES, KEY, json.dumps(body).encode()))
    error = {"message": words, "type": "invalid_request_error", "param": param, "code": code}
    assert (response.status, json.loads(response.body)) == (status, {"error": error})
    assert response.body.startswith(b'{\n  "error": {\n    "message"'), "this endpoint indents its errors"
    assert [each.rule for each in strict.refused] == [rule]


@pytest.fixture
def reasoning() -> Provider:
    scenario = {
        "agentsim": 1,
        "prompt": "hi",
        "tools": {"f": {"input": {}}},
        "replies": [
            {"content": [{"thinking": "hm", "signature": "s"}, {"tool_use": {"name": "f", "input": {}}}]},
            {"text": "ok", "repeat": "forever"},
        ],
    }
    return Provider(loads(scenario))


def test_responses_keeps_reasoning_and_call_together(reasoning: Provider) -> None:
    rs, fc = post(reasoning, RESPONSES, items(USER))[1]["output"]
    output = {**OUTPUT, "call_id": "call_1"}
    alone = post(reasoning, RESPONSES, items(USER, rs, USER))
    assert alone[1]["error"]["message"] == (
        f"Item '{rs['id']}' of type 'reasoning' was provided without its required following item."
    )
    bare = post(reasoning, RESPONSES, items(USER, fc, output))
    assert bare[1]["error"]["message"] == (
        f"Item '{fc['id']}' of type 'function_call' was provided without its required 'reasoning' item: '{rs['id']}'."
    )
    nameless = {key: value for key, value in fc.items() if key != "id"}
    assert post(reasoning, RESPONSES, items(USER, nameless, output))[0] == 200
    assert post(reasoning, RESPONSES, items(USER, rs, fc, output))[0] == 200


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-6", "messages": list(messages), **more}


ASKS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_X", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
CHAT_ROWS: list[tuple[str, Any, str, str | None, str | None]] = [
    (
        "every_call_is_answered",
        chat(HI, ASKS, HI),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
        "following tool_call_ids did not have response messages: call_X",
        "messages.[2].role",
        None,
    ),
    (
        "no_answer_without_a_call",
        chat({"role": "system", "content": "s"}, HI, {"role": "tool", "tool_call_id": "call_X", "content": "x"}),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages.[2].role",
        None,
    ),
    (
        "has_tool_call_id",
        chat(HI, ASKS, {"role": "tool", "content": "x"}),
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'",
        "messages.[2].tool_call_id",
        None,
    ),
    (
        "no_empty_array",
        chat(HI, {"role": "assistant", "content": "x", "tool_calls": []}, HI),
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        "messages[1].tool_calls",
        "empty_array",
    ),
    (
        "no_empty_array",
        chat(),
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages",
        "empty_array",
    ),
    (
        "no_empty_message",
        chat(HI, {"role": "assistant", "content": None}, HI),
        "Invalid value for 'content': expected a string, got null.",
        "messages.[1].content",
        None,
    ),
]


@pytest.mark.parametrize(("rule", "body", "words", "param", "code"), CHAT_ROWS, ids=[row[0] for row in CHAT_ROWS])
def test_chat_refuses_in_its_own_words(rule: str, body: Any, words: str, param: str | None, code: str | None) -> None:
    strict = provider()
    status, answer = post(strict, CHAT, body)
    error = {"message": words, "type": "invalid_request_error", "param": param, "code": code}
    assert (status, answer) == (400, {"error": error})
    assert [each.rule for each in strict.refused] == [rule]
    assert post(provider(off=(rule,)), CHAT, body)[1].get("error", {}).get("message") != words


def test_gemini_wants_as_many_responses_as_calls() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"text": "well?"}]},
    ]
    status, answer = post(provider(), GEMINI, {"contents": contents}, {"x-goog-api-key": "k"})
    assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "number of function response parts" in answer["error"]["message"]


def test_threads_are_judged_over_the_stored_conversation() -> None:
    scenario = loads(
        {
            "agentsim": 1,
            "prompt": "hi",
            "tools": {"f": {"input": {}}},
            "replies": [{"tool_use": {"f": {}}}, {"text": "ok", "repeat": "forever"}],
        }
    )
    to = Provider(scenario)
    beta = {**KEY, "anthropic-beta": "message-threads-2026-08-12"}
    first = post(to, CLAUDE, claude(HI, tools=[TOOL], thread={"type": "create"}), beta)[1]
    go_on = {"type": "continue", "previous_message_id": first["id"]}
    unanswered = post(to, CLAUDE, claude(HI, thread=go_on), beta)
    assert unanswered[1]["error"]["message"].startswith("messages.1: `tool_use` ids were found without")
    answered = post(to, CLAUDE, claude(told(result("call_1")), thread=go_on), beta)
    assert answered[0] == 200
    again = post(to, CLAUDE, claude(told(result("call_1")), thread=go_on), beta)
    assert again[1]["error"]["details"]["error_code"] == "thread_already_continued"
    lost = post(to, CLAUDE, claude(HI, thread={"type": "continue", "previous_message_id": "msg_X"}), beta)
    assert (lost[0], lost[1]["error"]["details"]["error_code"]) == (404, "thread_not_found")


def test_a_stored_response_is_judged_with_what_follows_it(reasoning: Provider) -> None:
    first = post(reasoning, RESPONSES, items(USER))[1]
    unanswered = post(reasoning, RESPONSES, items(USER, previous_response_id=first["id"]))
    assert unanswered[1]["error"]["message"] == "No tool output found for function call call_1."
    answer = {**OUTPUT, "call_id": "call_1"}
    second = post(reasoning, RESPONSES, items(answer, previous_response_id=first["id"], store=False))
    assert second[0] == 200
    third = post(reasoning, RESPONSES, items(USER, previous_response_id=second[1]["id"]))
    assert third[1]["error"]["code"] == "previous_response_not_found"
