"""The pure loop: `advance` decides, never changes a state, and says no to events out of place."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentsim.core.actions import CallModel, Finish, RunTools
from agentsim.core.events import Fault, ModelFailed, ModelReplied, OutOfScript, ToolRun, ToolsRan, Unbounded
from agentsim.core.loop import State, advance, start
from agentsim.core.messages import STOP_REASONS, Reply, Text, ToolCall, user_text
from agentsim.core.run import Run, Setup
from agentsim.core.tools import AgentSpec, ToolSpec
from agentsim.styles import all_styles

TOOLS = AgentSpec(tools={"lookup": ToolSpec("lookup"), "boom": ToolSpec("boom")})
CALL = ToolCall("call_1", "lookup", "{}")


def begin(style: str = "reference", limit: float | None = None) -> State:
    chosen = all_styles()[style]
    return start(Setup(chosen, chosen.wires[0], bool(chosen.streams), limit, TOOLS, prompts=("go",)))


def ran(action: RunTools) -> ToolsRan:
    return ToolsRan(tuple(ToolRun(call.call_id, call.name, call.input, "ok") for call in action.calls))


def test_a_run_starts_with_a_model_call_that_carries_the_prompt():
    action = begin().action
    assert isinstance(action, CallModel)
    assert action.kept == 0
    assert action.new[0].content == (Text("go"),)


def test_a_reply_with_a_call_leads_to_a_tool_run_and_back_to_the_model():
    state = advance(begin(), ModelReplied(Reply((CALL,), "tool_use")))
    assert isinstance(state.action, RunTools)
    state = advance(state, ran(state.action))
    assert isinstance(state.action, CallModel)
    assert state.action.kept == 1
    assert [message.role for message in state.action.new] == ["assistant", "user"]


def test_advancing_a_state_twice_branches_and_neither_branch_sees_the_other():
    first = advance(begin(), ModelReplied(Reply((CALL,), "tool_use")))
    ends = advance(first, ran(first.action))
    one = advance(ends, ModelReplied(Reply((Text("one"),))))
    other = advance(ends, ModelReplied(Reply((Text("other"),))))
    assert one.action.outcome.final_text == "one"
    assert other.action.outcome.final_text == "other"
    assert (one.calls, other.calls, first.calls) == (2, 2, 1)


@pytest.mark.parametrize(
    ("make", "event"),
    [
        (begin, ToolsRan(())),
        (lambda: advance(begin(), ModelReplied(Reply((CALL,), "tool_use"))), ModelReplied(Reply())),
        (lambda: advance(begin(), ModelReplied(Reply((CALL,), "tool_use"))), ToolsRan(())),
        (lambda: advance(begin(), ModelReplied(Reply((Text("done"),)))), ModelReplied(Reply())),
    ],
    ids=["tools before a reply", "a reply before the tools", "too few runs", "a reply after the end"],
)
def test_an_event_out_of_place_is_a_type_error(make, event):
    state = make()
    with pytest.raises(TypeError):
        advance(state, event)


def test_a_state_that_refused_an_event_still_takes_the_right_one():
    state = begin()
    with pytest.raises(TypeError):
        advance(state, ToolsRan(()))
    assert isinstance(advance(state, ModelReplied(Reply((Text("done"),)))).action, Finish)


blocks = st.one_of(
    st.builds(Text, st.sampled_from(["", "hi"])),
    st.builds(
        ToolCall,
        st.sampled_from(["call_1", "call_2", "call_3"]),
        st.sampled_from(["lookup", "boom", "nope"]),
        st.sampled_from(["{}", '{"a": 1}', '{"a', "5", ""]),
    ),
)
replies = st.builds(
    Reply, st.lists(blocks, max_size=3).map(tuple), st.sampled_from([*STOP_REASONS, "some_new_reason", None])
)
faults = st.builds(Fault, st.sampled_from([400, 429, 500, 529, None]), retry_after=st.sampled_from([None, 1.0]))


class Advance(RuleBasedStateMachine):
    """Any style, any events: counters never fall, an old state replays to the same place, the end is the end."""

    @initialize(name=st.sampled_from(sorted(all_styles())), limit=st.sampled_from([None, 1, 2, 3, 7]))
    def start_run(self, name, limit):
        self.state = begin(name, limit)
        self.before = self.state

    def step(self, event):
        self.before, self.state = self.state, advance(self.state, event)

    @precondition(lambda self: isinstance(self.state.action, CallModel))
    @rule(reply=replies)
    def the_model_replies(self, reply):
        self.step(ModelReplied(reply))

    @precondition(lambda self: isinstance(self.state.action, CallModel))
    @rule(fault=faults)
    def the_request_fails(self, fault):
        self.step(ModelFailed(fault))

    @precondition(lambda self: isinstance(self.state.action, CallModel))
    @rule(event=st.sampled_from([OutOfScript(), Unbounded()]))
    def the_world_ends_it(self, event):
        self.step(event)
        assert isinstance(self.state.action, Finish)

    @precondition(lambda self: isinstance(self.state.action, RunTools))
    @rule(raised=st.booleans())
    def the_tools_run(self, raised):
        runs = tuple(ToolRun(c.call_id, c.name, c.input, "out", raised, raised) for c in self.state.action.calls)
        self.step(ToolsRan(runs))

    @precondition(lambda self: isinstance(self.state.action, Finish))
    @rule(reply=replies)
    def nothing_follows_the_end(self, reply):
        with pytest.raises(TypeError):
            advance(self.state, ModelReplied(reply))

    @invariant()
    def counters_never_fall(self):
        assert self.state.calls >= self.before.calls
        assert self.state.requests >= self.before.requests
        assert self.state.rounds >= self.before.rounds
        assert self.state.count >= self.before.count

    @invariant()
    def replaying_the_events_leads_to_the_same_place(self):
        again = start(self.state.setup)
        for event in self.state.events:
            again = advance(again, event)
        assert again.action == self.state.action
        assert (again.calls, again.requests, again.count) == (self.state.calls, self.state.requests, self.state.count)


Advance.TestCase.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
TestAdvance = Advance.TestCase


def test_a_history_that_is_written_again_as_it_was_counts_as_sent_before():
    run = Run(Setup(all_styles()["reference"], "anthropic-messages", False, None, TOOLS, prompts=("go",)))
    first, second = user_text("one"), user_text("two")
    run.rewrite(0, [first])
    assert run.request().new == (first,)
    run.rewrite(0, [user_text("one"), second])
    assert (request := run.request()).kept == 1
    assert request.new == (second,)
    run.send_anew()
    assert run.request().new == (first, second)
