# ruff: noqa: PT012
"""What a script can ask of a request, and what only a request can fill, over the wire."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from agentsim.core.events import ModelFailed, ModelReplied, ModelRequested
from agentsim.core.history import sent_requests
from agentsim.errors import ScriptError
from agentsim.session import play

HI: list[Any] = [{"role": "user", "content": "hi"}]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER: dict[str, Any] = {"name": "weather", "input_schema": CITY}
OTHER: dict[str, Any] = {"name": "other", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def story(*replies: Any, **more: Any) -> dict[str, Any]:
    return {"agentsim": 1, "prompt": "hi", "replies": list(replies), **more}


def ask(client: Any, messages: list[Any] = HI, **more: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, messages=messages, **more)


def test_a_star_calls_a_tool_that_the_request_offers_with_arguments_made_from_its_schema() -> None:
    with play(story({"tool_use": {"*": {}}}, {"text": "ok"})) as sim:
        client = sim.client(anthropic.Anthropic)
        call = ask(client, tools=[WEATHER]).content[0]
        assert (call.name, list(call.input)) == ("weather", ["city"])
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "x"}
        ask(
            client,
            [*HI, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
            tools=[WEATHER],
        )


def test_a_star_needs_a_request_that_offers_tools() -> None:
    with pytest.raises(ScriptError, match="the request offers none"), play(story({"tool_use": {"*": {}}})) as sim:
        ask(sim.client(anthropic.Anthropic))


@pytest.mark.parametrize(
    ("request_", "asked", "why"),
    [
        ({"offers": ["weather"]}, {"tools": [OTHER]}, "expected the tool 'weather' to be offered"),
        ({"contains": "Paris"}, {}, "expected the request to contain 'Paris'"),
        ({"contains": "clerk"}, {"system": "You are a pirate."}, "expected the request to contain 'clerk'"),
        ({"resumes": True}, {}, "expected the paused reply to come back"),
    ],
)
def test_a_request_that_does_not_hold_what_it_has_to_fails(request_: Any, asked: Any, why: str) -> None:
    with pytest.raises(ScriptError, match=why), play(story({"text": "ok", "request": request_})) as sim:
        ask(sim.client(anthropic.Anthropic), **asked)


def test_a_result_that_is_not_the_expected_one_fails() -> None:
    script = story(
        {"tool_use": {"weather": {"city": "Paris"}}},
        {"text": "ok", "request": {"answers": {"call_1": {"contains": "sun"}}}},
        tools={"weather": {"schema": CITY}},
    )
    with pytest.raises(ScriptError, match="expected the result of call_1 to contain 'sun'"), play(script) as sim:
        client = sim.client(anthropic.Anthropic)
        content = ask(client, tools=[WEATHER]).content
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": "rain"}
        ask(client, [*HI, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}])


def test_a_request_that_holds_it_is_answered() -> None:
    tools = {"weather": {"input": {"city": "string"}}}
    script = story(
        {"tool_use": {"weather": {"city": "Paris"}}, "request": {"offers": ["weather"], "answers": "none"}},
        {"text": "wait", "server_tool_use": {"search": {"query": "q"}}, "stop_reason": "pause_turn"},
        {"text": "ok", "request": {"resumes": True, "contains": "sunny"}},
        tools=tools,
    )
    with play(script) as sim:
        client = sim.client(anthropic.Anthropic)
        first = ask(client, tools=[WEATHER])
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"}
        history = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        paused = ask(client, history, tools=[WEATHER])
        assert paused.content[1].name == "web_search", "the API knows no tool named search"
        history.append({"role": "assistant", "content": paused.content})
        assert ask(client, history, tools=[WEATHER]).content[0].text == "ok"
    kept = [sent.short() for sent in sent_requests(sim.transcript)]
    assert kept[-1] == {"kept": 3, "new": ["assistant:text+server_tool_use(search)"]}


def test_replies_under_a_condition_follow_what_was_answered() -> None:
    script = story(
        {"tool_use": {"weather": {"city": "Paris"}}},
        {"text": "Take an umbrella.", "when": {"last_tool_result": {"contains": "rain"}}},
        {"text": "Enjoy.", "when": {"last_tool_result": {"contains": "sun"}}},
        tools={"weather": {"input": {"city": "string"}}},
        unused_replies="allow",
    )
    for seen, said in (("rain", "Take an umbrella."), ("sun", "Enjoy.")):
        with play(script) as sim:
            client = sim.client(anthropic.Anthropic)
            first = ask(client, tools=[WEATHER])
            result = {"type": "tool_result", "tool_use_id": "call_1", "content": seen}
            history = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
            assert ask(client, history, tools=[WEATHER]).content[0].text == said


def test_structured_output_is_text_or_a_call_of_the_clients_output_tool() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = story({"output": {"n": 1}}, output={"schema": schema})
    with play(script) as sim:
        assert ask(sim.client(anthropic.Anthropic)).content[0].text == '{"n": 1}'
    with play(script) as sim:
        answer = {"name": "Answer", "description": "the answer", "input_schema": schema}
        reply = ask(sim.client(anthropic.Anthropic), tools=[answer], tool_choice={"type": "any"})
        assert (reply.stop_reason, reply.content[0].name, reply.content[0].input) == ("tool_use", "Answer", {"n": 1})


AGENTS = story(
    {"text": "Billing, please.", "handoff": "billing"},
    system="You are the desk.",
    agents={"billing": {"system": "You are billing.", "replies": [{"text": "Paid."}]}},
    handoffs=["billing"],
)


def test_each_agents_requests_get_its_own_script() -> None:
    transfer = {"name": "transfer_to_billing", "input_schema": {"type": "object", "properties": {}}}
    with play(AGENTS) as sim:
        client = sim.client(anthropic.Anthropic)
        desk = ask(client, system="You are the desk.", tools=[transfer])
        call = desk.content[-1]
        assert call.name == "transfer_to_billing"
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "ok"}
        history = [*HI, {"role": "assistant", "content": desk.content}, {"role": "user", "content": [result]}]
        assert ask(client, history, system="You are billing.").content[0].text == "Paid."
    assert [request.agent for request in sim.requests] == [None, "billing"]
    requested = [event for event in sim.transcript if isinstance(event, ModelRequested)]
    assert [(event.agent, event.kept) for event in requested] == [(None, 0), ("billing", 0)]


def test_a_fault_inside_a_stream_is_seen_by_who_streams_only() -> None:
    broken = {
        "error": {"status": 529, "type": "overloaded_error", "after_characters": 3},
        "content": [{"text": "Hello"}],
    }
    with play(story(broken)) as sim:
        assert ask(sim.client(anthropic.Anthropic)).content[0].text == "Hello"
    assert [type(event) for event in sim.transcript[-1:]] == [ModelReplied]
    with play(story(broken)) as sim:
        client, told = sim.client(anthropic.Anthropic), ""
        with pytest.raises(anthropic.APIStatusError) as error:
            for event in client.messages.create(model="m", max_tokens=9, messages=HI, stream=True):
                told += getattr(getattr(event, "delta", None), "text", "") or ""
    assert (told, error.value.status_code, error.value.type) == ("Hel", 200, "overloaded_error")
    assert [type(event) for event in sim.transcript[-1:]] == [ModelFailed]


def test_the_same_call_may_be_answered_over_any_wire() -> None:
    script = story(
        {"tool_use": {"weather": {"city": "Paris"}}}, {"text": "ok"}, tools={"weather": {"input": CITY["properties"]}}
    )
    script["tools"] = {"weather": {"schema": CITY}}
    with play(script) as sim:
        client = sim.client(openai.OpenAI)
        first = client.responses.create(model="m", input="hi")
        output = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
        second = client.responses.create(model="m", input=[output], previous_response_id=first.id)
        assert second.output_text == "ok"
    assert [result.output for result in sim.tool_results] == ["sunny"]
    assert [len(request.messages) for request in sim.requests] == [1, 3]
