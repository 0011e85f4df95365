"""Rules about what goes wrong on the way: what is sent again, and that nothing of a broken reply is used."""

from __future__ import annotations

from collections.abc import Iterator

from agentsim.core.events import Fault
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.judge.case import Case, Exchange, parts, text_of
from agentsim.judge.rules import rule

_AGAIN = (408, 409, 429)


def is_transient(fault: Fault | None) -> bool:
    """Whether a failed request may be sent again as it is: overload, rate limits, server errors, lost connections."""
    if fault is None or fault.in_stream:
        return False
    return fault.status is None or fault.status in _AGAIN or fault.status >= 500


@rule(
    "A transient error is answered by sending the request again, with the results that it held: no tool runs again.",
    "Messages API errors: 429, 500, 529; both official clients retry 408, 409, 429, 5xx and lost connections",
    "overloaded",
    "rate_limited",
)
def transient_errors_are_retried_without_running_tools_again(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if not is_transient(each.fault):
            continue
        if each.after is None:
            again = each.before is not None and is_transient(each.before.fault)
            if case.finished and case.stopped is None:
                yield None if again else f"request {each.number} failed ({_words(each.fault)}) and was not sent again"
            continue
        yield from _rerun(case, each, each.after)


def _rerun(case: Case, each: Exchange, after: Exchange) -> Iterator[str | None]:
    held = results(each.history)
    now = results(after.history)
    again = [call_id for call_id, output in held.items() if now.get(call_id, output) != output]
    lost = [call_id for call_id in held if call_id not in now]
    if again or (case.executions and case.executed(each)):
        yield f"tools ran again after request {each.number} failed ({_words(each.fault)})"
    elif lost:
        yield f"after request {each.number} failed ({_words(each.fault)}) the run began again, without its results"
    elif not held or after.number in case.resent or _shows_reruns(case, each):
        yield None


def _shows_reruns(case: Case, each: Exchange) -> bool:
    """Whether a second run of a tool would be seen: its runs are watched, or its output differs from run to run."""
    if case.records_runs:
        return True
    called = [part for part in parts(each.history) if type(part) is ToolCall]
    if all(case.watches(call.name) for call in called):
        return True
    outputs: dict[tuple[str, str], set[str]] = {}
    held = results(each.history)
    for call in called:
        if call.id in held:
            outputs.setdefault((call.name, call.arguments), set()).add(text_of(held[call.id]))
    return any(len(seen) > 1 for seen in outputs.values())


def results(history: tuple[Message, ...]) -> dict[str, object]:
    """Call id -> output, of a request."""
    return {part.call_id: part.output for part in parts(history) if type(part) is ToolResult}


def _words(fault: Fault | None) -> str:
    return "connection lost" if fault is None or fault.status is None else str(fault.status)


@rule(
    "A request that the provider calls wrong is not sent again as it is.",
    "Messages API errors: 4xx are the client's; the official clients retry none of them but 408, 409 and 429",
    "bad_request",
    "not_permitted",
)
def client_errors_are_not_retried(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        fault = each.fault
        if fault is None or fault.status is None or not 400 <= fault.status < 500 or fault.status in _AGAIN:
            continue
        if each.after is None:
            if case.finished:
                yield None
        else:
            same = each.after.history == each.history
            text = f"request {each.after.number} is request {each.number} again, which got a {fault.status}"
            yield text if same else None


@rule(
    "A reply that breaks off is no reply: none of its calls runs, and it is no answer.",
    "Messages API streaming: an error event or a lost connection ends the message; clients raise nothing where a stream merely ends",
    "broken_stream",
    "stream_without_end",
    "error_in_stream",
)
def broken_stream_runs_nothing(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        fault = each.fault
        if fault is None or not fault.in_stream:
            continue
        calls = fault.partial.calls if fault.partial is not None else ()
        answered = set() if each.after is None else set(results(each.after.history))
        ran = [call.id for call in calls if call.id in answered or any(r.call_id == call.id for r in each.runs)]
        if ran or (case.executions and case.executed(each)):
            yield f"{', '.join(ran) or 'a tool'} was run, though the stream of reply {each.number} broke off"
        elif each.after is not None:
            yield None
        elif case.finished and case.got == "answer":
            yield f"the run gave an answer, though the stream of reply {each.number} broke off"
        elif case.finished and (not calls or all(case.watches(call.name) for call in calls)):
            yield None
