"""What was measured of pydantic-ai, statement by statement."""

from __future__ import annotations

from agentsim.core.style import Claim


def _claim(name: str, says: str, divergence: str | None = None, source: str = "measured") -> Claim:
    return Claim(f"pydantic-ai.{name}", says, source, "pydantic-ai-slim 2.68.0", divergence)


_DOCS = "docstring of pydantic_ai.UsageLimits"

CLAIMS = (
    _claim(
        "checked-before-the-request", "The request limit is checked at the start of each step of the loop.", None, _DOCS
    ),
    _claim("resumes-are-not-counted", "Continuation requests aren't counted as requests.", None, _DOCS),
    _claim("exceptions-leave-the-run", "An exception of a tool leaves the run; only ModelRetry becomes a result."),
    _claim(
        "second-failing-step-ends",
        "A tool that fails in a second step without a success of its own between ends the run.",
    ),
    _claim("empty-is-asked-once-more", "A reply without output is asked for once more; a second one ends the run."),
    _claim("tool-calls-count-singly", "tool_calls_limit counts single calls, and over it none of the batch runs."),
    _claim(
        "finish-reason-is-ignored",
        "A text is the answer whatever the finish reason: cut off, refused or at the end of the window.",
    ),
    _claim(
        "first-text-ends-a-stream", "The first reply with text is the result of run_stream, calls beside it or not."
    ),
)
