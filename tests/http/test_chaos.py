"""Every fault of `scenarios/chaos` through the official clients: what a caller sees of it, in process and over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

import agentsim
from agentsim.core.events import ModelFailed
from agentsim.errors import ScenarioError
from agentsim.http.provider import Provider
from agentsim.http.serve import scenarios_at
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.http.spoil import spoiled
from agentsim.judge.expect import unmet
from agentsim.report.html import shown
from agentsim.report.show import lines_of
from agentsim.scenario.dump import dumps
from agentsim.scenario.load import load, loads
from agentsim.scenario.model import UNREADABLE, Chaos, Malformed, Stall
from agentsim.session import Sim, play
from agentsim.wire.base import HttpRequest, HttpResponse
from tests.http.chaos_seen import SEEN

FOLDER = Path(__file__).parents[2] / "scenarios" / "chaos"
ANSWER = "It is Paris, on the Seine."
ASK = [{"role": "user", "content": "What is the capital of France?"}]

CASES = [
    pytest.param(name, wire, stream, seen.strip(), id=f"{name}-{wire}-{'stream' if stream else 'whole'}")
    for name, row in SEEN.items()
    for (wire, stream), seen in zip(
        [("claude", False), ("claude", True), ("chat", False), ("chat", True)], row.split("|"), strict=False
    )
]


@pytest.fixture(autouse=True)
def _no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for sdk in (anthropic, openai):
        monkeypatch.setattr(sdk._base_client.BaseClient, "_calculate_retry_timeout", lambda *_, **__: 0.0)


def claude(client: anthropic.Anthropic, stream: bool) -> Any:
    if not stream:
        return client.messages.create(model="m", max_tokens=99, messages=ASK)
    with client.messages.stream(model="m", max_tokens=99, messages=ASK) as events:
        return events.get_final_message()


def of_claude(client: anthropic.Anthropic, stream: bool) -> tuple[str, str | None]:
    said = claude(client, stream)
    if isinstance(said, str):
        return "page", None
    text = "".join(block.text for block in said.content if block.type == "text")
    return ("call" if said.stop_reason == "tool_use" else text), said.stop_reason


def of_chat(client: openai.OpenAI, stream: bool) -> tuple[str, str | None]:
    if not stream:
        said = client.chat.completions.create(model="m", messages=ASK)
        if isinstance(said, str):
            return "page", None
        choice = said.choices[0]
        return ("call" if choice.message.tool_calls else choice.message.content or ""), choice.finish_reason
    text, finish = "", None
    for chunk in client.chat.completions.create(model="m", messages=ASK, stream=True):
        for each in chunk.choices:
            text, finish = text + (each.delta.content or ""), each.finish_reason or finish
    return text, finish


def seen(client: Any, wire: str, stream: bool) -> str:
    """What a caller gets, in the words of the table."""
    try:
        text, finish = (of_claude if wire == "claude" else of_chat)(client, stream)
    except Exception as error:
        return type(error).__name__
    text = "answer" if text == ANSWER else text or "nothing"
    end = " without an end" if finish is None and text == "answer" else ""
    return text + end


@pytest.mark.parametrize(("name", "wire", "stream", "expected"), CASES)
def test_a_fault_within_the_process_looks_to_the_client_as_it_does_outside(
    name: str, wire: str, stream: bool, expected: str
) -> None:
    with play(load(FOLDER / f"{name}.yaml")) as sim:
        client = sim.client(anthropic.Anthropic if wire == "claude" else openai.OpenAI, timeout=0.5)
        got = seen(client, wire, stream)
        assert f"{len(sim.requests)} {got}" == expected


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Sessions(scenarios_at(FOLDER))) as running:
        yield running


@pytest.mark.parametrize(("name", "wire", "stream", "expected"), CASES)
def test_a_fault_over_a_socket_is_real(name: str, wire: str, stream: bool, expected: str, server: Server) -> None:
    sent: list[Any] = []
    http = httpx2.Client(trust_env=False, event_hooks={"request": [sent.append]})
    sdk: Any = anthropic.Anthropic if wire == "claude" else openai.OpenAI
    base = server.url if wire == "claude" else f"{server.url}/v1"
    with sdk(api_key=f"sim-{name}:{wire}{stream}", base_url=base, timeout=0.5, http_client=http) as client:
        got = seen(client, wire, stream)
        assert f"{len(sent)} {got}" == expected


def test_every_file_of_the_folder_is_in_the_table() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(SEEN)


# --- run and compare -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_reference_loop_gets_over_every_fault(path: Path, stream: bool) -> None:
    assert not unmet(agentsim.run(load(path), "reference", stream=stream))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_style_plays_what_was_measured_and_says_so_of_the_rest(path: Path) -> None:
    scenario = load(path)
    for result in agentsim.compare(scenario):
        if result.ended == "not_implemented":
            continue
        if result.ended == "cannot_express":
            assert result.style.name != "reference"
            message = result.to_dict()["error"]["message"]
            assert "not measured: on line" in message or "has no thinking blocks" in message
        else:
            assert result.model_requests >= 1


@pytest.mark.parametrize(
    ("stem", "says"),
    [
        ("html", "the body is no reply (text/html)"),
        ("stalled_before_headers", "the connection stays and nothing more comes"),
        ("body_too_short", "the body is not as long as its headers say"),
    ],
)
def test_what_is_not_measured_names_the_line_and_the_way_out(stem: str, says: str) -> None:
    result = agentsim.run(load(FOLDER / f"{stem}.yaml"), "ai-sdk/generateText")
    message = result.to_dict()["error"]["message"]
    assert result.ended == "cannot_express"
    assert f"on line 6 {says}" in message
    assert "agentsim serve" in message


def test_a_connection_that_is_refused_is_a_connection_error_for_every_style() -> None:
    scenario = load(FOLDER / "connection_refused.yaml")
    lost = load(FOLDER / "ended_before_headers.yaml")
    for refused, ended in zip(agentsim.compare(scenario), agentsim.compare(lost), strict=True):
        assert (refused.ended, refused.model_requests) == (ended.ended, ended.model_requests)


def test_silence_takes_virtual_time_and_runs_into_a_deadline() -> None:
    slow = load(FOLDER / "slow_headers.yaml")
    assert agentsim.run(slow).seconds == 0.2
    assert agentsim.run(slow, options={"max_seconds": 0.1}).ended == "timeout"
    stalled = load(FOLDER / "stalled_before_headers.yaml")
    assert agentsim.run(stalled, options={"max_seconds": 5}).ended == "timeout"


# --- in process ----------------------------------------------------------------------------------------------------------


def test_a_pause_longer_than_the_clients_patience_is_a_time_out_at_once() -> None:
    scenario = loads(
        {"agentsim": 1, "prompt": "x", "replies": [{"text": "late", "chaos": {"stall": 3600}}, {"text": "a"}]}
    )
    with play(scenario) as sim:
        client = sim.client(openai.OpenAI)
        assert client.chat.completions.create(model="m", messages=ASK).choices[0].message.content == "a"
        assert len(sim.requests) == 2


@pytest.mark.parametrize("lib", [httpx, httpx2])
def test_an_async_client_waits_without_stopping_others(lib: Any) -> None:
    chaos = {"stall": {"seconds": 0.05, "after_events": 2}}
    scenario = loads({"agentsim": 1, "prompt": "x", "replies": [{"text": "late", "chaos": chaos}]})
    body = {"model": "m", "messages": ASK, "stream": True}

    async def ask(sim: Sim) -> bytes:
        async with sim.client(lib.AsyncClient) as client:
            response = await client.post(
                "https://api.openai.com/v1/chat/completions", json=body, headers={"authorization": "Bearer k"}
            )
            return bytes(response.content)

    with play(scenario, real_time=True) as sim:
        assert b"[DONE]" in asyncio.run(ask(sim))


# --- what is done to the bytes -------------------------------------------------------------------------------------------

STREAM = HttpResponse(200, (("content-type", "text/event-stream"),), (b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n"))
WHOLE = HttpResponse(200, (("content-type", "application/json"),), (b'{"a": "\xc3\xa9"}',))


@pytest.mark.parametrize(
    ("chaos", "body"),
    [
        (Chaos(events=(("repeat", 2),)), b"1223"),
        (Chaos(events=(("swap", 1),)), b"213"),
        (Chaos(events=(("swap", 3),)), b"123"),
        (Chaos(events=(("drop", 1), ("drop", 1))), b"3"),
        (Chaos(events=(("restart", 2),)), b"1213"),
        (Chaos(events=(("repeat", 99),)), b"123"),
        (Chaos(truncate_after_events=2), b"12"),
        (Chaos(chunk_bytes=5), b"123"),
    ],
    ids=repr,
)
def test_events_are_changed_in_their_order(chaos: Chaos, body: bytes) -> None:
    assert spoiled(STREAM, chaos, real=False).body.replace(b"data: ", b"").replace(b"\n\n", b"") == body
    assert spoiled(WHOLE, chaos, real=False).body == WHOLE.body, "a body that is no stream has no events"


def test_silence_and_delays_stay_before_the_byte_that_they_stood_before() -> None:
    paced = HttpResponse(200, STREAM.headers, STREAM.chunks, delays=(0.0, 1.0, 2.0))
    cut = spoiled(paced, Chaos(chunk_bytes=4, stall=Stall(9, 2)), real=True)
    assert cut.body == STREAM.body
    assert cut.delays == (0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0)
    assert cut.silence is not None
    assert (cut.silence.before, cut.silence.seconds) == (4, 9)


def test_a_body_is_cut_at_a_whole_character_and_the_same_each_time() -> None:
    chaos = Chaos(malformed=Malformed(None), gzip=True)
    once, again = spoiled(WHOLE, chaos, real=False), spoiled(WHOLE, chaos, real=False)
    assert once == again
    cut = spoiled(WHOLE, Chaos(malformed=Malformed(None)), real=False).body
    assert WHOLE.body.startswith(cut)
    assert len(cut) < len(WHOLE.body)
    cut.decode()


def test_the_transcript_says_what_the_client_could_not_read() -> None:
    scenario = load(FOLDER / "html.yaml")
    provider = Provider(scenario)
    body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
    provider(HttpRequest("POST", "https://api.openai.com/v1/chat/completions", {"authorization": "Bearer k"}, body))
    failed = provider.events[-1]
    assert isinstance(failed, ModelFailed)
    assert (failed.fault.type, failed.fault.message) == (UNREADABLE, "the body is no reply (text/html)")


def test_what_happens_on_the_way_is_shown_as_text_and_as_a_page() -> None:
    scenario = load(FOLDER / "repeated_event.yaml")
    assert '    on its way: events: [{"repeat": 4}]' in list(lines_of(scenario))
    assert "on its way: events: [{&#34;repeat&#34;: 4}]" in shown.page(scenario, "a.yaml")
    assert 'on its way: malformed: "html"' in "\n".join(lines_of(load(FOLDER / "html_error.yaml")))


UNENDED = {
    "/v1/messages": (["message_stop", "message_delta"], {"model": "m", "max_tokens": 9, "messages": ASK}),
    "/v1/chat/completions": (['"finish_reason":"stop"', "[DONE]"], {"model": "m", "messages": ASK}),
    "/v1/responses": (["response.completed"], {"model": "m", "input": ASK}),
}


@pytest.mark.parametrize("path", UNENDED)
@pytest.mark.parametrize("served", [False, True], ids=["in process", "over a socket"])
def test_a_stream_that_never_says_that_it_ended_ends_as_a_body_should(path: str, served: bool) -> None:
    entry = {"text": ANSWER, "chaos": {"unended": True}}
    scenario = loads({"agentsim": 1, "prompt": ASK[0]["content"], "replies": [entry]})
    lost, body = UNENDED[path]
    keys = {"x-api-key": "k", "anthropic-version": "2023-06-01", "authorization": "Bearer k"}
    with play(scenario) as sim:
        key = "ANTHROPIC_BASE_URL" if "messages" in path else "OPENAI_BASE_URL"
        base = sim.environment[key].removesuffix("/v1") if served else "https://api.openai.com"
        if not served and "messages" in path:
            base = "https://api.anthropic.com"
        said = httpx.post(base + path, json={**body, "stream": True}, headers=keys)
    assert ANSWER.split()[-1] in said.text
    assert not any(word in said.text for word in lost)
    (failed,) = [event for event in sim.transcript if isinstance(event, ModelFailed)]
    assert (failed.fault.type, failed.fault.message) == (UNREADABLE, "the stream ends without the events that say so")
    assert failed.fault.in_stream


def test_a_reply_that_is_not_streamed_has_no_end_to_lose() -> None:
    entry = {"text": ANSWER, "chaos": {"unended": True}}
    with play(loads({"agentsim": 1, "prompt": "x", "replies": [entry]})) as sim:
        assert of_claude(sim.client(anthropic.Anthropic), False) == (ANSWER, "end_turn")


# --- the file ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"text": "a", "chaos": {"gzp": True}}, "did you mean 'gzip'?"),
        ({"text": "a", "chaos": {}}, "expected 'gzip'"),
        ({"text": "a", "chaos": {"gzip": False}}, "expected true"),
        ({"text": "a", "chaos": {"content_length": 0}}, "got 0, which changes nothing"),
        ({"text": "a", "chaos": {"events": {"repeat": 0}}}, "1 or more"),
        ({"text": "a", "chaos": {"events": {"repeat": 1, "swap": 2}}}, "'swap' can't stand beside 'repeat'"),
        ({"text": "a", "chaos": {"malformed": "htm"}}, "did you mean 'html'?"),
        ({"text": "a", "chaos": {"malformed": "html", "events": {"drop": 1}}}, "can't stand beside"),
        ({"text": "a", "chaos": {"gzip": True, "how": "reset"}}, "'how' says in which way"),
        ({"disconnect": {"before": "headers"}, "chaos": {"gzip": True}}, "'chaos' needs an answer"),
        ({"disconnect": {"after_characters": 0, "how": "refuse"}}, "a connection that is refused carries nothing"),
    ],
    ids=str,
)
def test_a_mistake_in_it_is_told(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match="replies") as told:
        loads({"agentsim": 1, "prompt": "x", "replies": [entry]})
    assert says in str(told.value)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_it_is_written_as_it_was_read(path: Path) -> None:
    scenario = load(path)
    assert loads(dumps(scenario)) == scenario
