"""What the article says of the Claude Agent SDK, statement by statement, and what was measured beyond it."""

from __future__ import annotations

from agentsim.core.style import Claim

_VERSION = "@anthropic-ai/claude-agent-sdk 0.3.302 (CLI 2.1.302), claude-agent-sdk 0.2.189 (CLI 2.1.332)"
_ARTICLE = "The Agent Loop Explained: "
_SECTION = _ARTICLE + "Claude Agent SDK: the Claude Code loop, embedded"
_CONDITIONS = _ARTICLE + "Choosing and setting stop conditions"
_MINIMAL = _ARTICLE + "A minimal hand-rolled loop in TypeScript"
_MEASURED = "measured on the packages"


def _claim(name: str, says: str, divergence: str | None = None, source: str = _SECTION) -> Claim:
    return Claim(f"claude-agent-sdk.{name}", says, source, _VERSION, divergence)


CLAIMS = (
    _claim("no-default-cap", "There is no default limit on turns or budget."),
    _claim(
        "turn-is-a-round-trip",
        "A turn is one tool-use round trip, and the final text-only response is not counted.",
        "maxTurns n is n model calls: R rounds and an answer need R + 1",
        _ARTICLE + "FAQ, Is a step the same as a turn?",
    ),
    _claim(
        "counts-tool-use-turns-only",
        "maxTurns counts tool-use turns only.",
        "a Stop hook that blocks and the reminder to give a structured output cost a turn each; the recoveries of a cut, refused, "
        "empty or malformed reply cost none",
    ),
    _claim(
        "until-no-tool-calls",
        "Turns continue until Claude produces output with no tool calls.",
        "a cut, refused, empty or malformed reply without a call is asked again",
    ),
    _claim(
        "subtypes",
        "A result's subtype is success, error_max_turns, error_max_budget_usd, error_during_execution or "
        "error_max_structured_output_retries.",
    ),
    _claim(
        "only-success-has-a-result",
        "Only success carries the result field.",
        "true of the subtypes, but success with is_error is an API error, whose result is its text, and it throws",
    ),
    _claim(
        "caps-are-error-results", "Hitting a cap gives a result of subtype error_max_turns or error_max_budget_usd."
    ),
    _claim("single-shot-throws", "A single-shot query() throws after an error result."),
    _claim("client-never-raises", "ClaudeSDKClient.receive_response() raises for no result.", source=_MEASURED),
    _claim(
        "num-turns-on-every-result",
        "Every subtype carries num_turns.",
        "it does, but the number is 1 + the user messages of the loop, parallel results one each, not the turns that maxTurns "
        "counts",
    ),
    _claim(
        "last-tools-run", "The tools of the last allowed reply run, and no call reads their results.", source=_MEASURED
    ),
    _claim(
        "read-only-tools-overlap",
        "Read-only tools, MCP tools marked so too, can run concurrently; others run in order.",
    ),
    _claim("custom-tools-are-sequential", "Custom tools are sequential unless you set readOnlyHint."),
    _claim(
        "tools-start-early", "A tool starts as soon as its block is whole, before the reply ends.", source=_MEASURED
    ),
    _claim(
        "pre-tool-use-rejects",
        "A PreToolUse hook that rejects a call prevents execution; Claude receives the rejection message and continues.",
    ),
    _claim(
        "budget-after-each-response",
        "The budget is checked after each response, so spend can exceed it by up to one response.",
    ),
    _claim(
        "budget-drops-a-full-answer",
        "An answer that goes over the budget is not returned, and tools of such a reply have started.",
        source=_MEASURED,
    ),
    _claim("subagents-cost-counts", "Subagent spend counts toward the cap."),
    _claim(
        "subagents-run-in-background",
        "A subagent runs in the background by default; its end wakes the loop with a turn budget and a result of its own.",
        source=_MEASURED,
    ),
    _claim("compacts", "The SDK compacts a history that has become too long.", source=_SECTION),
    _claim(
        "failures-are-results",
        "A failed tool is a result with is_error: true, and the loop goes on.",
        source=_CONDITIONS,
    ),
    _claim(
        "pause-means-continue",
        "pause_turn does not mean done.",
        "the SDK takes a paused text for the end, with subtype success; a pause that ends in a server tool's call is "
        "error_during_execution",
        _ARTICLE + "The second loop you do not run: server tools and pause_turn",
    ),
    _claim(
        "cut-reply-has-no-calls",
        "A response that stopped on max_tokens has no tool calls.",
        "it may, and whole ones run: the blocks count, not the stop reason",
        _MINIMAL,
    ),
    _claim(
        "only-clean-stops-are-done",
        "Only end_turn and stop_sequence count as done.",
        "the text of a reply with an unknown stop reason is success too",
        _MINIMAL,
    ),
)
