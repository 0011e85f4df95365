"""Whether a call of the Claude Agent SDK runs, and with what: PreToolUse hooks, permissions, canUseTool, the person who approves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsim.core.messages import ToolResult
from agentsim.core.scripted import Function, Raised
from agentsim.core.tools import Decision
from agentsim.core.wires import SeenCall
from agentsim.styles._claude_options import JS, PYTHON, Words
from agentsim.styles._claude_talk import Talk

NOT_GRANTED = "Claude requested permissions to use {}, but you haven't granted it yet."
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


@dataclass(slots=True)
class Verdict:
    """What is to become of a call.

    Args:
        input: what the tool gets.
        refused: why it does not run; None where it does.
        asks: a person has to be asked first; `deferred`: the tool runs elsewhere.
        interrupts: the refusal ends the run.
        stops: a hook lets the run end after this reply.
        seconds: that the user's functions took.
    """

    input: Any = None
    refused: str | None = None
    asks: bool = False
    deferred: bool = False
    interrupts: bool = False
    stops: bool = False
    seconds: float = 0.0


def judge(talk: Talk, call: SeenCall) -> Verdict:
    """Hooks first, then the lists, then whoever may be asked; a hook that allows leaves only the list of disallowed tools."""
    verdict = Verdict(call.arguments)
    allowed_by_hook = before_tool(talk, call.name, verdict)
    options, spec = talk.options, talk.known().get(call.name)
    if verdict.refused is not None:
        return verdict
    if call.name in options.disallowed:
        verdict.refused = f"Permission to use {call.name} has been denied."
    elif allowed_by_hook:
        pass
    elif spec is not None and spec.approval is not None:
        verdict.asks = True
    elif options.allowed is not None and call.name not in options.allowed:
        ask_function(talk, call.name, verdict)
    verdict.deferred = spec is not None and spec.client and verdict.refused is None
    return verdict


def before_tool(talk: Talk, tool: str, verdict: Verdict) -> bool:
    """Let the PreToolUse hooks look at a call; whether one allows it. All are asked at once, and a denial wins.

    A hook that throws has no say.
    """
    allows = False
    for hook in talk.options.before_tool:
        if not hook.concerns(tool):
            continue
        verdict.seconds = max(verdict.seconds, hook.function.seconds)
        said = _asked(talk, hook.function)
        if isinstance(said, Raised) or not said:
            continue
        words = _words(talk)
        verdict.stops |= any(said.get(word) is False for word in words.goes_on)
        specific: Mapping[str, Any] = said.get("hookSpecificOutput", {})
        if specific.get("permissionDecision") == "deny" and verdict.refused is None:
            verdict.refused = str(specific.get("permissionDecisionReason", "Blocked by hook"))
        allows |= specific.get("permissionDecision") == "allow"
        verdict.input = specific.get("updatedInput", verdict.input)
    return allows


def ask_function(talk: Talk, tool: str, verdict: Verdict) -> None:
    """A tool that is not allowed: canUseTool says what becomes of the call; without it nobody has granted it."""
    if talk.options.can_use is None:
        verdict.refused = NOT_GRANTED.format(tool)
        return
    verdict.seconds += talk.options.can_use.seconds
    said = _asked(talk, talk.options.can_use)
    if isinstance(said, Raised):
        verdict.refused = f"Tool permission request failed: {said.type}: {said}"
    elif said["behavior"] == "deny":
        verdict.refused = str(said.get("message", ""))
        verdict.interrupts = bool(said.get("interrupt", False))
    else:
        verdict.input = next((said[word] for word in _words(talk).input if word in said), verdict.input)


def ask_person(talk: Talk, calls: Sequence[SeenCall], verdicts: Sequence[Verdict]) -> bool:
    """Calls of tools with `approval`: canUseTool is the place where somebody is asked. Whether all were answered."""
    while waiting := [call for call, verdict in zip(calls, verdicts, strict=True) if verdict.asks]:
        answers = talk.run.next_answers(waiting)
        if answers is None:
            return False
        said = _sorted(waiting, answers)
        for call, verdict in zip(calls, verdicts, strict=True):
            if verdict.asks and call.id in said:
                _answer(verdict, said[call.id])
    return True


def _sorted(waiting: Sequence[SeenCall], answers: Sequence[Decision]) -> dict[str, Decision]:
    """Call id -> answer. A bare word settles the first call that no answer names."""
    said = {answer.call_id: answer for answer in answers if answer.call_id is not None}
    left = [call.id for call in waiting if call.id not in said]
    for answer in answers:
        if answer.call_id is None and left:
            said[left.pop(0)] = answer
    return said


def _answer(verdict: Verdict, answer: Decision) -> None:
    verdict.asks = False
    if answer.kind == "reject":
        verdict.refused = answer.message or REJECTED
    elif answer.kind == "edit":
        verdict.input = dict(answer.input or {})


def _asked(talk: Talk, function: Function) -> Any:
    """What a function of the user's returns, or the exception that it throws."""
    try:
        return talk.started(function)()
    except Raised as error:
        return error


def _words(talk: Talk) -> Words:
    return PYTHON if talk.entry.python else JS


def refuse(call: SeenCall, text: str) -> ToolResult:
    """The error result of a call that was not run."""
    return ToolResult(call.id, text, is_error=True)
