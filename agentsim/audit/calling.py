"""Finding an agent by its name, and calling it: sync or async, whatever it gives."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from agentsim.errors import UsageError
from agentsim.http.environment import dummies_set


def load_object(name: str, what: str = "target") -> Any:
    """What "module:attribute" names; the current folder is looked in first. While it is imported, keys that are not set are dummies.

    Raises:
        UsageError: there is no such module or attribute, or importing it failed.
    """
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise UsageError(f"{what}: expected module:callable, but {name!r} came")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        with dummies_set():
            found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{what} {name!r}: {error}; modules are looked for in this folder and where Python looks"
        ) from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"{what} {name!r}: importing {module_name} raised {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{what} {name!r}: {module_name} has no {path!r}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{what} {name!r} is a {type(found).__name__} and can't be called")
    return found


def call_agent(agent: Callable[[str], Any], prompt: str) -> Any:
    """What an agent gives for a prompt: coroutines are awaited, generators are run to their end and texts joined."""
    value = agent(prompt)
    if inspect.isawaitable(value):
        return asyncio.run(_awaited(value))
    if inspect.isasyncgen(value):
        return asyncio.run(_collected(value))
    if inspect.isgenerator(value):
        return _joined(list(value))
    return value


async def _awaited(value: Any) -> Any:
    result = await value
    return await _collected(result) if inspect.isasyncgen(result) else result


async def _collected(value: Any) -> Any:
    return _joined([each async for each in value])


def _joined(values: list[Any]) -> Any:
    """What a generator gave: texts are one text."""
    return "".join(values) if values and all(isinstance(each, str) for each in values) else values or None
