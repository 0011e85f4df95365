"""A recording becomes a scenario that plays back to the same transcript."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agentsim
from agentsim.core.events import ModelReplied, ToolsRan
from agentsim.core.messages import Reply, Text, ToolCall, user_text
from agentsim.core.tools import Approval, ToolOutcome
from agentsim.scenario.dump import dumps
from agentsim.scenario.load import loads
from agentsim.scenario.model import Abort, Scenario, ScriptedFault, ScriptedReply
from agentsim.store import jsonl
from agentsim.store.building import ConversationBuilder
from agentsim.store.guess import guessed_schema
from agentsim.store.importers import read
from agentsim.store.recording import Declared, Recording, facts, scenarios, tally
from tests.store.files import OWN, everything

#: Formats that hold several replies in one message: played, they are as many calls as they must have been.
JOINED = ("tanstack-ui", "aisdk-ui-messages")
#: No format of tool results, so that a played tool gives something where the file has nothing.
WITHOUT_RESULTS = ("aimock",)


def played(scenario: Scenario) -> agentsim.Result:
    in_stream = any(isinstance(e, ScriptedFault) and e.fault.in_stream for e in scenario.script)
    return agentsim.run(scenario, "reference", limit=None, stream=in_stream)


def played_facts(scenario: Scenario) -> dict[str, Any]:
    counts = tally(played(scenario).transcript.events)
    return {
        "model_calls": counts.model_calls,
        "error_replies": counts.failures,
        "tool_calls": counts.tool_calls,
        "server_calls": counts.server_calls,
        "tool_results": counts.tool_results,
        "orphan_calls": counts.orphan_calls,
    }


def summed(every: list[dict[str, Any]], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: sum(each[key] for each in every) for key in keys}


@pytest.mark.parametrize("file", everything(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_recording_written_as_a_scenario_and_played_has_the_same_facts_again(file: Path) -> None:
    recording = read(file)
    known = facts(recording)
    every = [played_facts(loads(dumps(scenario))) for scenario in scenarios(recording, "x")]
    keys = ("model_calls", "error_replies", "tool_calls", "server_calls", "tool_results", "orphan_calls")
    if known["format"] in JOINED:
        keys = ("error_replies", "tool_calls", "server_calls", "tool_results", "orphan_calls")
    if known["format"] in WITHOUT_RESULTS or any(c.shared for c in recording.conversations):
        keys = ("model_calls", "error_replies", "tool_calls", "server_calls")
    assert summed(every, keys) == {key: known[key] for key in keys}


@pytest.mark.parametrize("file", everything(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_recorded_reply_is_played_and_none_is_left_over(file: Path) -> None:
    for scenario in scenarios(read(file), "x"):
        assert played(scenario).unused_replies == 0


@pytest.mark.parametrize("file", everything(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_the_played_calls_get_what_the_recorded_ones_got(file: Path) -> None:
    recording = read(file)
    conversations = [c for c in recording.conversations if c.records_results and c.origins]
    for conversation, scenario in zip(
        conversations, scenarios(replace(recording, conversations=tuple(conversations))), strict=True
    ):
        recorded = [run for event in conversation.events if isinstance(event, ToolsRan) for run in event.runs]
        known = {run.call_id for run in recorded if isinstance(run.output, str)}
        told = [(run.call_id, run.name, run.input, run.output) for run in recorded]
        for run in played(scenario).tool_runs:
            if run.call_id in known:
                assert (run.call_id, run.name, run.input, run.output) in told


@pytest.mark.parametrize("file", everything(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_run_stored_as_a_transcript_is_a_recording_with_its_facts(file: Path) -> None:
    for scenario in scenarios(read(file), "x")[:2]:
        result = played(scenario)
        stored = facts(read(jsonl.dumps(result.transcript).encode()))
        assert stored["format"] == "agentsim-transcript"
        assert {key: stored[key] for key in played_facts(scenario)} == played_facts(scenario)
        assert stored["stop_reasons"] == [reply.stop_reason for reply in result.transcript.replies]


@pytest.mark.parametrize("file", everything(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_the_transcript_of_a_played_recording_plays_back_to_itself(file: Path) -> None:
    for scenario in scenarios(read(file), "x"):
        first = played(scenario)
        if first.ended == "approval":  # a transcript does not say which tools ask
            continue
        (again,) = scenarios(read(jsonl.dumps(first.transcript).encode()), "x")
        second = played(again)
        assert (again.prompts, again.messages) == (scenario.prompts, scenario.messages)
        assert (second.tool_runs, second.ended, second.final_text) == (first.tool_runs, first.ended, first.final_text)


# -- single rules ---------------------------------------------------------------------------------------------------------


def made(*steps: Any, declared: tuple[Declared, ...] = (), pending: tuple[str, ...] = ()) -> Scenario:
    """The scenario of a conversation told in steps: a text is the user's, a Reply the model's, a triple a result."""
    builder = ConversationBuilder()
    builder.declared = {tool.name: tool for tool in declared}
    builder.pending = set(pending)
    for place, step in enumerate(steps, 1):
        if isinstance(step, str):
            builder.say(Text(step))
        elif isinstance(step, Reply):
            builder.reply(step.blocks, step.stop_reason, place)
        else:
            builder.result(*step)
    (scenario,) = scenarios(Recording("made", (builder.conversation(),)), "made")
    return scenario


def call(name: str, arguments: str = "{}", identity: str = "c1") -> Reply:
    return Reply((ToolCall(identity, name, arguments),), "tool_use")


def answer(text: str = "done") -> Reply:
    return Reply((Text(text),), "end_turn")


def test_a_tool_gives_its_recorded_results_in_order() -> None:
    scenario = made(
        "go", call("a", '{"n": 1}', "c1"), ("c1", "one"), call("a", '{"n": 2}', "c2"), ("c2", "two"), answer()
    )
    assert scenario.tools["a"].outcomes == (ToolOutcome("returns", "one"), ToolOutcome("returns", "two"))


def test_a_recorded_error_result_is_one_again() -> None:
    scenario = made("go", call("a"), ("c1", "boom", True), answer())
    assert scenario.tools["a"].outcomes == (ToolOutcome("fails", "boom"),)


def test_a_result_that_looks_like_a_template_is_given_as_it_is() -> None:
    scenario = made("go", call("read", '{"path": "a.py"}'), ("c1", "open({path})"), answer())
    assert scenario.tools["read"].verbatim
    assert [run.output for run in played(loads(dumps(scenario))).tool_runs] == ["open({path})"]


def test_an_id_that_stands_for_two_calls_pairs_each_with_its_own_result() -> None:
    scenario = made("go", call("a", "{}", "same"), ("same", "one"), call("b", "{}", "same"), ("same", "two"), answer())
    assert [(run.name, run.output) for run in played(scenario).tool_runs] == [("a", "one"), ("b", "two")]


def test_results_that_come_in_another_order_are_still_their_calls() -> None:
    both = Reply((ToolCall("c1", "a"), ToolCall("c2", "a")), "tool_use")
    scenario = made("go", both, ("c2", "two"), ("c1", "one"), answer())
    assert [run.output for run in played(scenario).tool_runs] == ["one", "two"]


def test_a_tool_that_was_never_answered_is_the_clients() -> None:
    scenario = made("go", call("ask"))
    assert scenario.tools["ask"].client
    assert played(scenario).ended == "handed_back"


def test_a_last_call_without_a_result_of_a_tool_that_else_had_one_is_somebody_giving_up() -> None:
    scenario = made("go", call("a", "{}", "c1"), ("c1", "one"), call("a", "{}", "c2"))
    assert scenario.abort == Abort(before_reply=3)
    assert played(scenario).ended == "aborted"


def test_a_call_that_waits_for_approval_asks_for_it() -> None:
    scenario = made("go", call("refund"), pending=("c1",))
    assert scenario.tools["refund"].approval == Approval("none")


def test_a_call_of_a_tool_that_was_not_offered_gets_its_error_again() -> None:
    known = Declared("a", "A tool.", {"type": "object", "properties": {}})
    scenario = made("go", call("b"), ("c1", "no such tool", True), answer(), declared=(known,))
    assert set(scenario.tools) == {"a"}
    assert played(scenario).tool_runs == ()


def test_a_declared_schema_that_a_successful_call_does_not_fit_is_replaced_by_a_guess() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string"}}}
    scenario = made("go", call("a", '{"n": 1}'), ("c1", "one"), answer(), declared=(Declared("a", "", schema),))
    assert scenario.tools["a"].schema["properties"] == {"n": {"type": "integer"}}


def test_a_call_that_rightly_failed_its_schema_does_not_use_up_a_result() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    scenario = made(
        "go", call("a", '{"n": "x"}', "c1"), ("c1", "bad input", True), call("a", '{"n": 1}', "c2"), ("c2", "one"), answer(),
        declared=(Declared("a", "", schema),),
    )  # fmt: skip
    assert scenario.tools["a"].outcomes == (ToolOutcome("returns", "one"),)
    assert [run.output for run in played(scenario).tool_runs] == ["one"]


def test_what_a_person_says_after_an_answer_is_the_next_prompt() -> None:
    assert made("one", answer(), "two", answer()).prompts == ("one", "two")


def test_an_answer_that_goes_on_without_a_word_is_continued() -> None:
    assert made("one", answer(), answer()).prompts == ("one", "(continued)")


def test_a_pause_is_no_end_of_a_run() -> None:
    paused = Reply((Text("wait"),), "pause_turn")
    assert made("one", paused, answer()).prompts == ("one",)


def test_a_refusal_ends_a_run() -> None:
    assert made("one", Reply((Text("no"),), "refusal"), "two", answer()).prompts == ("one", "two")


def test_a_reply_alone_has_a_prompt_that_says_so() -> None:
    assert made(answer()).prompts == ("(not recorded)",)


def test_a_conversation_that_begins_in_the_middle_keeps_its_history() -> None:
    builder = ConversationBuilder(messages=[user_text("before")])
    builder.say(Text("now"))
    builder.reply([Text("ok")], "end_turn", 1)
    (scenario,) = scenarios(Recording("made", (builder.conversation(),)))
    assert (scenario.messages, scenario.prompts) == ((user_text("before"),), ("now",))


def test_two_calls_of_one_reply_with_one_id_are_told_apart_when_played() -> None:
    both = Reply((ToolCall("same", "a"), ToolCall("same", "b")), "tool_use")
    scenario = made("go", both, ("same", "one"), ("same", "two"), answer())
    assert [(run.name, run.output) for run in played(scenario).tool_runs] == [("a", "one"), ("b", "two")]


def test_missing_stop_reasons_are_inferred_from_the_calls() -> None:
    recording = read(OWN / "codex-rollout" / "session.jsonl")
    (scenario,) = scenarios(recording, "x")
    assert [e.reply.stop_reason for e in scenario.script if isinstance(e, ScriptedReply)] == [
        "tool_use",
        "end_turn",
        "tool_use",
    ]
    assert recording.inferred == ("stop reasons", "reply boundaries")


def test_the_same_recording_gives_the_same_scenario() -> None:
    file = OWN / "claude-code" / "session.jsonl"
    assert [dumps(s) for s in scenarios(read(file), "x")] == [dumps(s) for s in scenarios(read(file), "x")]


def test_several_conversations_get_numbered_names() -> None:
    names = [scenario.name for scenario in scenarios(read(OWN / "claude-code" / "side-chain.jsonl"), "bug")]
    assert names == ["bug 1 (s1)", "bug 2 (side chain)"]


def test_a_guessed_schema_takes_every_recorded_input() -> None:
    schema = guessed_schema([{"a": 1, "b": "x"}, {"a": 2.5}, {"a": None, "c": [1]}])
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": ["number", "null"]}, "b": {"type": "string"}, "c": {"type": "array"}},
        "required": ["a"],
    }


def test_replies_of_a_recording_stand_in_its_transcript_as_they_were_said() -> None:
    (conversation,) = read(OWN / "chat" / "list.json").conversations
    replies = [event.reply for event in conversation.events if isinstance(event, ModelReplied)]
    assert replies[0].calls[1].arguments == '{"order_id": 4'
