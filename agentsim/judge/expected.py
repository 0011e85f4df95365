"""A scenario's `expect` held against a run that was only seen on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentsim.core.events import ModelReplied
from agentsim.core.messages import ToolResult
from agentsim.core.transcript import Transcript
from agentsim.core.wires import parse
from agentsim.judge.outcome import UNKNOWN, got_of


def expectation_problems(
    expect: Mapping[str, Any], transcript: Transcript, results: Sequence[ToolResult], answer: Any = UNKNOWN
) -> Iterator[str]:
    """What was expected and came otherwise, a sentence each; what the wire can't show is passed over.

    Args:
        expect: `ended`, `returned`, `model_calls`, `model_requests`, `final_text`, `tool_runs`.
        transcript: what happened.
        results: that the code under test sent.
        answer: what it gave its caller, where that is known.
    """
    seen: dict[str, Any] = {"model_calls": transcript.model_calls, "model_requests": transcript.model_requests}
    if answer is not UNKNOWN:
        seen["final_text"] = answer
    for key, value in seen.items():
        if key in expect and expect[key] != value:
            yield f"expected {key} {expect[key]!r}, but {value!r} came"
    got = None if answer is UNKNOWN else got_of(answer)
    for key in ("ended", "returned"):
        if got is not None and key in expect and (expect[key] == "answer") != (got == "answer"):
            yield f"expected {key} {expect[key]!r}, but the agent gave {'an answer' if got == 'answer' else 'none'}"
    if "tool_runs" in expect:
        wanted = expect["tool_runs"]
        came = list(_answered(transcript, results))
        fits = isinstance(wanted, Sequence) and len(wanted) == len(came) and all(map(_fits, wanted, came))
        if not fits:
            yield f"expected the tool runs {list(wanted)!r}, but {[name for name, _ in came]!r} came"


def _answered(transcript: Transcript, results: Sequence[ToolResult]) -> Iterator[tuple[str, Any]]:
    ids = {result.call_id for result in results}
    for event in transcript:
        if type(event) is ModelReplied:
            yield from ((call.name, parse(call.arguments)[0]) for call in event.reply.calls if call.id in ids)


def _fits(wanted: Any, came: tuple[str, Any]) -> bool:
    if isinstance(wanted, Mapping):
        return dict(wanted) == {came[0]: came[1]}
    return bool(wanted == came[0])
