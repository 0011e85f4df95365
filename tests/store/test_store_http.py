"""Recordings of HTTP traffic: which request continues which conversation, and what an answer says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsim.core.events import ModelFailed, ModelRequested
from agentsim.core.messages import Refusal, Text, ToolCall
from agentsim.store.importers import read
from agentsim.store.importers.streams import events_of, said_in, wire_of_events
from agentsim.store.recording import Recording, facts
from tests.store.files import own

CLAUDE = "https://api.anthropic.com/v1/messages"
CHAT = "https://api.openai.com/v1/chat/completions"


def recording(*pairs: tuple[str, Any, Any], statuses: dict[int, int] | None = None) -> Recording:
    """A recording of (URL, request, response) in turn."""
    entries = [
        {
            "request": {"method": "POST", "url": url, "body": request},
            "response": {
                "status_code": (statuses or {}).get(index, 200),
                "headers": {"Retry-After": "3"},
                "body": response,
            },
        }
        for index, (url, request, response) in enumerate(pairs)
    ]
    return read(json.dumps(entries).encode())


def claude(*content: Any, identity: str = "m", stop: str = "end_turn") -> dict[str, Any]:
    return {"id": identity, "type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(identity: str, name: str = "lookup") -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": {}}


def result(identity: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": "ok"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def body(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages)}


def counts(found: Recording) -> tuple[int, int, int, int]:
    known = facts(found)
    return known["conversations"], known["model_calls"], known["tool_results"], known["orphan_calls"]


def test_a_request_that_begins_with_the_last_one_and_its_reply_continues_it() -> None:
    found = recording(
        (CLAUDE, body(user("go")), claude(use("t1"), stop="tool_use")),
        (CLAUDE, body(user("go"), assistant(use("t1")), user(result("t1"))), claude(text("done"))),
    )
    assert counts(found) == (1, 2, 1, 0)


def test_the_same_first_request_again_is_another_conversation() -> None:
    pair = (CLAUDE, body(user("go")), claude(text("hi")))
    assert counts(recording(pair, pair)) == (2, 2, 0, 0)


def test_the_same_request_after_an_error_is_another_attempt() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = recording(
        (CLAUDE, body(user("go")), error), (CLAUDE, body(user("go")), claude(text("hi"))), statuses={0: 529}
    )
    assert counts(found) == (1, 1, 0, 0)
    (failed,) = [event.fault for event in found.conversations[0].events if isinstance(event, ModelFailed)]
    assert (failed.status, failed.type, failed.retry_after) == (529, "overloaded_error", 3.0)


def test_two_conversations_that_are_recorded_in_turn_are_kept_apart() -> None:
    found = recording(
        (CLAUDE, body(user("a")), claude(use("t"), stop="tool_use")),
        (CLAUDE, body(user("b")), claude(use("t"), stop="tool_use")),
        (CLAUDE, body(user("a"), assistant(use("t")), user(result("t"))), claude(text("A"))),
        (CLAUDE, body(user("b"), assistant(use("t")), user(result("t"))), claude(text("B"))),
    )
    assert [[reply.text for reply in c.events.replies] for c in found.conversations] == [["", "A"], ["", "B"]]
    assert counts(found) == (2, 4, 2, 0)


def test_one_conversation_may_change_its_provider() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    history = [
        user("go"),
        {"role": "assistant", "content": "Looking.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "ok"},
    ]
    answer = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}]}
    found = recording(
        (
            CLAUDE,
            body(user("go")),
            claude(
                {"type": "thinking", "thinking": "hm", "signature": "s"}, text("Looking."), use("t1"), stop="tool_use"
            ),
        ),
        (CHAT, {"model": "m", "messages": history}, answer),
    )
    assert counts(found) == (1, 2, 1, 0)


def test_ids_that_a_client_rewrites_still_meet_their_calls() -> None:
    (first, _) = read(own("vcr/chat.yaml")).conversations
    assert [run.name for run in first.events.tool_runs] == ["lookup"]


def test_a_call_without_a_name_is_none() -> None:
    assert facts(read(own("vcr/chat.yaml")))["tool_calls"] == 1


def test_a_history_that_the_client_replaced_by_a_summary_leaves_the_call_unanswered() -> None:
    assert counts(read(own("httpx-snapshot/compaction.json"))) == (2, 2, 0, 2)


def test_a_rewritten_history_in_which_a_call_is_answered_continues_its_conversation() -> None:
    found = recording(
        (CLAUDE, body(user("a long story")), claude(use("t1"), stop="tool_use")),
        (CLAUDE, body(user("a summary"), assistant(use("t1")), user(result("t1"))), claude(text("done"))),
    )
    assert counts(found) == (1, 2, 1, 0)
    last = [event for event in found.conversations[0].events if isinstance(event, ModelRequested)][-1]
    assert last.kept == 0


def test_a_paused_reply_that_is_sent_back_continues() -> None:
    found = recording(
        (CLAUDE, body(user("go")), claude(text("wait"), stop="pause_turn")),
        (CLAUDE, body(user("go"), assistant(text("wait"))), claude(text("more"), stop="pause_turn")),
        (CLAUDE, body(user("go"), assistant(text("wait"), text("more"))), claude(text("done"))),
    )
    assert counts(found) == (1, 3, 0, 0)


def test_history_that_no_request_recorded_is_the_beginning_of_the_conversation() -> None:
    found = recording((CLAUDE, body(user("go"), assistant(use("t0")), user(result("t0"))), claude(text("done"))))
    assert counts(found) == (1, 1, 1, 0)
    assert len(found.conversations[0].events[0].messages) == 3  # type: ignore[union-attr]


def test_a_history_that_the_provider_keeps_is_followed_by_ids_and_forks_where_one_is_continued_twice() -> None:
    found = read(own("vcr/responses.yaml"))
    assert [[r.text for r in c.events.replies] for c in found.conversations] == [
        ["", "7 degrees."],
        ["8 degrees."],
        ["Done."],
    ]


def test_a_background_job_that_is_asked_for_again_is_one_reply_with_its_last_state() -> None:
    assert facts(read(own("vcr/responses.yaml")))["stop_reasons"] == ["completed"] * 4


def test_traffic_of_others_is_skipped_and_named() -> None:
    assert read(own("vcr/claude.yaml")).skipped == {
        "POST telemetry.example.com/v1/traces: not one of the three wire formats": 1
    }


def test_a_recording_without_any_of_the_three_wires_says_so() -> None:
    found = read(own("vcr/websocket.yaml"))
    assert found.conversations == ()
    assert found.notes == (
        "it holds no request of the three wire formats (Claude Messages, Responses, Chat Completions)",
    )
    assert found.skipped == {
        "entry that is no HTTP exchange but websocket frames": 1,
        "entry that is no HTTP exchange but a gRPC sample": 1,
    }


@pytest.mark.parametrize("path", ["/v1/messages", "/messages", "/proxy/v1/messages?beta=true"])
def test_a_foreign_host_speaks_a_wire_where_its_path_says_so(path: str) -> None:
    found = recording((f"https://gateway.example.com{path}", body(user("go")), claude(text("hi"))))
    assert facts(found)["model_calls"] == 1


@pytest.mark.parametrize(
    "path", ["/v1/messages/count_tokens", "/v1/embeddings", "/v1/responses/compact", "/model/x/converse"]
)
def test_other_endpoints_of_the_same_host_are_no_model_calls(path: str) -> None:
    found = recording((f"https://api.anthropic.com{path}", body(user("go")), {"input_tokens": 5}))
    assert facts(found)["model_calls"] == 0


def test_an_error_inside_a_successful_answer_is_an_error() -> None:
    found = recording((CHAT, {"model": "m", "messages": [user("go")]}, {"error": {"message": "no", "code": 429}}))
    assert facts(found)["error_replies"] == 1


# -- streams ------------------------------------------------------------------------------------------------------------


def said(*events: dict[str, Any]) -> list[Any]:
    wire = wire_of_events(events)
    assert wire is not None
    return said_in(events, wire)


START = {"type": "message_start", "message": {"id": "m1", "content": [], "usage": {"input_tokens": 1}}}
TEXT = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
]
STOP = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]


def test_a_message_that_starts_twice_under_one_id_is_one() -> None:
    (only,) = said(START, START, *TEXT, *STOP)
    assert (only.blocks, only.raw) == ([Text("hi")], "end_turn")


def test_a_second_message_that_starts_before_the_first_stopped_is_another() -> None:
    second = {"type": "message_start", "message": {"id": "m2", "content": []}}
    broken, whole = said(START, *TEXT, second, *TEXT, *STOP)
    assert (broken.fault.disconnect, broken.fault.partial.text) == ("end", "hi")
    assert (whole.id, whole.raw, whole.blocks) == ("m2", "end_turn", [Text("hi")])


def test_a_stream_that_ends_in_the_middle_of_a_block_is_a_lost_connection_with_what_had_arrived() -> None:
    (only,) = said(START, *TEXT)
    assert (only.fault.disconnect, only.fault.after_characters, only.fault.partial.text) == ("end", 2, "hi")


def test_arguments_of_a_cut_call_stay_as_they_arrived() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "refund", "input": {}}
    (only,) = said(
        START,
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"n": 4'}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "message_stop"},
    )
    assert only.blocks == [ToolCall("t1", "refund", '{"n": 4')]


def test_the_words_of_a_refusal_with_a_category_are_its_last_text() -> None:
    details = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "cyber"}}
    (only,) = said(START, *TEXT, {"type": "message_delta", "delta": details}, {"type": "message_stop"})
    assert only.blocks == [Refusal("hi", "cyber")]


def test_a_call_in_one_piece_and_calls_that_share_an_index_are_all_there() -> None:
    def chunk(*calls: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": list(calls)}, "finish_reason": reason}]}

    one = {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}
    two = {"index": 0, "id": "b", "function": {"name": "y", "arguments": "{}"}}
    (only,) = said(chunk(one), chunk(two), chunk(reason="tool_calls"))
    assert only.blocks == [ToolCall("a", "x", "{}"), ToolCall("b", "y", "{}")]


def test_a_completion_whose_end_was_left_out_is_a_reply_without_a_reason() -> None:
    (only,) = said({"id": "c", "choices": [{"index": 0, "delta": {"content": "hi"}}]})
    assert (only.blocks, only.raw, only.fault) == ([Text("hi")], None, None)


def test_a_response_that_failed_is_an_error() -> None:
    failed = {"id": "r", "status": "failed", "output": [], "error": {"code": "server_error", "message": "no"}}
    (only,) = said({"type": "response.failed", "response": failed})
    assert (only.fault.type, only.fault.message) == ("server_error", "no")


def test_a_shell_that_the_provider_ran_is_its_own_call() -> None:
    items = [
        {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s1", "output": "a"},
    ]
    known = facts(read(json.dumps({"id": "r", "object": "response", "status": "completed", "output": items}).encode()))
    assert (known["tool_calls"], known["server_calls"]) == (0, 1)


def test_data_lines_that_are_padded_or_broken_cost_only_themselves() -> None:
    stream = b'data: {"type": "ping"}     \n\ndata: {broken\n\ndata: [DONE]\n\n'
    assert events_of(stream) == [{"type": "ping"}]


def test_cassettes_of_ruby_are_laid_out_alike() -> None:
    request = json.dumps(body(user("go")))
    cassette = f"""---
http_interactions:
- request:
    method: post
    uri: {CLAUDE}
    body: {{encoding: UTF-8, string: {json.dumps(request)}}}
  response:
    status: {{code: 200, message: OK}}
    body: {{encoding: UTF-8, string: {json.dumps(json.dumps(claude(text("hi"))))}}}
recorded_with: VCR 6
"""
    assert counts(read(cassette.encode())) == (1, 1, 0, 0)
