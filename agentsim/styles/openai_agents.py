"""The OpenAI Agents SDK, JavaScript and Python: a turn is a model call, checked before it is made.

Measured on @openai/agents 0.20.0 and openai-agents 0.24.0:

    turn = 0; agent = start
    loop:
      turn += 1                                              # not on a resume that only finishes an interrupted turn
      cap is not null and turn > cap: maxTurns handler's output, else throw MaxTurnsExceeded
      turn == 1: input guardrails, before the call or beside it
      reply = model(agent, history)
      reject the whole reply, before any tool runs, with ModelBehaviorError if
        - Responses: status incomplete; Chat: finish "length" with nothing in it
        - it names a tool that the agent lacks                # unless the option returns that as an error result
        - two calls share an id but differ, or an id already answered comes back with other arguments
      run ALL function calls of the reply at once             # a call that came before, id and all, is dropped
      a call waits for an approval: return; a resume runs what was approved, and the turn goes on here
      the reply has handoffs: the first wins, agent = target; continue
      toolUseBehavior makes a tool's output final: return it
      the reply had any call: continue
      refusal: modelRefusal handler's output, else throw ModelRefusalError        # JavaScript: only without text
      structured output: empty -> continue; bad -> invalidFinalOutput handler's output, else throw ModelBehaviorError
      no text: continue                                       # JavaScript; Python returns ""
      return the text                                         # output guardrails look at whatever is returned
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Block, Message, ToolCall, ToolResult
from agentsim.core.run import Run
from agentsim.core.style import Style
from agentsim.core.wires import CHAT, RESPONSES, SeenCall
from agentsim.styles._openai_claims import CLAIMS
from agentsim.styles._openai_ends import at_limit, model_error, refused, spoken, tool_is_answer
from agentsim.styles._openai_guardrails import after_turn, before_first_call, before_tools, call_model
from agentsim.styles._openai_options import JS, PYTHON, Words, configure
from agentsim.styles._openai_reply import Held, hold, unfinished
from agentsim.styles._openai_talk import Entry, Talk, agent_name, handoff_names
from agentsim.styles._openai_tools import as_arrived
from agentsim.styles._openai_work import hand_over, work

Steps = Generator[Action, Event, Outcome | None]


def loop(run: Run, entry: Entry) -> Generator[Action, Event, Outcome]:
    """One run of a prompt."""
    talk = Talk(run, entry)
    if not talk.nested:
        run.hand_over(run.setup.agent)
        drop_unanswered(run)
    before = len(run.history)
    while True:
        turn_begin = len(run.history)
        if run.limit is not None and talk.turn + 1 > run.limit:
            outcome: Outcome | None = yield from at_limit(talk)
        else:
            talk.turn += 1
            talk.handed_over = talk.broken = False
            outcome = yield from turn(talk)
        outcome = yield from after_turn(talk, outcome)
        if outcome is not None:
            if outcome.returned == "error":
                forget(talk, before, turn_begin)
            return outcome
        run.count += 1


def turn(talk: Talk) -> Steps:
    """One turn; an outcome where the run ends in it."""
    run = talk.run
    run.offered = (*run.tools, *handoff_names(talk)) if run.agent.handoffs else None
    outcome = yield from before_first_call(talk)
    if outcome is not None:
        return outcome
    seen = yield from call_model(talk)
    if isinstance(seen, Outcome):
        return seen
    held = hold(seen, talk.python)
    if problem := unfinished(seen, held, talk.python):
        return model_error(talk, problem, consumed=False)
    talk.used += 1
    calls = [as_arrived(call, seen, talk.python) for call in seen.calls]
    if outcome := rejected(talk, calls):
        return outcome
    outcome = yield from before_tools(talk)
    if outcome is not None:
        return outcome
    return (yield from answer(talk, held, calls))


def drop_unanswered(run: Run) -> None:
    """A new prompt leaves out calls that were never answered: those that still wait for an approval."""
    answered = {part.call_id for message in run.history for part in message.content if isinstance(part, ToolResult)}
    for at, message in enumerate(run.history):
        kept = tuple(part for part in message.content if not (isinstance(part, ToolCall) and part.id not in answered))
        if kept != message.content:
            run.rewrite(at, [*([Message(message.role, kept)] if kept else []), *run.history[at + 1 :]])
            return


def forget(talk: Talk, before: int, turn_begin: int) -> None:
    """What a session does not keep of a run that threw: the last turn (Python), all (JavaScript), all but the prompt (streamed)."""
    if talk.python:
        talk.run.rewrite(turn_begin)
    elif not talk.nested:
        talk.run.rewrite(before - (not talk.run.streamed))


def rejected(talk: Talk, calls: list[SeenCall]) -> Outcome | None:
    """A reply that is refused as a whole, before any tool runs. The languages look in another order."""
    known = {**talk.run.tools, **dict.fromkeys(handoff_names(talk))}
    unknown = next((call.name for call in calls if call.name not in known), None)
    wrong_id = talk.ids.problem(calls, known)
    missing = None
    if unknown is not None and not talk.options.return_not_found:
        stop = "" if talk.python else "."
        missing = f"Tool {unknown} not found in agent {agent_name(talk.run)}{stop}"
    if missing is not None and (wrong_id is None or not talk.python):
        return model_error(talk, missing)
    if wrong_id is not None:
        return model_error(talk, wrong_id, with_state=True)
    return None


def answer(talk: Talk, held: Held, calls: list[SeenCall]) -> Steps:
    """Run the reply's calls, or take its words for the end."""
    fresh = talk.ids.fresh(calls)
    keep(talk, held, calls, fresh)
    if calls:
        done = yield from work(talk, fresh)
        if done.outcome is not None:
            return done.outcome
        if done.handoffs:
            hand_over(talk, done)
            return None
        outcome = yield from tool_is_answer(talk, done)
        if outcome is not None:
            return outcome
        if fresh or not talk.python or not held.said.any_message:
            return None
    if held.said.refusal:
        return (yield from refused(talk, held.said.refusal))
    return (yield from spoken(talk, held))


def keep(talk: Talk, held: Held, calls: list[SeenCall], fresh: list[SeenCall]) -> None:
    """The reply's items go into the history, but for dropped calls; of one that JavaScript asks again only what is no message."""
    asked_again = not (calls or held.said.text or held.said.refusal or talk.structured)
    if asked_again and not talk.python:
        blocks: tuple[Block, ...] = held.wordless
    else:
        arrived, left = iter(calls), list(fresh)
        kept: list[Block] = []
        for block in held.blocks:
            if not isinstance(block, ToolCall):
                kept.append(block)
            elif (call := next(arrived)) in left:
                left.remove(call)
                kept.append(ToolCall(call.id, call.name, call.raw))
        blocks = tuple(kept)
    if blocks:
        talk.run.history.append(Message("assistant", blocks))


def _style(name: str, entry: Entry, words: Words, streams: bool | None) -> Style:
    return Style(
        name=name,
        sdk="openai-agents 0.24.0" if entry.python else "@openai/agents 0.20.0",
        unit="turn",
        knob="max_turns" if entry.python else "maxTurns",
        default=10,
        loop=partial(loop, entry=entry),
        checks="before each call, after the last turn's tools ran",
        at_limit=f"throws {'MaxTurnsExceeded' if entry.python else 'MaxTurnsExceededError'}",
        signal="",
        wires=(RESPONSES, CHAT),
        streams=streams,
        options=words.names(),
        configure=partial(configure, words=words),
        claims=CLAIMS,
    )


STYLES = (
    _style("openai-agents-js/run", Entry(python=False), JS, None),
    _style("openai-agents/Runner.run", Entry(python=True), PYTHON, False),
    _style("openai-agents/Runner.run_streamed", Entry(python=True, streams=True), PYTHON, True),
)
