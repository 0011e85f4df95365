"""The careful loops: an audit finds nothing in any of them."""

from __future__ import annotations

from typing import Any

from tests.zoo.chat import AsyncChat, Chat, StreamedChat
from tests.zoo.claude import AsyncClaude, Claude, StreamedClaude
from tests.zoo.responses import AsyncResponses, Responses, StreamedResponses


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


CAREFUL = (
    "claude", "claude_streamed", "claude_async", "responses", "responses_stored", "responses_streamed", "responses_async",
    "chat", "chat_streamed", "chat_async",
)  # fmt: skip
