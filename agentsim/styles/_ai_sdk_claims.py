"""What two articles say of the AI SDK, statement by statement, and what was measured."""

from __future__ import annotations

from agentsim.core.style import Claim

_AI = "ai 7.0.143"
_WORKFLOW = "@ai-sdk/workflow 2.0.43"
_ARTICLE = "The Agent Loop Explained: "
_SECTION = _ARTICLE + "Vercel AI SDK: stopWhen and prepareStep"


def _ai(name: str, says: str, divergence: str | None = None, source: str = _SECTION) -> Claim:
    return Claim(f"ai-sdk.{name}", says, source, _AI, divergence)


CORE_CLAIMS = (
    _ai(
        "exits-on-other-finish-reasons",
        "The loop exits when the finish reason is other than tool-calls.",
        "calls beside `stop` are run and the loop goes on; a `length` reply with only broken calls goes on; so does a pending "
        "declared provider call; and `tool-calls` without a call exits",
    ),
    _ai(
        "exits-on-tool-without-execute",
        "The loop exits when a tool without an execute function is called; its siblings run.",
    ),
    _ai("exits-on-approval", "The loop exits when a tool call needs approval; free siblings run."),
    _ai("exits-on-stop-condition", "The loop exits when a stop condition is met, after the step's tools ran."),
    _ai("agent-default-is-20", "ToolLoopAgent defaults to isStepCount(20)."),
    _ai(
        "function-default-is-1",
        "generateText and streamText default to isStepCount(1): exactly one model call; its tools run.",
    ),
    _ai("any-condition-stops", "An array of stop conditions stops when any is true."),
    _ai("loop-finished-removes-cap", "isLoopFinished() never triggers and so removes the cap."),
    _ai("prepare-step-before-every-step", "prepareStep runs before every step, the first too."),
    _ai("prepared-messages-persist", "The messages that prepareStep returns are the base for later steps."),
    _ai("tools-run-together", "Tool calls of a step run concurrently by default."),
    _ai("concurrency-one-is-sequential", "toolCallConcurrency: 1 runs them one at a time, in the order of the calls."),
    _ai(
        "token-budget",
        "A token budget is a few lines of a custom condition.",
        "true, but it is asked after the step, so it overshoots by up to a step",
    ),
    _ai(
        "done-tool-example",
        "The example with prepareStep, a `done` tool without execute and 10 steps ends when done is called.",
    ),
    _ai(
        "limit-returns-normally",
        "At the limit a result is returned that the caller has to inspect.",
        source=_ARTICLE + "Same loop, five vocabularies",
    ),
    _ai(
        "stop-rule-before-tools",
        "The stop rule is looked at before the tools run.",
        "conditions are asked only after the step's tools ran",
        _ARTICLE + "the diagram of the loop",
    ),
    _ai(
        "pause-turn-is-not-done",
        "A loop that treats pause_turn as final returns a half-finished turn as the answer.",
        source=_ARTICLE + "The second loop you do not run: server tools and pause_turn",
    ),
    _ai(
        "failures-become-results",
        "Failures become results that say they are errors.",
        "on Claude's wire with is_error; on OpenAI's wires as {\"error\": …}",
        _ARTICLE + "A minimal hand-rolled loop in TypeScript",
    ),
    _ai(
        "cut-and-refused-are-no-answers",
        "max_tokens, refusal and a full context window are no finished answers.",
        "it returns normally; only finishReason (length, content-filter) tells",
        _ARTICLE + "The five moving parts of every agent loop",
    ),
)

WORKFLOW_CLAIMS = (
    Claim("ai-sdk.workflow-stream-has-no-cap", "WorkflowAgent.stream() has no default cap.", _SECTION, _WORKFLOW),
    Claim(
        "ai-sdk.workflow-generate-defaults-to-20",
        "WorkflowAgent.generate() has a 20-step default since 2.0.59.",
        _SECTION,
        _WORKFLOW,
        "not measurable: generate() of 2.0.43 throws Not implemented",
    ),
)
