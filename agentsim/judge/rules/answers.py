"""Rules about calls and their answers: each call gets one, in one message, before anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agentsim.core.messages import ToolCall, ToolResult
from agentsim.core.wires import ANTHROPIC, RESPONSES
from agentsim.judge.case import Case, Exchange, is_unreadable, parts
from agentsim.judge.rules import rule


def _listed(ids: list[str]) -> str:
    return ", ".join(ids)


@rule(
    "Every call gets a result before the model is asked again, and no call is dropped from an answer.",
    "Messages API: `tool_use` ids were found without `tool_result` blocks immediately after (anthropics/claude-code#5989); "
    "Responses: No tool output found for function call (openai/openai-agents-python#1061)",
    "two_calls",
    "calls_beside_end_turn",
)
def every_call_is_answered(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if not each.calls or each.stop in ("refusal", "pause_turn"):
            continue
        if each.after is None:
            if case.finished and case.got == "answer" and each.stop in ("end_turn", "stop_sequence"):
                yield f"the run gave an answer, though the calls of reply {each.number} were never answered"
            elif _is_given_up(case, each):
                yield f"the run ended on the calls of reply {each.number}, which were never answered"
            continue
        yield _unanswered(case, each)


def _is_given_up(case: Case, each: Exchange) -> bool:
    """Whether a run ended, for no reason that shows, on calls that nothing is wrong with: a first reply reaches no limit."""
    ended = case.finished and case.stopped is None and not case.endless and case.limit is None and case.outcome is None
    plain = each.stop == "tool_use" and all(case.is_plain(each, call) for call in each.calls)
    return ended and plain and each.number == 1 and case.got == "none"


def _unanswered(case: Case, each: Exchange) -> str | None:
    tail = each.tail()
    answered = {part.call_id for part in parts(tail) if type(part) is ToolResult}
    sent = {part.id for part in parts(tail) if type(part) is ToolCall}
    odd = each.is_cut or any(is_unreadable(call) or case.is_unknown(each, call) for call in each.calls)
    missing = [call.id for call in each.calls if call.id not in answered and (call.id in sent or not odd)]
    if not missing:
        return None
    assert each.after is not None
    return f"request {each.after.number} holds no result for {_listed(missing)} of reply {each.number}"


@rule(
    "All results of one reply go back in one user message.",
    "Claude tool use guide: results of parallel calls belong in one message; split ones teach the model to call one at a time",
    "two_calls",
)
def answers_are_in_one_message(case: Case) -> Iterator[str | None]:
    if case.wire not in (ANTHROPIC, None):
        return
    for each in case.exchanges:
        ids = {call.id for call in each.calls}
        if len(ids) < 2 or each.after is None:
            continue
        holding = [
            {part.call_id for part in message.content if type(part) is ToolResult} & ids for message in each.tail()
        ]
        messages = sum(map(bool, holding))
        if messages and not (case.wire is None and messages > 1):
            several = f"the results of reply {each.number} are spread over {messages} messages"
            yield several if messages > 1 else None


@rule(
    "Results come before anything else that the user's side says.",
    'Messages API: text placed before the results counts as "not immediately after" (anthropics/anthropic-sdk-typescript#653)',
    "two_calls",
    "one_call",
)
def answers_come_first(case: Case) -> Iterator[str | None]:
    if case.wire == RESPONSES:  # its items may stand in any order
        return
    for each in case.exchanges:
        if not each.calls or each.after is None:
            continue
        said, late = "", False
        wanted = {call.id for call in each.calls}
        for message in each.behind_reply():
            if message.role != "user":
                continue
            for part in message.content:
                if type(part) is not ToolResult:
                    said = said or type(part).__name__.lower()
                elif part.call_id in wanted:
                    wanted.discard(part.call_id)
                    late = late or bool(said)
        if len(wanted) < len({call.id for call in each.calls}):
            yield f"request {each.after.number} says {said} before the results of reply {each.number}" if late else None


@rule(
    "A result answers a call of the reply before it, by that call's id.",
    "Messages API: unexpected `tool_use_id` found in `tool_result` blocks (anthropics/claude-code#13460); "
    "Responses: No tool call found for function call output",
    "one_call",
    "two_calls",
)
def no_answer_without_a_call(case: Case) -> Iterator[str | None]:
    for each in case.exchanges:
        if each.before is not None and each.kept >= len(each.history):
            continue
        called: set[str] = set()
        answers = False
        strangers: list[str] = []
        for index, message in enumerate(each.history):
            is_new = index >= each.kept
            called |= {part.id for part in message.content if type(part) is ToolCall}
            results = [part.call_id for part in message.content if type(part) is ToolResult]
            answers = answers or bool(results and is_new)
            strangers += [call_id for call_id in results if is_new and call_id not in called]
        if answers:
            names = _listed(strangers)
            yield f"request {each.number} answers {names}, which no reply before it calls" if strangers else None


@rule(
    "A call is run once and answered once.",
    "Messages API: each tool_use must have a single result; a tool with side effects that runs twice does them twice",
    "one_call",
    "two_calls",
    "two_rounds",
)
def one_run_for_each_call(case: Case) -> Iterator[str | None]:
    outputs: dict[tuple[int, str], object] = {}
    for each in case.exchanges:
        yield from _runs(case, each)
        counts = Counter(part.call_id for part in parts(each.history) if type(part) is ToolResult)
        calls = Counter(part.id for part in parts(each.history) if type(part) is ToolCall)
        twice = [call_id for call_id, n in counts.items() if n > calls[call_id] > 0]
        if twice:
            yield f"request {each.number} answers {_listed(twice)} more than once"
        elif counts:
            yield None
        after_fault = each.before is not None and each.before.fault is not None
        for part in parts(each.history):
            if type(part) is not ToolResult or counts[part.call_id] > 1:
                continue
            known = outputs.setdefault((each.thread, part.call_id), part.output)
            if known != part.output and not after_fault:
                yield f"the result of {part.call_id} changed from one request to another: its tool ran again"
            outputs[each.thread, part.call_id] = part.output


def _runs(case: Case, each: Exchange) -> Iterator[str | None]:
    ran = Counter(run.call_id for run in each.runs)
    asked = Counter(call.id for call in each.calls)
    twice = [call_id for call_id, n in ran.items() if n > max(1, asked[call_id])]
    if twice:
        yield f"{_listed(twice)} of reply {each.number} ran more than once"
    elif ran:
        yield None
    names = Counter(call.name for call in each.calls)
    for name, n in names.items():
        if each.reply is None or not case.watches(name):
            continue
        times = case.executed(each, name)
        yield (
            f"{name} ran {times} times for {n} call{'s' if n > 1 else ''} of reply {each.number}" if times > n else None
        )
