"""What the words of a file mean, once it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.events import Fault
from agentsim.core.messages import (
    Message,
    Opaque,
    RedactedThinking,
    Refusal,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from agentsim.core.tools import Approval, ToolOutcome
from agentsim.errors import ScenarioError
from agentsim.scenario.load import from_data, load_data, loads
from agentsim.scenario.model import (
    FOREVER,
    Abort,
    AnyCall,
    Decision,
    Entry,
    Expectation,
    OutputBlock,
    Pace,
    Price,
    ScriptedFault,
    ScriptedReply,
    StyleSettings,
    TextMatch,
    When,
)


def entry(text: str) -> Entry:
    (only,) = loads(f"agentsim: 1\nreplies:\n  - {text}\nagents: {{billing: {{}}}}\n").script
    return only


def reply(text: str) -> Reply:
    found = entry(text)
    assert isinstance(found, ScriptedReply)
    return found.reply


def fault(text: str) -> Fault:
    found = entry(text)
    assert isinstance(found, ScriptedFault)
    return found.fault


def call(name: str, given: Any, call_id: str = "") -> ToolCall:
    return ToolCall(call_id, name, json.dumps(given))


def test_the_short_form_is_thinking_text_server_calls_calls_output() -> None:
    text = "{output: 1, tool_use: {a: {}, b: {k: 1}}, server_tool_use: {s: {}}, text: t, signature: x, thinking: h}"
    found = entry(text)
    assert isinstance(found, ScriptedReply)
    assert found.reply.blocks == (
        Thinking("h", "x"),
        Text("t"),
        ServerCall("", "s", "{}"),
        call("a", {}),
        call("b", {"k": 1}),
    )
    assert found.extras == ((5, OutputBlock(1)),)


def test_the_general_form_is_any_blocks_in_any_order() -> None:
    blocks = reply(
        "{content: [{tool_use: {name: a, raw: '{', id: i}}, {text: t}, {thinking: h}, {redacted_thinking: r}, {refusal: no, category: cyber},"
        " {server_tool_use: {name: s, input: {q: 1}}}, {server_tool_result: {content: [1]}}, {opaque: {kind: image, data: {u: 1}}}]}"
    ).blocks
    assert blocks == (
        ToolCall("i", "a", "{"), Text("t"), Thinking("h", "sig"), RedactedThinking("r"), Refusal("no", "cyber"),
        ServerCall("", "s", '{"q": 1}'), ServerResult("", [1]), Opaque("image", {"u": 1}),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("{text: a}", "end_turn"), ("{text: a, tool_use: {b: {}}}", "tool_use"), ("{tool_use: {'*': {}}}", "tool_use"),
        ("{server_tool_use: {b: {}}}", "end_turn"), ("{refusal: no}", "refusal"), ("{refusal: ''}", "refusal"),
        ("{content: [{refusal: no}, {tool_use: {name: b}}]}", "refusal"), ("{tool_use: {b: {}}, cut_after: 1}", "max_tokens"),
        ("{tool_use: {b: {}}, cut_after: 1, stop_reason: model_context_window_exceeded}", "model_context_window_exceeded"),
        ("{handoff: billing}", "tool_use"), ("{empty: true}", "end_turn"), ("{text: a, stop_reason: tool_use}", "tool_use"),
        ("{tool_use: {b: {}}, stop_reason: end_turn}", "end_turn"), ("{text: a, stop_reason: {raw: novel}}", "novel"),
        ("{text: a, stop_reason: null}", None), ("{output: 1}", "end_turn"),
    ],
)  # fmt: skip
def test_the_stop_reason_follows_from_the_content_unless_it_is_stated(text: str, stop: str | None) -> None:
    assert reply(text).stop_reason == stop


def test_nothing_and_an_empty_text_differ() -> None:
    assert reply("{empty: true}").blocks == ()
    assert reply("{refusal: ''}").blocks == ()
    assert reply("{text: ''}").blocks == (Text(""),)
    assert reply("{refusal: '', category: cyber}").blocks == (Refusal("", "cyber"),)


@pytest.mark.parametrize(
    ("text", "arrived"),
    [
        ("{tool_use: {a: {k: é, n: 1}}, cut_after: 12}", ['{"k": "\\u00e']),
        ("{tool_use: {a: {k: 1}, b: {k: 2}}, cut_after: 3}", ['{"k": 1}', '{"k']),
        ("{tool_use: {a: {k: 1}}, cut_after: 0}", [""]),
        ("{tool_use: {a: {k: 1}}, cut_after: 99}", ['{"k": 1}']),
        ("{tool_use: {a: {k: 1}}, cut_after: -1}", ['{"k": 1']),
        ("{tool_use: {a: {k: 1}}, cut_after: -99}", [""]),
        ("{content: [{tool_use: {name: a, raw: '{{{{'}}, {text: t}], cut_after: 2}", ["{{"]),
    ],
)
def test_a_cut_lets_so_many_characters_of_the_last_calls_arguments_arrive(text: str, arrived: list[str]) -> None:
    assert [c.arguments for c in reply(text).calls] == arrived


def test_numbers_stay_what_they_are() -> None:
    (found,) = reply("{tool_use: {a: {i: 42, f: 42.0, e: 1e3, big: 12345678901234567890}}}").calls
    assert found.arguments == '{"i": 42, "f": 42.0, "e": 1000.0, "big": 12345678901234567890}'


def test_a_call_of_any_tool_is_left_to_the_request() -> None:
    found = entry("{content: [{text: t}, {tool_use: {name: '*', input: {k: 1}, id: x}}, {text: u}], cut_after: 4}")
    assert isinstance(found, ScriptedReply)
    assert found.reply.blocks == (Text("t"), Text("u"))
    assert found.extras == ((1, AnyCall("x", {"k": 1}, 4)),)


def test_what_stands_beside_a_reply() -> None:
    found = entry(
        "{text: a, seconds: {first: 1, per_chunk: 0.5, tail: 2}, stream: {characters_per_chunk: 3}, repeat: forever, handoff: [billing],"
        " usage: {input_tokens: 120, cache_read_input_tokens: 7}, when: {last_tool_result: {matches: 'o+'}}}"
    )
    assert isinstance(found, ScriptedReply)
    assert found.pace == Pace(1, 0.5, 2)
    assert found.characters_per_chunk == 3
    assert found.repeat == FOREVER
    assert found.handoff == ("billing",)
    assert found.reply.usage == Usage(120, 5, 7, 0)
    assert found.when == When("last_tool_result", "matches", "o+")
    assert found.line == 3
    assert entry("{text: a, seconds: 1.5}").pace == Pace(first=1.5)


def test_what_a_request_has_to_hold() -> None:
    found = entry(
        "{tool_use: {a: {}}, request: {offers: [a], answers: {call_1: {contains: x}}, resumes: true, contains: [p, q], matches: r}}"
    )
    assert found.request == Expectation(
        ("a",), {"call_1": TextMatch("contains", "x")}, False, True,
        (TextMatch("contains", "p"), TextMatch("contains", "q"), TextMatch("matches", "r")),
    )  # fmt: skip
    none = entry("{text: a, request: {answers: none}}").request
    assert none is not None
    assert none.no_answers
    any_result = entry("{tool_use: {a: {}}, request: {answers: {call_1: }}}").request
    assert any_result is not None
    assert any_result.answers == {"call_1": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{error: 529}", Fault(529, "overloaded_error", "Overloaded")),
        ("{error: 418}", Fault(418, "invalid_request_error", "Error")),
        ("{error: {type: overloaded_error}}", Fault(529, "overloaded_error", "Overloaded")),
        ("{error: {status: 429, message: slow down, retry_after: 2}}", Fault(429, "rate_limit_error", "slow down", 2)),
        (
            "{error: {type: overloaded_error, after_characters: 3}, text: hello}",
            Fault(200, "overloaded_error", "Overloaded", None, 3, None, Reply((Text("hello"),), "end_turn")),
        ),
        ("{disconnect: {before: headers}}", Fault(None, disconnect="end")),
        (
            "{disconnect: {after_characters: 4, how: reset}, content: [{tool_use: {name: a}}]}",
            Fault(200, after_characters=4, disconnect="reset", partial=Reply((call("a", {}),), "tool_use")),
        ),
    ],
)
def test_a_fault_stands_where_a_reply_would(text: str, expected: Fault) -> None:
    assert fault(text) == expected


def test_a_fault_may_come_in_a_call_of_any_tool() -> None:
    found = entry("{error: {status: 529, after_characters: 2}, tool_use: {'*': {}}}")
    assert found.extras == ((0, AnyCall()),)


# -- tools ------------------------------------------------------------------------------------------------------------------


def tool(text: str) -> Any:
    return loads(f"agentsim: 1\ntools: {{t: {text}}}\nreplies: []\nagents: {{billing: {{}}}}").tools["t"]


def test_the_short_form_of_an_input_is_a_schema_that_wants_it_all() -> None:
    assert tool("{input: {a: integer, b: string}}").schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
    }
    assert tool("{}").schema == {"type": "object", "properties": {}}


def test_a_tool_says_what_is_wrong_with_an_input() -> None:
    problem = tool(
        "{schema: {type: object, properties: {a: {type: array, items: {type: integer}}}, required: [a]}}"
    ).problem
    assert problem({"a": [1]}) is None
    assert problem({}) == '"a" is a required property'
    assert problem({"a": [1, "x"]}) == '"x" is not of type "integer" at a[1]'
    assert "no JSON value" in problem({"a": "\ud800"})


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("{}", [ToolOutcome("returns", "")]), ("{returns: null}", [ToolOutcome("returns", None)]),
        ("{returns: {a: [1]}}", [ToolOutcome("returns", {"a": [1]})]), ("{raises: x}", [ToolOutcome("raises", "x")]),
        ("{fails: x}", [ToolOutcome("fails", "x")]),
        (
            "{returns_each: [a, {raises: x}, {fails: y}, {returns: {raises: z}}, {raises: 1, b: 2}]}",
            [
                ToolOutcome("returns", "a"), ToolOutcome("raises", "x"), ToolOutcome("fails", "y"),
                ToolOutcome("returns", {"raises": "z"}), ToolOutcome("returns", {"raises": 1, "b": 2}),
            ],
        ),
    ],
)  # fmt: skip
def test_what_a_tool_gives(text: str, outcomes: list[ToolOutcome]) -> None:
    assert tool(text).outcomes == tuple(outcomes)


@pytest.mark.parametrize(
    ("text", "approval"),
    [
        ("", Approval("none")), (", approved: true", Approval("approve")), (", approved: false", Approval("reject")),
        (", approved: {reject: why}", Approval("reject", "why")), (", approved: {edit: {a: 1}}", Approval("edit", None, {"a": 1})),
    ],
)  # fmt: skip
def test_who_says_what(text: str, approval: Approval) -> None:
    assert tool(f"{{approval: required{text}}}").approval == approval


def test_the_other_words_of_a_tool() -> None:
    found = tool("{description: d, seconds: [1, 2.5], execute: client, return_direct: true, read_only: true}")
    assert (found.name, found.description, found.seconds) == ("t", "d", (1.0, 2.5))
    assert (found.client, found.return_direct, found.read_only, found.server) == (True, True, True, False)
    assert tool("{agent: billing}").agent == "billing"
    assert tool("{server: true}").server


# -- the rest -----------------------------------------------------------------------------------------------------------------


def test_a_scenario_may_be_as_short_as_this() -> None:
    scenario = loads("agentsim: 1\nreplies: [{text: hello}]")
    assert scenario.prompts == ("go",)
    assert scenario.name == "scenario"


def test_several_prompts_and_a_history_without_one() -> None:
    assert loads("agentsim: 1\nreplies: []\nprompt: [a, b]").prompts == ("a", "b")
    assert loads("agentsim: 1\nreplies: []\nmessages: [{user: a}]").prompts == ()


HISTORY = """
agentsim: 1
messages:
  - user: hello
  - assistant: {text: looking, tool_use: {a: {k: 1}, b: {}}}
  - tool_result: {for: call_1, content: one}
  - tool_result: {for: call_2, content: {n: 2}, is_error: true}
  - assistant: {content: [{server_tool_use: {name: search}}, {server_tool_result: {content: []}}, {tool_use: {name: c, id: call_3}}]}
  - user: [{tool_result: {for: call_3}}, {text: more}]
  - assistant: hm
replies: []
"""


def test_a_history_gets_its_ids_and_joins_adjacent_results() -> None:
    assert loads(HISTORY).messages == (
        Message("user", (Text("hello"),)),
        Message("assistant", (Text("looking"), call("a", {"k": 1}, "call_1"), call("b", {}, "call_2"))),
        Message("user", (ToolResult("call_1", "one"), ToolResult("call_2", {"n": 2}, True))),
        Message("assistant", (ServerCall("srvtoolu_1", "search", "{}"), ServerResult("srvtoolu_1", [], "search"), call("c", {}, "call_3"))),
        Message("user", (ToolResult("call_3", ""), Text("more"))),
        Message("assistant", (Text("hm"),)),
    )  # fmt: skip


def test_agents_approvals_prices_aborts_and_styles() -> None:
    scenario = loads(
        """
        agentsim: 1
        agent: triage
        handoffs: [billing]
        tools: {refund: {approval: required}, ask: {agent: billing}}
        replies: [{handoff: billing}]
        agents:
          billing: {system: s, limit: 3, background: false, handoffs: [triage], tools: {look: {}}, replies: [{text: a}]}
        approvals: [[{approve: call_1}, {reject: call_2, message: no}, {edit: call_3, input: {a: 1}}], [], [approve, reject]]
        output: {schema: {type: object}}
        price: {input: 3.0, output: 15}
        abort: {during: look}
        styles: {ai-sdk/generateText: {limit: none, options: {toolChoice: auto}}, reference: {limit: 2.5, expect: {ended: limit}}, x: {}}
        unused_replies: allow
        """
    )
    billing = scenario.agents["billing"]
    assert (billing.name, billing.system, billing.limit, billing.background, billing.handoffs) == (
        "billing",
        "s",
        3,
        False,
        ("triage",),
    )
    assert list(billing.tools) == ["look"]
    assert scenario.tools["ask"].agent == "billing"
    assert scenario.approvals == (
        (Decision("approve", "call_1"), Decision("reject", "call_2", "no"), Decision("edit", "call_3", None, {"a": 1})),
        (),
        (Decision("approve"), Decision("reject")),
    )
    assert scenario.output == {"type": "object"}
    assert scenario.price == Price(3.0, 15)
    assert scenario.abort == Abort(during="look")
    assert scenario.styles == {
        "ai-sdk/generateText": StyleSettings(None, {"toolChoice": "auto"}),
        "reference": StyleSettings(2.5, expect={"ended": "limit"}),
        "x": StyleSettings(),
    }
    assert scenario.unused_replies_allowed


def test_values_that_are_already_parsed_are_read_as_well(tmp_path: Path) -> None:
    data = {"agentsim": 1, "replies": [{"text": "a"}]}
    assert from_data(data, "given") == loads(data, "given") == loads(json.dumps(data), "given")
    (tmp_path / "options.yaml").write_text("reference: {limit: 3, on: [no, 0o17]}")
    assert load_data(tmp_path / "options.yaml") == {"reference": {"limit": 3, "on": ["no", 15]}}
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2\n")
    with pytest.raises(ScenarioError, match=r"twice.yaml:2: a: the key 'a' is here twice, first on line 1"):
        load_data(tmp_path / "twice.yaml")


@pytest.mark.parametrize("wrong", [{1: 2}, {"agentsim": {1, 2}}, {"agentsim": float("nan")}, {"agentsim": b"1"}])
def test_values_that_are_no_json_are_refused(wrong: Any) -> None:
    with pytest.raises(ScenarioError):
        from_data(wrong)


def test_values_in_a_circle_are_refused() -> None:
    data: dict[str, Any] = {"agentsim": 1}
    data["replies"] = [data]
    with pytest.raises(ScenarioError, match="nested deeper than 100 levels"):
        from_data(data)
