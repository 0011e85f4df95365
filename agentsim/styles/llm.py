"""llm's chains over its OpenAI plugin's Chat Completions models, streamed or not.

Measured on llm 0.36 (openai 3.57.0):

    count, text = 0, ""
    while True:
      reply = model call; arguments that are no JSON: throw                # what arrived of a stream that ends is a reply
      count += 1; text += the reply's text, behind a space where neither side has one
      count >= chain_limit: throw                                          # 0 and None (the default) never do; an answer is one too many, too
      no calls: return text                                                # whatever the finish reason says
      run the calls, one after the other (AsyncConversation: all at once); every error becomes a result
                                                                           # but PauseChain and what the hooks throw, which leave the chain

`Model.chain` is `Conversation.chain` on a conversation of its own, without a way to set the limit. Calls that share an id are run each, and
written back as one, their names and arguments run together. A conversation knows of a chain that threw what its responses said: the results
that were asked with, or were never asked with, are lost, and calls stay open.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Block, Message, Text, ToolCall
from agentsim.core.run import Failed, Run
from agentsim.core.scripted import Function, check_keys, function
from agentsim.core.style import Style
from agentsim.core.wires import CHAT, Seen, SeenCall, parse
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
        seen = yield from call_model(chain)
        text = joined(text, seen.text)
        if told := written(seen):
            run.history.append(Message("assistant", tuple(told)))
        chain.said = len(run.history)
        run.count += 1
        if run.limit is not None and run.count >= run.limit:
            raise Leaves("ValueError", f"Chain limit of {run.limit} exceeded.", "limit")
        if not seen.calls:
            return run.returned(text, seen.word, reported=int(run.count))
        results = yield from (at_once if chain.parallel else in_turn)(chain, seen.calls)
        run.answer_with(results)


def call_model(chain: Chain) -> Generator[Action, Event, Seen]:
    """The reply. A stream that merely ends is one."""
    seen = yield from chain.run.call(RETRY)
    if isinstance(seen, Failed):
        if not (seen.fault.in_stream and seen.fault.disconnect == "end"):
            name, message = client_error(CHAT, seen.fault, openai=3)
            raise Leaves("KeyboardInterrupt" if seen.aborted else name, "" if seen.aborted else message, ending(seen))
        seen = chain.run.partly(seen.fault)[0]
    for call in seen.calls:
        if call.broken and call.raw:
            raise Leaves("JSONDecodeError", no_json(call.raw), None)
    return seen


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
    """The reply in the next requests: its text, and its calls, of which those that share an id are one."""
    parts: dict[str, list[SeenCall]] = {}
    for call in seen.calls:
        parts.setdefault(call.id, []).append(call)
    told: list[Block] = [Text(seen.text)] if seen.text else []
    return [*told, *map(one_of, parts.values())]


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
        wires=(CHAT,),
        streams=None,
        read_limit=read_limit,
        options=OPTIONS,
        configure=configure,
    )
    for kind, parallel in (("Conversation", False), ("AsyncConversation", True))
)
