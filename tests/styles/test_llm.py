"""llm's chains, as measured: a limit that an answer can exceed, calls that are run together, and what a conversation keeps of a chain that threw."""

from __future__ import annotations

import json

import pytest

from agentsim.core.messages import ToolCall
from agentsim.core.wires import RESPONSES
from agentsim.errors import UsageError
from tests.styles.playing import played, requests_of, told

SYNC = "llm/Conversation.chain"
ASYNC = "llm/AsyncConversation.chain"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
ROUNDS3 = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""
CANCEL = {"raises": {"type": "CancelToolCall", "message": "not now"}}
SORRY = {"raises": {"type": "RuntimeError", "message": "sorry"}}
both_styles = pytest.mark.parametrize("style", [SYNC, ASYNC])
both_ways = pytest.mark.parametrize("stream", [False, True])


def written(run):
    """The arguments of the calls that a run wrote back."""
    return [
        part.arguments
        for sent in run.requests
        for message in sent.new
        for part in message.content
        if isinstance(part, ToolCall)
    ]


# -- the limit --------------------------------------------------------------------------------------------------------


@both_styles
@both_ways
@pytest.mark.parametrize(("limit", "responses"), [(1, 1), (2, 2), (20, 20), (2.5, 3), (-1, 1)])
def test_at_the_limit_it_throws_before_the_last_reply_s_tools_run(style, limit, responses, stream):
    run = played(style, ENDLESS, limit=limit, stream=stream)
    assert (run.model_requests, run.tool_rounds, run.count) == (responses, responses - 1, responses)
    assert (run.ended, run.returned, run.error["type"]) == ("limit", "error", "ValueError")
    assert run.error["message"] == f"Chain limit of {limit} exceeded."


@both_styles
def test_an_answer_at_the_limit_is_over_it_too(style):
    run = played(style, "- text: hello", limit=1)
    assert (run.ended, run.returned, run.final_text) == ("limit", "error", None)
    assert played(style, "- text: hello", limit=2).final_text == "hello"


def test_three_rounds_and_an_answer_need_five_responses_though_four_are_made():
    run = played(SYNC, ROUNDS3, limit=5)
    assert (run.final_text, run.returned, run.count, run.least_limit) == ("done", "answer", 4, 5)
    assert run.outcome.reported_count == 4


@pytest.mark.parametrize("limit", [None, 0])
def test_neither_nothing_nor_0_is_a_limit_and_there_is_none_by_default(limit):
    assert played(SYNC, ENDLESS, limit=limit, max_calls=30).ended == "unbounded"
    assert played(SYNC, ENDLESS, max_calls=30).ended == "unbounded"


# -- what is an answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "ended", "finish", "text"),
    [
        ("{text: half, stop_reason: max_tokens}", "max_tokens", "length", "half"),
        ("{empty: true}", "empty", "stop", ""),
        ("{refusal: I can't.}", "refusal", "stop", ""),
        ("{text: hm, stop_reason: tool_use}", "bad_call", "tool_calls", "hm"),
    ],
)
@both_ways
def test_every_reply_without_calls_is_an_answer(reply, ended, finish, text, stream):
    run = played(SYNC, f"- {reply}\n- text: done", stream=stream)
    assert (run.model_requests, run.ended, run.returned, run.silent) == (1, ended, "answer", True)
    assert (run.finish_reason, run.final_text) == (finish, text)


def test_the_text_is_that_of_all_replies_with_a_space_where_neither_side_has_one():
    replies = """
    - {text: one, tool_use: {lookup: {key: a}}}
    - {text: "two\\n", tool_use: {lookup: {key: a}}}
    - tool_use: {lookup: {key: a}}
    - text: three
    """
    assert played(SYNC, replies).final_text == "one two\nthree"


@pytest.mark.parametrize(("characters", "text"), [(2, "ha"), (4, "half")])
def test_a_stream_that_ends_early_is_an_answer(characters, text):
    reply = f"{{text: half, disconnect: {{after_characters: {characters}, how: end}}}}"
    run = played(SYNC, f"- {reply}\n- text: done", stream=True)
    assert (run.model_requests, run.final_text, run.ended, run.silent) == (1, text, "broken_stream", True)


# -- calls ------------------------------------------------------------------------------------------------------------


@both_styles
@pytest.mark.parametrize("raw", ['{"key', '{"key": "a"}{"key": "b"}', " "])
def test_arguments_that_are_no_json_throw(style, raw):
    call = f"tool_use: {{name: lookup, raw: {raw!r}}}"
    run = played(style, f"- content: [{{tool_use: {{name: lookup, input: {{key: a}}}}}}, {{{call}}}]")
    assert (run.error["type"], run.ended, run.tool_runs) == ("JSONDecodeError", "bad_call", ())


def test_a_cut_call_that_looks_whole_is_run():
    run = played(SYNC, "- {tool_use: {lookup: {key: a}}, stop_reason: max_tokens}\n- text: done")
    assert [one.input for one in run.tool_runs] == [{"key": "a"}]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("null", "'NoneType' object is not iterable"),
        ("5", "'int' object is not iterable"),
        ("[1]", "cannot convert dictionary update sequence element #0 to a sequence"),
        ('"x"', "dictionary update sequence element #0 has length 1; 2 is required"),
        ("[[1, 2]]", "keywords must be strings"),
        ("", "missing a required argument: 'key'"),
        ('{"key": "a", "more": 1}', "got an unexpected keyword argument 'more'"),
    ],
)
@both_styles
def test_arguments_that_make_no_keywords_are_answered_with_python_s_words(style, raw, said):
    run = played(style, f"- content: [{{tool_use: {{name: lookup, raw: {raw!r}}}}}]\n- text: done")
    assert (run.tool_runs, told(run), run.final_text) == ((), [f"Error: {said}"], "done")


def test_whatever_python_makes_a_dictionary_of_are_arguments_and_values_are_never_checked():
    pairs = """- content: [{tool_use: {name: lookup, raw: '[["key", 5]]'}}]\n- text: done"""
    assert played(SYNC, pairs).tool_runs[0].input == {"key": 5}


@both_styles
def test_unknown_and_throwing_tools_get_results_in_the_order_of_the_calls(style):
    run = played(style, "- tool_use: [{nope: {}}, {lookup: {key: a}}, {boom: {}}]\n- text: done")
    assert told(run) == ['Error: tool "nope" does not exist', "value of a", "Error: boom failed"]


def test_calls_that_share_an_id_run_and_go_back_as_one_whose_name_is_all_of_theirs():
    calls = "{tool_use: {name: lookup, id: d, input: {key: a}}}, {tool_use: {name: boom, id: d, input: {}}}"
    run = played(SYNC, f"- content: [{calls}]\n- text: done")
    assert [one.name for one in run.tool_runs] == ["lookup", "boom"]
    assert requests_of(run)[1] == ["assistant:tool_use(lookupboom)", "user:tool_result(d)+tool_result(d)"]
    assert written(run) == [json.dumps({"_raw": '{"key": "a"}{}'})]


@pytest.mark.parametrize(
    ("raw", "again"), [("", "{}"), ("[[1, 2]]", "[[1, 2]]"), ('{"key":"ü"}', '{"key": "\\u00fc"}')]
)
def test_arguments_go_back_as_they_were_parsed_and_none_as_an_empty_object(raw, again):
    assert written(played(SYNC, f"- content: [{{tool_use: {{name: lookup, raw: {raw!r}}}}}]\n- text: done")) == [again]


def test_results_are_texts_or_json_in_ascii():
    tools = """
    tools:
      word: {returns: ü}
      object: {returns: {a: [1, ü, null]}}
    """
    run = played(SYNC, "- tool_use: [{word: {}}, {object: {}}]\n- text: done", tools=tools)
    assert told(run) == ["ü", '{"a": [1, "\\u00fc", null]}']


def test_a_tool_without_a_function_ends_a_chain_and_is_an_error_result_of_an_async_one():
    replies = "- tool_use: [{lookup: {key: a}}, {ask: {q: x}}]\n- text: done"
    run = played(SYNC, replies)
    assert (run.error["type"], len(run.tool_runs)) == ("ValueError", 1)
    assert told(played(ASYNC, replies)) == ["value of a", 'Error: tool "ask" has no implementation']


def test_calls_run_one_after_the_other_and_in_an_async_chain_at_once():
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    replies = "- tool_use: [{slow: {}}, {slow: {}}, {slow: {}}]\n- text: done"
    assert (played(SYNC, replies, tools=tools).seconds, played(ASYNC, replies, tools=tools).seconds) == (6.0, 2.0)
    assert played(SYNC, replies, tools=tools).tool_rounds == 1


# -- faults and the next prompt ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("faults", "requests", "ended"), [(2, 3, "answer"), (3, 3, "http_error")])
def test_the_client_retries_twice(faults, requests, ended):
    run = played(SYNC, "- error: 529\n" * faults + "- text: done")
    assert (run.model_requests, run.ended) == (requests, ended)


def test_a_prompt_behind_one_that_met_its_limit_finds_calls_without_results():
    run = played(SYNC, "- tool_use: {lookup: {key: a}}\n- text: two", more="prompt: [go, more]", limit=1)
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)", "user:text"]
    assert run.refused_requests


def test_the_results_that_a_failed_request_asked_with_are_lost_too():
    run = played(SYNC, "- tool_use: {lookup: {key: a}}\n- error: 400\n- text: two", more="prompt: [go, more]")
    assert requests_of(run)[2] == ["user:text"]
    assert [sent.kept for sent in run.requests] == [0, 1, 2]
    assert run.refused_requests


def test_a_first_prompt_that_failed_is_forgotten_and_an_empty_answer_is_no_message():
    failed = played(SYNC, "- error: 400\n- text: two", more="prompt: [go, more]")
    empty = played(SYNC, "- empty: true\n- text: two", more="prompt: [go, more]")
    assert (requests_of(failed)[1], failed.requests[1].kept) == (["user:text"], 0)
    assert (requests_of(empty)[1], empty.requests[1].kept) == (["user:text+text"], 0)


@both_styles
@pytest.mark.parametrize("during", ["{before_reply: 2}", "{during: lookup}"])
def test_a_caller_who_gives_up_gets_python_s_own_interrupt(style, during):
    run = played(style, "- tool_use: {lookup: {key: a}}\n- text: done", more=f"abort: {during}")
    assert (run.ended, run.error) == ("aborted", {"type": "KeyboardInterrupt", "message": ""})


# -- Responses --------------------------------------------------------------------------------------------------------


def on_responses(replies, **more):
    return played(SYNC, replies, wire=RESPONSES, **more)


def test_on_responses_arguments_that_are_no_json_become_a_keyword_that_no_tool_takes():
    run = on_responses("""- content: [{tool_use: {name: boom, raw: '{"key'}}]\n- text: done""")
    assert (told(run), run.final_text) == (["Error: got an unexpected keyword argument '_raw'"], "done")
    assert written(run) == ['{"_raw": "{\\"key"}']


@pytest.mark.parametrize(("stream", "status"), [(False, "incomplete"), (True, None)])
def test_a_cut_response_is_an_answer_and_a_streamed_one_does_not_even_have_a_status(stream, status):
    run = on_responses("- {text: half, stop_reason: max_tokens}", stream=stream)
    assert (run.returned, run.finish_reason, run.final_text, run.ended) == ("answer", status, "half", "max_tokens")


def test_each_further_text_of_a_response_is_a_message_of_its_own_with_its_text_before_its_calls():
    call = "{tool_use: {name: lookup, input: {key: a}}}"
    run = on_responses(f"- content: [{call}, {{text: one}}, {call}, {{text: two}}, {call}]\n- text: done")
    assert requests_of(run)[1][0] == ("assistant:text+tool_use(lookup)+tool_use(lookup)+text+tool_use(lookup)")


def test_of_thoughts_in_a_row_the_last_is_kept():
    run = on_responses(
        "- content: [{thinking: hm}, {thinking: so}, {tool_use: {name: lookup, input: {key: a}}}]\n- text: done"
    )
    assert requests_of(run)[1][0] == "assistant:thinking+tool_use(lookup)"


@pytest.mark.parametrize(
    "how", ["disconnect: {how: end, after_characters: 17}", "error: {type: x, after_characters: 17}"]
)
def test_a_call_that_a_broken_stream_of_responses_cut_is_written_back_but_never_answered(how):
    calls = "[{lookup: {key: a}}, {lookup: {key: b}}]"
    run = on_responses(f"- {{text: hm, tool_use: {calls}, {how}}}\n- text: done", stream=True)
    assert requests_of(run)[1] == ["assistant:text+tool_use(lookup)+tool_use(lookup)", "user:tool_result(call_1)"]
    assert (len(run.tool_runs), bool(run.refused_requests), run.final_text) == (1, True, "hm done")


def test_a_chain_whose_only_call_was_cut_returns_as_if_it_had_been_an_answer():
    run = on_responses(
        "- {text: hm, tool_use: {lookup: {key: a}}, disconnect: {how: end, after_characters: 5}}", stream=True
    )
    assert (run.returned, run.final_text, run.ended, run.silent) == ("answer", "hm", "dropped_calls", True)


# -- options ----------------------------------------------------------------------------------------------------------


@both_styles
def test_a_hook_cancels_calls_of_known_and_unknown_tools(style):
    hook = {"before_call": {"scripted": [CANCEL, None, CANCEL]}}
    run = played(
        style, "- tool_use: {nope: {}}\n- tool_use: [{lookup: {key: a}}, {boom: {}}]\n- text: done", options=hook
    )
    assert told(run) == ["Cancelled: not now", "value of a", "Cancelled: not now"]


@pytest.mark.parametrize(("style", "runs"), [(SYNC, ["a"]), (ASYNC, ["a", "c"])])
def test_another_error_of_a_hook_leaves_the_chain_an_async_one_when_the_siblings_have_ended(style, runs):
    calls = "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}, {lookup: {key: c}}]"
    run = played(style, calls, options={"before_call": {"scripted": [None, SORRY, None]}})
    assert (run.error["type"], run.ended) == ("RuntimeError", "tool_error")
    assert [one.input["key"] for one in run.tool_runs] == runs


@both_styles
def test_what_the_hook_behind_a_tool_raises_leaves_the_chain_even_a_cancellation(style):
    run = played(style, "- tool_use: {lookup: {key: a}}", options={"after_call": {"scripted": [CANCEL]}})
    assert (run.error["type"], len(run.tool_runs)) == ("CancelToolCall", 1)


@pytest.mark.parametrize(("style", "runs"), [(SYNC, ["add"]), (ASYNC, ["add", "boom"])])
def test_a_pause_leaves_the_chain_and_only_an_async_one_runs_the_calls_behind_it(style, runs):
    calls = "- tool_use: [{add: {a: 1, b: 2}}, {lookup: {key: a}}, {boom: {}}]"
    run = played(style, calls, options={"pause": ["lookup"]})
    assert (run.error["type"], run.ended, run.returned) == ("PauseChain", "handed_back", "error")
    assert [one.name for one in run.tool_runs] == runs


def test_an_async_hook_of_a_synchronous_chain_is_a_type_error():
    hook = {"before_call": {"scripted": [CANCEL], "async": True}}
    assert played(SYNC, "- tool_use: {lookup: {key: a}}", options=hook).error["type"] == "TypeError"
    assert told(played(ASYNC, "- tool_use: {lookup: {key: a}}\n- text: done", options=hook)) == ["Cancelled: not now"]


@pytest.mark.parametrize(
    ("tree", "word"),
    [
        ({"before": {}}, "before_call"),
        ({"before_call": "stop"}, "before_call: expected a function"),
        ({"after_call": {"scripted": [None], "seconds": 2}}, "after_call.seconds: expected a hook that takes no time"),
        ({"pause": "lookup"}, "pause: expected a list of names"),
    ],
)
def test_a_misspelt_option_is_named(tree, word):
    with pytest.raises(UsageError, match=word):
        played(SYNC, ENDLESS, options=tree)
