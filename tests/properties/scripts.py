"""Random scenarios that can hurt: parallel calls, cuts, unknown and throwing tools, bad arguments, pauses, refusals, faults."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from agentsim.core.events import Fault
from agentsim.core.messages import STOP_REASONS, Block, Reply, ServerCall, Text, Thinking, ToolCall
from agentsim.core.tools import ToolOutcome, ToolSpec
from agentsim.scenario.inputs import input_check
from agentsim.scenario.load import loads
from agentsim.scenario.model import FOREVER, Entry, Pace, Scenario, ScriptedFault, ScriptedReply
from agentsim.styles import all_styles

KEY = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}

NONE = {"type": "object", "properties": {}}


def tool(name: str, *outcomes: ToolOutcome, schema: dict[str, object] = NONE, **more: object) -> ToolSpec:
    return ToolSpec(name, schema=schema, outcomes=outcomes, problem=input_check(schema), **more)  # type: ignore[arg-type]


TOOLS = {
    "lookup": tool("lookup", ToolOutcome("returns", "value of {key}"), schema=KEY),
    "boom": tool("boom", ToolOutcome("raises", "boom failed")),
    "slow": tool("slow", ToolOutcome("returns", "ok"), seconds=(0.5, 2.0), read_only=True),
    "failing": tool("failing", ToolOutcome("fails", "no"), ToolOutcome("returns", {"a": [1, None]})),
}

_whole = st.sampled_from([{"key": "a"}, {"key": "b"}, {}, {"wrong": 5}, {"key": 5}]).map(json.dumps)
arguments = st.one_of(
    _whole,
    _whole.flatmap(lambda text: st.integers(0, len(text)).map(lambda n: text[:n])),
    st.sampled_from(["[1]", "5", "null", '"x"', "not json"]),
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["", "", "", "same"]),
    st.sampled_from(["lookup", "lookup", "boom", "slow", "failing", "nope"]),
    arguments,
)
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, st.sampled_from(["hello", "let me look", ""])),
    calls,
    calls,
    st.builds(Thinking, st.just("hm"), st.just("sig")),
    st.builds(ServerCall, st.just(""), st.just("web_search"), st.just("{}")),
)
stops = st.sampled_from([*STOP_REASONS, "some_new_reason", None])


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """A reply whose stop reason mostly fits its blocks, and sometimes contradicts them."""
    content = tuple(draw(st.lists(blocks, max_size=3)))
    natural = "tool_use" if any(isinstance(b, ToolCall) for b in content) else "end_turn"
    return Reply(content, draw(st.one_of(st.just(natural), st.just(natural), stops)))


paces = st.sampled_from([Pace(), Pace(1.0), Pace(0.2, 0.1, 3.0)])
LOST = loads("agentsim: 1\nreplies: [{disconnect: {before: headers, how: reset}}]").script[0]
assert isinstance(LOST, ScriptedFault)
faults = st.one_of(
    st.builds(
        Fault,
        st.sampled_from([400, 429, 500, 529]),
        st.just("api_error"),
        st.just("fault"),
        st.sampled_from([None, 0.5]),
    ),
    st.just(LOST.fault),
)
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(ScriptedReply, replies(), paces),
    st.builds(ScriptedReply, replies(), paces),
    st.builds(ScriptedReply, replies(), paces),
    st.builds(ScriptedFault, faults),
)


@st.composite
def scenarios(draw: st.DrawFn, endless: bool = True) -> Scenario:
    """A scenario of up to six entries, the last of which may go on for ever."""
    script = list(draw(st.lists(entries, min_size=1, max_size=6)))
    if endless and isinstance(script[-1], ScriptedReply) and draw(st.booleans()):
        script[-1] = ScriptedReply(script[-1].reply, script[-1].pace, repeat=FOREVER)
    return Scenario("random", ("go",), tools=TOOLS, script=tuple(script))


style_names = st.sampled_from([name for name in all_styles() if "@" not in name])
limits = st.sampled_from([1, 2, 3, 4, 5, 7, 10])
