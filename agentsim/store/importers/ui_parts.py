"""UI messages as conversations: one message of the assistant's may hold several replies with their results between them."""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Block, ToolResult
from agentsim.store.building import ConversationBuilder


class UiMessage:
    """The assistant's message that is being read.

    Args:
        builder: where its replies go.
        place: of the message in its file.
    """

    def __init__(self, builder: ConversationBuilder, place: int) -> None:
        self._builder, self._place = builder, place
        self._blocks: list[Block] = []
        self._results: list[ToolResult] = []
        self._begun = self._split = False

    def step(self) -> None:
        """The message says that another reply begins."""
        self._close()
        self._begun, self._split = True, False

    def block(self, block: Block) -> None:
        """Something that the model said. Behind a result it is another reply, said or not."""
        if self._results:
            self._close()
            self._split = True
        self._begun = True
        self._blocks.append(block)

    def result(self, call_id: str, output: Any, is_error: bool = False) -> None:
        """A result; one that is there twice counts once."""
        if all(result.call_id != call_id for result in self._results):
            self._results.append(ToolResult(call_id, output, is_error))

    def close(self) -> None:
        """The message ends."""
        self._close()

    def _close(self) -> None:
        if self._begun:
            self._builder.reply(self._blocks, None, self._place, split=self._split)
        self._builder.say(*self._results)
        self._blocks, self._results, self._begun = [], [], False
