"""Arguments for a tool of which only the schema is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.scenario.arguments import arguments_for, fitting_arguments


def made(schema: Any) -> Any:
    """The value of one required property with this schema, which the validator takes."""
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    arguments, fits = fitting_arguments(whole)
    assert fits, arguments
    return arguments["x"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "a"), ({"type": "string", "minLength": 3}, "aaa"), ({"type": "string", "maxLength": 0}, ""),
        ({"type": "integer"}, 1), ({"type": "integer", "minimum": 5}, 5), ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3), ({"type": "integer", "minimum": 2.5}, 3), ({"type": "integer", "multipleOf": 4}, 4),
        ({"type": "number", "minimum": 2.5}, 2.5), ({"type": "boolean"}, False), ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1), ({"enum": ["b", "c"]}, "b"), ({"const": {"k": 1}}, {"k": 1}),
        ({"type": "string", "default": "d"}, "d"), ({"type": "string", "examples": ["e"]}, "e"),
        ({"type": "array", "items": {"type": "integer"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True}, [1, 2]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}, ["a", "a1"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 2}, [1, "a"]),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]}, {"a": 1}),
        ({"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}, "minProperties": 1}, {"a": "a"}),
        ({"type": "string", "format": "date"}, "2026-01-01"), ({"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}, "AAA-0"),
        ({"type": "string", "pattern": r"^(yes|no)\s\w.$"}, "yes aa"), ({}, "a"),
    ],
)  # fmt: skip
def test_the_smallest_sensible_value_is_made(schema: Any, value: Any) -> None:
    assert made(schema) == value


def test_only_what_is_required_is_given_in_the_order_of_the_schema() -> None:
    schema = {"properties": {"a": {}, "b": {"type": "integer"}, "c": {}}, "required": ["c", "b", "z"]}
    assert list(arguments_for(schema).items()) == [("b", 1), ("c", "a"), ("z", "a")]


def test_what_is_written_is_kept() -> None:
    assert arguments_for({"properties": {"a": {}}, "required": ["a"]}, {"b": 2, "a": None}) == {"a": None, "b": 2}


def test_local_references_are_followed_and_circles_end() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"$ref": "#/$defs/n"}},
        "required": ["n"],
    }
    assert made_with({"$ref": "#/$defs/node"}, {"node": node, "n": {"type": "integer"}}) == {"n": 1}
    endless = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    arguments_for({"$ref": "#/$defs/node", "$defs": {"node": endless}})
    arguments_for({"$ref": "#"})
    arguments_for({"$ref": "#/nowhere"})


def made_with(schema: Any, defs: Any) -> Any:
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": defs}
    arguments, fits = fitting_arguments(whole)
    assert fits
    return arguments["x"]


@pytest.mark.parametrize(
    "schema", [None, True, 5, [], {"type": 5}, {"properties": 5, "required": 5}, {"type": "object", "required": [5]}]
)
def test_a_schema_that_is_none_gives_something_all_the_same(schema: Any) -> None:
    assert arguments_for(schema) == {}


simple = st.one_of(
    st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        st.integers(-99, 99),
        st.integers(0, 9),
    ),
    st.builds(
        lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.builds(
        lambda least, most: {"type": "number", "exclusiveMinimum": least, "maximum": least + most},
        st.integers(-9, 9),
        st.integers(1, 9),
    ),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"enum": [3]}, {"type": "integer", "multipleOf": 7}, {}]),
)
nested = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(lambda items, n: {"type": "array", "items": items, "minItems": n}, inner, st.integers(0, 3)),
        st.builds(
            lambda props: {
                "type": "object",
                "properties": props,
                "required": list(props),
                "additionalProperties": False,
            },
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
        ),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=6,
)


@given(nested)
def test_what_tools_ask_for_can_be_made(schema: Any) -> None:
    made(schema)
