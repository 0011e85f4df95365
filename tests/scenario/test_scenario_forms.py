"""What a key takes is said where another value came, and on the reference page."""

from __future__ import annotations

import pytest

import agentsim
from tools.reference.scenario import page


@pytest.mark.parametrize(
    ("entry", "form"),
    [
        (
            "disconnect: before",
            "expected a lost connection, got the text 'before'; it is a mapping with the keys before, after_characters, "
            "how, of which it needs before or after_characters",
        ),
        ("when: yesterday", "it is a mapping with the keys last_tool_result, prompt, of which it needs one"),
        (
            "request: x",
            "it is a mapping with the keys offers, answers, resumes, contains, matches, of which it needs one",
        ),
        (
            "error: overloaded",
            "expected an HTTP status, or {status, type, message, retry_after, after_characters}, got",
        ),
        ("chaos: {events: twice}", "it is a mapping with the keys repeat, swap, drop, restart, of which it needs one"),
        ("content: [Hello]", "it is a mapping with the key text, thinking, redacted_thinking, tool_use, "),
    ],
)
def test_a_value_of_another_kind_is_told_the_form_and_its_keys(entry, form):
    with pytest.raises(agentsim.ScenarioError) as told:
        agentsim.loads(f"agentsim: 1\nprompt: Hi\nreplies:\n  - {entry}\n")
    assert form in str(told.value)


@pytest.mark.parametrize(
    ("key", "takes"),
    [
        ("disconnect", "{before: `headers`, after_characters: whole number, how: `end`, `reset`, `refuse`, `stall`}"),
        ("error", "whole number or {status: whole number, type: text, message: text, retry_after: number, "),
        ("abort", "{before_reply: whole number, during: text}"),
        (
            "request",
            "{offers: list of: text, answers: `none` or name → null or a condition on a text, resumes: `true`, ",
        ),
        ("when", "{last_tool_result: a condition on a text, prompt: a condition on a text}"),
        (
            "events",
            "{repeat: whole number, swap: whole number, drop: whole number, restart: whole number} or list of: ",
        ),
    ],
)
def test_the_reference_shows_the_keys_of_a_mapping_and_what_they_take(key, takes):
    assert f"| `{key}` | {takes}" in page()


def test_the_reference_says_any_json_value_only_where_any_is_taken():
    anything = {line.split("`")[1] for line in page().splitlines() if line.split(" | ")[1:2] == ["any JSON value"]}
    assert anything == {"returns", "output"}
