"""What a model says and what is said to it: blocks, replies, results, messages.

Standard-library dataclasses, frozen and slotted. Arguments of calls stay raw text, because a call that the
output limit has cut is a cut in *text*: every SDK makes something else of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agentsim.core.value import value

#: The Claude API's stop reasons, canonical here. Any other string is a reason that a provider may invent tomorrow.
STOP_REASONS = (
    "end_turn",
    "tool_use",
    "stop_sequence",
    "max_tokens",
    "model_context_window_exceeded",
    "refusal",
    "pause_turn",
    "compaction",
)

#: One of STOP_REASONS, another word (a "raw" reason), or None where the provider sent none.
StopReason = str | None


@value
class Text:
    """A text block."""

    text: str


@value
class Thinking:
    """A thinking block; the provider wants it back with its signature."""

    thinking: str
    signature: str = ""


@value
class RedactedThinking:
    """Thinking that only the provider can read."""

    data: str


@value
class ToolCall:
    """A call that the client is asked to run.

    Args:
        id: pairs the call with its result.
        name: of the tool.
        arguments: raw JSON text as the model wrote it, possibly cut or broken.
    """

    id: str
    name: str
    arguments: str = "{}"


@value
class ServerCall:
    """A call of a tool that runs at the provider (`server_tool_use`)."""

    id: str
    name: str
    arguments: str = "{}"


@value
class ServerResult:
    """The provider's own result of a ServerCall; `content` is a JSON value."""

    call_id: str
    content: Any = None
    name: str = ""


@value
class Refusal:
    """The words of a refusal: a text block on Claude, a refusal part or field on OpenAI's wires."""

    text: str
    category: str | None = None


@value
class Opaque:
    """A block that no codec of ours knows; it is kept and sent back as it came."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@value
class ToolResult:
    """The client's answer to a ToolCall.

    Args:
        call_id: id of the call that it answers.
        output: text or another JSON value, as it is sent.
        is_error: whether the request itself says that it is an error (only Claude's wire can).
    """

    call_id: str
    output: Any = ""
    is_error: bool = False


Block = Text | Thinking | RedactedThinking | ToolCall | ServerCall | ServerResult | Refusal | Opaque
Part = Block | ToolResult


@value
class Usage:
    """Tokens of one reply. The input total is input + cache_creation + cache_read."""

    input_tokens: int = 10
    output_tokens: int = 5
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


@value
class Reply:
    """One whole reply of a model: ordered blocks and why it stopped. `usage` is None where nobody stated it."""

    blocks: tuple[Block, ...] = ()
    stop_reason: StopReason = "end_turn"
    usage: Usage | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls for the client, in order."""
        return tuple([b for b in self.blocks if type(b) is ToolCall])

    @property
    def text(self) -> str:
        """The text blocks and refusal texts, joined."""
        return "".join([b.text for b in self.blocks if type(b) is Text or type(b) is Refusal])


Role = Literal["user", "assistant"]


@value
class Message:
    """One message of a request's history."""

    role: Role
    content: tuple[Part, ...]


def user_text(text: str) -> Message:
    """A user message of one text block."""
    return Message("user", (Text(text),))
