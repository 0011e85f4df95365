"""What was measured of google-adk, statement by statement."""

from __future__ import annotations

from agentsim.core.style import Claim


def _claim(name: str, says: str, divergence: str | None = None, source: str = "measured") -> Claim:
    return Claim(f"google-adk.{name}", says, source, "google-adk 2.13.0", divergence)


_DOCS = "docstring of google.adk.agents.run_config.RunConfig"

CLAIMS = (
    _claim("zero-is-no-cap", "max_llm_calls of 0 or less is no limit.", None, _DOCS),
    _claim(
        "checked-before-the-call", "The call after the last allowed one raises before it is sent, after the tools ran."
    ),
    _claim("finish-reasons-are-shown", "A finish reason is shown on the last event and never acted on."),
    _claim(
        "exceptions-leave-the-run",
        "An exception of a tool leaves the run; unknown tools and missing arguments are results.",
    ),
    _claim(
        "broken-calls-vanish",
        "LiteLlm leaves a call out whose arguments can't be read, and the run ends where none is left.",
    ),
    _claim("a-pause-is-an-answer", "A paused turn is taken for a finished one (STOP)."),
)
