"""Any scenario, played through each codec, recorded and imported, is the same scenario again, as far as the wire can say it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.events import Fault, ModelFailed, ModelReplied
from agentsim.core.messages import Reply, ServerCall, Text, Thinking, ToolCall, Usage
from agentsim.core.tools import ToolOutcome
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES, cannot_express
from agentsim.http.provider import Provider, Settings
from agentsim.http.record import Recorder
from agentsim.http.replay import Replayer
from agentsim.scenario.dump import dumps
from agentsim.scenario.load import loads
from agentsim.scenario.model import Scenario, ScriptedFault, ScriptedReply
from agentsim.store.importers import read
from agentsim.store.recording import scenarios
from agentsim.wire.base import HttpRequest, HttpResponse
from tests.properties.scripts import KEY, NONE, entries, tool
from tests.record.agent import Agent
from tests.wire.test_round_trips import as_sent

#: Tools whose results are texts that say which run they are of; those that throw say it by an error result.
TOOLS = {
    "lookup": tool("lookup", ToolOutcome("returns", "value of {key}"), schema=KEY, description="Look it up."),
    "boom": tool("boom", ToolOutcome("fails", "boom failed"), schema=NONE),
    "slow": tool("slow", ToolOutcome("returns", "first"), ToolOutcome("returns", "second"), schema=NONE),
    "failing": tool("failing", ToolOutcome("fails", "no"), ToolOutcome("returns", "yes"), schema=NONE),
}


@st.composite
def told(draw: st.DrawFn) -> Scenario:
    """A scenario of up to six entries and two prompts."""
    script = draw(st.lists(entries, min_size=1, max_size=6))
    prompts = draw(st.sampled_from([("go",), ("go", "and then?"), ("Größe 42?\nNow.",)]))
    system = draw(st.sampled_from([None, "You are a clerk."]))
    return Scenario("random", prompts, system, tools=TOOLS, script=tuple(script))


def sayable(scenario: Scenario, wire: str) -> bool:
    """Whether this wire can say all of it, with nothing in it that only the provider's own store knows."""
    for entry in scenario.script:
        reply = entry.reply if isinstance(entry, ScriptedReply) else entry.fault.partial
        if reply is None:
            continue
        if cannot_express(reply, wire) or any(isinstance(block, ServerCall) for block in reply.blocks):
            return False
        ids = [call.id for call in reply.calls if call.id]
        if not all(call.arguments for call in reply.calls):  # read as {}, as SDKs do
            return False
        if len(set(ids)) < len(ids):  # no file can say it, since no provider does
            return False
    return True


class Recorded:
    """A scenario that was played over a wire and recorded."""

    def __init__(self, scenario: Scenario, wire: str, *, stream: bool) -> None:
        self.provider = Provider(scenario, Settings(off=("all",)))
        with tempfile.TemporaryDirectory() as folder:
            recorder = Recorder(Path(folder) / "it", environment={})

            def send(request: HttpRequest) -> HttpResponse:
                response = self.provider(request)
                if not self.provider.errors:  # the script's end is no answer of a provider
                    recorder.keep_answer(request, response)
                return response

            self.agent = Agent(scenario, wire, send, stream=stream)
            try:
                self.agent.run()
            except BaseException:
                recorder.abandon()
                raise
            recorder.finish()
            self.recording = read(recorder.files.traffic)

    @property
    def answers(self) -> list[Reply | Fault]:
        return [
            event.reply if isinstance(event, ModelReplied) else event.fault
            for event in self.provider.events
            if isinstance(event, ModelReplied | ModelFailed)
        ]


def comparable(answer: Reply | Fault, wire: str, *, stream: bool) -> Any:
    """An answer as the wire says it."""
    if isinstance(answer, Fault):
        return answer.status, answer.retry_after, answer.disconnect
    said = as_sent(answer, wire, stream=stream)
    return [block for block in said.blocks if not isinstance(block, Thinking) or wire == ANTHROPIC], said.usage


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", [ANTHROPIC, CHAT, RESPONSES])
@settings(max_examples=60, deadline=None)
@given(scenario=told())
def test_a_recorded_scenario_is_the_one_that_was_played(wire: str, stream: bool, scenario: Scenario) -> None:
    if not sayable(scenario, wire):
        return
    first = Recorded(scenario, wire, stream=stream)
    (again,) = scenarios(first.recording, "random")
    again = loads(dumps(again))
    said = [e.reply if isinstance(e, ScriptedReply) else e.fault for e in again.script]
    wanted = [comparable(answer, wire, stream=stream) for answer in first.answers]
    assert [
        (answer.status, answer.retry_after, answer.disconnect) if isinstance(answer, Fault)
        else ([b for b in answer.blocks if not isinstance(b, Thinking) or wire == ANTHROPIC], answer.usage)
        for answer in said
    ] == wanted  # fmt: skip
    assert again.system == scenario.system
    assert again.prompts == scenario.prompts[: len(again.prompts)]
    stops = [answer.stop_reason for answer in said if isinstance(answer, Reply)]
    seen = [as_sent(answer, wire, stream=stream) for answer in first.answers if isinstance(answer, Reply)]
    # No stop reason at all is how logs leave it out: it is inferred, by the rule that `import` tells.
    assert stops == [reply.stop_reason or ("tool_use" if reply.calls else "end_turn") for reply in seen]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", [ANTHROPIC, CHAT, RESPONSES])
@settings(max_examples=40, deadline=None)
@given(scenario=told())
def test_the_same_agent_asks_the_imported_scenario_the_same(wire: str, stream: bool, scenario: Scenario) -> None:
    if not sayable(scenario, wire):
        return
    first = Recorded(scenario, wire, stream=stream)
    (again,) = scenarios(first.recording, "random")
    count = len(first.answers)
    # Its prompts are those of the reference loop, which asks again where a reply is empty.
    second = Recorded(replace(loads(dumps(again)), tools=TOOLS, prompts=scenario.prompts), wire, stream=stream)
    assert second.agent.bodies[:count] == first.agent.bodies[:count]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", [ANTHROPIC, CHAT, RESPONSES])
@settings(max_examples=40, deadline=None)
@given(scenario=told(), lenient=st.booleans())
def test_a_strict_replay_takes_the_agent_that_was_recorded(
    wire: str, stream: bool, scenario: Scenario, lenient: bool
) -> None:
    if not sayable(scenario, wire):
        return
    first = Recorded(scenario, wire, stream=stream)
    replayer = Replayer(first.recording, lenient, Settings(off=("all",)))
    agent = Agent(scenario, wire, replayer, stream=stream)
    agent.run(len(first.answers))
    assert [str(error) for error in replayer.errors] == []
    assert replayer.finished
    assert agent.bodies == first.agent.bodies[: len(agent.bodies)]


def test_a_call_keeps_its_arguments_as_the_text_that_was_streamed() -> None:
    script = (ScriptedReply(Reply((ToolCall("", "lookup", '{"key":  "a"'),), "max_tokens")),)
    first = Recorded(Scenario("cut", ("go",), tools=TOOLS, script=script), ANTHROPIC, stream=True)
    (again,) = scenarios(first.recording, "cut")
    (entry,) = again.script
    assert isinstance(entry, ScriptedReply)
    assert entry.reply == Reply((ToolCall("call_1", "lookup", '{"key":  "a"'),), "max_tokens", Usage())


@pytest.mark.parametrize("how", ["end", "reset"])
def test_a_connection_that_went_away_goes_away_again(how: str) -> None:
    partial = Reply((Text("Let me see."),), "end_turn")
    faults = (Fault(None, disconnect=how), Fault(200, after_characters=6, disconnect=how, partial=partial))
    script = (*map(ScriptedFault, faults), ScriptedReply(Reply((Text("done"),), "end_turn")))
    first = Recorded(Scenario("lost", ("go",), script=script), ANTHROPIC, stream=True)
    (again,) = scenarios(first.recording, "lost")
    before, during, answer = loads(dumps(again)).script
    assert isinstance(before, ScriptedFault)
    assert (before.fault.status, before.fault.disconnect) == (None, how)
    assert isinstance(during, ScriptedFault)
    assert (during.fault.after_characters, during.fault.disconnect) == (6, how)
    assert during.fault.partial is not None
    assert during.fault.partial.text == "Let me"
    assert isinstance(answer, ScriptedReply)
