"""What holds for every scenario, style and limit."""

from __future__ import annotations

import json

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentsim.core.events import ModelReplied, ModelRequested, ToolsRan
from agentsim.core.fate import HONEST_ENDINGS
from agentsim.core.messages import ToolCall, ToolResult
from agentsim.judge.simulate import DEFAULT, prepare
from agentsim.scenario.load import loads
from agentsim.store import jsonl
from agentsim.styles import find
from tests.properties.scripts import limits, scenarios, style_names

ENDINGS = {
    "cannot_express", "not_implemented", "out_of_script", "unbounded", "aborted", "limit", "cost", "timeout",
    "stop_condition", "guardrail", "approval", "handed_back", "tool_result", "max_tokens", "context_window", "refusal",
    "pause", "bad_call", "dropped_calls", "tool_error", "broken_stream", "http_error", "empty", "answer",
}  # fmt: skip


@given(scenarios(), style_names, limits)
def test_every_run_ends_in_one_of_the_contracts_endings_and_says_it_truthfully(scenario, name, limit):
    result = prepare(scenario, find(name)).result(limit)
    assert result.ended in ENDINGS
    assert result.returned in {"answer", "stopped", "error"}
    assert result.silent == (result.returned == "answer" and result.ended not in HONEST_ENDINGS)
    assert (result.error is not None) == (result.returned == "error")


@given(scenarios(), style_names, limits)
def test_no_style_spends_more_units_than_its_limit(scenario, name, limit):
    result = prepare(scenario, find(name)).result(limit)
    assert result.count <= limit


@given(scenarios(), style_names, limits)
def test_the_numbers_of_a_result_are_those_of_its_events(scenario, name, limit):
    result = prepare(scenario, find(name)).result(limit)
    events = result.transcript.events
    assert result.model_calls == sum(isinstance(e, ModelReplied) for e in events)
    assert result.model_requests == sum(isinstance(e, ModelRequested) for e in events) == len(result.requests)
    assert result.model_calls <= result.model_requests
    assert result.tool_rounds <= result.model_calls
    assert len(result.tool_runs) == sum(len(e.runs) for e in events if isinstance(e, ToolsRan))


@settings(max_examples=60)
@given(scenarios(), style_names)
def test_the_least_limit_is_exact(scenario, name):
    play = prepare(scenario, find(name), max_calls=30)
    least = play.least_limit()
    assume(least is not None)

    def told(limit):
        result = play.result(limit)
        runs = [(run.name, run.input, run.output, run.is_error) for run in result.tool_runs]
        # Where a limit only took the tools away from the last call, and the same answer came, nobody can tell the difference.
        how = result.ended if result.returned == "error" else (result.model_calls, result.finish_reason)
        return how, result.returned, result.final_text, result.error and result.error["type"], runs

    free = told(None)
    assert all(told(least + more) == free for more in range(4))
    assert least == 1 or told(least - 1) != free


@given(scenarios(), limits)
def test_the_reference_loop_never_runs_a_cut_call(scenario, limit):
    result = prepare(scenario, find("reference")).result(limit)
    cut: set[str] = set()
    for event in result.transcript:
        if isinstance(event, ModelReplied):
            stopped = event.reply.stop_reason in ("max_tokens", "model_context_window_exceeded")
            cut = {call.id for call in event.reply.calls} if stopped else set()
        elif isinstance(event, ToolsRan):
            assert not cut & {run.call_id for run in event.runs}


@given(scenarios(), limits)
def test_the_reference_loop_answers_every_call_once_in_the_next_message(scenario, limit):
    result = prepare(scenario, find("reference")).result(limit)
    history = []
    for event in result.transcript:
        if not isinstance(event, ModelRequested):
            continue
        history[event.kept :] = event.new
        for message, following in zip(history, [*history[1:], None], strict=True):
            called = [part.id for part in message.content if isinstance(part, ToolCall)]
            if called:
                assert following is not None
                assert [p.call_id for p in following.content if isinstance(p, ToolResult)] == called


@given(scenarios(), style_names, limits)
def test_the_same_input_gives_the_same_bytes(scenario, name, limit):
    first, second = (prepare(scenario, find(name)).result(limit) for _ in range(2))
    assert jsonl.dumps(first.transcript) == jsonl.dumps(second.transcript)
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())


@given(scenarios(), style_names, st.booleans())
def test_a_stored_transcript_is_read_back_as_it_was(scenario, name, stream):
    style = find(name)
    result = prepare(scenario, style, stream=stream if style.streams is None else None).result(DEFAULT)
    assert jsonl.loads(jsonl.dumps(result.transcript)) == result.transcript


@given(scenarios(), style_names, limits)
def test_the_virtual_clock_never_runs_backwards(scenario, name, limit):
    result = prepare(scenario, find(name)).result(limit)
    assert result.seconds >= 0
    for event in result.transcript:
        assert getattr(event, "seconds", 0.0) >= 0
        if isinstance(event, ToolsRan):
            assert all(0 <= run.seconds <= event.seconds for run in event.runs)


@given(scenarios(endless=False), style_names)
def test_a_scenario_written_to_yaml_plays_the_same(scenario, name):
    from agentsim.scenario.dump import dumps

    again = loads(dumps(scenario))
    one, other = (prepare(s, find(name)).result(DEFAULT) for s in (scenario, again))
    assert jsonl.dumps(one.transcript) == jsonl.dumps(other.transcript)
