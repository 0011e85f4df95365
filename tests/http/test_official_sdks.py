"""The official SDKs, checking every byte against their own models, play every scenario through every door."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import jiter
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from agentsim.core.messages import STOP_REASONS, Opaque
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, cannot_express
from agentsim.scenario.load import load, loads
from agentsim.scenario.model import Scenario, ScriptedFault, ScriptedReply
from agentsim.session import Sim, play

from .loops import chat, claude, responses

FOLDER = Path(__file__).parents[2] / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))
WAYS = [(door, stream) for door in ("inject", "intercept", "serve") for stream in (False, True)]
ways = pytest.mark.parametrize(("door", "stream"), WAYS, ids=[f"{d}-{'sse' if s else 'json'}" for d, s in WAYS])
STRICT: dict[str, Any] = {"_strict_response_validation": True, "max_retries": 0}
#: Built before any scenario plays, as an application's clients are.
BUILT = {cls: cls(api_key="k", **STRICT) for cls in (anthropic.Anthropic, openai.OpenAI)}
KNOWN_BY_STABLE_API = frozenset(STOP_REASONS) - {"compaction"}


def said(entry: Any) -> Any:
    return entry.reply if isinstance(entry, ScriptedReply) else entry.fault.partial


def playable(scenario: Scenario, wire: str) -> bool:
    """Whether a plain loop with one prompt, on this wire, can get through the script with strictly validated replies."""
    if scenario.agents or not scenario.prompts or scenario.abort:
        return False
    for entry in scenario.script:
        if entry.request is not None or getattr(entry, "extras", ()) or getattr(entry, "handoff", ()) or entry.when:
            return False
        reply = said(entry)
        if reply is None:
            continue
        if cannot_express(reply, wire) or any(isinstance(block, Opaque) for block in reply.blocks):
            return False
        if wire != RESPONSES and reply.stop_reason not in KNOWN_BY_STABLE_API:
            return False  # strict validation refuses what no SDK knows yet
        if wire == ANTHROPIC and not _readable(reply):
            return False
    return not any(isinstance(entry, ScriptedFault) and entry.repeat != 1 for entry in scenario.script)


def _readable(reply: Any) -> bool:
    """The SDK can't accumulate arguments that are no beginning of JSON, and a plain loop can't answer one id twice."""
    if len({call.id for call in reply.calls if call.id}) < sum(bool(call.id) for call in reply.calls):
        return False
    try:
        return all(jiter.from_json(call.arguments.encode(), partial_mode=True) is not None for call in reply.calls)
    except ValueError:
        return False


#: What every wire can say, whatever the folder holds.
EVERYWHERE = {
    "agentsim": 1,
    "prompt": "hi",
    "tools": {"look": {"input": {"a": "integer"}, "returns_each": ["one", {"raises": "oh no"}, {"fails": "no"}]}},
    "replies": [
        {"text": "I look.", "tool_use": [{"look": {"a": 1}}, {"look": {"a": 2}}, {"nope": {}}]},
        {"error": 429},
        {"error": {"status": 529, "after_characters": 3}, "content": [{"text": "Hello"}]},
        {"disconnect": {"after_characters": 2, "how": "end"}, "content": [{"text": "Hello"}]},
        {"disconnect": {"before": "headers", "how": "reset"}},
        {"tool_use": {"look": {"a": 3}}, "stream": {"characters_per_chunk": 1}},
        {"text": "cut", "stop_reason": "max_tokens"},
        {"refusal": "No."},
        {"text": "", "usage": {"input_tokens": 3, "output_tokens": 0}},
        {"text": "Done.", "stop_reason": "stop_sequence"},
    ],
}


def scenarios(wire: str) -> list[Any]:
    found = [pytest.param(loads(EVERYWHERE), id="everywhere")]
    for file in FILES:
        scenario = load(file)
        if playable(scenario, wire):
            found.append(pytest.param(scenario, id=file.stem))
    return found


def made(sim: Sim, door: str, cls: Any) -> Any:
    """A client behind a door, strict about what it receives."""
    if door == "inject":
        return sim.client(cls, **STRICT)
    if door == "intercept":
        return BUILT[cls] if cls in BUILT else cls(api_key=sim.key, **STRICT)
    return BUILT[cls].with_options(base_url=sim.loopback() + ("/v1" if cls is openai.OpenAI else ""))


FAULTS = (
    anthropic.APIStatusError,
    anthropic.APIConnectionError,
    openai.APIError,
    httpx2.ReadError,
    httpx2.RemoteProtocolError,
)


def scripted_faults(send: Callable[..., Any], sim: Sim) -> Callable[..., Any]:
    """The same, with None for a fault that the script holds."""

    def tried(**request: Any) -> Any:
        try:
            return send(**request)
        except FAULTS:
            if sim.refused_requests or sim.errors or sim.requests[-1].fault is None:
                raise
            return None

    return tried


def claude_sender(client: Any, stream: bool) -> Callable[..., Any]:
    def send(**request: Any) -> Any:
        with client.messages.stream(**request) as events:
            return events.get_final_message()

    return send if stream else client.messages.create


def async_claude_sender(client: Any, stream: bool, run: Callable[..., Any]) -> Callable[..., Any]:
    async def send(**request: Any) -> Any:
        async with client.messages.stream(**request) as events:
            return await events.get_final_message()

    return lambda **request: run((send if stream else client.messages.create)(**request))


def finished(sim: Sim) -> None:
    assert sim.refused_requests == []
    assert sim.errors == []
    assert sim.unused_replies == 0


@ways
@pytest.mark.parametrize("scenario", scenarios(ANTHROPIC))
def test_anthropic_plays_every_scenario(scenario: Scenario, door: str, stream: bool) -> None:
    with play(scenario) as sim:
        client = made(sim, door, anthropic.Anthropic)
        claude(sim, scripted_faults(claude_sender(client, stream), sim))
        finished(sim)


@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("scenario", scenarios(ANTHROPIC))
def test_anthropic_plays_every_scenario_asynchronously(scenario: Scenario, stream: bool) -> None:
    with play(scenario) as sim, asyncio.Runner() as runner:
        client = made(sim, "inject", anthropic.AsyncAnthropic)
        claude(sim, scripted_faults(async_claude_sender(client, stream, runner.run), sim))
        runner.run(client.close())
        finished(sim)


def responses_sender(client: Any, stream: bool) -> Callable[..., Any]:
    if not stream:
        return client.responses.create  # type: ignore[no-any-return]

    def send(**request: Any) -> Any:
        final = None
        for event in client.responses.create(**request, stream=True):
            if event.type in ("response.completed", "response.incomplete"):
                final = event.response
        return final

    return send


@ways
@pytest.mark.parametrize("scenario", scenarios(RESPONSES))
def test_openai_plays_every_scenario_over_responses(scenario: Scenario, door: str, stream: bool) -> None:
    with play(scenario) as sim:
        client = made(sim, door, openai.OpenAI)
        responses(sim, scripted_faults(responses_sender(client, stream), sim), stored=door == "intercept")
        finished(sim)


def chat_sender(client: Any, stream: bool) -> Callable[..., Any]:
    if not stream:
        return client.chat.completions.create  # type: ignore[no-any-return]

    def send(**request: Any) -> Any:
        state = ChatCompletionStreamState()
        for chunk in client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}):
            state.handle_chunk(chunk)
        return state.current_completion_snapshot

    return send


@ways
@pytest.mark.parametrize("scenario", scenarios(CHAT))
def test_openai_plays_every_scenario_over_chat(scenario: Scenario, door: str, stream: bool) -> None:
    with play(scenario) as sim:
        client = made(sim, door, openai.OpenAI)
        chat(sim, scripted_faults(chat_sender(client, stream), sim))
        finished(sim)


BLOCKS = {
    "agentsim": 1,
    "prompt": "hi",
    "tools": {"look": {"input": {"a": "integer"}}, "search": {"server": True}},
    "replies": [
        {
            "content": [
                {"thinking": "hm", "signature": "sig"},
                {"redacted_thinking": "xx"},
                {"text": "I look."},
                {"server_tool_use": {"name": "search", "input": {"query": "q"}}},
                {"server_tool_result": {"content": ["found", {"n": 1}]}},
                {"tool_use": {"name": "look", "input": {"a": 1}}},
                {"tool_use": {"name": "look", "input": {"a": 2}}},
            ],
            "usage": {
                "input_tokens": 7,
                "output_tokens": 3,
                "cache_read_input_tokens": 2,
                "cache_creation_input_tokens": 1,
            },
        },
        {"error": 529},
        {"tool_use": {"look": {"a": 123456}}, "cut_after": 8},
        {"text": "No more", "stop_reason": "max_tokens"},
        {"text": "x", "stop_reason": "stop_sequence"},
        {"refusal": "I can't.", "category": "cyber"},
        {"text": "Done."},
    ],
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_every_kind_of_block_passes_strict_validation(stream: bool) -> None:
    with play(BLOCKS) as sim, contextlib.closing(made(sim, "inject", anthropic.Anthropic)) as client:
        assert claude(sim, scripted_faults(claude_sender(client, stream), sim)) == "Done."
        finished(sim)
    kept = {
        **BLOCKS,
        "replies": [{**BLOCKS["replies"][0], "content": BLOCKS["replies"][0]["content"]}, *BLOCKS["replies"][1:]],
    }
    with play(kept) as sim, contextlib.closing(made(sim, "inject", openai.OpenAI)) as client:
        assert responses(sim, scripted_faults(responses_sender(client, stream), sim), stored=False) == "Done."
        finished(sim)


def test_the_tool_runner_runs_on_threads_and_resumes_pauses() -> None:
    looked: list[int] = []

    @anthropic.beta_tool
    def lookup_order(order_id: int) -> str:
        """Look an order up."""
        looked.append(order_id)
        return f"order {order_id}: shipped"

    @anthropic.beta_tool
    def refund(order_id: int) -> str:
        """Refund an order."""
        looked.append(-order_id)
        return "pending"

    with (
        play(FOLDER / "refund.yaml") as sim,
        contextlib.nullcontext(made(sim, "intercept", anthropic.Anthropic)) as client,
    ):
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-5",
            max_tokens=1024,
            tools=[lookup_order, refund],
            messages=[{"role": "user", "content": sim.prompt}],
        )
        assert runner.until_done().content[0].text == "Refunded."
    assert looked == [42, -42]
    assert [request.body.get("thread", {}).get("type") for request in sim.requests] == ["create", *["continue"] * 3]
    assert len(sim.requests[-1].messages) == 6, "the thread's stored messages are part of the request"


def test_responses_helpers_and_its_tool_runner_work() -> None:
    with play({"agentsim": 1, "prompt": "hi", "replies": [{"text": "one"}, {"text": '{"n": 1}'}]}) as sim:
        client = sim.client(openai.OpenAI, _strict_response_validation=True)
        with client.responses.stream(model="gpt-6-astra", input="hi") as stream:
            kinds = [event.type for event in stream]
            assert stream.get_final_response().output_text == "one"
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"

        import pydantic

        class Answer(pydantic.BaseModel):
            n: int

        parsed = client.responses.parse(model="gpt-6-astra", input="hi", text_format=Answer)
        assert parsed.output_parsed == Answer(n=1)


def test_stored_responses_and_conversations_can_be_looked_up() -> None:
    with play({"agentsim": 1, "prompt": "hi", "replies": [{"text": "one"}, {"text": "two"}]}) as sim:
        client = sim.client(openai.OpenAI, _strict_response_validation=True)
        conversation = client.conversations.create(metadata={"a": "b"})
        first = client.responses.create(model="gpt-6-astra", input="hi", conversation=conversation.id)
        assert client.responses.retrieve(first.id) == first
        assert [item.type for item in client.conversations.items.list(conversation.id)] == ["message", "message"]
        client.responses.create(model="gpt-6-astra", input="and?", conversation=conversation.id)
        assert len(sim.requests[-1].messages) == 3
        assert [item.id for item in client.responses.input_items.list(first.id)]
        client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(first.id)
        assert client.responses.input_tokens.count(model="gpt-6-astra", input="hi").input_tokens > 0
        sim.refused_requests.clear()


def test_tokens_are_counted_and_models_listed() -> None:
    with play({"agentsim": 1, "prompt": "hi", "replies": [], "unused_replies": "allow"}) as sim:
        client = sim.client(anthropic.Anthropic, _strict_response_validation=True)
        asked = {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": "hi"}]}
        assert client.messages.count_tokens(**asked).input_tokens > 0
        assert client.beta.messages.count_tokens(**asked).input_tokens > 0
        names = [model.id for model in client.models.list()]
        assert client.models.retrieve(names[0]).id == names[0]
        other = sim.client(openai.OpenAI, _strict_response_validation=True)
        assert "gpt-5.1" in [model.id for model in other.models.list()]
        assert other.models.retrieve("gpt-5.1").id == "gpt-5.1"


def test_an_error_that_passes_is_retried_by_the_sdk_at_once() -> None:
    script = loads(
        {"agentsim": 1, "prompt": "hi", "replies": [{"error": 529, "repeat": 2}, {"text": "ok"}]},
    )
    with play(script) as sim:
        client = sim.client(anthropic.Anthropic)
        message = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
        assert message.content[0].text == "ok"
    assert [request.headers["x-stainless-retry-count"] for request in sim.requests] == ["0", "1", "2"]


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 100])
def test_any_cut_of_a_stream_gives_the_sdk_the_same_message(cut: int) -> None:
    def message(cut: int | None) -> Any:
        with play(BLOCKS | {"unused_replies": "allow"}) as sim:
            body = sim.client(httpx2.Client)
            asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": True}
            headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
            whole = body.post("https://api.anthropic.com/v1/messages", json=asked, headers=headers).content
        pieces = [whole[at : at + (cut or len(whole))] for at in range(0, len(whole), cut or len(whole))]

        def answer(request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(pieces))

        client = anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
        with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as events:
            return events.get_final_message()

    assert message(cut) == message(None)
