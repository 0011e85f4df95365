"""What TanStack AI's documentation says of the agentic cycle, statement by statement, and what 0.58.0 does.

The documentation describes a newer version; `tanstack-ai/chat@docs` does what it says.
"""

from __future__ import annotations

from agentsim.core.style import Claim

_CYCLE = "TanStack AI, Agentic Cycle: "
_LOOP = _CYCLE + "Controlling the loop"
_CUT = _CYCLE + "When the output limit cuts a tool call"
_BUDGET = _CYCLE + "Tool-call budgets (middleware recipe)"


def _claim(name: str, says: str, source: str, divergence: str | None = None) -> Claim:
    return Claim(f"tanstack-ai.{name}", says, source, "@tanstack/ai 0.58.0", divergence)


CLAIMS = (
    _claim(
        "five-turns", "By default the loop stops after five model turns, even if the model calls more tools.", _LOOP
    ),
    _claim(
        "goes-on-with-tool-calls",
        "The loop goes on only while the finish reason is tool_calls, with pending calls, and the strategy permits it.",
        _CYCLE + "Code Example: Agentic Weather Assistant",
    ),
    _claim(
        "ends-at-stop",
        "It ends as soon as the model returns a normal stop finish reason.",
        _CYCLE + "Code Example: Agentic Weather Assistant",
    ),
    _claim(
        "default-stops-on-length",
        'The default also stops after an answer that hits the output limit (untilFinishReason(["length"])).',
        _LOOP,
        "the default is maxIterations(5) alone: on Chat Completions a cut call goes on to five turns",
    ),
    _claim("until-finish-reason", "untilFinishReason goes on until the model returns one of the given reasons.", _LOOP),
    _claim("combine-is-and", "combineStrategies goes on only while every strategy agrees.", _LOOP),
    _claim(
        "strategy-state",
        "A strategy gets iterationCount, finishReason, messages, toolCallCount and lastTurnToolCallCount.",
        _LOOP,
    ),
    _claim(
        "cut-call-never-runs",
        "chat() never runs a call that the output limit cut; it gets an error result with the code max_tokens.",
        _CUT,
        "Chat Completions: the call runs, with {} where it can't be read; the other adapters end the run with RUN_ERROR",
    ),
    _claim(
        "cut-call-asks-nobody",
        "For a cut call it asks no approval and starts no client tool.",
        _CUT,
        "on Chat Completions it does both",
    ),
    _claim(
        "cut-run-ends-with-length",
        "By default the run then ends with the finish reason length.",
        _CUT,
        "only a cut text on Chat Completions does; the other adapters emit RUN_ERROR",
    ),
    _claim(
        "cut-call-is-sent-again",
        "With maxIterations(5) the loop calls the model again, which sends the cut call again.",
        _CUT,
        "on Chat Completions only, and there with any strategy",
    ),
    _claim(
        "cut-turn-counts", "maxIterations counts the cut answer as one model turn.", _CUT, "on Chat Completions only"
    ),
    _claim(
        "going-on-says-tool-calls",
        "When the loop goes on, the RUN_FINISHED event of the cut answer has the finish reason tool_calls.",
        _CUT,
        "on Chat Completions only",
    ),
    _claim(
        "after-hook-replaces-result",
        "onAfterToolCall may return a new result (replaceResult).",
        _CUT,
        "what the hook returns is not used, and it is not called for calls that can't run",
    ),
    _claim(
        "cut-call-of-a-transcript",
        "If a transcript has a cut call with no result, chat() does not run that call.",
        _CUT,
        "a pending call is run first",
    ),
    _claim("iterations-are-not-calls", "One model turn can emit many calls; maxIterations only bounds turns.", _BUDGET),
    _claim("before-hook-skips", "onBeforeToolCall skips excess calls inside one turn.", _BUDGET),
    _claim("skipped-calls-count", "Skipped calls still count toward toolCallCount.", _BUDGET),
    _claim("budget-stops-later-turns", "onShouldContinue stops further turns once the calls hit a budget.", _BUDGET),
)
