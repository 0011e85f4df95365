"""What was measured of smolagents, statement by statement."""

from __future__ import annotations

from agentsim.core.style import Claim


def _claim(name: str, says: str, divergence: str | None = None, source: str = "measured") -> Claim:
    return Claim(f"smolagents.{name}", says, source, "smolagents 1.26.0", divergence)


CLAIMS = (
    _claim("one-more-call", "At max_steps one more model call without tools gives the text that is returned."),
    _claim("failed-steps-count", "A step that fails counts like any other."),
    _claim(
        "text-is-no-answer", "A reply of plain text does not end a ToolCallingAgent; only a call of final_answer does."
    ),
    _claim("errors-lose-results", "One call that fails makes the step fail, and the results of the others are lost."),
    _claim(
        "broken-arguments-run", "Arguments that are no JSON are the one argument of a tool with one text parameter."
    ),
    _claim("last-of-an-id-runs", "Of calls that share an id only the last one runs."),
)
