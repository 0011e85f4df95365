"""How the entries of a script are written: replies, faults, and what stands beside both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import STOP_REASONS, Reply, Usage
from agentsim.scenario.blocks import (
    CONTENT_KEYS,
    NAME,
    WHOLE,
    content_rules,
    cut,
    default_stop,
    items_of,
    noted,
    split,
)
from agentsim.scenario.chaos import CHAOS
from agentsim.scenario.document import BROKEN, Node, Path, Report
from agentsim.scenario.model import (
    FOREVER,
    INSTANT,
    AnyCall,
    Entry,
    Expectation,
    OutputBlock,
    Pace,
    ScriptedFault,
    ScriptedReply,
    TextMatch,
    When,
)
from agentsim.scenario.records import Key, Part, Record
from agentsim.scenario.shapes import Choice, Either, Flag, ListOf, Made, MapOf, Named, Null, Number, Text

SECONDS = Number("seconds, 0 or more", least=0)

# -- conditions and expectations ----------------------------------------------------------------------------------------


def _pattern(value: str, node: Node, path: Path, report: Report) -> Any:
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        report.add(f"{value!r} is no regular expression: {error}", node.line, path)
        return BROKEN
    return value


def _match(part: Part) -> TextMatch:
    if part.has("contains"):
        return TextMatch("contains", part.get("contains"))
    return TextMatch("matches", part.get("matches"))


PATTERN = Made(Text("a regular expression"), _pattern)
MATCH = Named(
    "match",
    Either(
        "{contains: text} or {matches: regular expression}",
        {
            "text": Made(Text(), lambda value, *_: TextMatch("contains", value)),
            "mapping": Record(
                "a condition",
                {
                    "contains": Key(Text(), "the text holds this"),
                    "matches": Key(PATTERN, "the regular expression is found in the text"),
                },
                _match,
                some=("contains", "matches"),
                apart=(("contains", "matches"),),
            ),
        },
    ),
)


def _when(part: Part) -> When:
    match = part.get("prompt") or part.get("last_tool_result")
    return When("prompt" if part.has("prompt") else "last_tool_result", match.how, match.pattern)


WHEN = Record(
    "a condition on the request",
    {
        "last_tool_result": Key(MATCH, "the last tool result in the request"),
        "prompt": Key(MATCH, "the last user text in the request"),
    },
    _when,
    some=("last_tool_result", "prompt"),
    apart=(("last_tool_result", "prompt"),),
)


def _expectation(part: Part) -> Expectation:
    answers = part.get("answers")
    texts = [TextMatch("contains", text) for text in part.get("contains", [])]
    texts += [TextMatch("matches", text) for text in part.get("matches", [])]
    return Expectation(
        offers=tuple(part.get("offers", ())),
        answers=answers if isinstance(answers, dict) else None,
        no_answers=answers == "none",
        resumes=part.get("resumes", False),
        text=tuple(texts),
    )


def _note_ids(value: dict[str, Any], node: Node, path: Path, report: Report) -> dict[str, Any]:
    report.seen += [("answer to", call_id, node.value[call_id].key_line, (path, call_id)) for call_id in value]
    return value


ANSWERS = Either(
    "none, or a mapping of call ids to conditions",
    {
        "text": Choice(("none",), ("a mapping of call ids to conditions",)),
        "mapping": Made(
            MapOf(
                Either("a condition on the result, or nothing", {"null": Null(), "text": MATCH, "mapping": MATCH}),
                "a mapping of call ids to conditions (none: no result at all)",
                least=1,
            ),
            _note_ids,
        ),
    },
)
REQUEST = Record(
    "what the request has to hold",
    {
        "offers": Key(ListOf(NAME, "a list of tool names"), "tools that it must offer"),
        "answers": Key(ANSWERS, "call id -> condition on its result; none: it holds no result"),
        "resumes": Key(Flag(only=True), "the paused reply comes back unchanged and last, or its thread goes on"),
        "contains": Key(ListOf(Text(), "a text or a list of texts", alone=True), "texts that it must hold"),
        "matches": Key(ListOf(PATTERN, "a regular expression or a list", alone=True), "patterns found in its text"),
    },
    _expectation,
    some=("offers", "answers", "resumes", "contains", "matches"),
)

# -- what stands beside a reply or a fault --------------------------------------------------------------------------------

STOP_REASON = Either(
    "a stop reason, {raw: word} or null",
    {
        "text": Choice(STOP_REASONS, ("{raw: word}", "null")),
        "null": Null(),
        "mapping": Record(
            "a raw stop reason",
            {"raw": Key(Text("a word", least=1), "sent as it is", required=True)},
            lambda part: part.get("raw"),
        ),
    },
)
USAGE = Record(
    "the tokens of a reply",
    {
        "input_tokens": Key(WHOLE, "default: 10"),
        "output_tokens": Key(WHOLE, "default: 5"),
        "cache_read_input_tokens": Key(WHOLE, "default: 0"),
        "cache_creation_input_tokens": Key(WHOLE, "default: 0"),
    },
    lambda part: Usage(**part.values),
)
PACE = Either(
    "seconds, or {first, per_chunk, tail}",
    {
        "number": Made(SECONDS, lambda value, *_: Pace(first=value)),
        "mapping": Record(
            "the pace of a reply",
            {
                "first": Key(SECONDS, "until the first piece"),
                "per_chunk": Key(SECONDS, "for each piece"),
                "tail": Key(SECONDS, "between the last block and the end"),
            },
            lambda part: Pace(**part.values),
        ),
    },
)
STREAM = Record(
    "how a reply is streamed",
    {"characters_per_chunk": Key(Number("a whole number, 1 or more", 1, whole=True), "size of a piece", required=True)},
    lambda part: part.get("characters_per_chunk"),
)
REPEAT = Either(
    "a whole number, or forever",
    {
        "number": Number("a whole number, 1 or more, or forever", 1, whole=True),
        "text": Made(Choice(("forever",), ("a whole number",)), lambda *_: FOREVER),
    },
)
HANDOFF = ListOf(noted("agent"), "an agent's name or a list of names", least=1, alone=True)

# -- faults ---------------------------------------------------------------------------------------------------------------

#: HTTP status -> the Claude API's error type, and words as it says them.
ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "Invalid request"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource"),
    404: ("not_found_error", "Not found"),
    408: ("timeout_error", "Request timed out"),
    409: ("conflict_error", "Conflict"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your rate limit"),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
}
STATUS = Number("an HTTP status from 400 to 599", 400, 599, whole=True)
ERROR = Either(
    "an HTTP status, or {status, type, message, retry_after, after_characters}",
    {
        "number": Made(STATUS, lambda value, *_: {"status": value}),
        "mapping": Record(
            "an error",
            {
                "status": Key(STATUS, "default: the one that goes with the type"),
                "type": Key(NAME, "the provider's error type; default: the one that goes with the status"),
                "message": Key(Text(), "the provider's words"),
                "retry_after": Key(SECONDS, "seconds that the provider asks to wait"),
                "after_characters": Key(
                    WHOLE, "an error event inside a 200 stream, after so many characters of the content"
                ),
            },
            some=("status", "type"),
        ),
    },
)


def _refused_before(part: Part) -> None:
    if part.get("how") == "refuse" and part.has("after_characters"):
        part.complain("a connection that is refused carries nothing: `how: refuse` goes with `before: headers`", "how")


DISCONNECT = Record(
    "a lost connection",
    {
        "before": Key(Choice(("headers",)), "no headers come"),
        "after_characters": Key(WHOLE, "a 200 stream breaks after so many characters of the content"),
        "how": Key(
            Choice(("end", "reset", "refuse", "stall")),
            "the connection ends, is reset, is refused, or stays while nothing more comes; default: end",
        ),
    },
    some=("before", "after_characters"),
    apart=(("before", "after_characters"),),
    rules=(_refused_before,),
)


def _fault(part: Part, whole: Reply) -> Fault:
    """The fault of an entry; `whole` is the reply that was on its way where the fault comes inside a stream."""
    after = _after_characters(part)
    partial = None if after is None else whole
    if part.has("disconnect"):
        how, status = part.get("disconnect").get("how", "end"), None if after is None else 200
        return Fault(status, after_characters=after, disconnect=how, partial=partial)
    error = part.get("error")
    status = error.get("status") or next((s for s, (kind, _) in ERRORS.items() if kind == error["type"]), 500)
    kind, words = ERRORS.get(status, ("api_error" if status >= 500 else "invalid_request_error", "Error"))
    return Fault(
        status=status if after is None else 200,
        type=error.get("type", kind),
        message=error.get("message", words),
        retry_after=error.get("retry_after"),
        after_characters=after,
        partial=partial,
    )


def _after_characters(part: Part) -> int | None:
    fault = part.get("error") or part.get("disconnect") or {}
    after: int | None = fault.get("after_characters")
    return after


# -- entries ----------------------------------------------------------------------------------------------------------------

KEYS: dict[str, Key] = {
    **CONTENT_KEYS,
    "stop_reason": Key(STOP_REASON, "default: tool_use where there are calls, else end_turn; contradictions are legal"),
    "cut_after": Key(
        Number("a whole number", whole=True),
        "only so many characters of the last call's arguments arrive, or, negative, all but so many; "
        "implies stop_reason: max_tokens",
    ),
    "usage": Key(USAGE, "tokens; default: 10 in, 5 out"),
    "seconds": Key(PACE, "virtual time: until the first piece, or {first, per_chunk, tail}"),
    "stream": Key(STREAM, "how it is streamed"),
    "repeat": Key(REPEAT, "how often it is played in all; forever: without end, in the last entry"),
    "handoff": Key(HANDOFF, "agents that it hands over to"),
    "when": Key(WHEN, "a condition; the entry is passed over where it fails"),
    "request": Key(REQUEST, "what the request that this answers has to hold"),
    "error": Key(ERROR, "an HTTP error in place of a reply"),
    "disconnect": Key(DISCONNECT, "a lost connection in place of a reply"),
    "chaos": Key(CHAOS, "what happens to the answer on its way"),
}
Extras = tuple[tuple[int, AnyCall | OutputBlock], ...]
SAYS = ("content", "thinking", "text", "refusal", "server_tool_use", "tool_use", "output", "empty")


def _presence(part: Part) -> None:
    """An entry says something, breaks, or hands over; and its parts agree."""
    faults = [key for key in ("error", "disconnect") if part.has(key)]
    misspelt = any(key not in KEYS for key in part.node.value)
    if not faults and not misspelt and not any(map(part.has, (*SAYS, "handoff"))):
        part.complain(
            "a reply needs one of content, text, tool_use, refusal …; one without content is written `empty: true`"
        )
    if part.has("cut_after") and not _has_call(part):
        hint = "a cut text is written as far as it came, with stop_reason: max_tokens"
        part.complain(f"'cut_after' needs a call whose arguments it cuts; {hint}", "cut_after")
    if faults:
        _fault_presence(part, faults[0])


def _has_call(part: Part) -> bool:
    content = part.node.value.get("content")
    blocks = content.value if content is not None and type(content.value) is list else []
    return part.has("tool_use") or any(type(block.value) is dict and "tool_use" in block.value for block in blocks)


def _fault_presence(part: Part, fault: str) -> None:
    if part.has("handoff"):
        part.complain(f"'handoff' can't stand beside {fault!r}: a request that failed hands nothing over", "handoff")
    beside = next((key for key in (*SAYS, "stop_reason", "cut_after", "usage") if part.has(key)), None)
    after = _after_characters(part)
    if fault not in part.values:
        return
    if fault == "disconnect" and part.has("chaos"):
        part.complain("'chaos' needs an answer that it can happen to; beside 'disconnect' there is none", "chaos")
    if beside is not None and after is None:
        part.complain(
            f"{beside!r} beside {fault!r} needs `after_characters` in it, which says how much of it arrives", beside
        )
    if after and not any(map(part.has, SAYS)):
        part.complain(f"'after_characters: {after}' needs the content beside it that arrives", fault)


def _content(part: Part) -> tuple[Reply, Extras]:
    """What the entry's content is as a reply, and what of it only a request can fill."""
    items = items_of(part)
    stop = part.get("stop_reason")
    if not part.has("stop_reason"):
        cut_off, refused, handoff = map(part.has, ("cut_after", "refusal", "handoff"))
        stop = default_stop(items, cut=cut_off, refused=refused, handoff=handoff)
    if part.has("cut_after"):
        items = cut(items, part.get("cut_after")) or items
    blocks, extras = split(items)
    return Reply(blocks, stop, part.get("usage")), extras


def _entry(part: Part) -> Entry:
    beside: dict[str, Any] = {
        "pace": part.get("seconds", INSTANT),
        "characters_per_chunk": part.get("stream"),
        "repeat": part.get("repeat", 1),
        "when": part.get("when"),
        "request": part.get("request"),
        "chaos": part.get("chaos"),
        "line": part.node.line,
    }
    reply, extras = _content(part)
    if part.has("error") or part.has("disconnect"):
        return ScriptedFault(_fault(part, reply), extras=extras, **beside)
    return ScriptedReply(reply, handoff=tuple(part.get("handoff", ())), extras=extras, **beside)


ENTRY = Named(
    "reply",
    Record("a reply", KEYS, _entry, apart=(("error", "disconnect"),), rules=(content_rules, _presence)),
)


class _Script(ListOf):
    """A list of entries, of which only the last may be endless."""

    def read(self, node: Node, path: Path, report: Report) -> Any:
        entries = super().read(node, path, report)
        for at, entry in enumerate(node.value[:-1] if type(node.value) is list else ()):
            repeat = entry.value.get("repeat") if type(entry.value) is dict else None
            if repeat is not None and repeat.value == "forever":
                message = "`repeat: forever` stands in the last reply only: nothing after it would ever be played"
                report.add(message, repeat.key_line, ((path, at), "repeat"))
                entries = BROKEN
        return entries if entries is BROKEN else tuple(entries)


SCRIPT = _Script(ENTRY, "a list of replies")
