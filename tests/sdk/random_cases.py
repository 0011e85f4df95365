"""Scripts that nobody chose: what a model can do to a loop, in random order, as cases of the rig."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

_ARGUMENTS = '{"key": "a"}'


@st.composite
def _calls(draw: st.DrawFn, *, cut: bool = False) -> list[Json]:
    """One to three calls; of a reply that the output limit cut, the last one's arguments end anywhere."""
    calls = [draw(_call()) for _ in range(draw(st.sampled_from([1, 1, 2, 3])))]
    if cut:
        calls[-1] = {"name": "lookup", "raw": _ARGUMENTS[: draw(st.integers(1, len(_ARGUMENTS)))]}
    elif len(calls) > 1 and draw(st.sampled_from([False] * 7 + [True])):
        calls = [{**call, "id": "call_dup"} for call in calls]
    return calls


@st.composite
def _call(draw: st.DrawFn) -> Json:
    kind = draw(st.sampled_from(["good", "good", "good", "add", "throws", "unknown", "misfit", "no JSON"]))
    match kind:
        case "good":
            return {"name": "lookup", "args": {"key": draw(st.sampled_from("abc"))}}
        case "add":
            return {"name": "add", "args": {"a": 1, "b": draw(st.integers(0, 9))}}
        case "throws":
            return {"name": "boom", "args": {}}
        case "unknown":
            return {"name": "nope", "args": {}}
        case "misfit":
            return {"name": "lookup", "args": {"wrong": 5}}
    return {"name": "lookup", "raw": _ARGUMENTS[: draw(st.integers(1, len(_ARGUMENTS) - 1))]}


_COMMON = ["calls", "calls", "calls", "calls", "cut calls", "cut text", "refusal", "empty", "fault"]
_CLAUDE = ["pause", "pause with call", "refusal with call", "empty refusal", "odd stop", "calls beside end_turn"]


@st.composite
def _reply(draw: st.DrawFn, claude: bool) -> Json:
    kind = draw(st.sampled_from([*_COMMON, *_COMMON, *_CLAUDE] if claude else _COMMON))
    text = {"text": "a word"} if draw(st.booleans()) else {}
    match kind:
        case "calls":
            return {**text, "calls": draw(_calls())}
        case "cut calls":
            return {**text, "calls": draw(_calls(cut=True)), "stop": "max_tokens"}
        case "cut text":
            return {"text": "half an ans", "stop": "max_tokens"}
        case "refusal":
            return {"text": "I can't.", "stop": "refusal"}
        case "empty":
            return {"text": ""}
        case "pause":
            search = {"server_calls": [{"name": "web_search", "args": {"query": "x"}}]}
            return {"text": "working", **(search if draw(st.booleans()) else {}), "stop": "pause_turn"}
        case "pause with call":
            return {**text, "calls": draw(_calls()), "stop": "pause_turn"}
        case "refusal with call":
            return {**text, "calls": draw(_calls()), "stop": "refusal"}
        case "empty refusal":
            return {"stop": "refusal"}
        case "odd stop":
            odd = ["stop_sequence", "model_context_window_exceeded", "tool_use", "compaction"]
            return {"text": "part", "stop": draw(st.sampled_from(odd[:3]))}
        case "calls beside end_turn":
            return {**text, "calls": draw(_calls()), "stop": "end_turn"}
    error = draw(st.sampled_from([(529, "overloaded_error"), (500, "api_error"), (400, "invalid_request_error")]))
    return {"http_error": {"status": error[0], "type": error[1], "message": "sorry"}}


@st.composite
def cases(draw: st.DrawFn, claude: bool, trees: st.SearchStrategy[Json]) -> Json:
    """A case as `cases.json` has them, with up to six replies before the answer.

    Args:
        claude: with what only the Claude API can say.
        trees: of options.
    """
    replies: list[Json] = []
    for _ in range(draw(st.integers(1, 6))):
        reply = draw(_reply(claude))
        if replies and "http_error" in reply and "http_error" in replies[-1]:
            continue  # transient faults stay below the clients' retry counts
        replies.append(reply)
    case = {"id": "random", "replies": [*replies, {"text": "done"}]}
    options = draw(trees)
    return case | {"options": options} if options else case


#: As the driver gets them: the SDK's default, its "no limit", numbers.
LIMITS = st.one_of(st.sampled_from(["default", None]), st.integers(1, 8))


def kinds(case: Json, limit: Any) -> Counter[str]:
    """What a script can hurt with, each kind once."""
    found = {name for reply in case["replies"] for name in _kinds(reply)}
    if case.get("options"):
        found.add("options")
    if limit != "default":
        found.add("a limit of its own")
    return Counter(sorted(found))


def _kinds(reply: Json) -> Iterator[str]:
    calls, stop = reply.get("calls", []), reply.get("stop")
    names = {call["name"] for call in calls}
    if "http_error" in reply:
        yield "a fault"
    if reply.get("text") == "" and len(reply) == 1:
        yield "an empty reply"
    if stop == "pause_turn":
        yield "a pause"
    if stop == "refusal":
        yield "a refusal"
    if stop == "max_tokens":
        yield "a call cut by the output limit" if calls else "a text cut by the output limit"
    if (stop == "end_turn" and calls) or (stop == "tool_use" and not calls):
        yield "a contradicting stop reason"
    if len(calls) > 1:
        yield "parallel calls"
    if any("id" in call for call in calls):
        yield "shared ids"
    if "nope" in names:
        yield "an unknown tool"
    if "boom" in names:
        yield "a throwing tool"
    if any("raw" in call or "wrong" in call.get("args", {}) for call in calls):
        yield "bad arguments"
