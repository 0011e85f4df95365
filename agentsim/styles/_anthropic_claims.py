"""What the article says of Anthropic's tool runners and of its own loop, statement by statement, and what was measured."""

from __future__ import annotations

from agentsim.core.style import Claim

_ARTICLE = "The Agent Loop Explained: "
_LOOP = _ARTICLE + "A minimal hand-rolled loop in TypeScript"
_SERVER = _ARTICLE + "The second loop you do not run: server tools and pause_turn"


def _runner(name: str, says: str, divergence: str | None = None, source: str = _LOOP) -> Claim:
    return Claim(f"tool-runners.{name}", says, source, "@anthropic-ai/sdk 1.14.0, anthropic 2.14.0", divergence)


def _own(name: str, says: str, divergence: str | None = None, source: str = _LOOP) -> Claim:
    return Claim(f"hand-rolled.{name}", says, source, "@anthropic-ai/sdk 0.135.0", divergence)


CLAIMS = (
    _runner(
        "this-exact-loop",
        "The tool runner runs this exact loop.",
        "no cap by default (the article's loop: 10), no error at the cap, on max_tokens or on a refusal; tool_use without a "
        "call ends it",
    ),
    _runner("until-no-tool-use", "It goes on until Claude returns a message without tool use."),
    _runner("until-max-iterations", "It stops at max_iterations, if that is set."),
    _runner("iteration-is-a-request", "Each iteration is one API request; HTTP retries aside."),
    _runner(
        "pause-is-continued",
        "pause_turn means: send the conversation back as it is.",
        source=_SERVER,
    ),
)

HAND_ROLLED_CLAIMS = (
    _own("one-message", "All tool results go back in one user message."),
    _own("failures-are-results", "An unknown tool and a thrown error become a tool_result with is_error."),
    _own("cap-throws", "Hitting the cap throws."),
    _own(
        "done-is-end-turn",
        "Only end_turn and stop_sequence count as done; a cut or refused reply throws.",
    ),
    _own(
        "cut-reply-has-no-calls",
        "A response that stopped on max_tokens, refusal or model_context_window_exceeded has no tool calls either.",
        "it may have some, the first of several even whole; this loop throws and runs none of them",
    ),
    _own("pause-is-continued", "pause_turn is checked before the natural stop: the turn goes on.", source=_SERVER),
    _own(
        "pause-costs-a-step",
        "A pause uses up a step, and the last step's tools run although nobody reads their results.",
        source="measured on the loop as it is printed",
    ),
)
