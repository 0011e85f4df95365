"""What was measured of Strands Agents, statement by statement."""

from __future__ import annotations

from agentsim.core.style import Claim


def _claim(name: str, says: str, divergence: str | None = None, source: str = "measured") -> Claim:
    return Claim(f"strands.{name}", says, source, "strands-agents 1.62.0", divergence)


_DOCS = "docstring of strands.types.agent.Limits"

CLAIMS = (
    _claim(
        "last-tools-run", "Tools requested by the last allowed turn run to completion before a cap fires.", None, _DOCS
    ),
    _claim(
        "tokens-overshoot", "Token caps are checked at turn boundaries, so one reply can overshoot them.", None, _DOCS
    ),
    _claim("caps-are-of-one-call", "Caps hold for one call of the agent; the next call counts anew.", None, _DOCS),
    _claim(
        "no-cap-by-default",
        "Without limits the agent goes on until the model stops asking for tools.",
        "the cycles are nested: Python's recursion limit ends the run in the 315th",
    ),
    _claim(
        "pause-costs-nothing",
        "A paused turn is resumed inside the model call, at most 10 times, and is no cycle of its own.",
    ),
    _claim("cut-reply-raises", "A reply that max_tokens cut raises, and none of its calls runs, whole ones neither."),
    _claim(
        "tool-use-without-calls-asks-again",
        "stop_reason tool_use without a call leads to another model call with nothing new in it.",
    ),
    _claim(
        "throttling-is-retried-around-the-client", "A throttled request (429) is tried 6 times around the client's 3."
    ),
)
