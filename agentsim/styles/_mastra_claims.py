"""What the article says of Mastra, statement by statement, and what was measured."""

from __future__ import annotations

from agentsim.core.style import Claim

_ARTICLE = "The Agent Loop Explained: "
_MASTRA = _ARTICLE + "Mastra: maxSteps plus iteration hooks"
_CHOOSE = _ARTICLE + "What each SDK counts, and what happens at the limit"
_FAQ = _ARTICLE + "FAQ"


def _claim(name: str, says: str, divergence: str | None = None, source: str = _MASTRA) -> Claim:
    return Claim(f"mastra.{name}", says, source, "@mastra/core 1.71.0", divergence)


CLAIMS = (
    _claim("default-five", "The default of maxSteps is 5."),
    _claim("caps-model-calls", "maxSteps caps the number of sequential model calls."),
    _claim("combined-with-stop-when", "maxSteps is combined with any stopWhen conditions."),
    _claim(
        "until-final-answer",
        "The agent goes on until the model emits a final answer or a stop condition is met.",
        "a cut reply and a refusal end it as well, and a run that stopped on its cap returns in the same way",
    ),
    _claim(
        "hook-after-each-iteration",
        "onIterationComplete runs after each iteration and may return {continue, feedback}.",
    ),
    _claim(
        "continue-false-stops",
        "continue: false stops the loop.",
        "with feedback beside it, one more whole iteration runs first",
    ),
    _claim(
        "feedback-needs-another-iteration",
        "Feedback is added to the conversation before the next iteration, so it reaches the model only if the loop goes on.",
        "with continue: true on a final step the loop goes on and the feedback is lost",
    ),
    _claim(
        "nudge-then-stop",
        "The example nudges the model at iteration 5 and stops it at 7.",
        "it also asks a model again that has finished: a task of one call takes 7",
    ),
    _claim("task-scorers", "isTaskComplete runs scorers with an all or any strategy."),
    _claim("total-timeout", "Exceeding modelSettings.timeout.totalMs fails with MastraTimeoutError."),
    _claim("approval-suspends", 'requireToolApproval pauses the run: finishReason is "suspended".'),
    _claim("ten-at-once", "Tools run at most 10 at once by default."),
    _claim(
        "one-with-approval", "Where a tool needs approval, calls run one at a time, unless the strategy is `called`."
    ),
    _claim("returns-quietly", "At the limit it returns and does not throw.", source=_CHOOSE),
    _claim("step-is-call-and-tools", "A step is one model call plus its tool executions.", source=_FAQ),
)
