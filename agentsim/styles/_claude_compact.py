"""What the CLI does when the prompt is too long: it has the oldest part of the history summarised, and goes on with the rest."""

from __future__ import annotations

from collections.abc import Generator

from agentsim.core.actions import Action
from agentsim.core.events import Event
from agentsim.core.messages import Message, user_text
from agentsim.core.run import Failed
from agentsim.styles._claude_retry import CliRetry
from agentsim.styles._claude_talk import Talk

SUMMARISE = "Your task is to create a detailed summary of the conversation so far."
AGAIN = "Your task is to create a detailed summary of the conversation so far, in <summary> tags."
CONTINUED = "This session is being continued from a previous conversation that ran out of context."

#: Newest exchanges that are kept as they are, where there are more.
KEPT_ROUNDS = 2


def compact(talk: Talk) -> Generator[Action, Event, bool]:
    """Have the history summarised by one more call; False where there is nothing to do it to, or it was done since the last round."""
    run = talk.run
    replies = [at for at, message in enumerate(run.history) if message.role == "assistant"]
    if talk.compacted or not replies:
        return False
    talk.compacted = True
    kept_rounds = min(len(replies) - 1, KEPT_ROUNDS)
    begin = replies[-kept_rounds] if kept_rounds else len(run.history)
    everything = list(run.history)
    keep = begin
    if kept_rounds:
        run.rewrite(keep)
    else:
        run.send_anew()
    run.say(SUMMARISE)
    seen = yield from run.call(CliRetry(talk))
    if talk.entry.python and not isinstance(seen, Failed) and "<summary>" not in seen.text:
        run.rewrite(len(run.history) - 1)
        run.say(AGAIN)
        seen = yield from run.call(CliRetry(talk))
    if isinstance(seen, Failed) or not seen.text.strip():
        run.rewrite(keep, everything[keep:])
        return False
    summary = user_text(f"{CONTINUED}\n{seen.text}")
    rest: list[Message] = everything[keep:]
    run.rewrite(0, [summary, *rest])
    talk.users += 1
    return True
