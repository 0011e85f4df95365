"""How the blocks of a reply are written: short forms, and the general `content:` list."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from agentsim.core import messages
from agentsim.core.messages import (
    Block,
    Opaque,
    RedactedThinking,
    Refusal,
    ServerCall,
    ServerResult,
    Thinking,
    ToolCall,
)
from agentsim.scenario.arguments import as_arguments
from agentsim.scenario.document import Node, Path, Report
from agentsim.scenario.model import AnyCall, OutputBlock
from agentsim.scenario.records import Key, Part, Record, Tagged
from agentsim.scenario.shapes import Anything, Either, Flag, ListOf, Made, MapOf, Named, Number, Object, Text

#: The signature of a thinking block that states none: providers always send one, and want it back.
SIGNATURE = "sig"

NAME = Text("a name", least=1)
WHOLE = Number("a whole number, 0 or more", least=0, whole=True)
Item = Block | AnyCall | OutputBlock


def _seen(kind: str) -> Any:
    """A `make` that notes the value, for the checks of references."""

    def note(value: str, node: Node, path: Path, report: Report) -> str:
        report.seen.append((kind, value, node.line, path))
        return value

    return note


def noted(kind: str, shape: Text = NAME) -> Made:
    """A text that `references` compares with others of its file."""
    return Made(shape, _seen(kind))


# -- calls ------------------------------------------------------------------------------------------------------------


def call_of(name: str, given: Any, call_id: str = "") -> ToolCall | AnyCall:
    """A call with an input; of the tool "*", one that the request fills."""
    if name == "*":
        return AnyCall(call_id or None, given)
    return ToolCall(call_id, name, as_arguments(given))


def _call(part: Part) -> ToolCall | AnyCall:
    name, call_id = part.get("name"), part.get("id", "")
    if not part.has("raw"):
        return call_of(name, part.get("input", {}), call_id)
    if name == "*":
        return AnyCall(call_id or None, raw=part.get("raw"))
    return ToolCall(call_id, name, part.get("raw"))


def _note_unnamed(kind: str) -> Any:
    def note(part: Part) -> None:
        if not part.has("id"):
            part.report.seen.append((kind, "", part.node.line, part.path))

    return note


CALL = Record(
    "a call",
    {
        "name": Key(Text("a tool's name"), 'the tool; "*" is one that the request offers', required=True),
        "input": Key(Object("a mapping (the call's input)"), "default: {}"),
        "raw": Key(Text(), "the argument text as it is, readable or not"),
        "id": Key(noted("call id"), "default: counted, call_1, call_2 …"),
    },
    _call,
    apart=(("input", "raw"),),
    rules=(_note_unnamed("call"),),
)

SERVER_CALL = Record(
    "a server call",
    {
        "name": Key(NAME, "the tool that runs at the provider", required=True),
        "input": Key(Object("a mapping (the call's input)"), "default: {}"),
        "raw": Key(Text(), "the argument text as it is, readable or not"),
        "id": Key(noted("server call id"), "default: counted, srvtoolu_1, srvtoolu_2 …"),
    },
    lambda part: ServerCall(part.get("id", ""), part.get("name"), part.get("raw", as_arguments(part.get("input", {})))),
    apart=(("input", "raw"),),
    rules=(_note_unnamed("server call"),),
)

_ONE_CALL = "a mapping of one tool to its input (a call with an id or raw arguments is written in `content:`)"


def _short_calls(kind: str) -> Made:
    """`{tool: input, …}` or `[{tool: input}, …]`, as a list of (tool, input)."""

    def pairs(value: Any, node: Node, path: Path, report: Report) -> list[tuple[str, Any]]:
        found = [pair for one in (value if isinstance(value, list) else [value]) for pair in one.items()]
        report.seen += [(kind, "", node.line, path)] * len(found)
        return found

    given = Object("a mapping (the call's input; raw argument text is written in `content:`)")
    one = MapOf(given, _ONE_CALL, least=1, most=1, nameless=True)
    kinds = {
        "mapping": MapOf(given, "a mapping of tools to inputs", least=1, nameless=True),
        "list": ListOf(one, "a list of calls", least=1),
    }
    return Made(Either("a mapping of tools to inputs, or a list of such mappings of one tool each", kinds), pairs)


# -- blocks of `content:` ---------------------------------------------------------------------------------------------


def _thinking(part: Part) -> Thinking:
    return Thinking(part.get("thinking"), part.get("signature", SIGNATURE))


SERVER_RESULT = Record(
    "a server result",
    {
        "for": Key(noted("server result for"), "id of the server call; default: the one before it"),
        "content": Key(Anything(), "what the provider's tool gave, a JSON value"),
    },
    lambda part: ServerResult(part.get("for", ""), part.get("content")),
)

OPAQUE = Record(
    "an opaque block",
    {"kind": Key(NAME, "its type", required=True), "data": Key(Object(), "its fields")},
    lambda part: Opaque(part.get("kind"), part.get("data", {})),
)


def _block(words: str, tag: str, shape: Any, says: str, make: Any, **more: Key) -> Record:
    return Record(words, {tag: Key(shape, says, required=True), **more}, make)


BLOCKS: dict[str, Record] = {
    "text": _block("a text block", "text", Text(), "a text block", lambda part: messages.Text(part.get("text"))),
    "thinking": _block(
        "a thinking block",
        "thinking",
        Text(),
        "a thinking block",
        _thinking,
        signature=Key(Text(), f"has to come back with it; default: {SIGNATURE}"),
    ),
    "redacted_thinking": _block(
        "a redacted thinking block",
        "redacted_thinking",
        Text(),
        "thinking that only the provider can read",
        lambda part: RedactedThinking(part.get("redacted_thinking")),
    ),
    "tool_use": _block("a call", "tool_use", CALL, "a call for the client to run", lambda part: part.get("tool_use")),
    "server_tool_use": _block(
        "a server call",
        "server_tool_use",
        SERVER_CALL,
        "a call that the provider runs itself",
        lambda part: part.get("server_tool_use"),
    ),
    "server_tool_result": _block(
        "a server result",
        "server_tool_result",
        SERVER_RESULT,
        "the provider's result of a server call",
        lambda part: part.get("server_tool_result"),
    ),
    "refusal": _block(
        "a refusal",
        "refusal",
        Text(),
        "the words of a refusal",
        lambda part: Refusal(part.get("refusal"), part.get("category")),
        category=Key(NAME, "the provider's category"),
    ),
    "output": _block(
        "structured output",
        "output",
        Anything(),
        "structured output: a call of the SDK's output tool, else JSON text",
        lambda part: OutputBlock(part.get("output")),
    ),
    "opaque": _block(
        "an opaque block",
        "opaque",
        OPAQUE,
        "a block of a kind that nothing here knows",
        lambda part: part.get("opaque"),
    ),
}

BLOCK = Named("block", Tagged("a block", BLOCKS))

#: The keys that say what a reply holds.
CONTENT_KEYS: dict[str, Key] = {
    "content": Key(ListOf(BLOCK, "a list of blocks"), "the general form: an ordered list of blocks"),
    "thinking": Key(Text(), "a thinking block, first in the reply"),
    "signature": Key(Text(), f"of the thinking; default: {SIGNATURE}"),
    "text": Key(Text(), 'a text block; "" is one empty text block'),
    "refusal": Key(Text(), 'the words of a refusal; "" has no content. Implies stop_reason: refusal'),
    "category": Key(NAME, "the provider's category of the refusal"),
    "server_tool_use": Key(_short_calls("server call"), "calls that the provider runs itself: {tool: input}"),
    "tool_use": Key(
        _short_calls("call"),
        'calls for the client to run: {tool: input}, or a list of such mappings; the tool "*" is one that the request offers',
    ),
    "output": Key(Anything(), "structured output: a call of the SDK's output tool where it has one, else JSON text"),
    "empty": Key(Flag(only=True), "true: a reply without any content"),
}


def content_rules(part: Part) -> None:
    """Combinations of content keys that say nothing, or two things at once."""
    short = [key for key in part.node.value if key in CONTENT_KEYS and key != "content"]
    if part.has("content") and short:
        part.complain(f"{short[0]!r} can't stand beside 'content'; write it as one of its blocks", short[0])
    if part.has("empty") and len(short) > 1:
        other = next(key for key in short if key != "empty")
        part.complain(f"{other!r} can't stand beside 'empty', which is a reply without any content", other)
    for key in ("text", "output"):
        if part.has("refusal") and part.has(key):
            part.complain(
                f"{key!r} can't stand beside 'refusal', whose words are the reply's text; write both in `content:`", key
            )
    for key, needed in (("signature", "thinking"), ("category", "refusal")):
        if part.has(key) and not part.has(needed):
            part.complain(f"{key!r} needs {needed!r} beside it", key)


def items_of(part: Part) -> list[Item]:
    """What a reply holds, in order: as `content:` lists it, else thinking, text, server calls, calls, output.

    A refusal without words is no block in the short form (`refusal: ""`), and an empty one in the general form.
    """
    if part.has("content"):
        return list(part.get("content"))
    items: list[Item] = []
    if part.has("thinking"):
        items.append(_thinking(part))
    if part.has("text"):
        items.append(messages.Text(part.get("text")))
    if part.get("refusal") or part.has("category"):
        items.append(Refusal(part.get("refusal"), part.get("category")))
    items += [ServerCall("", name, as_arguments(given)) for name, given in part.get("server_tool_use", [])]
    items += [call_of(name, given) for name, given in part.get("tool_use", [])]
    if part.has("output"):
        items.append(OutputBlock(part.get("output")))
    return items


def default_stop(items: Sequence[Item], *, cut: bool = False, refused: bool = False, handoff: bool = False) -> str:
    """The stop reason of a reply that states none.

    Args:
        items: what it holds.
        cut: its last call is cut.
        refused: it is a refusal, with words or without.
        handoff: it hands over to another agent, which takes a call.
    """
    if cut:
        return "max_tokens"
    if refused or any(isinstance(item, Refusal) for item in items):
        return "refusal"
    return "tool_use" if handoff or any(isinstance(item, ToolCall | AnyCall) for item in items) else "end_turn"


def split(items: Sequence[Item]) -> tuple[tuple[Block, ...], tuple[tuple[int, AnyCall | OutputBlock], ...]]:
    """Blocks that are known, and (position, block) of those that only a request can fill."""
    extras = tuple((at, item) for at, item in enumerate(items) if isinstance(item, AnyCall | OutputBlock))
    return tuple(item for item in items if not isinstance(item, AnyCall | OutputBlock)), extras


def cut(items: Sequence[Item], after: int) -> list[Item] | None:
    """The items with only `after` code points of the last call's arguments; None where there is no call."""
    cut_items = list(items)
    for at in reversed(range(len(cut_items))):
        item = cut_items[at]
        if isinstance(item, ToolCall):
            cut_items[at] = ToolCall(item.id, item.name, item.arguments[:after])
            return cut_items
        if isinstance(item, AnyCall):
            cut_items[at] = dataclasses.replace(item, cut_after=after)
            return cut_items
    return None
