"""llm's chains over its OpenAI plugin's models of Chat Completions and Responses, streamed or not.

Measured on llm 0.36 (openai 3.57.0):

    count, text = 0, ""
    while True:
      reply = model call                                                   # what arrived of a stream that ends is a reply
      arguments that are no JSON: throw                                    # Responses: they become {"_raw": the text}
      count += 1; text += the reply's, behind a space where neither side has one
      count >= chain_limit: throw                                          # 0 and None (the default) never do; an answer is one too many, too
      no calls: return text                                                # whatever the finish reason says
      run the calls, one after the other (AsyncConversation: all at once); every error becomes a result
                                                                           # but PauseChain and what the hooks throw, which leave the chain

`Model.chain` is `Conversation.chain` on a conversation of its own, without a way to set the limit. Calls that share an id are run each, and
written back as one, their names and arguments run together. A conversation knows of a chain that threw what its responses said: the results
that were asked with, or were never asked with, are lost, and calls stay open.

On Responses, which llm's own entries of newer models speak, a call that an ending stream cut is not run and yet written back, and an error event is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Block, Message, RedactedThinking, Refusal, Text, Thinking, ToolCall
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import Function, check_keys, function
from agentsim.core.style import Style
from agentsim.core.wires import CHAT, RESPONSES, Seen, SeenCall, parse
from agentsim.styles._llm_calls import Chain, Leaves, Options, at_once, in_turn
from agentsim.styles._python_clients import RETRY, client_error, ending

OPTIONS = {
    "before_call": "a function that is called before each call's tool; raising CancelToolCall answers the call, another error leaves the chain",
    "after_call": "a function that is called after each tool; what it raises leaves the chain",
    "pause": "names of tools that raise PauseChain, which leaves the chain",
}


def loop(run: Run, *, parallel: bool) -> Generator[Action, Event, Outcome]:
    """One chain. `parallel`: a reply's calls run at once."""
    chain = Chain(run, parallel=parallel)
    try:
        return (yield from steps(chain))
    except Leaves as error:
        run.rewrite(chain.said)
        return run.threw(error.type, error.message, error.ended, bad_call=True)


def steps(chain: Chain) -> Generator[Action, Event, Outcome]:
    """The loop: see the module."""
    run, text = chain.run, ""
    while True:
        seen, calls = yield from call_model(chain)
        text = joined(text, seen.text)
        if told := written(seen):
            run.history.append(Message("assistant", tuple(told)))
        chain.said = len(run.history)
        run.count += 1
        if run.limit is not None and run.count >= run.limit:
            raise Leaves("ValueError", f"Chain limit of {run.limit} exceeded.", "limit")
        if not calls:
            return run.returned(text, finish_of(run, seen), reported=int(run.count), dropped=True)
        run.answer_with((yield from (at_once if chain.parallel else in_turn)(chain, calls)))


def call_model(chain: Chain) -> Generator[Action, Event, tuple[Seen, list[SeenCall]]]:
    """The reply, and those of its calls that are run. A stream that merely ends is a reply; Responses' call that it cut is never done."""
    run, is_chat = chain.run, chain.run.wire == CHAT
    seen = yield from run.call(RETRY)
    cut = False
    if isinstance(seen, Failed):
        if not is_reply(run, seen):
            name, message = client_error(run.wire, seen.fault, openai=3)
            raise Leaves("KeyboardInterrupt" if seen.aborted else name, "" if seen.aborted else message, ending(seen))
        seen, unfinished = run.partly(seen.fault)
        cut = unfinished and not is_chat and isinstance(seen.reply.blocks[-1], ToolCall)
    calls = list(seen.calls[:-1] if cut else seen.calls)
    for at, call in enumerate(calls):
        if call.broken and call.raw:
            if is_chat:
                raise Leaves("JSONDecodeError", no_json(call.raw), None)
            calls[at] = SeenCall(call.id, call.name, call.raw, {"_raw": call.raw})
    return seen, calls


def is_reply(run: Run, failed: Failed) -> bool:
    """Whether what arrived counts as a reply: of a stream that merely ends. Responses' error event is not looked at, and then it ends."""
    fault = failed.fault
    return fault.in_stream and (fault.disconnect == "end" or (fault.disconnect is None and run.wire == RESPONSES))


def finish_of(run: Run, seen: Seen) -> str | None:
    """The last response's finish reason, on Responses its status; a stream that is not completed leaves none."""
    if run.wire == CHAT:
        return seen.word
    completed = seen.word == "completed"
    if run.broken_off or (seen.streamed and not completed):
        return None
    return "completed" if completed else "incomplete"


def no_json(text: str) -> str:
    """What Python's parser says of a text that is no JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    raise AssertionError(text)


def joined(text: str, more: str) -> str:
    """The chain's text so far, with the next reply's."""
    apart = text and more and not text[-1].isspace() and not more[0].isspace()
    return f"{text} {more}" if apart else text + more


def written(seen: Seen) -> list[Block]:
    """The reply in the next requests: of each message its thoughts, its text and its calls, of which those that share an id are one."""
    calls: dict[str, list[SeenCall]] = {}
    for call in seen.calls:
        calls.setdefault(call.id, []).append(call)
    refused = seen.refusal is not None and not any(isinstance(block, Refusal) for block in seen.reply.blocks)
    told: list[Block] = []
    for blocks in messages_of(seen):
        told += [
            one
            for one, behind in zip(blocks, [*blocks[1:], None], strict=False)
            if is_thought(one) and not is_thought(behind)
        ]
        text = "".join(block.text for block in blocks if isinstance(block, Text) and not refused)
        told += [Text(text)] if text else []
        told += [one_of(calls.pop(block.id)) for block in blocks if isinstance(block, ToolCall) and block.id in calls]
    return told


def messages_of(seen: Seen) -> list[list[Block]]:
    """The reply's blocks by messages: each of Responses' texts begins one, but for the first."""
    messages: list[list[Block]] = [[]]
    begun = False
    for block in seen.reply.blocks:
        if seen.wire == RESPONSES and isinstance(block, Text | Refusal):
            messages += [[]] if begun else []
            begun = True
        messages[-1].append(block)
    return messages


def is_thought(block: Block | None) -> bool:
    """Whether it is reasoning; what follows on another is put into its place."""
    return isinstance(block, Thinking | RedactedThinking)


def one_of(calls: Sequence[SeenCall]) -> ToolCall:
    """Calls of one id as one: what arrived of them, joined."""
    raw = "".join(call.raw for call in calls)
    value, broken = parse(raw) if raw else ({}, False)
    arguments = json.dumps({"_raw": raw} if broken else value)
    return ToolCall(calls[0].id, "".join(call.name for call in calls), arguments)


def configure(tree: Mapping[str, Any]) -> Options:
    """The tree as options.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    check_keys(tree, "", tuple(OPTIONS))
    paused = tree.get("pause", [])
    if not isinstance(paused, list) or not all(isinstance(name, str) for name in paused):
        raise ValueError(f"pause: expected a list of names, but {paused!r} came")
    return Options(hook_of(tree, "before_call"), hook_of(tree, "after_call"), tuple(paused))


def hook_of(tree: Mapping[str, Any], name: str) -> Function | None:
    """A hook of the tree; only what it raises matters."""
    if tree.get(name) is None:
        return None
    made = function(tree[name], name)
    if made.seconds:
        raise ValueError(f"{name}.seconds: expected a hook that takes no time, but {made.seconds!r} came")
    return made


def read_limit(value: Any) -> float | None:
    """Any number is one, also a broken or a negative one; 0 is none."""
    return value or None


STYLES = tuple(
    Style(
        name=f"llm/{kind}.chain",
        sdk="llm 0.36",
        unit="response",
        knob="chain_limit",
        default=None,
        loop=partial(loop, parallel=parallel),
        checks="behind each reply, an answer too",
        at_limit='throws ValueError "Chain limit of N exceeded."; the text so far was only seen by who iterated over it',
        signal="",
        wires=(CHAT, RESPONSES),
        streams=None,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
    )
    for kind, parallel in (("Conversation", False), ("AsyncConversation", True))
)
