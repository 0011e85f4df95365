"""Every strictness rule has a name that can be switched off, and no other name is taken."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import agentsim
from agentsim.wire.rules import RULES, check_off

WIRE = Path(agentsim.__file__).parent / "wire"


def test_the_names_are_those_in_the_code():
    said = {
        each.value
        for path in WIRE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Complaint", "Broken") and node.args
        for each in ast.walk(node.args[0])
        if isinstance(each, ast.Constant)
    }
    assert {name for name in RULES if name not in said} == {"answers_come_first"}  # chosen before it is said
    assert said - set(RULES) == set()
    assert list(RULES) == sorted(set(RULES))


def test_a_name_that_no_rule_has_is_a_mistake():
    check_off(["all", "no_prefill"])
    with pytest.raises(agentsim.UsageError, match="did you mean 'no_prefill'"):
        check_off(["no_prefil"])
    with pytest.raises(agentsim.UsageError, match="there is no strictness rule 'foo'"):
        agentsim.play({"agentsim": 1, "prompt": "a", "replies": []}, off=["foo"])
