"""The examples of the public docstrings do what they show."""

from __future__ import annotations

import asyncio
import doctest
import inspect

import anthropic
import pytest

import agentsim
from tests.docs.pages import ROOT

PUBLIC = {name: getattr(agentsim, name) for name in agentsim.__all__ if name not in ("__version__", "strategies")}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_is_true(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    known = {"agentsim": agentsim, "anthropic": anthropic, "asyncio": asyncio}
    [test] = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs=known)
    assert test.examples
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=printed.append)
    assert printed == []


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_described_and_so_are_its_members(name):
    value = PUBLIC[name]
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        members = {key: each for key, each in vars(value).items() if not key.startswith("_") and callable(each)}
        assert [key for key, each in members.items() if not each.__doc__] == []
