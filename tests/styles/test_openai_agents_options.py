"""Options of the OpenAI Agents SDKs: every word of both languages, and what it does."""

from __future__ import annotations

from typing import Any

import pytest

from agentsim.errors import UsageError
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, RUN, STREAMED = "openai-agents-js/run", "openai-agents/Runner.run", "openai-agents/Runner.run_streamed"
ALL = (JS, RUN, STREAMED)
FAILED = "An error occurred while running the tool. Please try again."
ROUND = "- tool_use: {lookup: {key: a}}\n- text: done"
ENDLESS = "- {tool_use: {lookup: {key: a}}, repeat: forever}"
REFUSAL = "- refusal: no\n- text: done"
CITY = "output: {schema: {type: object, properties: {city: {type: string}}, required: [city]}}"

#: Python's word for each of JavaScript's.
WORDS = {
    "toolUseBehavior": "tool_use_behavior", "stopAtToolNames": "stop_at_tool_names", "errorHandlers": "error_handlers",
    "maxTurns": "max_turns", "modelRefusal": "model_refusal", "invalidFinalOutput": "invalid_final_output",
    "modelSettings": "model_settings", "toolChoice": "tool_choice", "resetToolChoice": "reset_tool_choice",
    "inputGuardrails": "input_guardrails", "outputGuardrails": "output_guardrails", "execute": "guardrail_function",
    "runInParallel": "run_in_parallel", "tripwireTriggered": "tripwire_triggered", "outputInfo": "output_info",
    "errorFunction": "failure_error_function", "timeoutMs": "timeout", "isFinalOutput": "is_final_output",
    "finalOutput": "final_output",
}  # fmt: skip


def tree(style: str, js: Any) -> Any:
    """JavaScript's tree, or the same in Python's words."""
    if style == JS:
        return js
    if isinstance(js, dict):
        if "toolNotFoundBehavior" in js:
            return {"run_config": {"tool_not_found_behavior": js["toolNotFoundBehavior"]}}
        found = {WORDS.get(key, key): tree(style, value) for key, value in js.items()}
        return found | ({"timeout": js["timeoutMs"] / 1000} if "timeoutMs" in js else {})
    return [tree(style, item) for item in js] if isinstance(js, list) else js


def given(style: str, replies: str, js: Any, **more: Any):
    """A script under a style with options."""
    return played(style, replies, options=tree(style, js), **more)


def handler(kind: str, *values: Any) -> dict[str, Any]:
    return {
        "errorHandlers": {
            kind: {"scripted": [v if v is None or "raises" in v else {"finalOutput": v["is"]} for v in values]}
        }
    }


# -- toolUseBehavior --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
def test_run_llm_again_is_the_default(style):
    assert claim("openai-agents.behaviours")
    assert given(style, ROUND, {"toolUseBehavior": "run_llm_again"}).final_text == "done"


@pytest.mark.parametrize("style", ALL)
def test_stop_on_first_tool_takes_the_first_call_s_output_after_all_calls_ran(style):
    assert claim("openai-agents.all-calls-run")
    script = "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]\n- text: done"
    run = given(style, script, {"toolUseBehavior": "stop_on_first_tool"}, limit=1)
    assert (run.final_text, run.ended, run.returned, len(run.tool_runs)) == ("value of a", "tool_result", "answer", 2)
    assert (run.count, run.silent) == (1, False)


@pytest.mark.parametrize("style", ALL)
def test_an_error_text_becomes_the_answer_too(style):
    run = given(style, "- tool_use: {boom: {}}", {"toolUseBehavior": "stop_on_first_tool"})
    assert (run.final_text, run.ended) == (FAILED, "tool_result")


@pytest.mark.parametrize("style", ALL)
def test_stop_at_tool_names_takes_the_first_named_call_and_makes_no_further_call(style):
    assert claim("openai-agents.stop-at-tool-names-needs-no-call")
    script = "- tool_use: [{lookup: {key: a}}, {add: {a: 1, b: 2}}]\n- text: done"
    run = given(style, script, {"toolUseBehavior": {"stopAtToolNames": ["add"]}})
    assert (run.final_text, run.model_calls) == ("3", 1)


@pytest.mark.parametrize("style", ALL)
def test_the_loop_goes_on_where_no_call_is_named(style):
    assert given(style, ROUND, {"toolUseBehavior": {"stopAtToolNames": ["add"]}}).final_text == "done"


@pytest.mark.parametrize("style", ALL)
def test_a_function_may_decide_on_any_turn(style):
    decides = {"scripted": [{"isFinalOutput": False}, {"isFinalOutput": True, "finalOutput": "decided"}]}
    run = given(style, ENDLESS, {"toolUseBehavior": decides})
    assert (run.final_text, run.model_calls, run.ended) == ("decided", 2, "tool_result")


@pytest.mark.parametrize("style", ALL)
def test_a_handoff_beats_it(style):
    more = "agent: A\nhandoffs: [B]\nagents: {B: {replies: [{text: from b}]}}"
    script = "- {tool_use: {lookup: {key: a}}, handoff: B}"
    assert given(style, script, {"toolUseBehavior": "stop_on_first_tool"}, more=more).final_text == "from b"


# -- errorHandlers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
def test_the_max_turns_handler_gives_a_normal_result(style):
    assert claim("openai-agents.handlers-give-an-output")
    run = given(style, ENDLESS, handler("maxTurns", {"is": "handled"}), limit=2)
    assert (run.final_text, run.returned, run.ended, run.error) == ("handled", "answer", "limit", None)
    assert (run.outcome.handled, run.to_dict()["handled"], run.count) == (True, True, 2)


@pytest.mark.parametrize("style", ALL)
def test_the_refusal_handler_gives_the_output(style):
    run = given(style, REFUSAL, handler("modelRefusal", {"is": "sorry"}))
    assert (run.final_text, run.ended, run.outcome.handled, run.model_calls) == ("sorry", "refusal", True, 1)


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("reply", ["{text: Paris}", "{empty: true}"])
def test_the_invalid_output_handler_gives_the_output(style, reply):
    run = given(style, f"- {reply}", handler("invalidFinalOutput", {"is": {"city": "Rome"}}), more=CITY)
    assert (run.final_text, run.outcome.handled) == ('{"city": "Rome"}', True)


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize(
    ("script", "kind", "type_"),
    [(ENDLESS, "maxTurns", "MaxTurnsExceeded"), (REFUSAL, "modelRefusal", "ModelRefusalError")],
)
def test_a_handler_that_returns_nothing_changes_nothing(style, script, kind, type_):
    assert claim("openai-agents.handler-may-decline")
    run = given(style, script, handler(kind, None))
    assert (run.error["type"].startswith(type_), run.outcome.handled) == (True, False)


@pytest.mark.parametrize(("style", "type_"), [(JS, "Error"), (RUN, "Exception"), (STREAMED, "Exception")])
def test_what_a_handler_throws_goes_out_instead(style, type_):
    run = given(style, ENDLESS, handler("maxTurns", {"raises": "oops"}))
    assert (run.error, run.ended) == ({"type": type_, "message": "oops"}, "limit")


@pytest.mark.parametrize("style", ALL)
def test_what_goes_wrong_in_the_invalid_output_handler_is_hidden(style):
    run = given(style, "- text: Paris", handler("invalidFinalOutput", {"raises": "oops"}), more=CITY)
    assert run.error == {"type": "UserError", "message": "Error details are redacted."}


@pytest.mark.parametrize("style", ALL)
def test_a_handler_s_output_stays_on_the_thread(style):
    js = handler("maxTurns", {"is": "one"}, {"is": "two"})
    run = given(style, ENDLESS, js, limit=1, more="prompt: [first, second]")
    assert (run.final_text, requests_of(run)[1][-2:]) == ("two", ["assistant:text", "user:text"])


# -- tool choice, unknown tools ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("reset", [True, False])
def test_the_tool_choice_changes_what_the_model_is_told_not_what_the_loop_does(style, reset):
    assert claim("openai-agents.reset-tool-choice")
    run = given(style, ROUND, {"modelSettings": {"toolChoice": "required"}, "resetToolChoice": reset})
    assert (run.final_text, run.model_calls) == ("done", 2)


@pytest.mark.parametrize("style", ALL)
def test_an_unknown_tool_can_be_an_error_result_that_comes_last(style):
    script = "- tool_use: [{nope: {}}, {lookup: {key: a}}]\n- text: done"
    run = given(style, script, {"toolNotFoundBehavior": "return_error_to_model"})
    assert (told(run), run.final_text) == (["value of a", "Tool 'nope' not found."], "done")


# -- guardrails -------------------------------------------------------------------------------------------------------


def guard(tripped: bool, seconds: float = 0, parallel: bool = True) -> dict[str, Any]:
    judge = {"scripted": [{"tripwireTriggered": tripped, "outputInfo": {"why": "x"}}], "seconds": seconds}
    return {"inputGuardrails": [{"execute": judge, "runInParallel": parallel}]}


@pytest.mark.parametrize("style", ALL)
@pytest.mark.parametrize("seconds", [0, 0.3])
def test_a_blocking_input_guardrail_throws_before_any_call(style, seconds):
    run = given(style, ROUND, guard(True, seconds, parallel=False))
    message = 'Input guardrail triggered: {"why":"x"}' if style == JS else "Guardrail InputGuardrail triggered tripwire"
    assert run.error == {"type": "InputGuardrailTripwireTriggered", "message": message}
    assert (run.model_requests, run.ended, run.seconds) == (0, "guardrail", seconds)


@pytest.mark.parametrize(("style", "calls"), [(JS, 0), (RUN, 0), (STREAMED, 1)])
def test_a_parallel_one_that_settles_at_once_leaves_no_call_but_in_run_streamed(style, calls):
    run = given(style, ROUND, guard(True))
    assert (run.model_calls, run.tool_runs, run.ended) == (calls, (), "guardrail")


@pytest.mark.parametrize(("style", "calls", "rounds"), [(JS, 1, 0), (RUN, 1, 1), (STREAMED, 3, 2)])
def test_a_slow_parallel_one(style, calls, rounds):
    script = "- tool_use: {lookup: {key: a}}\n- tool_use: {lookup: {key: a}}\n- text: done"
    run = given(style, script, guard(True, 0.3))
    assert (run.model_calls, run.tool_rounds, run.ended, run.seconds) == (calls, rounds, "guardrail", 0.3)


@pytest.mark.parametrize(("style", "calls", "rounds"), [(JS, 1, 0), (RUN, 0, 0), (STREAMED, 1, 0)])
def test_run_breaks_off_a_model_call_that_is_slower_than_a_guardrail_that_trips_and_the_others_wait_for_it(
    style, calls, rounds
):
    run = given(style, "- {tool_use: {lookup: {key: a}}, seconds: 2}\n- text: done", guard(True, 0.3))
    assert (run.model_calls, run.tool_rounds, run.ended) == (calls, rounds, "guardrail")


@pytest.mark.parametrize("seconds", [0, 0.3])
def test_run_streamed_tells_of_the_call_that_failed_and_not_of_a_parallel_one_that_tripped_before(seconds):
    run = given(STREAMED, "- {error: 400, seconds: 1}\n- text: done", guard(True, seconds))
    assert (run.outcome.error_type, run.model_requests) == ("BadRequestError", 1)


def test_javascript_waits_for_a_parallel_one_and_tells_of_it_in_place_of_the_call_that_failed():
    run = given(JS, "- error: 400\n- text: done", guard(True, 0.3))
    assert (run.outcome.error_type, run.model_requests, run.seconds) == ("InputGuardrailTripwireTriggered", 1, 0.3)


@pytest.mark.parametrize("style", ALL)
def test_a_guardrail_that_lets_pass_only_takes_its_time(style):
    run = given(style, ROUND, guard(False, 0.3))
    assert (run.final_text, run.seconds) == ("done", 0.3)


@pytest.mark.parametrize("style", ALL)
def test_guardrails_look_at_each_prompt_and_keep_their_place_in_the_script(style):
    judge = {"scripted": [{"tripwireTriggered": False}, {"tripwireTriggered": True}]}
    js = {"inputGuardrails": [{"execute": judge, "runInParallel": False}]}
    run = given(style, "- text: one\n- text: two", js, more="prompt: [first, second]")
    assert (run.model_calls, run.ended) == (1, "guardrail")


@pytest.mark.parametrize("style", ALL)
def test_an_output_guardrail_throws_after_the_final_output(style):
    js = {"outputGuardrails": [{"execute": {"scripted": [{"tripwireTriggered": True}]}}]}
    run = given(style, ROUND, js)
    assert (run.model_calls, run.ended, run.error["type"]) == (2, "guardrail", "OutputGuardrailTripwireTriggered")


@pytest.mark.parametrize(("style", "type_"), [(JS, "GuardrailExecutionError"), (RUN, "ValueError")])
def test_a_guardrail_that_throws(style, type_):
    judge = {"scripted": [{"raises": {"type": "ValueError", "message": "oops"}}]}
    run = given(style, ROUND, {"inputGuardrails": [{"execute": judge, "runInParallel": False}]})
    assert (run.error["type"], run.ended) == (type_, "guardrail")


# -- tools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "error"),
    [
        (JS, {"type": "ToolCallError", "message": "Failed to run function tools: Error: boom failed"}),
        (RUN, {"type": "UserError", "message": "Error running tool boom: boom failed"}),
    ],
)
def test_without_an_error_function_a_throwing_tool_throws_after_its_siblings_ran(style, error):
    script = "- tool_use: [{boom: {}}, {lookup: {key: a}}]\n- text: done"
    run = given(style, script, {"tools": {"boom": {"errorFunction": None}}})
    assert (run.error, run.ended, len(run.tool_runs)) == (error, "tool_error", 2)


@pytest.mark.parametrize(("style", "after"), [(JS, "20ms"), (RUN, "0.02 seconds")])
def test_a_tool_that_takes_too_long_is_given_up(style, after):
    tools = "tools: {slow: {seconds: 3, returns: ok}}"
    run = given(style, "- tool_use: {slow: {}}\n- text: done", {"tools": {"slow": {"timeoutMs": 20}}}, tools=tools)
    assert (told(run), run.seconds, run.final_text) == ([f"Tool 'slow' timed out after {after}."], 0.02, "done")


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "options", "sentence"),
    [
        (JS, {"tool_use_behavior": "stop_on_first_tool"}, "did you mean 'toolUseBehavior'"),
        (RUN, {"toolUseBehavior": "stop_on_first_tool"}, "did you mean 'tool_use_behavior'"),
        (JS, {"toolUseBehavior": "stop_on_first"}, "did you mean 'stop_on_first_tool'"),
        (JS, {"toolUseBehavior": {"stopAtToolNames": "add"}}, "expected a list of tool names"),
        (JS, {"errorHandlers": {"maxTurn": {"scripted": [None]}}}, "did you mean 'maxTurns'"),
        (JS, {"errorHandlers": {"maxTurns": "handled"}}, "expected a function"),
        (JS, {"errorHandlers": {"maxTurns": {"scripted": [{"output": 1}]}}}, "did you mean 'finalOutput'"),
        (JS, {"modelSettings": {"toolChoice": "always"}}, "expected auto, none, required"),
        (JS, {"resetToolChoice": "no"}, "expected true or false"),
        (RUN, {"run_config": {"tool_not_found_behavior": "ignore"}}, "expected return_error_to_model"),
        (JS, {"inputGuardrails": {"execute": {}}}, "expected a list of guardrails"),
        (JS, {"inputGuardrails": [{"execute": {"scripted": [None]}}]}, "but null came"),
        (
            JS,
            {"outputGuardrails": [{"execute": {"scripted": [{"tripwireTriggered": True}]}, "runInParallel": True}]},
            "unknown option",
        ),
        (JS, {"tools": {"slow": {"timeoutMs": 0}}}, "expected a positive number"),
        (JS, {"tools": {"slow": {"errorFunction": "text"}}}, "expected null"),
    ],
)
def test_a_mistake_in_the_tree_is_told_in_a_sentence(style, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        played(style, ROUND, options=options)


@pytest.mark.parametrize("style", ALL)
def test_every_option_is_listed_with_a_word_about_it(style):
    from agentsim.styles import find

    assert len(find(style).options) == 11
    assert all(find(style).options.values())
