"""Rules of LangChain's styles that hold for any input: the super-step formula, and what becomes of cut JSON."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.styles import _langchain_json as partial
from agentsim.styles import find
from tests.styles.playing import played

HOOKS = ("beforeAgent", "beforeModel", "afterModel", "afterAgent")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text("abc\"\\é\n☃😀", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\"", max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text("abc", max_size=3), JSON, max_size=3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.sampled_from(HOOKS), min_size=1), max_size=3), st.integers(0, 3))
def test_a_run_takes_the_steps_that_the_formula_says(stack, rounds):
    nothing = {"scripted": [None]}
    middleware = [
        {"createMiddleware": {"name": str(at), **dict.fromkeys(hooks, nothing)}} for at, hooks in enumerate(stack)
    ]
    before_agent, before_model, after_model, after_agent = (sum(hook in hooks for hooks in stack) for hook in HOOKS)
    steps = before_agent + after_agent + (rounds + 1) * (before_model + 1 + after_model) + rounds
    replies = "- tool_use: {lookup: {key: a}}\n" * rounds + "- text: done"
    run = played("langchain-js/createAgent", replies, options={"middleware": middleware}, limit=steps + 1)
    assert (run.count, run.final_text) == (steps, "done")
    at_limit = played("langchain-js/createAgent", replies, options={"middleware": middleware}, limit=steps)
    assert (at_limit.returned, at_limit.model_calls) == ("error", rounds + 1)


@settings(max_examples=150, deadline=None)
@given(OBJECTS, st.booleans())
def test_whole_json_is_read_as_it_is(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert partial.javascript(text) == value
    assert partial.python(text) == value


@settings(max_examples=150, deadline=None)
@given(OBJECTS, st.data())
def test_every_beginning_of_an_object_is_an_object_with_no_new_keys(value, data):
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text)))]
    for read in (partial.javascript, partial.python):
        found = read(cut)
        assert isinstance(found, dict)
        assert all(any(key.startswith(own[: len(own)]) or own.startswith(key) for key in value) for own in found)


@settings(max_examples=150, deadline=None)
@given(st.text('{}[]",:0123 abtrue\\n', max_size=20))
def test_any_text_is_read_or_refused(text):
    for read in (partial.javascript, partial.python):
        try:
            read(text)
        except partial.Unreadable:
            pass


def test_the_formula_tells_its_terms_in_the_language_s_words():
    python, javascript = find("langchain/create_agent"), find("langchain-js/createAgent")
    assert python.formula(None, 3) == (
        "S = 0 before_agent + 0 after_agent + (3 + 1) × (0 before_model + 1 model + 0 after_model) + 3 tools = 7; "
        "recursion_limit ≥ S + 1 = 8"
    )
    limited = javascript.configure({"middleware": [{"modelCallLimitMiddleware": {"runLimit": 9}}]})
    assert javascript.formula(limited, 1) == (
        "S = 0 beforeAgent + 1 afterAgent + (1 + 1) × (1 beforeModel + 1 model + 1 afterModel) + 1 tools = 8; "
        "recursionLimit ≥ S + 1 = 9"
    )
