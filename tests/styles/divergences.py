"""Where a style is known to differ from its SDK, and why that is not modelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: A reply whose text is empty: one SDK, two providers. Ours measured a message with an empty text part, which JavaScript returns as
#: "". A provider that sends the message without any content gets the very same request again, a turn each time, and that is
#: what the style does.
_EMPTY_TEXT = "an empty text is taken for a message without content, which is asked again; with an empty text part it is an answer"

#: LangChain for Python writes each block of a shared id as all calls of that id, but leaves blocks with the newer, optional
#: `caller` field as they are. A scenario's calls have no such field.
_CALLER = "a call with a `caller` field is sent back as it came; here calls have none"
_IN_TEXT = "a call that a text spells has no reply's call to be counted by, so the rig counts no round"
_NAN = "NaN is no JSON, and no provider's body can hold it"

#: Two calls alike, which a confused model sends, are measured and modelled.
_SHARED = "which of two calls that share an id is written back, and which is run, hangs on what each came to and on the messages before"

#: (style, case, wire, streamed) -> why; None in place of a wire or of streamed: every one.
DIVERGENCES: dict[tuple[str, str, str | None, bool | None], str] = {
    ("openai-agents-js/run", "abort_in_first_of_two", None, None): "no further call starts once the caller gave up",
    ("langchain/create_agent", "duplicate_ids_with_caller", "anthropic-messages", None): _CALLER,
    ("langchain/create_react_agent", "duplicate_ids_with_caller", "anthropic-messages", None): _CALLER,
    ("langchain/create_agent", "raw_nan", "anthropic-messages", None): _NAN,
    ("langchain/create_react_agent", "raw_nan", "anthropic-messages", None): _NAN,
    ("smolagents/ToolCallingAgent.run", "call_in_text", None, False): _IN_TEXT,
    ("smolagents/ToolCallingAgent.run", "call_in_text_without_arguments", None, False): _IN_TEXT,
    ("openai-agents-js/run", "empty_answer", "openai-responses", None): _EMPTY_TEXT,
    ("openai-agents-js/run", "server_and_empty_text", "openai-responses", None): _EMPTY_TEXT,
    ("openai-agents-js/run", "empty_after_round", "openai-responses", None): _EMPTY_TEXT,
    ("openai-agents-js/run", "text_empty_endless", "openai-responses", None): _EMPTY_TEXT,
    ("openai-agents-js/run", "thinking_empty_text", "openai-responses", None): _EMPTY_TEXT,
}


def reason_for(row: Mapping[str, Any]) -> str | None:
    """Why this measured row is not what the style gives; None where it is meant to be."""
    for wire in (row["wire"], None):
        for stream in (row["stream"], None):
            reason = DIVERGENCES.get((row["style"], row["case"], wire, stream))
            if reason is not None:
                return reason
    return None


def known_kind(row: Mapping[str, Any], case: Mapping[str, Any]) -> str | None:
    """Why a script that nobody listed may differ; None where it is of no kind that is known to."""
    empty = any(reply.get("text") == "" and len(reply) == 1 for reply in case["replies"])
    if row["style"] == "openai-agents-js/run" and row["wire"] == "openai-responses" and empty:
        return _EMPTY_TEXT
    shared = any(call.get("id") == "call_dup" for reply in case["replies"] for call in reply.get("calls", ()))
    if shared and row["style"].startswith("langchain/") and row["wire"] == "anthropic-messages":
        return _CALLER  # agentsim's server sends the field, as the real one does
    return _SHARED if shared and row["style"].startswith("mastra/") else None
