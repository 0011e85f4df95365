"""What becomes of a tool's input on its way to the function."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.coerce import from_text

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "number"},
        "i": {"type": "integer"},
        "b": {"type": "boolean"},
        "l": {"type": "array"},
        "o": {"type": "object"},
        "s": {"type": "string"},
    },
}
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [("n", "5.5", 5.5), ("i", "5", 5), ("b", "true", True), ("l", "[1, 2]", [1, 2]), ("o", '{"k": 1}', {"k": 1})],
)
def test_a_text_that_is_such_a_value_becomes_it(key, text, value):
    assert from_text(SCHEMA, {key: text}) == {key: value}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("n", "abc"),
        ("n", ""),
        ("n", " 5 "),
        ("n", "NaN"),
        ("n", "true"),
        ("i", "5.5"),
        ("b", "yes"),
        ("b", "1"),
        ("l", "a"),
    ],
)
def test_another_text_stays_what_it_is(key, text):
    assert from_text(SCHEMA, {key: text}) == {key: text}


@given(st.dictionaries(st.sampled_from(["n", "i", "b", "l", "o", "s", "unknown"]), VALUES))
def test_only_texts_change(given_input):
    assert from_text(SCHEMA, given_input) == given_input


@given(st.sampled_from(["s", "unknown"]), VALUES)
def test_a_text_where_the_schema_wants_one_or_knows_nothing_stays(key, value):
    text = json.dumps(value)
    assert from_text(SCHEMA, {key: text}) == {key: text}
