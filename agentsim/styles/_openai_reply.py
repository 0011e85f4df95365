"""A reply as the OpenAI Agents SDKs hold it: messages, reasoning, calls, and the words that can end the run.

On Responses every text and every refusal is a message of its own; on Chat Completions there is one message, whose text comes
before the calls. Measured on @openai/agents 0.20.0 and openai-agents 0.24.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentsim.core.messages import (
    Block,
    RedactedThinking,
    Refusal,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
)
from agentsim.core.wires import CHAT, RESPONSES, Seen

WITHHELD = "Response withheld by the provider's content filter."
_REASONING = (Thinking, RedactedThinking)


@dataclass(frozen=True, slots=True)
class Said:
    """What can end the run.

    Args:
        text: the answer; None where there is none, which is not the same as an empty one.
        refusal: a refusal that is an error.
        any_message: whether the reply has a message at all.
    """

    text: str | None
    refusal: str | None
    any_message: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A reply's items as they go into the history, and what it says."""

    blocks: tuple[Block, ...]
    said: Said

    @property
    def wordless(self) -> tuple[Block, ...]:
        """The items that are no messages: all that stays of a reply that is asked again."""
        return tuple(block for block in self.blocks if not isinstance(block, Text | Refusal))

    @property
    def ran_a_server_tool(self) -> bool:
        """Whether a tool of the provider's ran in it."""
        return any(isinstance(block, ServerCall | ServerResult) for block in self.blocks)


def hold(seen: Seen, python: bool) -> Held:
    """The reply as the SDK of that language holds it."""
    blocks = as_items(seen.reply)
    if seen.wire == CHAT:
        return _one_message(seen, blocks, python)
    texts = [block for block in blocks if isinstance(block, Text | Refusal)]
    return Held(blocks, _python_says(texts) if python else _js_says(blocks, texts))


def as_items(reply: Reply) -> tuple[Block, ...]:
    """The blocks; text beside a refusal's stop reason is the refusal."""
    if reply.stop_reason != "refusal" or any(isinstance(block, Refusal) for block in reply.blocks):
        return reply.blocks
    return tuple(Refusal(block.text) if isinstance(block, Text) else block for block in reply.blocks)


def _python_says(texts: list[Text | Refusal]) -> Said:
    """The last message decides; without words it is an empty answer."""
    if not texts:
        return Said("", None, False)
    last = texts[-1]
    return Said("", last.text, True) if isinstance(last, Refusal) else Said(last.text, None, True)


def _js_says(blocks: tuple[Block, ...], texts: list[Text | Refusal]) -> Said:
    """The last message decides; around reasoning the texts of all are the answer. A reply whose texts are empty says nothing."""
    last = texts[-1] if texts else None
    if isinstance(last, Refusal):
        return Said(None, last.text, True)
    if last is None or not any(block.text for block in texts if isinstance(block, Text)):
        return Said(None, None, bool(texts))
    around = (*_REASONING, Text, Refusal)
    if any(isinstance(block, _REASONING) for block in blocks) and all(isinstance(block, around) for block in blocks):
        return Said("".join(block.text for block in texts if isinstance(block, Text)) or last.text, None, True)
    return Said(last.text, None, True)


def _one_message(seen: Seen, blocks: tuple[Block, ...], python: bool) -> Held:
    text = "".join(block.text for block in blocks if isinstance(block, Text))
    refusals = [block.text for block in blocks if isinstance(block, Refusal)]
    refusal = "".join(refusals) if refusals else None
    calls = tuple(block for block in blocks if isinstance(block, ToolCall))
    if seen.stop == "content_filter" and not (text or refusal or calls):
        refusal = WITHHELD
    if text and not python and not seen.streamed:
        refusal = None
    has_text = any(isinstance(block, Text) for block in blocks)
    is_message = bool(text) or (has_text and not calls and not python and not seen.streamed)
    kept: tuple[Block, ...] = (Text(text),) if is_message else ()
    if refusal:
        kept += (Refusal(refusal),)
    said = Said(text or None, refusal if not text else None, has_text or refusal is not None)
    if python:
        said = Said(text, refusal, said.any_message)
    elif has_text and not text and not refusal and not seen.streamed:
        said = Said("", None, True)
    return Held(kept + calls, said)


def unfinished(seen: Seen, held: Held, python: bool) -> str | None:
    """Why the model layer rejects the reply before the run sees it; None where it does not."""
    if not seen.cut:
        return None
    if seen.wire == RESPONSES:
        if not python:
            return 'OpenAI Responses request ended with unsuccessful terminal state "response.incomplete".'
        details = "IncompleteDetails(reason='max_output_tokens')"
        return f"Responses stream ended with terminal event `response.incomplete`. status=incomplete; incomplete_details={details}."
    if any(getattr(block, "text", "") for block in held.blocks) or seen.calls:
        return None
    kind = "stream" if python and seen.streamed else "response"
    return (
        f"Chat Completions {kind} terminated with finish_reason='length' but produced no assistant text, tool call, "
        "or refusal."
    )
