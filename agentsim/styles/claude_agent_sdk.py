"""The Claude Agent SDK (query in JavaScript and Python, ClaudeSDKClient): the loop of the bundled Claude Code.

Measured on @anthropic-ai/claude-agent-sdk 0.3.302 (CLI 2.1.302) and claude-agent-sdk 0.2.189 (CLI 2.1.332):

    turnCount = 1                                      # num_turns is another number: 1 + user messages that the loop emitted
    loop:
      stream a reply; each tool starts as soon as its block is whole (read-only ones side by side, others in order)
      the session has cost maxBudgetUsd -> error_max_budget_usd             # even if the reply is a full answer
      the reply HAS tool_use blocks, whatever its stop_reason, refusal apart:
         finish them, one user message each
         canUseTool interrupted -> error_during_execution
         a PreToolUse hook said continue: false -> success, ""
         StructuredOutput accepted -> success; the 5th bad one -> error_max_structured_output_retries
         turnCount += 1;  turnCount > maxTurns -> error_max_turns
         continue
      recoveries that call again without touching turnCount:
         cut text or full context: "Output token limit hit…", at most 3 in a row (a tool round resets it)
         refusal: once per user message
         empty or thinking-only: a nudge, once (a tool round resets it)
         tool_use without a block: once (CLI 2.1.332: twice)
      a Stop hook blocks: turnCount += 1 (cap checked); the 9th time in a row -> success, ""
      structured output asked for, but no call of it: reminded once, turnCount += 1
      else: success, the text of the last reply (may be "")
    a subagent in the background ended: woken by a notification, all of this anew, and one more result
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import Raised
from agentsim.core.style import Style
from agentsim.core.wires import Seen
from agentsim.styles import _claude_ends as ends
from agentsim.styles import _claude_texts as texts
from agentsim.styles._claude_agents import next_report, read_limit
from agentsim.styles._claude_claims import CLAIMS
from agentsim.styles._claude_compact import compact
from agentsim.styles._claude_options import JS, PYTHON, configure
from agentsim.styles._claude_retry import CliRetry, too_long, whole_blocks
from agentsim.styles._claude_talk import OUTPUT_ATTEMPTS, STOP_BLOCKS, Entry, Talk
from agentsim.styles._claude_tools import Round, answer_all, send_back, tool_round

CUTS = 3
RESUME = "Output token limit hit. Resume directly — no apology, no recap of what you were doing."
CLASSIFIER = "The previous response was stopped by a safety classifier."
NUDGE = "[Your previous response had no visible output. Please continue and produce a user-visible response.]"
LOST = "Your response was cut off by a lost connection. Continue from where it stopped."
AS_IT_WAS = "(the same request again)"
NUDGED = ("end_turn", "stop_sequence")
MALFORMED = "Your last response failed to produce a valid tool call. Please try again."
ENFORCE = (
    "Stop hook feedback:\n[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request."
)

Turn = Generator[Action, Event, Outcome]
MayEnd = Generator[Action, Event, Outcome | None]


def session(run: Run, entry: Entry) -> Turn:
    """One prompt, and every time that a subagent in the background wakes the loop; the last result is the one that counts."""
    talk = Talk(run, entry, agent)
    if talk.options.budget is not None and talk.options.budget <= 0:
        return ends.refused_budget(talk)
    answer_all(run)
    outcome = yield from agent(talk)
    while outcome.ended not in ("aborted", "approval", "cost"):
        report = yield from next_report(talk)
        if report is None:
            break
        run.begin(report)
        talk = Talk(run, entry, agent)
        outcome = yield from agent(talk)
    return outcome


def agent(talk: Talk) -> Turn:
    """One user message to its result."""
    run = talk.run
    while True:
        talk.offer()
        reply = yield from run.call(CliRetry(talk))
        if isinstance(reply, Failed):
            if too_long(reply.fault) and (yield from compact(talk)):
                continue
            if reply.aborted or not (reply.fault.in_stream and whole_blocks(reply.fault)):
                return ends.failed(talk, reply)
        talk.lost = reply.fault if isinstance(reply, Failed) else None
        seen = run.partly(reply.fault, finished=True)[0] if isinstance(reply, Failed) else reply
        if talk.over_budget:
            return (yield from over_budget(talk, seen))
        refused = seen.stop == "refusal" and not talk.refused
        outcome: Outcome | None = None
        if seen.calls:
            done = yield from tool_round(talk, seen, refused=refused)
            outcome = after_tools(talk, seen, done, refused=refused)
        if outcome is None and (refused or not seen.calls):
            outcome = yield from no_calls(talk, seen)
        if outcome is not None:
            return outcome


def over_budget(talk: Talk, seen: Seen) -> Turn:
    """The tools of the reply have started by now; what they give is not counted."""
    if seen.calls:
        users = talk.users
        done = yield from tool_round(talk, seen)
        talk.users = users
        if done.aborted:
            return ends.aborted(talk)
    return ends.over_budget(talk)


def after_tools(talk: Talk, seen: Seen, done: Round, *, refused: bool) -> Outcome | None:
    """What a tool round comes to; None: the loop goes on."""
    if done.aborted:
        return ends.aborted(talk)
    if done.interrupted:
        return ends.interrupted(talk)
    if done.waits:
        return talk.run.returned(None, done=False, ended="approval")
    if refused:
        return None
    if ending := "handed_back" if done.deferred else "stop_condition" if done.stopped else None:
        talk.run.count += 1
        return ends.silenced(talk, ending)
    if done.accepted:
        talk.run.count += 1
        return ends.structured(talk, seen)
    if talk.bad_outputs >= OUTPUT_ATTEMPTS:
        return ends.bad_output(talk)
    talk.tool_round_over()
    return turn_over(talk)


def turn_over(talk: Talk) -> Outcome | None:
    """turnCount += 1, and the cap is checked."""
    talk.run.count += 1
    return ends.over_turns(talk) if talk.at_limit else None


def no_calls(talk: Talk, seen: Seen) -> MayEnd:
    """A reply that has no calls, or whose calls a classifier stopped: recover, be told to go on, or end."""
    again = recovery(talk, seen)
    if isinstance(again, Outcome):
        return again
    if again is not None:
        if not seen.calls and again not in (MALFORMED, AS_IT_WAS):
            send_back(talk, seen)
        if again is not AS_IT_WAS:
            emit(talk, again)
        return None
    outcome = ends.success(talk, seen)
    if outcome.returned == "answer":
        feedback = yield from stop_hooks(talk)
        if feedback:
            return told_to_go_on(talk, seen, feedback)
    talk.run.count += 1
    return outcome


def emit(talk: Talk, text: str) -> None:
    """A user message of the loop's own."""
    talk.run.say(text)
    talk.users += 1


def told_to_go_on(talk: Talk, seen: Seen, feedback: list[str]) -> Outcome | None:
    """A Stop hook blocked: a turn more, or the end after so many in a row."""
    send_back(talk, seen)
    for text in feedback:
        emit(talk, text)
    outcome = turn_over(talk)
    talk.blocks += 1
    if outcome is None and talk.blocks > STOP_BLOCKS:
        return ends.silenced(talk, "empty")
    talk.cuts = talk.malformed = 0
    talk.nudged = False
    return outcome


def stop_hooks(talk: Talk) -> Generator[Action, Event, list[str]]:
    """What the Stop hooks have against an end; the one that wants a structured output says so once. One that throws has no say."""
    feedback: list[str] = []
    if talk.nested:
        return feedback
    yield from talk.run.wait(max((hook.function.seconds for hook in talk.options.at_stop), default=0.0))
    for hook in talk.options.at_stop:
        try:
            said = talk.started(hook.function)() or {}
        except Raised:
            continue
        if said.get("decision") == "block":
            feedback.append(f"Stop hook feedback:\n{said.get('reason', '')}")
    if talk.structured is not None and not talk.reminded:
        talk.reminded = True
        feedback.append(ENFORCE)
    return feedback


def recovery(talk: Talk, seen: Seen) -> str | Outcome | None:
    """What is said to the model where the reply is no end, an error result where that was said too often, else None."""
    if seen.cut or talk.lost:
        talk.cuts += 1
        if talk.cuts <= CUTS:
            return LOST if talk.lost else RESUME
        if talk.lost:
            return ends.error(talk, "success", texts.lost(talk.lost), "broken_stream")
        text = texts.FULL if seen.stop == "model_context_window_exceeded" else texts.CUT
        return ends.error(talk, "success", text)
    if seen.stop == "refusal":
        if not talk.refused:
            talk.refused = True
            return CLASSIFIER
        return ends.error(talk, "success", texts.flagged(talk.run.calls))
    if seen.stop == "tool_use":
        talk.malformed, talk.cuts = talk.malformed + 1, 0
        if talk.malformed <= talk.entry.malformed:
            return MALFORMED
        return ends.error(talk, "success", texts.UNPARSED)
    if seen.stop in NUDGED and not seen.text.strip() and not talk.nudged:
        talk.nudged = True
        return NUDGE
    if seen.stop is None and not seen.reply.blocks and not talk.resent:
        talk.resent = True
        return AS_IT_WAS
    return None


def _style(name: str, entry: Entry) -> Style:
    words = PYTHON if entry.python else JS
    python = "claude-agent-sdk 0.2.189 (CLI 2.1.332)"
    return Style(
        name=name,
        sdk=python if entry.python else "@anthropic-ai/claude-agent-sdk 0.3.302 (CLI 2.1.302)",
        unit="turn",
        knob="max_turns" if entry.python else "maxTurns",
        default=None,
        loop=partial(session, entry=entry),
        checks="after each tool round",
        at_limit=f"a result of subtype error_max_turns; {'query() then throws' if entry.throws else 'nothing is raised'}",
        signal='subtype == "success" and not is_error',
        streams=True,
        read_limit=read_limit,
        options=words.names(),
        configure=partial(configure, words=words),
        claims=CLAIMS,
    )


STYLES = (
    _style("claude-agent-sdk-js/query", Entry(python=False, throws=True, malformed=1)),
    _style("claude-agent-sdk/query", Entry(python=True, throws=True, malformed=2)),
    _style("claude-agent-sdk/ClaudeSDKClient", Entry(python=True, throws=False, malformed=2)),
)
