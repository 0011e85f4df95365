"""The careful loops: an audit finds nothing in any of them."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
from collections.abc import Callable
from typing import Any

from tests.zoo.chat import AsyncChat, Chat, StreamedChat
from tests.zoo.claude import AsyncClaude, Claude, StreamedClaude
from tests.zoo.responses import AsyncResponses, Responses, StreamedResponses
from tests.zoo.tools import run_tool


def claude(prompt: str) -> Any:
    return Claude(prompt).run()


def claude_streamed(prompt: str) -> Any:
    return StreamedClaude(prompt).run()


async def claude_async(prompt: str) -> Any:
    return await AsyncClaude(prompt).arun()


def responses(prompt: str) -> Any:
    return Responses(prompt).run()


def responses_stored(prompt: str) -> Any:
    loop = Responses(prompt)
    loop.stored = True
    return loop.run()


def responses_streamed(prompt: str) -> Any:
    return StreamedResponses(prompt).run()


async def responses_async(prompt: str) -> Any:
    return await AsyncResponses(prompt).arun()


def chat(prompt: str) -> Any:
    return Chat(prompt).run()


def chat_streamed(prompt: str) -> Any:
    return StreamedChat(prompt).run()


async def chat_async(prompt: str) -> Any:
    return await AsyncChat(prompt).arun()


# --- in other words: what an audit once found in a careful loop, because it could not read its code or its results ----------


def logged(function: Callable[..., str]) -> Callable[..., str]:
    """A decorator, as tools have them."""

    @functools.wraps(function)
    def wrapper(**given: Any) -> str:
        return function(**given)

    return wrapper


_walks = itertools.count(1)


@logged
def lookup(key: str, depth: int = 2) -> str:
    """Goes down a tree: a tool that calls itself runs once."""
    return lookup(key=f"{key}/a", depth=depth - 1) if depth else f"value of {key}, {next(_walks)}"


class Decorated(Claude):
    """Its tool is decorated and calls itself, and what it takes is read from its signature."""

    def run_tool(self, name: str, given: Any) -> tuple[str, bool]:
        wanted = inspect.signature(lookup).parameters
        if name != "lookup" or not isinstance(given, dict) or set(given) - set(wanted) or not self.fits(given):
            return "Error: no such call; the tool was not run", True
        try:
            return lookup(**given), False
        except Exception as error:
            return f"Error: {error}", True

    def fits(self, given: dict[str, Any]) -> bool:
        """Whether arguments are as the schema has them."""
        return set(given) == {"key"} and isinstance(given["key"], str)


def claude_decorated(prompt: str) -> Any:
    return Decorated(prompt).run()


class SaysNotOk(Chat):
    """Results are objects; of one that failed the flag says so, in no words of an error."""

    def run_tool(self, name: str, given: Any) -> tuple[str, bool]:
        output, failed = run_tool(name, given)
        said = {"ok": False, "hint": "see the list of tools"} if failed else {"ok": True, "value": output}
        return json.dumps(said), failed


def chat_not_ok(prompt: str) -> Any:
    return SaysNotOk(prompt).run()


CAREFUL = (
    "claude", "claude_streamed", "claude_async", "responses", "responses_stored", "responses_streamed", "responses_async",
    "chat", "chat_streamed", "chat_async", "claude_decorated", "chat_not_ok",
)  # fmt: skip
