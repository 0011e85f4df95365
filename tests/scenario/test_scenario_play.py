"""The cursor over a scenario's scripts: what answers the next request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.messages import Message, Reply, ServerCall, ServerResult, Text, ToolCall, ToolResult, user_text
from agentsim.core.tools import ToolOutcome
from agentsim.errors import UsageError
from agentsim.scenario.load import loads
from agentsim.scenario.model import Scenario
from agentsim.scenario.play import Played, Player, RequestView, ToolScripts, check_request
from agentsim.scenario.runs import rendered


def scenario(*replies: str, **more: str) -> Scenario:
    lines = ["agentsim: 1", "replies:" if replies else "replies: []", *(f"  - {line}" for line in replies)]
    return loads("\n".join([*lines, *(f"{key}: {value}" for key, value in more.items())]))


def texts(player: Player, requests: int, view: RequestView | None = None) -> list[str | None]:
    """The text of what answers each of so many requests; a fault's type; None at the end of the script."""
    return [said(player.next_entry(None, view)) for _ in range(requests)]


def said(played: Played | None) -> str | None:
    if played is None:
        return None
    return played.fault.type if played.reply is None and played.fault else played.reply.text if played.reply else ""


def ids(played: Played | None) -> list[str]:
    assert played is not None
    assert played.reply is not None
    return [block.id for block in played.reply.blocks if isinstance(block, ToolCall | ServerCall)]


def after(*results: ToolResult, prompt: str = "go", calls: tuple[ToolCall, ...] = ()) -> RequestView:
    return RequestView([user_text(prompt), Message("assistant", calls), Message("user", results)])


# -- order ----------------------------------------------------------------------------------------------------------------


def test_entries_come_in_order_and_repeat_as_often_as_they_say() -> None:
    player = Player(scenario("{text: a, repeat: 2}", "{error: 529, repeat: 2}", "{text: b}"))
    assert texts(player, 7) == ["a", "a", "overloaded_error", "overloaded_error", "b", None, None]


def test_an_endless_entry_never_ends() -> None:
    player = Player(scenario("{text: a}", "{text: b, repeat: forever}"))
    assert texts(player, 4) == ["a", "b", "b", "b"]
    assert player.unused == 0


def test_each_agent_has_a_script_of_its_own() -> None:
    player = Player(
        scenario("{text: a}", "{text: b}", agent="main", agents="{billing: {replies: [{text: x}, {text: y}]}}")
    )
    assert [said(player.next_entry(name)) for name in (None, "billing", "main", "billing", "billing", None)] == [
        "a", "x", "b", "y", None, None,
    ]  # fmt: skip


def test_an_agent_that_is_not_there_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="has no agent 'nobody'; it has billing"):
        Player(scenario("{text: a}", agents="{billing: {}}")).next_entry("nobody")


def test_unused_replies_are_counted_over_all_scripts_without_faults_and_endless_ones() -> None:
    player = Player(
        scenario(
            "{text: a, repeat: 3}", "{error: 529, repeat: 5}", "{text: b}", "{text: c, repeat: forever}",
            agents="{billing: {replies: [{text: x}, {text: y}]}}",
        )
    )  # fmt: skip
    assert player.unused == 6
    texts(player, 2)
    assert player.unused == 4
    texts(player, 20)
    assert player.unused == 2
    player.next_entry("billing")
    assert player.unused == 1


def test_a_place_can_be_come_back_to() -> None:
    player = Player(scenario("{tool_use: {a: {}}, repeat: 2}", "{tool_use: {b: {}}}", "{text: c}"))
    player.next_entry()
    mark = player.mark()
    first = [said(player.next_entry()) for _ in range(2)], player.unused, player.mark()
    player.restore(mark)
    assert ids(player.next_entry()) == ["call_2"]
    player.restore(mark)
    assert ([said(player.next_entry()) for _ in range(2)], player.unused, player.mark()) == first


# -- ids ------------------------------------------------------------------------------------------------------------------


def test_ids_are_counted_over_the_whole_run() -> None:
    player = Player(
        scenario(
            "{tool_use: {a: {}, b: {}}, repeat: 2}", "{text: x}", agents="{billing: {replies: [{tool_use: {c: {}}}]}}"
        )
    )
    assert ids(player.next_entry()) == ["call_1", "call_2"]
    assert ids(player.next_entry("billing")) == ["call_3"]
    assert ids(player.next_entry()) == ["call_4", "call_5"]


def test_written_ids_are_kept_and_use_up_no_number() -> None:
    player = Player(scenario("{content: [{tool_use: {name: a, id: mine}}, {tool_use: {name: b}}]}"))
    assert ids(player.next_entry()) == ["mine", "call_1"]


def test_ids_of_the_history_are_passed_over() -> None:
    history = "[{assistant: {tool_use: {a: {}}}}, {assistant: {content: [{tool_use: {name: a, id: call_3}}]}}]"
    player = Player(scenario("{tool_use: {b: {}, c: {}}}", messages=history))
    assert ids(player.next_entry()) == ["call_2", "call_4"]


def test_server_calls_have_ids_of_their_own_and_results_answer_the_one_before() -> None:
    player = Player(
        scenario(
            "{server_tool_use: {search: {q: 1}}, stop_reason: pause_turn}",
            "{content: [{server_tool_result: {content: [x]}}, {server_tool_use: {name: fetch}}, {server_tool_result: {content: y}}]}",
        )
    )
    assert ids(player.next_entry()) == ["srvtoolu_1"]
    played = player.next_entry()
    assert played is not None
    assert played.reply is not None
    assert played.reply.blocks == (
        ServerResult("srvtoolu_1", ["x"], "search"), ServerCall("srvtoolu_2", "fetch", "{}"), ServerResult("srvtoolu_2", "y", "fetch"),
    )  # fmt: skip


def test_the_partial_reply_of_a_fault_has_ids_too() -> None:
    player = Player(scenario("{error: {status: 529, after_characters: 1}, tool_use: {a: {}}}", "{tool_use: {a: {}}}"))
    played = player.next_entry()
    assert played is not None
    assert played.fault is not None
    assert played.fault.partial is not None
    assert [call.id for call in played.fault.partial.calls] == ["call_1"]
    assert ids(player.next_entry()) == ["call_2"]


# -- conditions -----------------------------------------------------------------------------------------------------------


def test_entries_whose_condition_fails_are_passed_over() -> None:
    player = Player(
        scenario(
            "{text: found, when: {last_tool_result: {contains: shipped}}}",
            "{text: lost, when: {last_tool_result: {matches: '^lost'}}}",
            "{text: else}",
        )
    )
    mark = player.mark()
    assert texts(player, 1, after(ToolResult("call_1", "order 42: shipped"))) == ["found"]
    player.restore(mark)
    assert texts(player, 1, after(ToolResult("call_1", "lost in the post"))) == ["lost"]
    player.restore(mark)
    assert texts(player, 2, after(ToolResult("call_1", "?"))) == ["else", None]
    assert player.unused == 0


def test_a_condition_on_the_prompt_sees_the_last_user_text() -> None:
    player = Player(scenario("{text: refund, when: {prompt: refund}}", "{text: other}"))
    mark = player.mark()
    view = RequestView([user_text("hello"), Message("assistant", (Text("hi"),)), user_text("a refund, please")])
    assert texts(player, 1, view) == ["refund"]
    player.restore(mark)
    assert texts(player, 1, RequestView([user_text("hello")])) == ["other"]


def test_a_repeated_entry_is_passed_over_as_soon_as_its_condition_fails() -> None:
    player = Player(scenario("{text: a, repeat: 3, when: {prompt: x}}", "{text: b}"))
    assert said(player.next_entry(None, RequestView([user_text("x")]))) == "a"
    assert said(player.next_entry(None, RequestView([user_text("y")]))) == "b"
    assert player.unused == 0


def test_structured_results_are_compared_as_text() -> None:
    assert after(ToolResult("a", {"n": 1})).last_result == '{"n": 1}'
    assert after(ToolResult("a", [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}])).last_result == "xy"


# -- what only a request can fill ---------------------------------------------------------------------------------------------

LOOKUP = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


def first_call(player: Player, view: RequestView | None = None) -> ToolCall:
    played = player.next_entry(None, view)
    assert played is not None
    assert played.reply is not None
    return played.reply.calls[0]


def test_a_call_of_any_tool_is_one_that_the_request_offers() -> None:
    view = RequestView([user_text("go")], {"lookup": LOOKUP, "other": {}})
    assert first_call(Player(scenario("{tool_use: {'*': {}}}")), view) == ToolCall("call_1", "lookup", '{"key": "a"}')


def test_a_call_of_any_tool_keeps_the_arguments_that_are_written() -> None:
    player = Player(scenario("{tool_use: {'*': {key: b}}}", tools="{lookup: {input: {key: string}}}"))
    assert first_call(player) == ToolCall("call_1", "lookup", '{"key": "b"}')


def test_a_call_of_any_tool_can_be_cut() -> None:
    player = Player(scenario("{tool_use: {'*': {}}, cut_after: 9}", tools="{lookup: {input: {key: string}}}"))
    assert first_call(player).arguments == '{"key": "'


def test_a_call_of_any_tool_that_is_cut_is_of_one_that_needs_arguments() -> None:
    player = Player(scenario("{tool_use: {'*': {}}, cut_after: -1, stop_reason: tool_use}"))
    call = first_call(player, RequestView([user_text("go")], {"now": {}, "lookup": LOOKUP}))
    assert (call.name, call.arguments) == ("lookup", '{"key": "a"')


def test_a_call_of_any_tool_takes_one_whose_arguments_can_be_made() -> None:
    odd = {"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]}
    assert (
        first_call(Player(scenario("{tool_use: {'*': {}}}")), RequestView([], {"odd": odd, "lookup": LOOKUP})).name
        == "lookup"
    )


def test_where_no_tool_is_offered_the_request_is_refused_and_the_script_stays() -> None:
    player = Player(scenario("{tool_use: {'*': {}}}"))
    played = player.next_entry(None, RequestView([user_text("go")], ()))
    assert played is not None
    assert (
        played.complaint
        == "the reply on line 3 calls a tool of the request's choice ('*'), but the request offers none"
    )
    assert played.fault is not None
    assert (played.fault.status, played.fault.message) == (400, played.complaint)
    assert player.unused == 1


def test_structured_output_is_a_call_of_the_output_tool_where_there_is_one() -> None:
    player = Player(scenario("{output: {city: Rome}}"))
    mark = player.mark()
    assert player.next_entry(None, RequestView()).reply == Reply((Text('{"city": "Rome"}'),), "end_turn")  # type: ignore[union-attr]
    player.restore(mark)
    played = player.next_entry(None, RequestView(output_tool="StructuredOutput"))
    assert played is not None
    assert played.reply == Reply((ToolCall("call_1", "StructuredOutput", '{"city": "Rome"}'),), "tool_use")


def test_a_handoff_is_a_call_of_the_tool_that_hands_over() -> None:
    player = Player(scenario("{text: over, handoff: [billing, Big Ben]}", agents="{billing: {}, Big Ben: {}}"))
    played = player.next_entry(None, RequestView([], ("lookup", "transfer_to_big_ben")))
    assert played is not None
    assert played.handoff == ("billing", "Big Ben")
    assert played.reply == Reply(
        (
            Text("over"),
            ToolCall("call_1", "transfer_to_billing", "{}"),
            ToolCall("call_2", "transfer_to_big_ben", "{}"),
        ),
        "tool_use",
    )


# -- expectations -------------------------------------------------------------------------------------------------------------


def complaint(request: str, view: RequestView, before: str = "{tool_use: {lookup: {}}}") -> str | None:
    player = Player(scenario(before, f"{{text: b, request: {request}}}", tools="{lookup: {}}"))
    player.next_entry()
    played = player.next_entry(None, view)
    assert played is not None
    return played.complaint


ANSWERED = after(ToolResult("call_1", "order 42: shipped"))


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ("{answers: {call_1: {contains: shipped}}}", None),
        ("{answers: {call_1: }}", None),
        ("{offers: [lookup]}", None),
        ("{contains: 'order 42'}", None),
        ("{matches: ['ship+ed$', '^go']}", None),
        ("{answers: {call_1: lost}}", "expected the result of call_1 to contain 'lost'; it is 'order 42: shipped'"),
        ("{answers: none}", "expected no tool result; the request answers call_1"),
        ("{offers: [seek]}", "expected the tool 'seek' to be offered; the request offers lookup"),
        ("{contains: refund}", "expected the request to contain 'refund'; its text ends in 'go\\norder 42: shipped'"),
        (
            "{resumes: true}",
            "expected the paused reply to come back, unchanged and last; the request ends in a user message",
        ),
    ],
)
def test_a_request_that_is_not_the_expected_one_is_refused_with_the_reason(request_: str, reason: str | None) -> None:
    given = complaint(request_, ANSWERED)
    assert given == (reason and f"this is not the request that the reply on line 4 is for: {reason}")


def test_a_missing_answer_names_those_that_came() -> None:
    view = after(ToolResult("call_9", "x"))
    assert "expected a result for call_1; the request answers call_9" in str(complaint("{answers: {call_1: }}", view))


def test_only_answers_after_the_last_reply_count() -> None:
    view = RequestView([*ANSWERED.messages, Message("assistant", (Text("hm"),)), user_text("go on")])
    assert "the request answers no call" in str(complaint("{answers: {call_1: }}", view))


PAUSED = "{text: wait, stop_reason: pause_turn}"


def test_a_paused_reply_has_to_come_back_unchanged_and_last() -> None:
    back = RequestView([user_text("go"), Message("assistant", (Text("wait"),))])
    changed = RequestView([user_text("go"), Message("assistant", (Text("w"),))])
    assert complaint("{resumes: true}", back, PAUSED) is None
    assert "it came back changed" in str(complaint("{resumes: true}", changed, PAUSED))


def test_a_refused_request_does_not_move_the_script() -> None:
    player = Player(scenario("{text: a, request: {contains: please}}"))
    assert texts(player, 2, RequestView([user_text("go")])) == ["invalid_request_error"] * 2
    assert texts(player, 1, RequestView([user_text("please")])) == ["a"]


def test_expectations_can_be_checked_without_a_player() -> None:
    expected = scenario("{text: a, request: {resumes: true}}").script[0].request
    assert expected is not None
    assert "there is no reply before this request" in str(check_request(expected, RequestView()))


# -- tools --------------------------------------------------------------------------------------------------------------------


def test_each_run_of_a_tool_gives_the_next_result_and_the_last_one_stays() -> None:
    tools = ToolScripts(scenario(tools="{t: {returns_each: [a, {raises: b}], seconds: [1, 2, 3]}, u: {}}"))
    assert [tools.outcome("t") for _ in range(4)] == [
        (ToolOutcome("returns", "a"), 1), (ToolOutcome("raises", "b"), 2), (ToolOutcome("raises", "b"), 3), (ToolOutcome("raises", "b"), 3),
    ]  # fmt: skip
    assert tools.outcome("u") == (ToolOutcome("returns", ""), 0)


def test_a_place_of_the_tools_can_be_come_back_to() -> None:
    tools = ToolScripts(scenario(tools="{t: {returns_each: [a, b]}}"))
    mark = tools.mark()
    tools.outcome("t")
    tools.restore(mark)
    assert tools.outcome("t")[0].value == "a"


def test_agents_have_tools_of_their_own() -> None:
    tools = ToolScripts(
        scenario(agents="{billing: {tools: {t: {returns_each: [a, b]}}}}", tools="{t: {returns: main}}", agent="m")
    )
    given = [tools.outcome("t", {}, agent)[0].value for agent in ("billing", None, "m", "billing")]
    assert given == ["a", "main", "main", "b"]


def test_a_tool_that_is_not_declared_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="declares no tool 'x'; it has t"):
        ToolScripts(scenario(tools="{t: {}}")).outcome("x")


@pytest.mark.parametrize(
    ("value", "given", "shown"),
    [
        ("order {id}: {state}", {"id": 42}, "order 42: {state}"),
        ("{a}{b}{c}", {"a": "x", "b": True, "c": [1, "é"]}, 'xtrue[1, "é"]'),
        ("{a b} {{a}} {}", {"a b": 1, "a": 2}, "1 {2} {}"),
        ({"id": "{id}", "{id}": [1, "{id}"]}, {"id": 1}, {"id": "1", "{id}": [1, "1"]}),
        ("{id}", ["id"], "{id}"),
        (None, {"id": 1}, None),
    ],
)
def test_only_the_names_of_input_keys_are_replaced(value: Any, given: Any, shown: Any) -> None:
    assert rendered(ToolOutcome("returns", value), given).value == shown


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_a_text_without_the_names_of_keys_stays_as_it_is(value: str, given_input: dict[str, str]) -> None:
    free = not any(f"{{{key}}}" in value for key in given_input)
    outcome = ToolOutcome("returns", value)
    assert not free or rendered(outcome, given_input).value == value


def test_the_same_requests_get_the_same_replies() -> None:
    story = scenario("{tool_use: {'*': {}}, repeat: 2}", "{output: 1}", tools="{lookup: {input: {key: string}}}")
    runs = [[repr(played.reply) for played in iter(Player(story).next_entry, None)] for _ in range(2)]
    assert runs[0] == runs[1]
    assert json.dumps(runs[0])
