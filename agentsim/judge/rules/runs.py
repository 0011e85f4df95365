"""Rules about what may run: nothing that was cut, can't be read, does not exist or was not offered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agentsim.core.messages import ToolCall
from agentsim.judge.case import Case, Exchange, is_unreadable
from agentsim.judge.rules import rule

Odd = Callable[[Case, Exchange, ToolCall], bool]


def _calls(case: Case, is_odd: Odd) -> Iterator[tuple[Exchange, ToolCall]]:
    for each in case.exchanges:
        for call in each.calls:
            if is_odd(case, each, call):
                yield each, call


def _never_ran(case: Case, is_odd: Odd, what: str) -> Iterator[str | None]:
    for each, call in _calls(case, is_odd):
        ran = case.ran(each, call)
        if ran is not None:
            yield f"{call.id} ({call.name}, {what}) of reply {each.number} was run" if ran else None


def _gets_an_error(case: Case, is_odd: Odd, what: str) -> Iterator[str | None]:
    for each, call in _calls(case, is_odd):
        yield from _error_result(case, each, call, what)


def _error_result(case: Case, each: Exchange, call: ToolCall, what: str) -> Iterator[str | None]:
    who = f"{call.id} ({call.name}, {what}) of reply {each.number}"
    if each.after is None:
        if case.finished and case.stopped is None and each.stop == "tool_use":
            yield f"the run ended on {who}" + (f": {case.crash}" if case.crash else "")
        return
    result = each.result(call.id)
    if result is None:
        return
    error = case.says_error(call.name, result)
    if error is not None:
        yield None if error else f"{who} got a result that does not say that it failed: {_short(result.output)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_cut(case: Case, each: Exchange, call: ToolCall) -> bool:
    return each.is_cut


def _is_unreadable(case: Case, each: Exchange, call: ToolCall) -> bool:
    is_odd = is_unreadable(call) and not case.is_mended(each, call)
    return each.stop == "tool_use" and is_odd and not case.is_unknown(each, call)


def _is_unknown(case: Case, each: Exchange, call: ToolCall) -> bool:
    return each.stop == "tool_use" and case.is_unknown(each, call) and not case.is_withdrawn(each, call)


def _is_unfit(case: Case, each: Exchange, call: ToolCall) -> bool:
    is_bad = case.is_unfit(call) or (_is_unreadable(case, each, call) and call.name in case.schemas)
    return each.stop == "tool_use" and is_bad and not case.is_unknown(each, call)


@rule(
    "A call in a reply that the output limit or the context window cut is never run, not even where it looks whole.",
    "Claude stop reasons: an incomplete tool_use block must be retried with a higher max_tokens, not executed",
    "cut_call",
    "cut_whole_call",
)
def cut_call_never_runs(case: Case) -> Iterator[str | None]:
    yield from _never_ran(case, _is_cut, "cut")


@rule(
    "A call whose arguments are no JSON object is never run.",
    "OpenAI function calling guide: the model does not always generate valid JSON; validate before calling your function",
    "unreadable_arguments",
    "unclosed_arguments",
)
def unreadable_arguments_never_run(case: Case) -> Iterator[str | None]:
    yield from _never_ran(case, _is_unreadable, "unreadable arguments")
    for each, call in _calls(case, _is_unreadable):
        if each.after is None and case.crash is not None:
            yield f"the run crashed on the unreadable arguments of {call.id}: {case.crash}"


@rule(
    "A cut call is answered with an error, or leaves the history with its reply.",
    "Claude stop reasons: max_tokens; a result that looks like a success makes the model believe that the call was made",
    "cut_call",
    "cut_whole_call",
)
def cut_call_gets_an_error_result_or_none(case: Case) -> Iterator[str | None]:
    for each, call in _calls(case, _is_cut):
        if each.after is None:
            if case.finished:
                yield None
            continue
        result = each.result(call.id)
        if result is None:
            yield None
            continue
        error = case.says_error(call.name, result)
        if error is not None:
            text = f"{call.id} ({call.name}, cut) of reply {each.number} got a result that looks like a success: "
            yield None if error else text + _short(result.output)


@rule(
    "A call of a tool that does not exist gets an error result, and the loop goes on.",
    "Claude tool use guide: return is_error so that the model can correct itself; an exception loses the run",
    "unknown_tool",
    "inherited_name",
)
def unknown_tool_gets_an_error_result(case: Case) -> Iterator[str | None]:
    yield from _gets_an_error(case, _is_unknown, "unknown")


@rule(
    "A tool that fails gets an error result, and the loop goes on.",
    "Messages API: tool_result has is_error for exactly this; an exception loses the run",
    "failing_tool",
)
def failing_tool_gets_an_error_result(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        failed = {run.call_id for run in each.runs if run.is_error or run.raised}
        for call in each.calls:
            if each.stop != "tool_use" or case.is_unknown(each, call) or case.is_unfit(call) or is_unreadable(call):
                continue
            if call.id in failed or call.name in case.failing:
                yield from _error_result(case, each, call, "its tool failed")
            elif (result := each.result(call.id)) is not None and result.is_error:
                yield None


@rule(
    "Arguments that don't fit the tool's schema get an error result; the tool does not see them.",
    "Claude tool use guide: invalid tool use; OpenAI function calling guide: validate the arguments",
    "bad_input",
    "unreadable_arguments",
    "unclosed_arguments",
)
def bad_input_gets_an_error_result(case: Case) -> Iterator[str | None]:
    yield from _gets_an_error(case, _is_unfit, "bad input")


@rule(
    "A tool that the request does not offer is never run, though the program has it.",
    "A tool is withdrawn for a reason: a budget, a phase, a permission",
    "unknown_tool",
    "withdrawn_tool",
)
def tools_not_offered_never_run(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        for call in each.calls:
            if each.stop != "tool_use" or not case.is_unknown(each, call):
                continue
            known = case.is_withdrawn(each, call) or case.watches(call.name) or case.records_runs
            ran = case.ran(each, call) if known else _refused(case, each, call)
            if ran is not None:
                yield f"{call.id} ({call.name}, not offered) of reply {each.number} was run" if ran else None


def _refused(case: Case, each: Exchange, call: ToolCall) -> bool | None:
    """False where an unknown name was answered with an error; that anything ran can't be told of it."""
    result = each.result(call.id)
    return False if result is not None and case.says_error(call.name, result) else None
