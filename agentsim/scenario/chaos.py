"""How it is written what happens to an answer on its way (`chaos:`), both ways."""

from __future__ import annotations

import json
from typing import Any

from agentsim.scenario.document import BROKEN, Node, Path, Report
from agentsim.scenario.model import Chaos, Malformed, Stall
from agentsim.scenario.records import Key, Part, Record
from agentsim.scenario.shapes import Choice, Either, Flag, ListOf, Made, Named, Number, Text

COUNT = Number("a whole number, 1 or more", 1, whole=True)

#: What a proxy says in the provider's place.
PAGES = {
    "html": Malformed("<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n", "text/html"),
    "text": Malformed("upstream connect error or disconnect/reset before headers", "text/plain"),
    "empty": Malformed("", "application/json"),
    "json": Malformed(None),
}


def _malformed(part: Part) -> Malformed:
    return Malformed(part.get("body"), part.get("content_type", "text/html"))


MALFORMED = Either(
    "html, text, empty, json (its own, cut in the middle), or {body, content_type}",
    {
        "text": Made(Choice(tuple(PAGES), ("{body, content_type}",)), lambda value, *_: PAGES[value]),
        "mapping": Record(
            "a body that is not the provider's",
            {
                "body": Key(Text(), "sent as it is", required=True),
                "content_type": Key(Text("a content type", least=1), "default: text/html"),
            },
            _malformed,
        ),
    },
)
STALL = Either(
    "seconds, or {seconds, after_events}",
    {
        "number": Made(Number("seconds, 0 or more", least=0), lambda value, *_: Stall(value)),
        "mapping": Record(
            "silence on the way",
            {
                "seconds": Key(Number("seconds, 0 or more", least=0), "how long", required=True),
                "after_events": Key(COUNT, "behind so many events of a stream; default: before the headers"),
            },
            lambda part: Stall(part.get("seconds"), part.get("after_events")),
        ),
    },
)
EVENT = Record(
    "a change of one event of a stream",
    {
        "repeat": Key(COUNT, "this event comes twice"),
        "swap": Key(COUNT, "this event and the one behind it change places"),
        "drop": Key(COUNT, "this event is lost"),
        "restart": Key(COUNT, "behind this event the stream's first one comes again"),
    },
    lambda part: next(iter(part.values.items())),
    some=("repeat", "swap", "drop", "restart"),
    apart=(("repeat", "swap", "drop", "restart"),),
)


def _not_zero(value: int, node: Node, path: Path, report: Report) -> Any:
    if value:
        return value
    report.add(
        "expected a whole number that is added to the body's length, got 0, which changes nothing", node.line, path
    )
    return BROKEN


def _chaos(part: Part) -> Chaos:
    return Chaos(**{**part.values, "events": tuple(part.get("events", ()))})


def _agrees(part: Part) -> None:
    if part.has("how") and not part.has("truncate_after_events"):
        part.complain("'how' says in which way `truncate_after_events` breaks the stream; it is not there", "how")


CHAOS = Named(
    "chaos",
    Record(
        "what happens to an answer on its way",
        {
            "gzip": Key(Flag(only=True), "it is compressed"),
            "chunk_bytes": Key(COUNT, "it arrives in pieces of so many bytes, wherever they fall"),
            "stall": Key(STALL, "silence on the way; over a socket it is real"),
            "malformed": Key(MALFORMED, "something else stands in place of its body"),
            "content_length": Key(
                Made(Number("a whole number", whole=True), _not_zero), "the headers state so many bytes more (or fewer)"
            ),
            "events": Key(
                ListOf(EVENT, "a list of changes", least=1, alone=True), "a stream's events, changed in order"
            ),
            "truncate_after_events": Key(COUNT, "a stream breaks after so many events"),
            "how": Key(Choice(("end", "reset", "stall")), "in which way it breaks; default: end"),
            "unended": Key(
                Flag(only=True),
                "a stream ends, properly, without the events by which the provider says that it is whole",
            ),
        },
        _chaos,
        some=(
            "gzip",
            "chunk_bytes",
            "stall",
            "malformed",
            "content_length",
            "events",
            "truncate_after_events",
            "unended",
        ),
        apart=(
            ("malformed", "events"),
            ("malformed", "truncate_after_events"),
            ("content_length", "truncate_after_events"),
            ("unended", "malformed"),
            ("unended", "truncate_after_events"),
        ),
        rules=(_agrees,),
    ),
)


def data(chaos: Chaos) -> dict[str, Any]:
    """The values that a file holds for it."""
    stall, malformed = chaos.stall, chaos.malformed
    written: dict[str, Any] = {"gzip": True} if chaos.gzip else {}
    if chaos.chunk_bytes is not None:
        written["chunk_bytes"] = chaos.chunk_bytes
    if stall is not None:
        after = {} if stall.after_events is None else {"after_events": stall.after_events}
        written["stall"] = {"seconds": stall.seconds, **after} if after else stall.seconds
    if malformed is not None:
        whole = {"body": malformed.body, "content_type": malformed.content_type}
        written["malformed"] = next((name for name, page in PAGES.items() if page == malformed), whole)
    if chaos.content_length:
        written["content_length"] = chaos.content_length
    if chaos.events:
        written["events"] = [{how: n} for how, n in chaos.events]
    if chaos.truncate_after_events is not None:
        written["truncate_after_events"] = chaos.truncate_after_events
        if chaos.how != "end":
            written["how"] = chaos.how
    if chaos.unended:
        written["unended"] = True
    return written


def words(chaos: Chaos) -> str:
    """It on one line, as a file writes it: `gzip: true, events: [{"repeat": 4}]`."""
    return ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in data(chaos).items())
