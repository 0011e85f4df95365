"""Hypothesis strategies for documents that are scenarios: every key of the format, in every form."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from agentsim.core.messages import STOP_REASONS

Document = dict[str, Any]

#: Texts with what YAML readers and writers stumble over.
AWKWARD = ["", " ", "no", "on", "~", "null", "1e3", "0o17", "017", "1_000", ".5", "0x1F", "-", "- a", "a: b", "# a", "<<", "=", "*a",
           "&a", "!a", "%a", "@a", "`a`", "'", '"', "\n", "a\n", "\na", "a\n\n b\n", " a\nb", "a \nb ", "\ta", "a\r\nb", "{a}", "[a]",
           "\x85", "\u2028", "\ufeff", "\x00", "é", "😀", "---", "...", "--- a", "a\n---\nb", "?", "? a", "true", "2026-11-30", "1:30",
           ".inf", ".nan", "a" * 200, "|", ">", "a #b", "a:", ",", "\\", "\\n", "{{x}}", "\xa0", "\x7f"]  # fmt: skip

texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text(string.printable, max_size=30),
)
names = st.one_of(
    st.sampled_from(["lookup", "refund", "a-b", "no", "1", "x y"]), texts.filter(lambda t: t not in ("", "*"))
)
ids = st.sampled_from(["call_a", "call_b", "toolu_1"])
numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, 1e300, 1e-7, -0.0]),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=5,
)
objects = st.dictionaries(texts, values, max_size=3)
whole = st.integers(0, 50)
seconds = st.one_of(st.integers(0, 9), st.floats(0, 9))


def some(required: dict[str, Any] | None = None, **optional: Any) -> Any:
    """A mapping with the required keys and any of the optional ones."""
    return st.fixed_dictionaries(required or {}, optional=optional)


def not_empty(mappings: Any) -> Any:
    return mappings.filter(bool)


# -- conditions ---------------------------------------------------------------------------------------------------------

patterns = st.sampled_from(["a.c", "^x", r"\d+", "é|ü"])
matches = st.one_of(texts, some({"contains": texts}), some({"matches": patterns}))
whens = st.one_of(some({"last_tool_result": matches}), some({"prompt": matches}))
requests = not_empty(
    some(
        offers=st.lists(names, min_size=1, max_size=2),
        answers=st.one_of(st.just("none"), st.dictionaries(ids, st.one_of(st.none(), matches), min_size=1, max_size=2)),
        resumes=st.just(True),
        contains=st.one_of(texts, st.lists(texts, min_size=1, max_size=2)),
        matches=st.one_of(patterns, st.lists(patterns, min_size=1, max_size=2)),
    )
)
beside = {
    "seconds": st.one_of(seconds, some(first=seconds, per_chunk=seconds, tail=seconds)),
    "stream": some({"characters_per_chunk": st.integers(1, 9)}),
    "repeat": st.integers(1, 4),
    "when": whens,
    "request": requests,
}

counts = st.integers(1, 9)
changes = st.sampled_from(["repeat", "swap", "drop", "restart"]).flatmap(lambda how: some({how: counts}))
chaos = st.one_of(
    not_empty(
        some(
            gzip=st.just(True),
            chunk_bytes=counts,
            stall=st.one_of(seconds, some({"seconds": seconds}, after_events=counts)),
            content_length=st.integers(-9, 9).filter(bool),
        )
    ),
    some({"events": st.one_of(changes, st.lists(changes, min_size=1, max_size=3))}, gzip=st.just(True)),
    some({"truncate_after_events": counts}, how=st.sampled_from(["end", "reset", "stall"])),
    some({"unended": st.just(True)}, chunk_bytes=counts),
    some({"malformed": st.sampled_from(["html", "text", "empty", "json"])}),
    some({"malformed": some({"body": texts}, content_type=names)}),
)

# -- replies --------------------------------------------------------------------------------------------------------------

raws = st.one_of(
    texts, st.sampled_from(['{"key": "a', '{"a": 1}', '{"a":1}', "{}", '{"a": "\\ud800"}', '{"a": NaN}', "[1]"])
)
calls = st.one_of(some({"name": names}, input=objects, id=ids), some({"name": names, "raw": raws}, id=ids))
any_calls = some({"name": st.just("*")}, input=objects, id=ids)
short_calls = st.one_of(
    st.dictionaries(names, objects, min_size=1, max_size=2),
    st.lists(st.dictionaries(names, objects, min_size=1, max_size=1), min_size=1, max_size=3),
    st.just({"*": {}}),
)
server_ids = st.sampled_from(["srv_a", "srv_b"])
server_calls = st.one_of(
    some({"name": names}, input=objects, id=server_ids), some({"name": names, "raw": raws}, id=server_ids)
)
plain_blocks = st.one_of(
    some({"text": texts}),
    some({"thinking": texts}, signature=texts),
    some({"redacted_thinking": texts}),
    some({"tool_use": calls}),
    some({"server_tool_use": server_calls}),
    some({"server_tool_result": some(content=values)}),
    some({"refusal": texts}, category=st.just("cyber")),
    some({"opaque": some({"kind": names}, data=objects)}),
)
blocks = st.one_of(plain_blocks, some({"output": values}), some({"tool_use": any_calls}))
stops = st.one_of(st.sampled_from(STOP_REASONS), st.none(), st.just({"raw": "novel"}))
usages = some(input_tokens=whole, output_tokens=whole, cache_read_input_tokens=whole, cache_creation_input_tokens=whole)


@st.composite
def said(draw: Any, history: bool = False) -> Document:
    """What a reply holds, in one of the forms."""
    kind = draw(st.sampled_from(["content", "short", "short", "refusal", "empty"]))
    if kind == "content":
        return {"content": draw(st.lists(plain_blocks if history else blocks, max_size=4))}
    if kind == "empty":
        return {"empty": True}
    if kind == "refusal":
        return draw(
            some({"refusal": texts}, category=st.just("bio"), tool_use=short_calls.filter(lambda c: "*" not in c))
        )
    short = draw(
        not_empty(some(thinking=texts, text=texts, server_tool_use=short_calls, tool_use=short_calls, output=values))
    )
    for key in ("tool_use", "server_tool_use"):
        if short.get(key) == {"*": {}} and (history or key == "server_tool_use"):
            short[key] = {"lookup": {}}
    return short


def has_call(document: Document) -> bool:
    return "tool_use" in document or any("tool_use" in block for block in document.get("content", []))


@st.composite
def replies(draw: Any) -> Document:
    document: Document = draw(said()) | draw(some(usage=usages, chaos=chaos, **beside))
    document |= draw(some(stop_reason=stops, handoff=st.one_of(st.just("billing"), st.just(["billing", "main"]))))
    if has_call(document) and draw(st.booleans()):
        document["cut_after"] = draw(st.integers(-3, 20))
    return document


@st.composite
def faults(draw: Any) -> Document:
    document: Document = draw(some(**beside))
    after = draw(st.one_of(st.none(), whole))
    if after is not None:
        document |= draw(said()) | draw(some(usage=usages, stop_reason=stops))
    if draw(st.booleans()):
        where = {"before": "headers"} if after is None else {"after_characters": after}
        ways = ["end", "reset", "stall"] + ["refuse"] * (after is None)
        return document | {"disconnect": where | draw(some(how=st.sampled_from(ways)))}
    document |= draw(some(chaos=chaos))
    status, kind = st.sampled_from([400, 418, 429, 500, 529, 599]), st.sampled_from(["overloaded_error", "odd_error"])
    if after is None and draw(st.booleans()):
        return document | {"error": draw(status)}
    error = draw(st.one_of(some({"status": status}, type=kind), some({"type": kind})))
    error |= draw(some(message=texts, retry_after=seconds)) | ({} if after is None else {"after_characters": after})
    return document | {"error": error}


@st.composite
def scripts(draw: Any) -> list[Document]:
    entries = draw(st.lists(st.one_of(replies(), replies(), faults()), max_size=3))
    if entries and draw(st.booleans()):
        entries[-1]["repeat"] = "forever"
    return entries


# -- the rest ----------------------------------------------------------------------------------------------------------------

types = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
schemas = st.sampled_from(
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {}},
            "required": ["b"],
            "additionalProperties": False,
        },
    ]
)
outcomes = st.one_of(values, some({"raises": texts}), some({"fails": texts}), some({"returns": values}))
results = st.one_of(
    some({"returns": values}), some({"returns_each": st.lists(outcomes, min_size=1, max_size=3)}), some({"raises": texts}),
    some({"fails": texts}), st.just({}),
)  # fmt: skip
approvals = st.one_of(st.booleans(), some({"reject": texts}), some({"edit": objects}))


@st.composite
def tools(draw: Any) -> Document:
    what = draw(st.one_of(some(input=st.dictionaries(names, types, max_size=3)), some({"schema": schemas})))
    what |= draw(some(description=texts, read_only=st.booleans()))
    if draw(st.integers(0, 5)) == 0:
        return what | {"server": True}
    what |= draw(
        some(return_direct=st.booleans(), seconds=st.one_of(seconds, st.lists(seconds, min_size=1, max_size=2)))
    )
    if draw(st.integers(0, 5)) == 0:
        return what | {"agent": "billing"}
    what |= draw(results) | draw(some(execute=st.just("client")))
    return what | draw(st.one_of(st.just({}), some({"approval": st.just("required")}, approved=approvals)))


tool_maps = st.dictionaries(names, tools(), max_size=2)
expects = some(
    ended=st.sampled_from(["answer", "limit"]), model_calls=whole, final_text=st.one_of(st.none(), texts), silent=st.booleans(),
    tool_runs=st.lists(st.one_of(names, st.dictionaries(names, objects, min_size=1, max_size=1)), max_size=2),
)  # fmt: skip
limits = st.one_of(st.integers(-1, 9), st.floats(0, 9), st.just("none"))
agents = st.fixed_dictionaries(
    {
        "billing": some(
            system=texts,
            tools=tool_maps,
            replies=scripts(),
            limit=limits,
            background=st.booleans(),
            handoffs=st.just(["main"]),
        )
    }
)
user_blocks = st.one_of(
    some({"text": texts}),
    some({"tool_result": some({"for": st.just("call_h")}, content=values)}),
    some({"opaque": some({"kind": names}, data=objects)}),
)
messages = st.lists(
    st.one_of(
        some({"user": st.one_of(texts, st.lists(user_blocks, min_size=1, max_size=3))}),
        some({"assistant": st.one_of(texts, said(history=True))}),
        some({"tool_result": some({"for": st.just("call_h")}, content=values, is_error=st.booleans())}),
    ),
    max_size=4,
)
call_h = {"assistant": {"content": [{"tool_use": {"name": "lookup", "id": "call_h"}}]}}
decisions = st.one_of(
    st.sampled_from(["approve", "reject"]),
    some({"approve": ids}),
    some({"reject": ids}, message=texts),
    some({"edit": ids, "input": objects}),
)
named_calls = {"content": [{"tool_use": {"name": "lookup", "id": name}} for name in ("call_a", "call_b", "toolu_1")]}


@st.composite
def documents(draw: Any) -> Document:
    """A document that the reader takes."""
    document: Document = {"agentsim": 1, "agent": "main", "agents": draw(agents)}
    document |= draw(
        some(
            name=names,
            system=texts,
            prompt=st.one_of(texts, st.lists(texts, min_size=1, max_size=2)),
            messages=messages.map(lambda entries: [call_h, *entries]),
            tools=tool_maps,
            handoffs=st.just(["billing"]),
            approvals=st.lists(st.lists(decisions, max_size=2), max_size=2),
            output=some({"schema": schemas}),
            price=some({"input": seconds, "output": seconds}),
            abort=some({"before_reply": st.integers(1, 9)}),
            styles=st.dictionaries(names, some(limit=limits, options=objects, expect=expects), max_size=2),
            expect=expects,
            unused_replies=st.just("allow"),
        )
    )
    return document | {"replies": [named_calls, *draw(scripts())]}
