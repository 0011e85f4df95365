"""An agent's tools are found and their executions counted, however its code holds them."""

from __future__ import annotations

import importlib
import inspect
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsim.audit.watching import Watch

_numbers = itertools.count(1)

#: An agent that calls its tool `find` once for a request: how it holds the tool, and how it calls it.
AGENTS = {
    "a function of that name": ("def find(key): return key\n", "find('a')"),
    "a table of functions with other names": (
        "def _impl(key): return key\nTABLE = {'find': _impl}\n",
        "TABLE['find']('a')",
    ),
    "a table of bound methods": (
        "class Agent:\n"
        "    def __init__(self): self.table = {'find': self._impl}\n"
        "    def _impl(self, key): return key\n",
        "Agent().table['find']('a')",
    ),
    "a table of a function with a model of its arguments": (
        "class Arguments: pass\ndef _impl(key): return key\nTABLE = {'find': (Arguments, _impl)}\n",
        "TABLE['find'][1]('a')",
    ),
    "a table of partials": (
        "import functools\ndef _impl(store, key): return key\nTABLE = {'find': functools.partial(_impl, {})}\n",
        "TABLE['find']('a')",
    ),
    "objects with a name": (
        "class Tool:\n    def __init__(self, name, fn): self.name, self.fn = name, fn\n"
        "def _impl(key): return key\nTOOLS = [Tool('find', _impl)]\n",
        "TOOLS[0].fn('a')",
    ),
    "objects that are called": (
        "class Find:\n    name = 'find'\n    def __call__(self, key): return key\nTABLE = {'find': Find()}\n",
        "TABLE['find']('a')",
    ),
    "a table of entries that are tables": (
        "TABLE = {'find': {'description': 'Find.', 'run': lambda key: key}}\n",
        "TABLE['find']['run']('a')",
    ),
    "a decorated function": (
        "import functools\n"
        "def tool(function):\n"
        "    @functools.wraps(function)\n"
        "    def wrapper(*given): return function(*given)\n"
        "    return wrapper\n"
        "@tool\ndef find(key): return key\n@tool\ndef drop(key): return key\n",
        "find('a')",
    ),
    "a decorated function that runs in a thread": (
        "import functools, threading\n"
        "def tool(function):\n"
        "    @functools.wraps(function)\n"
        "    def wrapper(*given):\n"
        "        thread = threading.Thread(target=function, args=given)\n"
        "        thread.start()\n"
        "        thread.join()\n"
        "    return wrapper\n"
        "@tool\ndef find(key): return key\n",
        "find('a')",
    ),
    "a function that calls itself": ("def find(key): return find(key[1:]) if key else ''\n", "find('abc')"),
}


@pytest.fixture
def agent_module(tmp_path: Path) -> Iterator[Any]:
    """Makes a module of an agent's source: `run` is given a watch, and sends a request and calls the tool."""
    made: list[str] = []
    sys.path.insert(0, str(tmp_path))

    def make(source: str, call: str) -> Any:
        name = f"watched_agent_{next(_numbers)}"
        made.append(name)
        held = call.partition(".table")[0] if ".table" in call else "None"
        body = f"def run(watch):\n    agent = {held}\n    watch.request(['find', 'drop'])\n"
        text = call.replace(held, "agent", 1) if held != "None" else call
        (tmp_path / f"{name}.py").write_text(f"{source}\n{body}    return {text}\n", "utf-8")
        return importlib.import_module(name)

    yield make
    sys.path.remove(str(tmp_path))
    for name in made:
        sys.modules.pop(name, None)


def watched(module, folder):
    """What is seen of the tools while an agent runs."""
    watch = Watch(str(folder))
    watch.start()
    try:
        module.run(watch)
    finally:
        watch.stop()
    return watch


@pytest.mark.parametrize("how", AGENTS)
def test_one_execution_is_counted_once(agent_module, tmp_path, how):
    module = agent_module(*AGENTS[how])
    watch = watched(module, tmp_path)
    assert watch.seen == [(1, "find")]


@pytest.mark.parametrize("how", [how for how in AGENTS if "thread" not in how])
def test_a_tool_can_be_made_to_fail_and_is_itself_again_afterwards(agent_module, tmp_path, how):
    module = agent_module(*AGENTS[how])
    watch = Watch(str(tmp_path), fail=True)
    watch.start()
    try:
        with pytest.raises(RuntimeError, match="the audit makes it fail"):
            module.run(watch)
    finally:
        watch.stop()
    assert "find" in watch.failing
    assert (1, "find") in watch.seen
    module.run(Watch(str(tmp_path)))


def test_two_executions_are_two(agent_module, tmp_path):
    module = agent_module("def find(key): return key\n", "[find('a'), find('b')]")
    watch = watched(module, tmp_path)
    assert watch.seen == [(1, "find"), (1, "find")]


def test_a_wrapper_of_several_tools_alone_does_not_say_which_of_them_ran(agent_module, tmp_path):
    source = (
        "def wrapped(function):\n    def wrapper(key): return function(key)\n    return wrapper\n"
        "TABLE = {'find': wrapped(str.upper), 'drop': wrapped(str.lower)}\n"
    )
    module = agent_module(source, "TABLE['find']('a')")
    watch = watched(module, tmp_path)
    assert watch.seen == []


@pytest.mark.parametrize(
    "parameters",
    ["key", "key: str, limit: int = 5", "a, b=1, /, c=2, *rest, d, e=3, **more", "*, key", "self, /", "", "*given"],
)
def test_a_tool_that_is_made_to_fail_keeps_its_signature_which_agents_read(agent_module, tmp_path, parameters):
    module = agent_module(f"def find({parameters}): return 1\n", "None")
    before = inspect.signature(module.find)
    watch = Watch(str(tmp_path), fail=True)
    watch.request(["find"])
    try:
        assert inspect.signature(module.find) == before
    finally:
        watch.stop()
