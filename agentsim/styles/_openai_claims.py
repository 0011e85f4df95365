"""What the article says of the OpenAI Agents SDK, statement by statement, and what was measured beyond it."""

from __future__ import annotations

from agentsim.core.style import Claim

_VERSION = "@openai/agents 0.20.0, openai-agents 0.24.0"
_ARTICLE = "The Agent Loop Explained: "
_SECTION = _ARTICLE + "OpenAI Agents SDK: turns, handoffs and toolUseBehavior"
_MEASURED = "measured on the packages"


def _claim(name: str, says: str, divergence: str | None = None, source: str = _SECTION) -> Claim:
    return Claim(f"openai-agents.{name}", says, source, _VERSION, divergence)


CLAIMS = (
    _claim("default-is-10", "maxTurns defaults to 10."),
    _claim("null-disables-the-cap", "null (None) disables the cap."),
    _claim("cap-throws", "Reaching the cap throws MaxTurnsExceededError (MaxTurnsExceeded in Python)."),
    _claim(
        "turn-is-a-model-call",
        "A turn is one model invocation.",
        source=_ARTICLE + "FAQ, Is a step the same as a turn?",
    ),
    _claim(
        "last-tools-run",
        "The tools of the last allowed turn run before the throw, and no call reads their results.",
        source=_MEASURED,
    ),
    _claim("handoff-keeps-history", "A handoff switches to another agent and keeps the conversation history."),
    _claim("handoff-costs-a-turn", "Each handoff costs a turn; the count runs on across agents.", source=_MEASURED),
    _claim(
        "handlers-give-an-output",
        "errorHandlers for maxTurns, modelRefusal and invalidFinalOutput return an output instead of throwing.",
    ),
    _claim("handler-may-decline", "A handler that returns nothing changes nothing.", source=_MEASURED),
    _claim(
        "behaviours",
        "toolUseBehavior is run_llm_again (the default), stop_on_first_tool, { stopAtToolNames } or a function.",
    ),
    _claim(
        "stop-at-tool-names-needs-no-call", "With stopAtToolNames a tool's output is the final output: no further call."
    ),
    _claim(
        "all-calls-run",
        "Whatever toolUseBehavior says, all calls of the reply run first.",
        source=_MEASURED,
    ),
    _claim(
        "reset-tool-choice", "resetToolChoice defaults to true: a forced tool choice is not sent after a tool call."
    ),
    _claim(
        "failures-are-results",
        "A failed execution is an error string in the tool's output, which lets the model recover.",
        "for a throwing tool, yes, but a fixed text: its own is not sent. An unknown tool throws by default, and none of the "
        "reply's calls run",
        _ARTICLE + "Choosing and setting stop conditions",
    ),
    _claim(
        "cut-reply-has-no-calls",
        "A response that stopped on max_tokens has no tool calls.",
        "on Chat Completions it may, and those that are whole run; a cut text is returned as the answer without a sign. On "
        "Responses nothing of a cut reply is used: it throws",
        _ARTICLE + "A minimal hand-rolled loop in TypeScript",
    ),
    _claim(
        "approvals-cost-no-turn",
        "A resume runs what was approved without a turn, and the count is kept over resumes.",
        source=_MEASURED,
    ),
    _claim(
        "agent-as-tool-counts-for-itself",
        "An agent as a tool has a count of its own; the outer cap does not touch it, and its cap is an error text outside.",
        source=_MEASURED,
    ),
)
