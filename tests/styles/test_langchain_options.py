"""LangChain's options: each statement about one, as it was measured on both packages."""

from __future__ import annotations

import pytest

from agentsim.errors import UsageError
from agentsim.judge.simulate import prepare
from agentsim.scenario.load import loads
from agentsim.styles import find
from tests.styles.claims import claim
from tests.styles.playing import played, requests_of, told

JS, PY = "langchain-js/createAgent", "langchain/create_agent"
ENDLESS = """
- tool_use: {lookup: {key: a}}
  repeat: forever
"""
ANSWER = "- text: done"
ONE_ROUND = "- tool_use: {lookup: {key: a}}\n- text: done"
THREE_ROUNDS = (
    "- tool_use: {lookup: {key: a}}\n- tool_use: {lookup: {key: b}}\n- tool_use: {lookup: {key: c}}\n- text: done"
)
TWO_CALLS = "- tool_use: [{lookup: {key: a}}, {lookup: {key: b}}]\n- text: done"
GATED = """
tools:
  lookup: {input: {key: string}, returns: "value of {key}", approval: required, approved: true}
  add: {input: {a: number, b: number}, returns: "3"}
"""
OUTPUT = "output: {schema: {type: object, properties: {city: {type: string}}, required: [city]}}"


def js(*middleware, **options):
    """A tree of createAgent."""
    return {"middleware": list(middleware), **options}


def probe(name, *hooks):
    """A middleware of each language whose hooks return nothing."""
    nothing = {"scripted": [None]}
    handler = {"scripted": ["handler"]}
    camel = {hook: hook.split("_")[0] + "".join(word.capitalize() for word in hook.split("_")[1:]) for hook in hooks}
    return {
        JS: {"createMiddleware": {"name": name} | {camel[h]: handler if "wrap" in h else nothing for h in hooks}},
        PY: {"AgentMiddleware": {"name": name} | {h: handler if "wrap" in h else nothing for h in hooks}},
    }


def jump(hook, *targets, allowed=("model", "tools", "end"), name="Jump"):
    """A middleware of each language whose hook jumps."""
    camel = hook.split("_")[0] + hook.split("_")[1].capitalize()
    made = {}
    for style, kind, key, can, to in (
        (JS, "createMiddleware", camel, "canJumpTo", "jumpTo"),
        (PY, "AgentMiddleware", hook, "can_jump_to", "jump_to"),
    ):
        values = [None if target is None else {to: target} for target in targets]
        made[style] = {kind: {"name": name, key: {can: list(allowed), "hook": {"scripted": values}}}}
    return made


# -- nodes ------------------------------------------------------------------------------------------------------------

BUILT_IN = {
    "modelCallLimit": {
        JS: {"modelCallLimitMiddleware": {"runLimit": 99}},
        PY: {"ModelCallLimitMiddleware": {"run_limit": 99}},
    },
    "toolCallLimit": {
        JS: {"toolCallLimitMiddleware": {"runLimit": 99}},
        PY: {"ToolCallLimitMiddleware": {"run_limit": 99}},
    },
    "humanInTheLoop": {
        JS: {"humanInTheLoopMiddleware": {"interruptOn": {"add": True}}},
        PY: {"HumanInTheLoopMiddleware": {"interrupt_on": {"add": True}}},
    },
    "summarization": {
        JS: {"summarizationMiddleware": {"trigger": {"messages": 99}}},
        PY: {"SummarizationMiddleware": {"trigger": ["messages", 99]}},
    },
    "toolRetry": {JS: "toolRetryMiddleware", PY: "ToolRetryMiddleware"},
    "modelRetry": {JS: "modelRetryMiddleware", PY: "ModelRetryMiddleware"},
    "toolError": {
        JS: {"toolErrorMiddleware": {"onError": {"scripted": ["handled"]}}},
        PY: {"ToolErrorMiddleware": {"on_error": {"scripted": ["handled"]}}},
    },
}
BOTH = ("before_model", "after_model")
STACKS = {
    "none": ([], (1, 3, 7), (1, 3, 7)),
    "beforeModel": ([probe("A", "before_model")], (2, 5, 11), (2, 5, 11)),
    "afterModel": ([probe("A", "after_model")], (2, 5, 11), (2, 5, 11)),
    "both": ([probe("A", *BOTH)], (3, 7, 15), (3, 7, 15)),
    "beforeAgent": ([probe("A", "before_agent")], (2, 4, 8), (2, 4, 8)),
    "afterAgent": ([probe("A", "after_agent")], (2, 4, 8), (2, 4, 8)),
    "wrapModelCall": ([probe("A", "wrap_model_call")], (1, 3, 7), (1, 3, 7)),
    "wrapToolCall": ([probe("A", "wrap_tool_call")], (1, 3, 7), (1, 3, 7)),
    "all six": (
        [probe("A", "before_agent", *BOTH, "after_agent", "wrap_model_call", "wrap_tool_call")],
        (5, 9, 17),
        (5, 9, 17),
    ),
    "two with both": ([probe("A", *BOTH), probe("B", *BOTH)], (5, 11, 23), (5, 11, 23)),
    "modelCallLimit": ([BUILT_IN["modelCallLimit"]], (4, 8, 16), (3, 7, 15)),
    "toolCallLimit": ([BUILT_IN["toolCallLimit"]], (3, 6, 12), (2, 5, 11)),
    "humanInTheLoop": ([BUILT_IN["humanInTheLoop"]], (2, 5, 11), (2, 5, 11)),
    "summarization": ([BUILT_IN["summarization"]], (2, 5, 11), (2, 5, 11)),
    "toolRetry": ([BUILT_IN["toolRetry"]], (1, 3, 7), (1, 3, 7)),
    "modelRetry": ([BUILT_IN["modelRetry"]], (1, 3, 7), (1, 3, 7)),
    "toolError": ([BUILT_IN["toolError"]], (1, 3, 7), (1, 3, 7)),
}


@pytest.mark.parametrize("style", [JS, PY])
@pytest.mark.parametrize("stack", STACKS)
def test_a_hook_is_a_node_that_costs_a_super_step_each_time(stack, style):
    assert claim("langchain.hooks-cost-one")
    middleware, in_javascript, in_python = STACKS[stack]
    steps = in_javascript if style == JS else in_python
    options = {"middleware": [entry[style] for entry in middleware]}
    for rounds, needed in zip((0, 1, 3), steps, strict=True):
        replies = "".join("- tool_use: {lookup: {key: a}}\n" for _ in range(rounds)) + ANSWER
        run = played(style, replies, options=options, limit=needed + 1)
        assert (run.final_text, run.count, run.least_limit) == ("done", needed, needed + 1)
        assert played(style, replies, options=options, limit=needed).error["type"] == "GraphRecursionError"


def test_the_models_default_limit_buys_six_round_trips_less_under_a_call_limit():
    assert claim("langchain.limit-costs-four")
    run = played(JS, THREE_ROUNDS, options=js({"modelCallLimitMiddleware": {"runLimit": 9}}))
    assert run.count == 4 * 4  # and an afterAgent step at the natural end, in place of the last tools step


# -- modelCallLimit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "calls", "tools", "returned"),
    [(10, 3, 2, "error"), (15, 4, 3, "error"), (20, 5, 5, "error"), (25, 6, 6, "error"), (30, 8, 7, "error"), (31, 8, 7, "error"),
     (32, 8, 8, "error"), (33, 8, 8, "error"), (34, 8, 8, "answer"), (40, 8, 8, "answer")],
)  # fmt: skip
def test_run_limit_eight_needs_a_recursion_limit_of_34(limit, calls, tools, returned):
    assert claim("langchain.limit-8-under-20")
    assert claim("langchain.limit-8-under-40")
    assert claim("langchain.above-four-times").divergence
    options = js({"modelCallLimitMiddleware": {"runLimit": 8, "exitBehavior": "end"}})
    run = played(JS, ENDLESS, options=options, limit=limit)
    assert (run.model_calls, len(run.tool_runs), run.returned) == (calls, tools, returned)


def test_a_call_limit_returns_its_message_which_looks_like_an_answer():
    assert claim("langchain.limit-is-in-calls")
    assert claim("langchain.end-is-graceful").divergence
    run = played(JS, ENDLESS, options=js({"modelCallLimitMiddleware": {"runLimit": 2}}))
    assert run.final_text == "Model call limits exceeded: run level call limit reached with 2 model calls"
    assert (run.ended, run.returned, run.silent) == ("limit", "answer", True)
    run = played(PY, ENDLESS, options={"middleware": [{"ModelCallLimitMiddleware": {"run_limit": 2}}]})
    assert run.final_text == "Model call limits exceeded: run limit (2/2)"


def test_a_call_limit_may_throw_instead():
    run = played(JS, ENDLESS, options=js({"modelCallLimitMiddleware": {"runLimit": 2, "exitBehavior": "error"}}))
    assert (run.error["type"], run.model_calls, len(run.tool_runs)) == ("ModelCallLimitMiddlewareError", 2, 2)
    options = {"middleware": [{"ModelCallLimitMiddleware": {"run_limit": 2, "exit_behavior": "error"}}]}
    assert played(PY, ENDLESS, options=options).error["type"] == "ModelCallLimitExceededError"


def test_a_call_limit_of_zero_makes_no_call_and_a_natural_answer_is_untouched():
    assert played(JS, ENDLESS, options=js({"modelCallLimitMiddleware": {"runLimit": 0}})).model_calls == 0
    assert played(JS, ONE_ROUND, options=js({"modelCallLimitMiddleware": {"runLimit": 2}})).final_text == "done"


def test_javascript_never_forgets_a_run_limit_that_was_hit_and_python_begins_anew():
    more = "prompt: [go, again]"
    options = js({"modelCallLimitMiddleware": {"runLimit": 2}}, checkpointer=True)
    assert played(JS, ENDLESS, more=more, options=options).model_calls == 2
    options = {"middleware": [{"ModelCallLimitMiddleware": {"run_limit": 2}}], "checkpointer": True}
    assert played(PY, ENDLESS, more=more, options=options).model_calls == 4


def test_a_thread_limit_holds_over_runs_in_both():
    more = "prompt: [go, again]"
    options = js({"modelCallLimitMiddleware": {"threadLimit": 3}}, checkpointer=True)
    assert played(JS, ENDLESS, more=more, options=options).model_calls == 3
    options = {"middleware": [{"ModelCallLimitMiddleware": {"thread_limit": 3}}], "checkpointer": True}
    assert played(PY, ENDLESS, more=more, options=options).model_calls == 3


# -- toolCallLimit ----------------------------------------------------------------------------------------------------


def tool_limit(style, **settings):
    """A tool call limit; the settings in Python's spelling."""
    if style == PY:
        return {"middleware": [{"ToolCallLimitMiddleware": settings}]}
    names = {"run_limit": "runLimit", "tool_name": "toolName", "exit_behavior": "exitBehavior"}
    return js({"toolCallLimitMiddleware": {names[key]: value for key, value in settings.items()}})


@pytest.mark.parametrize("style", [JS, PY])
def test_the_first_calls_of_a_reply_are_those_that_are_allowed(style):
    run = played(style, TWO_CALLS, options=tool_limit(style, run_limit=1))
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]
    assert told(run) == ["Tool call limit exceeded. Do not make additional tool calls.", "value of a"]
    named = played(style, TWO_CALLS, options=tool_limit(style, run_limit=1, tool_name="lookup"))
    assert told(named)[0] == "Tool call limit exceeded. Do not call 'lookup' again."


def test_all_blocked_ends_the_run_in_javascript_and_asks_again_in_python():
    run = played(JS, ENDLESS, options=tool_limit(JS, run_limit=2))
    assert (run.model_calls, len(run.tool_runs), run.ended, run.silent) == (3, 2, "limit", True)
    run = played(PY, ENDLESS, options=tool_limit(PY, run_limit=2), limit=25)
    assert (run.error["type"], len(run.tool_runs)) == ("GraphRecursionError", 2)


@pytest.mark.parametrize("style", [JS, PY])
def test_end_runs_none_of_the_replys_calls(style):
    run = played(style, TWO_CALLS, options=tool_limit(style, run_limit=1, exit_behavior="end"))
    assert run.final_text == "Tool call limit reached: run limit exceeded (2/1 calls)."
    assert (run.tool_runs, run.returned, run.ended) == ((), "answer", "limit")


def test_end_with_other_calls_pending_throws_in_javascript_only():
    replies = "- tool_use: [{lookup: {key: a}}, {add: {a: 1, b: 2}}]\n- text: done"
    run = played(JS, replies, options=tool_limit(JS, run_limit=1, exit_behavior="end"))
    assert run.error["message"].startswith("Cannot end execution with other tool calls pending.")
    run = played(PY, replies, options=tool_limit(PY, run_limit=1, exit_behavior="end"))
    assert (run.returned, len(run.tool_runs)) == ("answer", 0)


@pytest.mark.parametrize("style", [JS, PY])
def test_end_gives_the_thread_its_calls_back_in_python_only(style):
    names = {PY: ("ToolCallLimitMiddleware", "thread_limit", "exit_behavior")}
    kind, thread_limit, behavior = names.get(style, ("toolCallLimitMiddleware", "threadLimit", "exitBehavior"))
    options = {"middleware": [{kind: {thread_limit: 1, behavior: "end"}}], "checkpointer": True}
    replies = f"- tool_use: [{{lookup: {{key: a}}}}, {{lookup: {{key: b}}}}]\n{ONE_ROUND}"
    run = played(style, replies, more="prompt: [go, again]", options=options)
    over = "Tool call limit reached: thread limit exceeded (2/1 calls)."
    assert (run.final_text, len(run.tool_runs)) == ((over, 0) if style == JS else ("done", 1))


@pytest.mark.parametrize("style", [JS, PY])
def test_error_throws_before_any_tool_of_the_reply(style):
    run = played(style, TWO_CALLS, options=tool_limit(style, run_limit=1, exit_behavior="error"))
    assert (run.error["type"], len(run.tool_runs)) == ("ToolCallLimitExceededError", 0)


# -- wrappers ---------------------------------------------------------------------------------------------------------


def test_any_wrap_tool_call_in_javascript_lets_a_throwing_tool_throw():
    boom = "- tool_use: {boom: {}}\n- text: done"
    assert played(JS, boom).final_text == "done"
    wrapped = {"middleware": [probe("A", "wrap_tool_call")[JS]]}
    assert played(JS, boom, options=wrapped).error == {"type": "Error", "message": "boom failed"}
    assert played(JS, "- tool_use: [{nope: {}}, {lookup: {}}]\n- text: done", options=wrapped).final_text == "done"


def test_several_thrown_errors_of_one_super_step_are_one_aggregate_in_javascript():
    wrapped = {"middleware": [probe("A", "wrap_tool_call")[JS]]}
    run = played(JS, "- tool_use: [{boom: {}}, {boom: {}}]", options=wrapped)
    assert run.error["type"] == "AggregateError"


def test_tool_retry_runs_the_tool_again_inside_one_step_then_says_so():
    boom = "- tool_use: {boom: {}}\n- text: done"
    run = played(JS, boom, options=js({"toolRetryMiddleware": {"maxRetries": 2}}))
    assert (len(run.tool_runs), run.tool_rounds, run.count, run.final_text) == (3, 1, 3, "done")
    assert told(run) == ["Tool 'boom' failed after 3 attempts with Error"]
    run = played(JS, boom, options=js({"toolRetryMiddleware": {"onFailure": "error"}}))
    assert (len(run.tool_runs), run.ended) == (3, "tool_error")
    python = {"middleware": ["ToolRetryMiddleware"]}
    assert told(played(PY, boom, options=python)) == [
        "Tool 'boom' failed after 3 attempts with Exception: boom failed. Please try again."
    ]


def test_a_schema_error_is_not_retried_into_a_run():
    run = played(JS, "- tool_use: {lookup: {}}\n- text: done", options=js("toolRetryMiddleware"))
    assert (len(run.tool_runs), run.final_text) == (0, "done")


def test_tool_errors_text_is_the_result():
    for style in (JS, PY):
        options = {"middleware": [BUILT_IN["toolError"][style]]}
        run = played(style, "- tool_use: {boom: {}}\n- text: done", options=options)
        assert (told(run), run.final_text) == (["handled"], "done")


def test_model_retry_on_a_client_error_is_a_message_in_javascript_and_an_error_in_python():
    run = played(JS, "- error: {status: 400, message: bad}", options=js("modelRetryMiddleware"))
    assert run.final_text.startswith("Model call failed after 1 attempt with BadRequestError: 400 ")
    assert (run.model_requests, run.ended, run.silent) == (1, "http_error", True)
    run = played(JS, "- error: 400", options=js({"modelRetryMiddleware": {"onFailure": "error"}}))
    assert run.returned == "error"
    run = played(PY, "- error: 400", options={"middleware": ["ModelRetryMiddleware"]})
    assert (run.returned, run.model_requests) == ("error", 1)


def test_model_retry_switches_javascripts_own_retries_off_and_multiplies_pythons():
    forever = "- {error: 500, repeat: 20}\n- text: done"
    assert played(JS, forever, options=js("modelRetryMiddleware")).model_requests == 3
    assert played(PY, forever, options={"middleware": ["ModelRetryMiddleware"]}).model_requests == 9


# -- jumps ------------------------------------------------------------------------------------------------------------


def test_after_model_to_model_drops_the_calls_and_asks_again():
    for style in (JS, PY):
        run = played(style, ONE_ROUND, options={"middleware": [jump("after_model", "model", None)[style]]})
        assert (len(run.tool_runs), run.model_calls, run.final_text) == (0, 2, "done")


def test_after_model_to_model_on_a_text_is_obeyed_in_python_only():
    replies = "- text: one\n- text: two"
    assert played(JS, replies, options={"middleware": [jump("after_model", "model", None)[JS]]}).final_text == "one"
    assert played(PY, replies, options={"middleware": [jump("after_model", "model", None)[PY]]}).final_text == "two"


def test_after_model_to_end_leaves_the_calls_pending():
    for style in (JS, PY):
        run = played(style, ONE_ROUND, options={"middleware": [jump("after_model", "end")[style]]})
        assert (run.ended, len(run.tool_runs), run.returned) == ("stop_condition", 0, "answer")


def test_before_model_to_end_skips_after_agent_in_javascript_only():
    for style, steps in ((JS, 1), (PY, 2)):
        middleware = [probe("Last", "after_agent")[style], jump("before_model", "end")[style]]
        run = played(style, ONE_ROUND, options={"middleware": middleware})
        assert (run.count, run.model_calls, run.final_text) == (steps, 0, "go")


def test_before_agent_to_end_makes_no_call_and_runs_after_agent():
    for style in (JS, PY):
        middleware = [probe("Last", "after_agent")[style], jump("before_agent", "end")[style]]
        run = played(style, ONE_ROUND, options={"middleware": middleware})
        assert (run.count, run.model_calls) == (2, 0)


def test_after_agent_to_model_asks_again():
    for style in (JS, PY):
        run = played(
            style, "- text: one\n- text: two", options={"middleware": [jump("after_agent", "model", None)[style]]}
        )
        assert (run.model_calls, run.final_text) == (2, "two")


OLD_CALL = """
messages:
- user: go
- assistant: {tool_use: {lookup: {key: a}}}
- user: and now
"""


@pytest.mark.parametrize("style", [JS, PY])
def test_a_jump_to_the_tools_runs_the_calls_of_the_reply_that_the_run_was_given(style):
    middleware = [jump("before_model", "tools", None)[style]]
    run = played(style, "- text: done", more=OLD_CALL, options={"middleware": middleware})
    assert ([r.input for r in run.tool_runs], run.final_text) == ([{"key": "a"}], "done")


@pytest.mark.parametrize("style", [JS, PY])
def test_a_run_that_ends_before_the_model_returns_the_last_message_s_text_a_given_result_s_too(style):
    given = OLD_CALL.replace("- user: and now", "- tool_result: {for: call_1, content: found}")
    run = played(style, "- text: done", more=given, options={"middleware": [jump("before_model", "end")[style]]})
    assert (run.final_text, run.model_calls) == ("found", 0)


def test_javascript_refuses_a_jump_that_can_jump_to_does_not_name():
    run = played(JS, ONE_ROUND, options={"middleware": [jump("before_model", "end", allowed=["model"])[JS]]})
    assert run.error["message"] == "Invalid jump target: end, must be one of: model.."


# -- approvals --------------------------------------------------------------------------------------------------------


def test_an_interrupt_comes_before_any_tool_and_the_answer_resumes():
    for style in (JS, PY):
        waiting = played(style, ONE_ROUND, tools=GATED.replace(", approved: true", ""))
        assert (waiting.ended, waiting.returned, len(waiting.tool_runs)) == ("approval", "stopped", 0)
        run = played(style, ONE_ROUND, tools=GATED)
        assert (run.final_text, run.count) == ("done", 5)  # model, interrupt (not counted), and its node again …


@pytest.mark.parametrize(("limit", "nodes"), [(3, 5), (4, 6), (5, 7), (8, 10)])
def test_a_resume_gets_two_node_runs_more_than_the_limit(limit, nodes):
    gated_once = GATED.replace("approved: true", "approved: true")
    replies = "- tool_use: {lookup: {key: a}}\n- tool_use: {add: {a: 1, b: 2}}\n  repeat: forever"
    run = played(JS, replies, tools=gated_once, limit=limit)
    assert (run.error["type"], run.count) == ("GraphRecursionError", 1 + nodes)


def test_an_interrupt_in_the_last_allowed_step_is_returned():
    assert played(JS, ONE_ROUND, tools=GATED.replace(", approved: true", ""), limit=2).ended == "approval"


def test_rejected_edited():
    rejected = GATED.replace("approved: true", "approved: {reject: not now}")
    assert told(played(JS, ONE_ROUND, tools=rejected)) == ["not now"]
    assert told(played(PY, ONE_ROUND, tools=rejected)) == [
        "User rejected the tool call for `lookup` with reason: not now"
    ]
    edited = GATED.replace("approved: true", "approved: {edit: {key: z}}")
    for style in (JS, PY):
        assert [r.input for r in played(style, ONE_ROUND, tools=edited).tool_runs] == [{"key": "z"}]
    assert told(played(PY, ONE_ROUND, tools=edited))[0].startswith("Note: a human reviewer replaced this tool call")


def test_one_rejected_of_several_drops_the_others_in_javascript_and_runs_them_in_python():
    more = "approvals: [[{approve: call_1}, {reject: call_2, message: no}]]"
    tools = GATED.replace(", approved: true", "")
    run = played(JS, TWO_CALLS, more=more, tools=tools)
    assert len(run.tool_runs) == 0
    assert requests_of(run)[1] == ["assistant:tool_use(lookup)+tool_use(lookup)", "user:tool_result(call_2)"]
    run = played(PY, TWO_CALLS, more=more, tools=tools)
    assert [r.input for r in run.tool_runs] == [{"key": "a"}]


def test_decisions_have_to_be_as_many_as_the_calls():
    run = played(JS, TWO_CALLS, more="approvals: [[{approve: call_1}]]", tools=GATED.replace(", approved: true", ""))
    assert run.error["message"] == "Number of human decisions (1) does not match number of hanging tool calls (2)."


def test_without_a_checkpointer_javascript_throws_and_python_returns_the_interrupt():
    run = played(JS, ONE_ROUND, options=js({"humanInTheLoopMiddleware": {"interruptOn": {"lookup": True}}}))
    assert (run.error["type"], len(run.tool_runs)) == ("GraphValueError", 0)
    options = {"middleware": [{"HumanInTheLoopMiddleware": {"interrupt_on": {"lookup": True}}}]}
    assert played(PY, ONE_ROUND, options=options).ended == "approval"


def test_javascript_carries_the_run_count_over_a_resume_and_python_begins_anew():
    options = js({"modelCallLimitMiddleware": {"runLimit": 2}})
    assert played(JS, THREE_ROUNDS, tools=GATED, options=options).model_calls == 2
    options = {"middleware": [{"ModelCallLimitMiddleware": {"run_limit": 2}}]}
    assert played(PY, THREE_ROUNDS, tools=GATED, options=options).model_calls == 4


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_a_summary_takes_the_next_reply_and_is_no_model_step():
    replies = "- tool_use: {lookup: {key: a}}\n- tool_use: {lookup: {key: b}}\n- text: the summary\n- text: done"
    run = played(
        JS, replies, options=js({"summarizationMiddleware": {"trigger": {"messages": 4}, "keep": {"messages": 2}}})
    )
    assert (run.final_text, run.model_calls, run.count) == ("done", 4, 8)
    assert requests_of(run)[3][0] == "user:text"
    options = {"middleware": [{"SummarizationMiddleware": {"trigger": ["messages", 4], "keep": ["messages", 2]}}]}
    assert played(PY, replies, options=options).count == 8


def test_javascript_with_max_concurrency_one_runs_only_the_first_call_and_returns():
    run = played(JS, TWO_CALLS, options={"maxConcurrency": 1})
    assert (len(run.tool_runs), run.model_calls, run.returned, run.ended) == (1, 1, "answer", "dropped_calls")
    assert run.silent
    for options in ({"maxConcurrency": 2}, {"maxConcurrency": 1, "version": "v1"}):
        assert played(JS, TWO_CALLS, options=options).final_text == "done"
    assert played(PY, TWO_CALLS, options={"max_concurrency": 1}).final_text == "done"


def test_python_with_one_worker_hangs_where_the_model_is_streamed():
    run = played(PY, ANSWER, options={"max_concurrency": 1}, stream=True)
    assert (run.ended, run.model_requests) == ("unbounded", 0)
    assert played(PY, TWO_CALLS, options={"max_concurrency": 2}, stream=True).final_text == "done"


def test_tools_overlap_as_the_language_lets_them():
    slow = "tools:\n  slow: {input: {key: string}, returns: ok, seconds: 1}"
    replies = f"- tool_use: [{', '.join('{slow: {key: a}}' for _ in range(12))}]\n- text: done"
    assert played(JS, replies, tools=slow).seconds == 1
    assert played(JS, replies, tools=slow, options={"maxConcurrency": 3}).seconds == 4
    assert played(PY, replies, tools=slow).seconds == 2
    assert played(PY, replies, tools=slow, options={"max_concurrency": 1}).seconds == 12


def test_versions_take_the_same_steps():
    for version in ("v1", "v2"):
        run = played(JS, TWO_CALLS, options={"version": version})
        assert (run.count, len(run.tool_runs)) == (3, 2)


def test_with_config_replaces_the_default_and_the_calls_own_limit_wins():
    for style, options in ((JS, {"withConfig": {"recursionLimit": 4}}), (PY, {"with_config": {"recursion_limit": 4}})):
        run = played(style, ENDLESS, options=options)
        assert (run.model_calls, run.limit, run.limit_is_default) == (2, 4, True)
        assert played(style, ENDLESS, options=options, limit=6).model_calls == 3


def test_the_budget_is_per_run_on_a_thread_and_an_odd_limit_leaves_a_call_unanswered():
    run = played(JS, "- tool_use: {lookup: {key: a}}\n- tool_use: {lookup: {key: b}}\n- text: done", more="prompt: [go, again]",
                 options={"checkpointer": True}, limit=3)  # fmt: skip
    assert run.final_text == "done"
    assert requests_of(run)[-1][-2:] == ["assistant:tool_use(lookup)", "user:text"]
    assert run.refused_requests


# -- structured output ------------------------------------------------------------------------------------------------


def output(style, strategy="tool", **settings):
    """The strategy in each language's words."""
    name = strategy.capitalize() + "Strategy"
    if style == PY:
        return {"response_format": {name: settings} if settings else name}
    return {"responseFormat": {name[0].lower() + name[1:]: settings} if settings else name[0].lower() + name[1:]}


def test_the_output_call_ends_the_run_inside_the_model_step():
    for style in (JS, PY):
        run = played(style, "- output: {city: Rome}", more=OUTPUT, options=output(style))
        assert (run.count, run.least_limit, run.returned, run.ended) == (1, 2, "answer", "answer")
        replies = "- tool_use: {lookup: {key: a}}\n- output: {city: Rome}"
        assert played(style, replies, more=OUTPUT, options=output(style)).count == 3
    run = played(JS, "- output: {city: Rome}", more=OUTPUT, options=output(JS))
    assert run.final_text == 'Returning structured response: {"city":"Rome"}'


def test_a_wrong_output_is_asked_for_again_at_one_step_a_try_or_thrown():
    for style, handle in ((JS, "handleError"), (PY, "handle_errors")):
        replies = "- output: {wrong: 1}\n- output: {city: Rome}"
        run = played(style, replies, more=OUTPUT, options=output(style))
        assert (run.count, run.model_calls, run.ended) == (2, 2, "answer")
        run = played(style, replies, more=OUTPUT, options=output(style, **{handle: False}))
        assert (run.returned, run.model_calls) == ("error", 1)
    forever = "- output: {wrong: 1}\n  repeat: forever"
    assert played(JS, forever, more=OUTPUT, options=output(JS)).model_calls == 25


def test_other_calls_beside_the_output_are_dropped_in_javascript_and_run_in_python():
    replies = "- content: [{tool_use: {name: lookup, input: {key: a}}}, {output: {city: Rome}}]\n- text: done"
    run = played(JS, replies, more=OUTPUT, options=output(JS))
    assert (len(run.tool_runs), run.count) == (0, 1)
    run = played(PY, replies, more=OUTPUT, options=output(PY))
    assert (len(run.tool_runs), run.count) == (1, 2)


def test_a_text_in_place_of_the_output_call_is_a_plain_answer_but_python_without_tools_asks_for_ever():
    for style in (JS, PY):
        assert played(style, "- text: hello", more=OUTPUT, options=output(style)).final_text == "hello"
    run = played(PY, "- text: hello\n  repeat: forever", more=OUTPUT, tools="", options=output(PY), limit=60)
    assert (run.model_calls, run.ended) == (60, "limit")


def test_the_providers_format_costs_a_plain_answer_and_unreadable_text_throws():
    for style in (JS, PY):
        options = output(style, "provider")
        assert played(style, '- text: \'{"city": "Rome"}\'', more=OUTPUT, options=options).count == 1
        run = played(style, "- {text: '{\"ci', stop_reason: max_tokens}", more=OUTPUT, options=options)
        assert (run.returned, run.ended) == ("error", "max_tokens")


# -- return_direct ----------------------------------------------------------------------------------------------------

DIRECT = """
tools:
  direct: {input: {key: string}, returns: "direct {key}", return_direct: true}
  lookup: {input: {key: string}, returns: "value of {key}"}
  dboom: {raises: boom failed, return_direct: true}
"""


def test_a_direct_result_is_the_answer():
    assert claim("langchain.direct-is-a-signal").divergence
    for style in (JS, PY):
        run = played(style, "- tool_use: {direct: {key: a}}\n- text: done", tools=DIRECT)
        assert (run.final_text, run.ended, run.count, run.model_calls) == ("direct a", "tool_result", 2, 1)


def test_beside_others_the_last_result_decides_in_javascript_and_all_of_them_in_python():
    direct_last = "- tool_use: [{lookup: {key: b}}, {direct: {key: a}}]\n- text: done"
    direct_first = "- tool_use: [{direct: {key: a}}, {lookup: {key: b}}]\n- text: done"
    run = played(JS, direct_last, tools=DIRECT)
    assert (run.final_text, run.count, run.model_calls) == ("direct a", 3, 1)
    assert played(JS, direct_first, tools=DIRECT).final_text == "done"
    assert played(PY, direct_last, tools=DIRECT).final_text == "done"


def test_an_error_of_a_direct_tool_goes_back_to_the_model_in_javascript_only():
    bad = "- tool_use: {direct: {}}\n- text: done"
    assert played(JS, bad, tools=DIRECT).final_text == "done"
    run = played(PY, bad, tools=DIRECT)
    assert run.final_text.startswith("Error invoking tool 'direct'")
    assert played(PY, "- tool_use: {dboom: {}}", tools=DIRECT).ended == "tool_error"


# -- trees ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "tree", "words"),
    [
        (JS, {"middlewares": []}, "did you mean 'middleware'?"),
        (JS, {"middleware": ["modelCallLimitMidleware"]}, "did you mean 'modelCallLimitMiddleware'?"),
        (JS, {"middleware": [{"modelCallLimitMiddleware": {"run_limit": 1}}]}, "did you mean 'runLimit'?"),
        (PY, {"middleware": [{"ModelCallLimitMiddleware": {"runLimit": 1}}]}, "did you mean 'run_limit'?"),
        (PY, {"middleware": ["ModelCallLimitMiddleware"]}, "At least one limit must be specified"),
        (JS, {"middleware": ["toolRetryMiddleware", "toolRetryMiddleware"]}, "is defined multiple times"),
        (JS, {"middleware": [{"summarizationMiddleware": {"keep": {"messages": 2}}}]}, r"missing, as \{messages: n\}"),
        (PY, {"middleware": [{"SummarizationMiddleware": {"keep": ["messages", 2]}}]}, r"missing, as \[messages, n\]"),
        (JS, {"version": "v3"}, "expected v1 or v2"),
        (PY, {"version": "v1"}, "unknown option 'version'"),
        (JS, {"maxConcurrency": 0}, "expected an integer, at least 1"),
        (JS, {"middleware": [{"createMiddleware": {"beforeModel": 5}}]}, "expected a function"),
    ],
)
def test_a_tree_with_a_mistake_is_an_error_that_says_where(style, tree, words):
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        prepare(loads("agentsim: 1\nprompt: go\nreplies:\n- text: done"), find(style), options=tree)


def test_the_react_agents_take_no_options():
    with pytest.raises(UsageError, match="takes no options"):
        played("langchain-js/createReactAgent", ANSWER, options={"version": "v2"})


@pytest.mark.parametrize("wire", ["anthropic-messages"])
def test_an_empty_reply_is_sent_while_it_is_the_last_message_and_left_out_once_another_follows(wire):
    jump = {"can_jump_to": ["model"], "hook": {"scripted": [{"jump_to": "model"}, {"jump_to": "model"}, None]}}
    tree = {"middleware": [{"AgentMiddleware": {"name": "J", "after_agent": jump}}]}
    run = played("langchain/create_agent", "- text: ''\n- text: more\n- text: done", options=tree, wire=wire)
    assert requests_of(run) == [["user:text"], ["assistant:"], ["assistant:text"]]
    assert [request["rule"] for request in run.refused_requests] == ["no_prefill", "no_prefill"]
