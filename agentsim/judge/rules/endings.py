"""Rules about endings: what is an answer, what is none, and that a run ends at all."""

from __future__ import annotations

from collections.abc import Iterator

from agentsim.core.messages import Reply, ServerCall, Text
from agentsim.core.wires import ANTHROPIC, CHAT
from agentsim.judge.case import Case, Exchange
from agentsim.judge.rules import rule


def _last_reply(case: Case) -> Exchange | None:
    """The run's last exchange, where it ended on a reply."""
    last = case.last
    return last if last is not None and last.reply is not None and case.finished and case.stopped is None else None


def _no_answer(case: Case, stop: str, what: str) -> Iterator[str | None]:
    """A run that ends on this stop reason gives no answer."""
    last = _last_reply(case)
    if last is None or last.stop != stop or case.got is None:
        return
    if case.got == "crash":
        yield f"the run crashed on {what}: {case.crash}"
    else:
        yield f"the run gave {what} as the answer" if case.got == "answer" else None


@rule(
    "A paused reply goes back unchanged and last, and the model goes on; it is no answer.",
    "Claude server tools: pause_turn, send the response back as-is (anthropics/anthropic-sdk-python#1507)",
    "pause",
)
def pause_is_resumed_unchanged(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if each.stop != "pause_turn" or each.calls or each.reply is None:
            continue
        if each.after is None:
            if (
                case.finished
                and case.stopped is None
                and not (_pauses(case) > 1 and (case.endless or case.got != "answer"))
            ):
                yield f"reply {each.number} paused and was never resumed" + _ending(case)
            continue
        blocks = each.reply.blocks
        last = each.after.history[-1] if each.after.history else None
        came_back = last is not None and last.role == "assistant" and last.content[-len(blocks) :] == blocks
        yield None if came_back or not blocks else _changed(each)


def _changed(each: Exchange) -> str:
    assert each.after is not None
    last = each.after.history[-1] if each.after.history else None
    if last is None or last.role != "assistant":
        return f"request {each.after.number} does not end in the paused reply {each.number}"
    return f"request {each.after.number} gives the paused reply {each.number} back changed"


def _ending(case: Case) -> str:
    return {"answer": ": it was given as the answer", "crash": f": the run crashed ({case.crash})"}.get(
        case.got or "", ""
    )


def _pauses(case: Case) -> int:
    return sum(each.stop == "pause_turn" for each in case.exchanges)


@rule(
    "A refusal is no answer: the caller is told.",
    "Claude stop reasons: refusal; OpenAI: the refusal field is not content",
    "refusal",
    "refusal_after_text",
)
def refusal_is_no_answer(case: Case) -> Iterator[str | None]:
    yield from _no_answer(case, "refusal", "a refusal")


@rule(
    "The same request is not sent again after a refusal.",
    "Claude stop reasons: refusal, reset or change the context before going on; the same input is refused again and paid again",
    "refusal",
    "refusal_for_ever",
)
def refusal_is_not_retried(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if each.stop != "refusal":
            continue
        if each.after is None:
            if case.finished:
                yield None
        else:
            same = each.after.history == each.history
            yield f"request {each.after.number} is request {each.number} again, which was refused" if same else None


@rule(
    "A text that the output limit cut is no answer.",
    "Claude stop reasons: max_tokens; OpenAI: finish_reason length, status incomplete",
    "cut_text",
)
def truncated_text_is_no_answer(case: Case) -> Iterator[str | None]:
    last = _last_reply(case)
    if last is not None and not last.calls:
        yield from _no_answer(case, "max_tokens", "a text that the output limit cut")


@rule(
    "A reply that filled the context window is no answer.",
    "Claude stop reasons: model_context_window_exceeded",
    "full_context",
)
def full_context_is_no_answer(case: Case) -> Iterator[str | None]:
    yield from _no_answer(case, "model_context_window_exceeded", "a reply that filled the context window")


@rule(
    "A text that ends naturally, on a stop sequence too, is an answer.",
    "Claude stop reasons: end_turn, and stop_sequence, which the caller has set, are natural ends",
    "stop_sequence",
)
def stop_sequence_is_an_answer(case: Case) -> Iterator[str | None]:
    last = _last_reply(case)
    if last is None or last.calls or case.got is None or last.reply is None or not last.reply.text.strip():
        return
    why = f": {case.crash}" if case.crash else ""
    if last.stop == "stop_sequence":
        yield (
            None if case.got == "answer" else f"the run gave no answer, though the reply ended on a stop sequence{why}"
        )
    elif last.stop == "end_turn" and case.got != "answer" and case.outcome is None:
        yield f"the run gave no answer, though the reply ended with one{why}"


def _is_empty(reply: Reply | None) -> bool:
    if reply is None or reply.stop_reason not in ("end_turn", "stop_sequence"):
        return False
    return all(isinstance(block, Text) and not block.text.strip() for block in reply.blocks)


@rule(
    "An empty reply ends the run without an answer, or the model is asked again, but not for ever.",
    "Claude stop reasons: empty responses with end_turn happen after tool results",
    "empty_reply",
    "empty_for_ever",
)
def empty_reply_ends_or_is_asked_again(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if not _is_empty(each.reply):
            continue
        if each.after is not None:
            if case.stopped is None or each is not case.last:
                yield None
            else:
                yield f"the model answers nothing, and the run goes on: {case.stopped}"
        elif case.stopped is not None:
            yield f"the model answers nothing, and the run goes on: {case.stopped}"
        elif case.finished and case.got == "crash":
            yield f"the run crashed on an empty reply: {case.crash}"
        elif case.finished and case.got is not None:
            yield "the run gave an answer, though the last reply was empty" if case.got == "answer" else None


@rule(
    "After an empty reply the model is not asked the same again: its turn is over, and stays so until something is said.",
    "Claude stop reasons, empty responses with end_turn: sent again without a change it stays empty; a new user message goes on",
    "empty_reply",
    "empty_for_ever",
)
def empty_reply_is_not_retried(case: Case) -> Iterator[str | None]:
    if case.wire != ANTHROPIC:  # the others don't say so, and OpenAI's own Agents SDK asks again
        return
    for each in case.exchanges:
        if not _is_empty(each.reply):
            continue
        if each.after is None:
            if case.finished:
                yield None
        else:
            same = each.after.history == each.history
            text = f"request {each.after.number} is request {each.number} again, which got an empty reply"
            yield text if same else None


@rule(
    "A reply that stops for a tool and calls none is no answer: what it was to do is missing.",
    "An article's measured loops and public bug reports: the turn ends silently (earendil-works/pi#9681, vllm-project/vllm#53255)",
    "tool_use_without_calls",
)
def tool_use_without_calls_is_no_answer(case: Case) -> Iterator[str | None]:
    last = _last_reply(case)
    if last is None or last.reply is None or case.wire not in (ANTHROPIC, CHAT):
        return  # the Responses API has no word for it: there such a reply is a text like any other
    if not last.calls and not any(isinstance(block, ServerCall) for block in last.reply.blocks):
        yield from _no_answer(case, "tool_use", "a reply that stopped for a tool and called none")


@rule(
    "A run whose model never stops calling tools ends by a limit of its own.",
    "Every SDK's cap (maxSteps, max_turns, recursion_limit); without one a loop runs until the budget is gone",
    "endless_calls",
)
def limit_is_kept(case: Case) -> Iterator[str | None]:
    calls = sum(each.reply is not None for each in case.exchanges)
    if case.limit is not None:
        yield f"{calls} model calls, though the limit is {case.limit:g}" if calls > case.limit else None
    last = case.last
    if not case.endless or last is None or not (last.calls or case.stopped) or _pauses(case) > 1:
        return
    if last.stop in ("tool_use", "end_turn") and last.calls and not last.is_cut:
        if case.stopped is not None:
            yield f"the run never ended: {case.stopped}"
        elif case.finished:
            yield None


@rule(
    "A run that its limit ended says so: what the caller gets is no answer.",
    "An article's measured loops: a half answer at the cap looks like success to the caller",
    "endless_calls",
)
def limit_is_reported(case: Case) -> Iterator[str | None]:
    outcome = case.outcome
    if outcome is not None:
        if outcome.ended == "limit":
            yield "the limit ended the run, and the caller is told that it is done" if case.got == "answer" else None
        return
    last = _last_reply(case)
    if last is None or not case.endless or not last.calls or last.stop != "tool_use" or case.got is None:
        return
    if case.got == "crash":
        yield f"the run crashed at its limit: {case.crash}"
    else:
        yield "the limit ended the run, and what it gave looks like an answer" if case.got == "answer" else None


@rule(
    "A model that pauses for ever does not keep the run going for ever.",
    "Claude server tools: a pause is a model call like any other and has to count",
    "endless_pause",
)
def endless_pause_ends(case: Case) -> Iterator[str | None]:
    last = case.last
    if last is None or last.stop != "pause_turn" or _pauses(case) < 2:
        return
    if case.stopped is not None:
        yield f"the model pauses for ever, and the run goes on: {case.stopped}"
    elif case.finished and case.endless:
        yield None
