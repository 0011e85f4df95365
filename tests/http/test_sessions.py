"""Many sessions behind one address never mix."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from agentsim.http.provider import Settings
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.scenario.load import loads
from agentsim.scenario.model import Scenario
from agentsim.wire.base import HttpRequest


def scenario(prompt: str, *texts: str, **more: Any) -> Scenario:
    return loads({"agentsim": 1, "prompt": prompt, "replies": [{"text": text} for text in texts], **more})


def ask(
    sessions: Any, *said: str, path: str = "/v1/messages", key: str = "k", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode()
    sent = {"x-api-key": key, "anthropic-version": "2023-06-01", **(headers or {})}
    response = sessions(HttpRequest("POST", path, sent, body))
    answer = json.loads(response.body)
    return response.status, answer["content"][0]["text"] if response.status == 200 else answer["error"]["message"]


@pytest.fixture
def two() -> Sessions:
    return Sessions({"a": scenario("first", "a1", "a2"), "b": scenario("second", "b1", "b2")}, Settings(keep=False))


def test_a_scenario_is_named_by_path_by_key_or_by_its_prompt(two: Sessions) -> None:
    assert ask(two, "anything", path="/s/b/v1/messages") == (200, "b1")
    assert ask(two, "anything", key="sim-a") == (200, "a1")
    assert ask(two, "second") == (200, "b1")


def test_an_unknown_name_or_prompt_is_told_what_there_is(two: Sessions) -> None:
    assert ask(two, "x", path="/s/c/v1/messages") == (404, "agentsim: no scenario is named 'c'; there are a, b")
    status, message = ask(two, "third")
    assert status == 404
    assert "no scenario has the prompt 'third'" in message


def test_a_conversation_goes_on_and_a_new_one_begins_anew(two: Sessions) -> None:
    assert ask(two, "first") == (200, "a1")
    assert ask(two, "first", "a1", "and?") == (200, "a2")
    assert ask(two, "first") == (200, "a1")
    assert ask(two, "first", "a1", "and?") == (200, "a2")


def test_conversations_of_one_prompt_are_told_apart_by_what_was_said() -> None:
    one = Sessions({"a": scenario("hi", "a1", "a2", "a3")}, Settings(keep=False))
    assert ask(one, "hi") == (200, "a1")
    assert ask(one, "hi", "a1", "left") == (200, "a2")
    assert ask(one, "hi") == (200, "a1")
    assert ask(one, "hi", "a1", "right") == (200, "a2")
    assert ask(one, "hi", "a1", "left", "a2", "on") == (200, "a3")
    assert ask(one, "hi", "a1", "right", "a2", "on") == (200, "a3")


def test_a_retry_belongs_to_the_conversation_that_failed() -> None:
    faulty = loads({"agentsim": 1, "prompt": "hi", "replies": [{"error": 529}, {"text": "ok"}]})
    one = Sessions({"a": faulty}, Settings(keep=False))
    assert ask(one, "hi")[0] == 529
    assert ask(one, "hi", headers={"x-stainless-retry-count": "1"}) == (200, "ok")
    assert ask(one, "hi")[0] == 529


def test_a_name_with_a_colon_is_one_session_for_ever(two: Sessions) -> None:
    assert ask(two, "x", key="sim-a:7") == (200, "a1")
    assert ask(two, "x", key="sim-a:8") == (200, "a1")
    assert ask(two, "x", path="/s/a:7/v1/messages") == (200, "a2")
    status, message = ask(two, "x", key="sim-a:7")
    assert (status, message) == (400, "agentsim: model call 3, but scenario 'scenario' has 2 replies")


def test_a_later_prompt_on_a_fresh_history_is_still_the_same_session() -> None:
    several = Sessions({"a": loads(SEVERAL)}, Settings(keep=False))
    assert ask(several, "one") == (200, "a1")
    assert ask(several, "two") == (200, "a2")


SEVERAL = {"agentsim": 1, "prompt": ["one", "two"], "replies": [{"text": "a1"}, {"text": "a2"}]}


def test_a_session_of_ones_own_is_opened_under_a_key() -> None:
    sessions = Sessions({}, Settings(keep=False))
    mine = sessions.open("mine", scenario("hi", "x1", "x2"))
    assert ask(sessions, "hello", path="/s/mine/v1/messages") == (200, "x1")
    assert ask(sessions, "hello", key="sim-mine") == (200, "x2")
    assert mine.player.unused == 0
    assert [request.number for request in mine.requests] == [1, 2]
    sessions.close("mine")
    assert ask(sessions, "hello", key="sim-mine")[0] == 404


def test_stored_replies_lead_back_to_their_session() -> None:
    sessions = Sessions({"a": scenario("hi", "a1", "a2")}, Settings(keep=False))

    def respond(**body: Any) -> Any:
        content = json.dumps({"model": "m", **body}).encode()
        return json.loads(sessions(HttpRequest("POST", "/v1/responses", {"authorization": "Bearer k"}, content)).body)

    first, second = respond(input="hi"), respond(input="hi")
    assert first["id"] != second["id"]
    for parent in (first, second):
        then = respond(input="and?", previous_response_id=parent["id"])
        assert then["output"][0]["content"][0]["text"] == "a2"


def test_two_hundred_sessions_at_once_never_mix() -> None:
    count = 200
    scenarios = {f"s{n}": scenario("hi", *(f"{n}:{call}" for call in range(3))) for n in range(count)}

    async def one(client: httpx2.AsyncClient, number: int) -> list[str]:
        said: list[str] = ["hi"]
        for _ in range(3):
            roles = ("user", "assistant")
            messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]
            where = {"headers": {"authorization": f"Bearer sim-s{number}"}} if number % 2 else {}
            path = "/v1/chat/completions" if number % 2 else f"/s/s{number}/v1/chat/completions"
            answer = await client.post(path, json={"model": "m", "messages": messages}, **where)
            said += [answer.json()["choices"][0]["message"]["content"], "on"]
        return said[1::2]

    async def everybody(url: str) -> list[list[str]]:
        headers = {"authorization": "Bearer k"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
            return await asyncio.gather(*(one(client, number) for number in range(count)))

    with Server(Sessions(scenarios, Settings(keep=False))) as server:
        told = asyncio.run(everybody(server.url))
    assert told == [[f"{number}:{call}" for call in range(3)] for number in range(count)]


def test_a_long_session_does_not_grow() -> None:
    import tracemalloc

    forever = loads({"agentsim": 1, "prompt": "hi", "replies": [{"text": "x", "repeat": "forever"}]})
    sessions = Sessions({"a": forever}, Settings(keep=False))

    def many(count: int) -> None:
        for number in range(count):
            ask(sessions, f"question {number}", key="sim-a:1")

    many(3000)
    tracemalloc.start()
    many(3000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 300_000


def test_what_needs_no_scenario_is_answered_without_one(two: Sessions) -> None:
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    models = two(HttpRequest("GET", "/v1/models", headers))
    assert models.status == 200
    count = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    assert two(HttpRequest("POST", "/v1/messages/count_tokens", headers, count)).status == 200
    assert ask(two) == (400, "messages: at least one message is required")
    assert ask(two, "x", headers={"anthropic-version": ""}) == (400, "anthropic-version: header is required")


def test_a_script_of_errors_alone_begins_anew_for_a_new_call() -> None:
    sessions = Sessions(
        {"a": loads({"agentsim": 1, "prompt": "hi", "replies": [{"error": 429}]})}, Settings(keep=False)
    )
    assert [ask(sessions, "hi")[0] for _ in range(3)] == [429, 429, 429]


def test_conversations_and_stored_responses_work_across_scenarios(two: Sessions) -> None:
    def call(method: str, path: str, body: Any = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        response = two(HttpRequest(method, path, {"authorization": "Bearer k"}, content))
        assert response.status == 200, response.body
        return json.loads(response.body)

    made = call("POST", "/v1/conversations", {})
    first = call("POST", "/v1/responses", {"model": "m", "input": "second", "conversation": made["id"]})
    assert first["output"][0]["content"][0]["text"] == "b1"
    then = call("POST", "/v1/responses", {"model": "m", "input": "and?", "conversation": made["id"]})
    assert then["output"][0]["content"][0]["text"] == "b2"
    assert call("GET", f"/v1/responses/{first['id']}") == first
    assert len(call("GET", f"/v1/conversations/{made['id']}/items")["data"]) == 4
