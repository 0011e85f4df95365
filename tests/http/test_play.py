# ruff: noqa: PT012, SIM117
"""`play`: who gets which request, and what is raised when the session closes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import respx

from agentsim.core.events import OutOfScript
from agentsim.errors import (
    CannotExpress,
    RuleBroken,
    ScriptError,
    ScriptExhausted,
    ScriptUnfinished,
    UnscriptedRequest,
    UsageError,
)
from agentsim.http import respx_bridge
from agentsim.http.guard import NetworkBlocked
from agentsim.session import Sim, play

HI: list[Any] = [{"role": "user", "content": "hi"}]


def script(*texts: str, **more: Any) -> dict[str, Any]:
    return {"agentsim": 1, "prompt": "hi", "replies": [{"text": text} for text in texts], **more}


def say(client: Any, messages: list[Any] = HI) -> str:
    message = client.messages.create(model="m", max_tokens=9, messages=messages)
    return str(message.content[0].text)


# --- what the test sees ----------------------------------------------------------------------------------------------


def test_a_session_shows_prompt_requests_and_results() -> None:
    tools = {"look": {"input": {"a": "integer"}}}
    with play(script(tools=tools) | {"replies": [{"tool_use": {"look": {"a": 1}}}, {"text": "done"}]}) as sim:
        client = sim.client(anthropic.Anthropic)
        assert sim.prompt == "hi"
        first = client.messages.create(model="m", max_tokens=9, messages=HI)
        answer = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": "seen", "is_error": True}
        history = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": [answer]}]
        assert say(client, history) == "done"
    assert sim.model_calls == 2
    assert [(result.call_id, result.output, result.is_error) for result in sim.tool_results] == [
        ("call_1", "seen", True)
    ]
    assert sim.requests[-1].body["messages"][-1]["content"] == [answer]
    assert sim.requests[-1].headers["x-api-key" if "x-api-key" in sim.requests[-1].headers else "authorization"]
    assert sim.transcript.model_calls == 2


def test_what_happened_is_counted_in_the_units_of_any_style() -> None:
    tools = {"look": {"input": {"a": "integer"}, "returns": "seen"}}
    with play(
        script(tools=tools) | {"replies": [{"tool_use": {"look": {"a": 1}}, "repeat": 2}, {"text": "done"}]}
    ) as sim:
        client, history = sim.client(anthropic.Anthropic), list(HI)
        assert sim.count("ai-sdk/generateText") == 0
        for _ in range(2):
            calls = client.messages.create(model="m", max_tokens=9, messages=history).content
            answer = {"type": "tool_result", "tool_use_id": calls[0].id, "content": "seen"}
            history += [{"role": "assistant", "content": calls}, {"role": "user", "content": [answer]}]
        say(client, history)
    assert sim.count("ai-sdk/generateText") == sim.count("openai-agents/Runner.run") == 3
    assert sim.count("langchain/create_agent") == 5
    with pytest.raises(UsageError, match="langchain/create_agent"):
        sim.count("langchain/create_agnt")


def test_what_happened_in_two_conversations_is_counted_together() -> None:
    with play(script("one", "two")) as sim:
        client = sim.client(anthropic.Anthropic)
        say(client)
        say(client, [{"role": "user", "content": "something else"}])
    assert sim.count("langchain/create_agent") == 2


def test_too_many_requests_are_told_as_what_they_are() -> None:
    with pytest.raises(ScriptExhausted, match="model call 2, but scenario 'scenario' has 1 reply") as told:
        with play(script("one")) as sim:
            client = sim.client(anthropic.Anthropic)
            say(client)
            say(client)
    assert isinstance(told.value.__cause__, anthropic.BadRequestError)
    assert type(sim.transcript[-1]) is OutOfScript


def test_an_agent_that_swallows_the_error_does_not_hide_it() -> None:
    with pytest.raises(ScriptExhausted):
        with play(script()) as sim:
            try:
                say(sim.client(anthropic.Anthropic))
            except anthropic.APIError:
                pass


def test_replies_that_nobody_asked_for_fail_unless_they_may() -> None:
    with pytest.raises(ScriptUnfinished, match="2 replies were never asked for"), play(script("one", "two")):
        pass
    with play(script("one", unused_replies="allow")):
        pass


def test_a_refused_request_fails_and_names_the_rule() -> None:
    orphan = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]}]
    with pytest.raises(RuleBroken, match=r"request 1 was refused \(no_answer_without_a_call\)"):
        with play(script("one", unused_replies="allow")) as sim:
            with pytest.raises(anthropic.BadRequestError):
                say(sim.client(anthropic.Anthropic), orphan)
    assert [refused.rule for refused in sim.refused_requests] == ["no_answer_without_a_call"]


def test_a_refusal_that_escapes_is_explained() -> None:
    with pytest.raises(anthropic.BadRequestError) as told:
        with play(script("one")) as sim:
            say(sim.client(anthropic.Anthropic), [{"role": "user", "content": ""}])
    assert "no_empty_message" in told.value.__notes__[0]


def test_strictness_can_be_switched_off() -> None:
    empty = [{"role": "user", "content": ""}]
    with play(script("one"), strict=False) as sim:
        assert say(sim.client(anthropic.Anthropic), empty) == "one"
    with play(script("one"), off=["no_empty_message"]) as sim:
        assert say(sim.client(anthropic.Anthropic), empty) == "one"


def test_what_a_wire_cannot_say_is_told() -> None:
    pause = script() | {"replies": [{"text": "wait", "stop_reason": "pause_turn"}]}
    with pytest.raises(CannotExpress, match="openai-chat has no way to say stop_reason 'pause_turn'"):
        with play(pause) as sim:
            sim.client(openai.OpenAI).chat.completions.create(model="m", messages=HI)


def test_a_request_that_is_not_the_one_expected_is_told() -> None:
    expects = script() | {"replies": [{"text": "one", "request": {"contains": "please"}}]}
    with pytest.raises(ScriptError, match="expected the request to contain 'please'"):
        with play(expects) as sim:
            say(sim.client(anthropic.Anthropic))


def test_a_scenario_without_a_prompt_says_so() -> None:
    with play({"agentsim": 1, "messages": [{"user": "hi"}], "replies": [{"text": "x"}]}, strict=False) as sim:
        with pytest.raises(UsageError, match="has no prompt"):
            _ = sim.prompt
        say(sim.client(anthropic.Anthropic))


# --- who gets which request ------------------------------------------------------------------------------------------


def test_keys_that_are_not_set_get_dummies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    with play(script("one")) as sim:
        assert os.environ["OPENAI_API_KEY"] == "mine"
        assert say(anthropic.Anthropic()) == "one"
    assert sim.requests[0].headers["authorization"] == f"Bearer {sim.key}"
    assert "ANTHROPIC_API_KEY" not in os.environ


def test_requests_of_threads_reach_the_only_session() -> None:
    said: list[str] = []
    with play(script("one")) as sim:
        client = anthropic.Anthropic(api_key="k")
        thread = threading.Thread(target=lambda: said.append(say(client)))
        thread.start()
        thread.join()
    assert said == ["one"]
    assert sim.model_calls == 1


def test_tasks_that_play_at_once_each_get_their_own() -> None:
    async def one(name: str) -> str:
        with play(script(name)):
            await asyncio.sleep(0)
            client = anthropic.AsyncAnthropic(api_key="k")
            message = await client.messages.create(model="m", max_tokens=9, messages=HI)  # type: ignore[arg-type]
            await client.close()
            return str(message.content[0].text)  # type: ignore[union-attr]

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(asyncio.create_task(one(f"n{number}")) for number in range(8)))

    assert asyncio.run(all_of_them()) == [f"n{number}" for number in range(8)]


def test_a_thread_without_context_is_told_by_its_key() -> None:
    said: dict[str, str] = {}

    def ask(name: str, key: str) -> None:
        said[name] = say(anthropic.Anthropic(api_key=key))

    with play(script("one")) as first, play(script("two")) as second:
        for name, sim in (("first", first), ("second", second)):
            thread = threading.Thread(target=ask, args=(name, sim.key))
            thread.start()
            thread.join()
    assert said == {"first": "one", "second": "two"}


def test_a_request_that_could_be_anybodys_is_an_error() -> None:
    told: list[Exception] = []

    def ask() -> None:
        try:
            say(anthropic.Anthropic(api_key="k"))
        except anthropic.APIError as error:
            told.append(error)

    with pytest.raises(UsageError, match="2 scenarios play at once"):
        with play(script("one", unused_replies="allow")), play(script("two", unused_replies="allow")):
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
    assert len(told) == 1


def test_the_inner_of_two_sessions_gets_the_requests() -> None:
    client = anthropic.Anthropic(api_key="k")
    with play(script("outer")):
        with play(script("inner")):
            assert say(client) == "inner"
        assert say(client) == "outer"


def test_other_providers_addresses_are_known_by_their_requests() -> None:
    with play(script("one", "two")):
        azure = openai.OpenAI(api_key="k", base_url="https://somewhere.openai.azure.com/openai/v1")
        assert azure.responses.create(model="m", input="hi").output_text == "one"
        gateway = anthropic.Anthropic(api_key="k", base_url="https://gateway.example/anthropic")
        assert say(gateway) == "two"


def test_a_wrapped_transport_is_seen_and_a_mock_left_alone() -> None:
    class Wrapped(httpx2.BaseTransport):
        def __init__(self) -> None:
            self.inner = httpx2.HTTPTransport()

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            return self.inner.handle_request(request)

    with play(script("one")), httpx2.Client(transport=Wrapped()) as client:
        assert say(anthropic.Anthropic(api_key="k", http_client=client)) == "one"
        mock = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(418)))
        assert mock.get("https://api.anthropic.com/v1/models").status_code == 418


def test_patches_are_gone_afterwards() -> None:
    before = httpx2.Client._transport_for_url, httpx2.HTTPTransport.handle_request, socket.socket.connect
    with play(script("one", unused_replies="allow")):
        assert httpx2.Client._transport_for_url is not before[0]
    assert before == (httpx2.Client._transport_for_url, httpx2.HTTPTransport.handle_request, socket.socket.connect)


def test_libraries_imported_later_are_seen_too() -> None:
    code = """
import sys
from agentsim.session import play
with play({"agentsim": 1, "prompt": "hi", "replies": [{"text": "one"}, {"text": "two"}]}):
    assert not {"httpx", "httpx2", "aiohttp"} & set(sys.modules)
    import httpx, httpx2
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    for lib in (httpx, httpx2):
        print(lib.post("https://api.anthropic.com/v1/messages", json=body, headers=headers).json()["content"][0]["text"])
assert httpx.__spec__.loader.__class__.__name__ == "SourceFileLoader"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["one", "two"], "")


def test_one_module_under_two_names_is_patched_once() -> None:
    code = """
import httpx2
httpx2.alias_httpx()
import httpx
from agentsim.session import play
with play({"agentsim": 1, "prompt": "hi", "replies": [{"text": "one"}]}):
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    print(httpx.post("https://api.anthropic.com/v1/messages", json=body, headers=headers).json()["content"][0]["text"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["one"], "")


# --- aiohttp ---------------------------------------------------------------------------------------------------------


def test_aiohttp_is_led_to_a_loopback_server() -> None:
    async def ask() -> Any:
        async with aiohttp.ClientSession(headers={"authorization": "Bearer k"}) as session:
            body = {"model": "m", "messages": HI}
            async with session.post("https://api.openai.com/v1/chat/completions", json=body) as response:
                return await response.json()

    with play(script("one")):
        answer = asyncio.run(ask())
    assert answer["choices"][0]["message"]["content"] == "one"


def test_an_aiohttp_transport_under_a_client_is_seen() -> None:
    async def ask() -> str:
        async with (
            anthropic.DefaultAioHttpClient() as http,
            anthropic.AsyncAnthropic(api_key="k", http_client=http) as a,
        ):
            message = await a.messages.create(model="m", max_tokens=9, messages=HI)  # type: ignore[arg-type]
            return str(message.content[0].text)  # type: ignore[union-attr]

    with play(script("one")) as sim:
        assert asyncio.run(ask()) == "one"
    assert sim.requests[0].url == "https://api.anthropic.com/v1/messages"


# --- the network -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_request_that_no_codec_knows_fails(library: Any) -> None:
    with pytest.raises(UnscriptedRequest, match=r"GET https://example\.com/x is no request that agentsim knows"):
        with play(script("one")):
            library.get("https://example.com/x")


def test_an_unknown_path_of_a_provider_fails_with_what_is_known() -> None:
    with pytest.raises(UnscriptedRequest, match=r"POST https://api.openai.com/v1/embeddings .*POST /v1/responses"):
        with play(script("one")) as sim:
            sim.client(openai.OpenAI).embeddings.create(model="m", input="x")


def test_sockets_do_not_leave_the_machine() -> None:
    with pytest.raises(NetworkBlocked):
        with play(script("one")), pytest.raises(urllib.error.URLError):
            urllib.request.urlopen("http://example.com/", timeout=5)
    with pytest.raises(NetworkBlocked, match=r"192\.0\.2\.1:80"):
        with play(script("one")), socket.socket() as sock:
            sock.connect(("192.0.2.1", 80))


def test_this_machine_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, play(script("one", unused_replies="allow")):
        socket.create_connection(listener.getsockname()).close()
        socket.create_connection(("localhost", listener.getsockname()[1])).close()


def test_allowed_hosts_are_let_through() -> None:
    with play(script("one", unused_replies="allow"), allow_hosts=["*.invalid"]) as sim:
        with pytest.raises((socket.gaierror, TimeoutError)):
            socket.create_connection(("nobody.invalid", 80), timeout=1)
        with pytest.raises(httpx2.ConnectError) as told:
            httpx2.get("https://nobody.invalid/x")
        assert "agentsim" not in str(told.value)
        assert sim.errors == []


@pytest.mark.parametrize("hosts", [["http://x/y"], ["example.com:443"], ["*"], [""], [5], "example.com"])
def test_an_allowed_host_is_a_host_name_in_a_list(hosts: Any) -> None:
    with pytest.raises(UsageError, match=r"allow_hosts: expected a .*host name.* came"):
        play(script("one"), allow_hosts=hosts)


@pytest.mark.parametrize("host", ["example.com", "*.example.com", "my_host", "10.0.0.1", "::1", "bücher.example"])
def test_names_patterns_and_addresses_are_hosts(host: str) -> None:
    assert play(script("one"), allow_hosts=[host]).allow_hosts == (host,)


# --- subprocesses ----------------------------------------------------------------------------------------------------


def test_a_child_process_finds_the_session_by_its_environment() -> None:
    code = """
import anthropic, openai
print(anthropic.Anthropic().messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]).content[0].text)
print(openai.OpenAI().responses.create(model="m", input="hi").output_text)
"""
    with play(script("one", "two")) as sim:
        done = subprocess.run(
            [sys.executable, "-c", code], env=sim.environment, capture_output=True, text=True, check=False
        )
    assert (done.stdout.split(), done.stderr) == (["one", "two"], "")
    assert sim.model_calls == 2


# --- beside others ---------------------------------------------------------------------------------------------------


def test_respx_routes_go_on_beside_play(respx_mock: respx.MockRouter) -> None:
    respx_mock.get("https://weather.example/").respond(json={"sky": "blue"})
    with play(script("one")) as sim:
        assert httpx.get("https://weather.example/").json() == {"sky": "blue"}
        assert say(anthropic.Anthropic(api_key="k")) == "one"
    assert sim.model_calls == 1


def test_httpx2_mock_goes_on_beside_play(httpx2_mock: Any) -> None:
    with play(script("one")) as sim:
        httpx2_mock.get("https://weather.example/").respond(json={"sky": "blue"})
        assert httpx2.get("https://weather.example/").json() == {"sky": "blue"}
        assert say(anthropic.Anthropic(api_key="k")) == "one"
    assert sim.model_calls == 1


def test_a_session_can_be_a_respx_side_effect_on_both_stacks() -> None:
    respx_bridge.install()
    respx_bridge.install()
    body = {"model": "m", "messages": HI}
    headers = {"authorization": "Bearer k"}
    url = "https://api.openai.com/v1/chat/completions"
    for using, library in (("httpcore", httpx), ("httpcore2", httpx2)):
        with play(script("one"), intercept=False) as sim, respx.mock(using=using) as router:
            router.post(url).mock(side_effect=respx_bridge.side_effect(sim))
            answer = library.post(url, json=body, headers=headers)
        assert answer.json()["choices"][0]["message"]["content"] == "one"


def test_unknown_client_classes_are_told() -> None:
    with (
        play(script("one", unused_replies="allow")) as sim,
        pytest.raises(UsageError, match="does not know how to connect"),
    ):
        sim.client(dict)


def test_clients_may_be_made_asynchronous() -> None:
    async def ask(sim: Sim) -> str:
        client = sim.client(openai.AsyncOpenAI)
        return str((await client.responses.create(model="m", input="hi")).output_text)

    with play(script("one")) as sim:
        assert asyncio.run(ask(sim)) == "one"


def test_traces_of_the_agents_sdk_are_taken_and_not_counted() -> None:
    with play(script("one")) as sim:
        answer = httpx2.post("https://api.openai.com/v1/traces/ingest", json={"data": []})
        assert answer.status_code == 204
        assert say(anthropic.Anthropic(api_key="k")) == "one"
    assert len(sim.requests) == 1
