"""How a run of the Claude Agent SDK ends: the subtypes of its result message, and what the entry points make of them."""

from __future__ import annotations

import json

from agentsim.core.events import Outcome
from agentsim.core.fate import fate
from agentsim.core.messages import RedactedThinking, Text, Thinking, ToolResult
from agentsim.core.run import Failed, fault_ending
from agentsim.core.wires import Seen
from agentsim.styles import _claude_texts as texts
from agentsim.styles._claude_retry import too_long
from agentsim.styles._claude_talk import OUTPUT_ATTEMPTS, Talk


def success(talk: Talk, seen: Seen) -> Outcome:
    """The text of the last block, whatever the reply stopped on.

    A reply whose last block is neither text nor thinking is an error, and so is one without a block: but where it stopped on
    end_turn, or what was said last are results of tools.
    """
    if not seen.reply.blocks:
        last = talk.run.history[-1].content[-1]
        good = seen.stop == "end_turn" or isinstance(last, ToolResult)
        text = ""
    else:
        end = seen.reply.blocks[-1]
        good = isinstance(end, Text | Thinking | RedactedThinking)
        text = end.text if isinstance(end, Text) else ""
    if not good:
        return error(talk, "error_during_execution", texts.no_result(seen))
    ended = fate(seen)
    if ended == "answer" and not text.strip():
        ended = "empty"  # the reply had a text, but the caller does not get it
    return talk.run.returned(text, "success", ended=ended, reported=1 + talk.users)


def structured(talk: Talk, seen: Seen) -> Outcome:
    """A StructuredOutput call was accepted; unless a text follows it, `result` is its JSON."""
    last = seen.reply.blocks[-1]
    text = (last.text if isinstance(last, Text) else "") or json.dumps(
        talk.output, separators=(",", ":"), ensure_ascii=False
    )
    return talk.run.returned(text, "success", ended="answer", reported=1 + talk.users)


def silenced(talk: Talk, ended: str) -> Outcome:
    """Success with an empty result: a hook stopped the run, Stop hooks never let it end, or a call was deferred."""
    return talk.run.returned("", "success", ended=ended, reported=1 + talk.users)


def over_turns(talk: Talk) -> Outcome:
    """The cap: the last reply's tools have run. num_turns is the turn that would be next, whatever was emitted."""
    talk.users = int(talk.run.count)
    return error(talk, "error_max_turns", f"Reached maximum number of turns ({talk.run.limit:g})", "limit")


def over_budget(talk: Talk) -> Outcome:
    """The reply that went over is not returned, be it a full answer; what its tools gave is not counted."""
    text = f"Reached maximum budget (${talk.options.budget:g})"
    return error(talk, "error_max_budget_usd", text, "cost")


def bad_output(talk: Talk) -> Outcome:
    """No call of StructuredOutput fitted."""
    text = f"Failed to provide valid structured output after {OUTPUT_ATTEMPTS} attempts"
    if talk.entry.python:
        text += f" — last StructuredOutput error: {talk.bad_output}"
    return error(talk, "error_max_structured_output_retries", text, "bad_call")


def error(talk: Talk, subtype: str, text: str, ended: str | None = None) -> Outcome:
    """An error result; single-shot queries throw after it, the client hands it over: an API error with its text as the result.

    A subagent's is for who started it, and no client library puts words around it.
    """
    run, reported = talk.run, 1 + talk.users
    if talk.nested:
        return run.threw("Error", text, ended, finish=subtype, reported=reported)
    message = f"Claude Code returned an error result: {text}"
    if not talk.entry.throws:
        return run.returned(text if subtype == "success" else None, subtype, done=False, ended=ended, reported=reported)
    if talk.entry.python:
        return run.threw("ResultError", f"{message} (exit code: 1)", ended, finish=subtype, reported=reported)
    return run.threw("Error", message, ended, finish=subtype, reported=reported)


def failed(talk: Talk, failure: Failed) -> Outcome:
    """API errors are results of subtype success with is_error."""
    if failure.aborted:
        return aborted(talk)
    fault = failure.fault
    if too_long(fault):
        return error(talk, "success", texts.too_long(fault, alone=not has_replies(talk)), "context_window")
    return error(talk, "success", texts.api_error(fault), fault_ending(fault))


def interrupted(talk: Talk) -> Outcome:
    """canUseTool denied a call, and with it the run."""
    text = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"
    return error(talk, "error_during_execution", text, "stop_condition")


def has_replies(talk: Talk) -> bool:
    """Whether there is an exchange that a summary could stand for."""
    return talk.compacted or any(message.role == "assistant" for message in talk.run.history)


def aborted(talk: Talk) -> Outcome:
    """The caller gave up: an AbortController (JavaScript), a cancelled task (Python's query), or the client's interrupt()."""
    if not talk.entry.throws:
        return error(talk, "error_during_execution", "interrupted", "aborted")
    if talk.entry.python:
        return talk.run.threw("CancelledError", "", "aborted")
    return talk.run.threw("AbortError", "Claude Code process aborted by user", "aborted")


def refused_budget(talk: Talk) -> Outcome:
    """The CLI takes no budget of 0 or less: it exits with code 1 before any call."""
    if talk.entry.python:
        return talk.run.threw("ProcessError", "Command failed with exit code 1 (exit code: 1)", "cost")
    return talk.run.threw("Error", "Claude Code process exited with code 1", "cost")
