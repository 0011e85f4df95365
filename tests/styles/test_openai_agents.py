"""The OpenAI Agents SDK's loop, JavaScript and Python, sentence by sentence."""

from __future__ import annotations

import pytest

from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, RUN, STREAMED = "openai-agents-js/run", "openai-agents/Runner.run", "openai-agents/Runner.run_streamed"
ALL = (JS, RUN, STREAMED)
PYTHON = (RUN, STREAMED)
RESPONSES, CHAT = "openai-responses", "openai-chat"
FAILED = "An error occurred while running the tool. Please try again."
UNREADABLE = "An error occurred while parsing tool arguments. Please try again with valid JSON."
THREE_ROUNDS = """
- tool_use: {lookup: {key: a}}
- tool_use: {lookup: {key: b}}
- tool_use: {lookup: {key: c}}
- text: done
"""
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""


# -- turns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_cap_throws_after_the_last_turn_s_tools_ran(style, limit):
    assert claim("openai-agents.cap-throws")
    assert claim("openai-agents.last-tools-run")
    run = played(style, THREE_ROUNDS, limit=limit)
    assert (run.model_calls, run.tool_rounds, run.ended, run.returned) == (limit, limit, "limit", "error")
    name = "MaxTurnsExceededError" if style == JS else "MaxTurnsExceeded"
    assert run.error == {"type": name, "message": f"Max turns ({limit}) exceeded"}
    assert run.count == limit


@pytest.mark.parametrize("style", ALL)
def test_a_turn_is_a_model_call_the_final_one_too(style):
    assert claim("openai-agents.turn-is-a-model-call")
    run = played(style, THREE_ROUNDS, limit=4)
    assert (run.ended, run.final_text, run.count, run.outcome.reported_count, run.least_limit) == (
        "answer",
        "done",
        4,
        4,
        4,
    )


@pytest.mark.parametrize("style", ALL)
def test_ten_turns_by_default(style):
    assert claim("openai-agents.default-is-10")
    assert played(style, ENDLESS).model_calls == 10


@pytest.mark.parametrize("style", ALL)
def test_none_disables_the_cap(style):
    assert claim("openai-agents.null-disables-the-cap")
    assert played(style, ENDLESS, limit=None, max_calls=40).ended == "unbounded"


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(("limit", "calls"), [(0, 0), (-1, 0), (2.5, 2)])
def test_odd_caps(style, limit, calls):
    run = played(style, ENDLESS, limit=limit)
    assert (run.model_calls, run.error["message"]) == (calls, f"Max turns ({limit:g}) exceeded")


@pytest.mark.parametrize(
    ("style", "stream", "limit", "shown"),
    [
        (JS, False, 3, 3),
        (JS, True, 3, 3),
        (RUN, None, 3, 3),
        (STREAMED, None, 3, 4),
        (STREAMED, None, -1, 0),
        (JS, True, 2.5, 2),
    ],
)
def test_the_number_that_is_shown_at_the_cap(style, stream, limit, shown):
    assert played(style, ENDLESS, limit=limit, stream=stream).outcome.reported_count == shown


@pytest.mark.parametrize("style", ALL)
def test_calls_of_one_reply_run_side_by_side_and_are_one_turn(style):
    tools = "tools: {slow: {seconds: 2, returns: ok}}"
    run = played(style, "- tool_use: [{slow: {}}, {slow: {}}, {slow: {}}]\n- text: done", tools=tools, limit=2)
    assert (run.seconds, run.count, run.tool_rounds) == (2.0, 2, 1)


# -- replies that are rejected as a whole -----------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("calls", ["[{nope: {}}]", "[{lookup: {key: a}}, {nope: {}}]"])
def test_an_unknown_tool_throws_and_nothing_of_the_reply_runs(style, calls):
    assert claim("openai-agents.failures-are-results").divergence
    run = played(style, f"- tool_use: {calls}\n- text: done")
    stop = "." if style == JS else ""
    assert run.error == {"type": "ModelBehaviorError", "message": f"Tool nope not found in agent A{stop}"}
    assert (run.ended, run.tool_runs, run.count) == ("bad_call", (), 0)


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(
    "reply",
    [
        "{text: half, stop_reason: max_tokens}",
        "{tool_use: {lookup: {key: a}}, stop_reason: max_tokens}",
        "{empty: true, stop_reason: max_tokens}",
    ],
)
def test_a_cut_reply_throws_on_responses_whatever_is_in_it(style, reply):
    run = played(style, f"- {reply}\n- text: done", wire=RESPONSES)
    assert (run.ended, run.error["type"], run.tool_runs) == ("max_tokens", "ModelBehaviorError", ())
    assert "response.incomplete" in run.error["message"]


@pytest.mark.parametrize("style", ALL)
def test_a_cut_text_is_returned_as_the_answer_on_chat_completions(style):
    assert claim("openai-agents.cut-reply-has-no-calls").divergence
    run = played(style, "- {text: half, stop_reason: max_tokens}\n- text: done", wire=CHAT)
    assert (run.final_text, run.returned, run.ended, run.silent) == ("half", "answer", "max_tokens", True)


@pytest.mark.parametrize("style", ALL)
def test_the_whole_calls_of_a_cut_reply_run_on_chat_completions(style):
    script = """
    - content:
      - tool_use: {name: lookup, input: {key: a}}
      - tool_use: {name: lookup, raw: '{"ke'}
      stop_reason: max_tokens
    - text: done
    """
    run = played(style, script, wire=CHAT)
    assert [one.input for one in run.tool_runs] == [{"key": "a"}]
    assert told(run) == ["value of a", UNREADABLE if style == JS else FAILED]
    assert run.final_text == "done"


@pytest.mark.parametrize("style", ALL)
def test_a_cut_reply_with_nothing_in_it_throws_on_chat_completions(style):
    run = played(style, "- {empty: true, stop_reason: max_tokens}\n- text: done", wire=CHAT)
    assert run.error["message"].endswith("produced no assistant text, tool call, or refusal.")


def calls(*pairs: tuple[str, str]) -> str:
    """A reply whose calls of lookup have these ids and keys."""
    blocks = ", ".join(f"{{tool_use: {{name: lookup, input: {{key: {key}}}, id: {id_}}}}}" for id_, key in pairs)
    return f"- content: [{blocks}]"


@pytest.mark.parametrize("style", ALL)
def test_an_id_that_two_different_calls_share_throws(style):
    run = played(style, f"{calls(('x', 'a'), ('x', 'b'))}\n- text: done")
    assert (run.error["type"], run.ended, run.tool_runs) == ("ModelBehaviorError", "bad_call", ())


@pytest.mark.parametrize("style", ALL)
def test_a_call_that_is_there_twice_runs_once_and_is_kept_once(style):
    run = played(style, f"{calls(('x', 'a'), ('x', 'a'))}\n- text: done")
    assert (len(run.tool_runs), requests_of(run)[1]) == (1, ["assistant:tool_use(lookup)", "user:tool_result(x)"])


@pytest.mark.parametrize("style", ALL)
def test_an_id_that_was_answered_comes_back_with_other_arguments_and_throws(style):
    run = played(style, f"{calls(('x', 'a'))}\n{calls(('x', 'b'))}\n- text: done")
    assert (run.error["type"], run.model_calls, run.tool_rounds) == ("ModelBehaviorError", 2, 1)


@pytest.mark.parametrize("style", ALL)
def test_a_call_that_was_answered_is_asked_about_again_with_the_same_input(style):
    run = played(style, f"{calls(('x', 'a'))}\n{calls(('x', 'a'))}\n- text: done")
    assert (len(run.tool_runs), requests_of(run)[2], run.final_text) == (1, [], "done")


def test_one_point_zero_is_one_in_javascript_and_not_in_python():
    block = "{tool_use: {name: add, raw: '%s', id: x}}"
    one, other = block % '{"a": 1, "b": 2}', block % '{"b": 2.0, "a": 1}'
    script = f"- content: [{one}, {other}]\n- text: done"
    assert played(JS, script).final_text == "done"
    assert played(RUN, script).error["type"] == "ModelBehaviorError"


# -- tools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
def test_an_exception_s_own_text_is_not_sent(style):
    run = played(style, "- tool_use: {boom: {}}\n- text: done")
    assert (told(run), run.final_text) == ([FAILED], "done")


@pytest.mark.parametrize("style", ALL)
def test_arguments_that_do_not_fit_get_the_same_fixed_text(style):
    run = played(style, "- tool_use: {lookup: {wrong: 5}}\n- text: done")
    assert (told(run), run.tool_runs) == ([FAILED], ())


@pytest.mark.parametrize(("style", "text"), [(JS, UNREADABLE), (RUN, FAILED)])
def test_arguments_that_are_no_json(style, text):
    run = played(style, "- content: [{tool_use: {name: lookup, raw: '{\"ke'}}]\n- text: done")
    assert (told(run), run.tool_runs) == ([text], ())


@pytest.mark.parametrize(("style", "number"), [(JS, "two"), (RUN, "two")])
def test_unknown_keys_are_dropped(style, number):
    run = played(style, f"- tool_use: {{lookup: {{key: a, more: {number}}}}}\n- text: done")
    assert [one.input for one in run.tool_runs] == [{"key": "a"}]


@pytest.mark.parametrize(("style", "text"), [(JS, '{"n":1,"ok":true}'), (RUN, "{'n': 1, 'ok': True}")])
def test_an_output_is_sent_as_json_in_javascript_and_as_str_in_python(style, text):
    run = played(style, "- tool_use: {give: {}}\n- text: done", tools="tools: {give: {returns: {n: 1, ok: true}}}")
    assert told(run) == [text]


@pytest.mark.parametrize("style", ALL)
def test_text_beside_a_call_is_never_the_answer(style):
    run = played(style, "- {text: words, tool_use: {lookup: {key: a}}}\n- text: done")
    assert (run.final_text, requests_of(run)[1][0]) == ("done", "assistant:text+tool_use(lookup)")


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
def test_a_refusal_throws(style):
    run = played(style, "- refusal: I can't help.\n- text: done")
    assert run.error == {"type": "ModelRefusalError", "message": "Model refused to produce output: I can't help."}
    assert (run.ended, run.count) == ("refusal", 0)


@pytest.mark.parametrize("style", ALL)
def test_a_refusal_beside_a_call_does_not_stop_the_loop_and_stays_in_history(style):
    run = played(style, "- content: [{refusal: no}, {tool_use: {name: lookup, input: {key: a}}}]\n- text: done")
    assert (run.final_text, requests_of(run)[1][0]) == ("done", "assistant:refusal+tool_use(lookup)")


@pytest.mark.parametrize(("wire", "stream"), [(RESPONSES, False), (RESPONSES, True), (CHAT, True)])
def test_javascript_asks_an_empty_text_again_with_the_very_same_input_a_turn_each(wire, stream):
    run = played(JS, "- text: ''\n  repeat: forever", wire=wire, stream=stream, limit=4)
    assert (run.ended, run.model_calls, requests_of(run)) == ("limit", 4, [["user:text"], [], [], []])


def test_javascript_returns_an_empty_text_on_chat_completions_that_do_not_stream():
    run = played(JS, "- text: ''\n- text: done", wire=CHAT, stream=False)
    assert (run.final_text, run.ended, run.silent) == ("", "empty", True)


@pytest.mark.parametrize("style", PYTHON)
@pytest.mark.parametrize("reply", ["{text: ''}", "{empty: true}"])
def test_python_returns_an_empty_reply_at_once(style, reply):
    run = played(style, f"- {reply}\n- text: done")
    assert (run.final_text, run.model_calls, run.ended, run.silent) == ("", 1, "empty", True)


def test_javascript_asks_a_reply_without_a_message_again():
    assert played(JS, "- empty: true\n- text: done").final_text == "done"


@pytest.mark.parametrize("style", ALL)
def test_of_several_messages_the_last_one_counts_on_responses(style):
    script = "- content: [{text: 'one '}, {text: two}]"
    assert played(style, script, wire=RESPONSES).final_text == "two"
    assert played(style, script, wire=CHAT).final_text == "one two"


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(
    ("status", "requests", "type_"),
    [
        (429, 3, "RateLimitError"),
        (500, 3, "InternalServerError"),
        (529, 3, "InternalServerError"),
        (400, 1, "BadRequestError"),
    ],
)
def test_the_client_retries_twice_and_its_error_goes_out(style, status, requests, type_):
    run = played(style, f"- {{error: {status}, repeat: forever}}")
    assert (run.model_requests, run.error["type"], run.ended) == (requests, type_, "http_error")


@pytest.mark.parametrize("style", ALL)
def test_retries_are_no_turns(style):
    run = played(style, "- error: 529\n- error: 500\n- tool_use: {lookup: {key: a}}\n- text: done", limit=2)
    assert (run.model_requests, run.count, run.final_text) == (4, 2, "done")


@pytest.mark.parametrize("style", [JS, STREAMED])
def test_a_stream_that_merely_ends_is_an_answer_on_chat_completions_and_an_error_on_responses(style):
    script = "- content: [{text: hello there}]\n  disconnect: {after_characters: 5, how: end}"
    chat, responses = (played(style, script, wire=wire, stream=True) for wire in (CHAT, RESPONSES))
    assert (chat.final_text, chat.ended, chat.silent) == ("hello", "broken_stream", True)
    assert responses.error == {"type": "ModelBehaviorError", "message": "Model did not produce a final response!"}


@pytest.mark.parametrize(
    ("style", "stream", "returned", "type_"),
    [(JS, False, "error", "AbortError"), (JS, True, "answer", None), (RUN, None, "error", "CancelledError")],
)
def test_a_caller_that_gives_up_while_tools_run(style, stream, returned, type_):
    run = played(style, THREE_ROUNDS, more="abort: {during: lookup}", stream=stream)
    assert (run.ended, run.returned, run.outcome.error_type, run.final_text) == ("aborted", returned, type_, None)


# -- tools of the provider, tools without an implementation -----------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
def test_a_reply_that_is_only_a_provider_s_tool_is_asked_again(style):
    script = "- server_tool_use: {search: {query: x}}\n- text: done"
    run = played(style, script, tools="tools: {search: {server: true}}")
    assert (run.final_text, requests_of(run)[1]) == ("done", ["assistant:server_tool_use(search)"])


@pytest.mark.parametrize("style", ALL)
def test_a_call_without_an_implementation_is_handed_back_after_its_siblings_ran(style):
    run = played(style, "- tool_use: [{ask: {q: x}}, {lookup: {key: a}}]\n- text: done")
    assert (run.ended, run.returned, [one.name for one in run.tool_runs]) == ("handed_back", "answer", ["lookup"])


@pytest.mark.parametrize(("wire", "sent"), [(CHAT, "{}"), (RESPONSES, "")])
def test_no_arguments_at_all_are_an_empty_object_to_python_and_go_back_as_one_on_chat_completions(wire, sent):
    replies = "- content: [{tool_use: {name: boom, raw: ''}}]\n- text: done"
    run = played(RUN, replies, wire=wire)
    assert ([r.input for r in run.tool_runs], run.requests[1].new[0].content[0].arguments) == ([{}], sent)
