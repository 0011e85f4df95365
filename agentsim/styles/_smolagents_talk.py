"""smolagents' memory as it is sent: texts of two roles, of which those that follow each other are one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.core.messages import Message, Role, Text, ToolCall, ToolResult
from agentsim.core.run import Run

if TYPE_CHECKING:
    from agentsim.styles._smolagents_steps import Step

RETRY_NOW = "Now let's retry: take care not to repeat previous errors!"


class Talk:
    """What the model reads, on top of a run's history.

    A history from elsewhere (`messages:`, the prompt) is made text first: a text of the same role that follows joins the one before.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        start = next((at for at, message in enumerate(run.history) if not plain(message)), len(run.history) - 1)
        start = max(0, start)
        fresh = run.history[start:]
        run.rewrite(start)
        for message in fresh:
            self.say(message.role, as_text(message))

    def say(self, role: Role, text: str) -> None:
        """Add a text: it joins the one before where that is of the same role."""
        history = self.run.history
        if history and history[-1].role == role:
            before = as_text(history[-1])
            self.run.rewrite(len(history) - 1, [Message(role, (Text(f"{before}\n{text}"),))])
        else:
            history.append(Message(role, (Text(text),)))

    def mark(self) -> tuple[int, Message | None]:
        """Where the history stands, to come back to."""
        history = self.run.history
        return len(history), history[-1] if history else None

    def back_to(self, mark: tuple[int, Message | None]) -> None:
        """Forget what was said since."""
        length, last = mark
        if last is None:
            self.run.rewrite(0)
        else:
            self.run.rewrite(length - 1, [last])

    def remember(self, step: Step) -> None:
        """What a step leaves: the model's words, the calls that it made, what they gave, and its error."""
        if step.words is not None:
            self.say("assistant", step.words.strip())
        if step.calls is not None:
            self.say("assistant", f"Calling tools:\n{step.calls}")
        if step.observation is not None:
            self.say("user", f"Observation:\n{step.observation}")
        if step.error is not None:
            self.say("user", f"Error:\n{step.error}\n{RETRY_NOW}")


def plain(message: Message) -> bool:
    """Whether a message is one text already."""
    return len(message.content) == 1 and isinstance(message.content[0], Text)


def as_text(message: Message) -> str:
    """A message of any kind as text."""
    parts = []
    for part in message.content:
        if isinstance(part, Text):
            parts.append(part.text)
        elif isinstance(part, ToolCall):
            parts.append(f"Calling tools:\n{part.name}({part.arguments})")
        elif isinstance(part, ToolResult):
            parts.append(f"Observation:\n{part.output}")
    return "\n".join(parts)
