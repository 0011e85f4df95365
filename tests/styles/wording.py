"""The wording of errors: which styles claim the SDK's own, and what is left out of the comparison."""

from __future__ import annotations

import re

#: Styles whose errors have the very words of the SDK.
WORDED = re.compile(
    r"(ai-sdk|langchain|langchain-js|mastra|openai-agents|openai-agents-js|openai|claude-agent-sdk|claude-agent-sdk-js|llm|tanstack-ai|hand-rolled)/"
)

#: What differs from run to run, or only says where to read on.
_LEFT_OUT = re.compile(
    r""",\s*['"]request_id['"]:\s*['"][^'"]*['"]|\n\nTroubleshooting URL: \S*\s*$|\n\s*For further information visit \S*|(?<=extract-)\d+"""
)

#: (the real message, why the style has other words)
OTHERS = (
    (r"Structured output validation failed: |.* edited arguments are invalid: |Failed to parse structured output for tool ",
     "what a validator says, each in words of its own (zod, ajv, pydantic)"),
    (r"Could not parse response content as the length limit was reached - CompletionUsage", "the text goes on with the client's repr of the usage"),
    (r"Recursion limit of True reached", "a limit of true is the number 1 here"),
    (r"1 validation error for AIMessage\ntool_calls\.1\.", "which of several calls is broken is not told"),
    (r"Output guardrail triggered\.$", "a guardrail's information is left out behind a tool's output"),
)  # fmt: skip


def plain(message: str) -> str:
    """A message without what is no wording."""
    return _LEFT_OUT.sub("", message)


def has_other_words(message: str) -> bool:
    """Whether a real message is one that its style says otherwise."""
    return any(re.match(pattern, message) for pattern, _ in OTHERS)
