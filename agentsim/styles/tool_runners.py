"""Anthropic's tool runners: `client.beta.messages.toolRunner` (TypeScript) and `tool_runner` (Python).

Measured on @anthropic-ai/sdk 1.14.0 and anthropic 2.14.0:

    i = 0
    loop:
      max_iterations set and i >= max_iterations: end              # TypeScript: 0 counts as unset
      reply = create(…), HTTP retries inside;  i += 1
        streamed: arguments are completed where they were cut; what is no JSON at all throws out of the run
        eagerly: a call runs when the next block starts, or when the reply stops with tool_use
      tool_use               -> run its calls, append ONE user message with all results; no call -> end
      pause_turn, compaction -> run nothing, send the history back as it is
      anything else          -> end; calls in it are not run
    return the last reply                                          # never an error for a cap, a cut or a refusal

TypeScript runs the calls of a reply at once, Python one after the other.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from agentsim.core.actions import Action, ToRun
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Message, ToolCall, ToolResult
from agentsim.core.partial_json import NotAPrefix
from agentsim.core.run import Failed, Retry, Run
from agentsim.core.style import Style
from agentsim.core.wires import Seen, SeenCall
from agentsim.styles._anthropic_claims import CLAIMS
from agentsim.styles._anthropic_tools import JS, PYTHON, Language, Options, configure, failed

RETRY = Retry(retries=2)


def loop(run: Run, language: Language) -> Generator[Action, Event, Outcome]:
    """One run of the tool runner."""
    options: Options = run.options or Options()
    if options.eager and not run.streamed:
        return run.threw(*language.eager_needs_stream, "empty")
    if run.limit is not None and run.limit <= 0 and not language.no_call_message:
        return run.threw("AssertionError", "", "limit")
    while run.limit is None or run.count < run.limit:
        seen = yield from run.call(RETRY)
        if isinstance(seen, Failed):
            if seen.fault.in_stream:
                return (yield from broke_off(run, seen, options, language))
            return failed(run, seen, language)
        calls, problem = completed(seen, language)
        early = started_early(seen, calls, options)
        runs = yield from run_calls(run, early, options, language)
        if problem is not None:
            return run.threw(language.json_error, problem, bad_call=True)
        run.count += 1
        run.history.append(Message("assistant", seen.reply.blocks))
        if seen.stop in ("pause_turn", "compaction"):
            continue
        if seen.stop != "tool_use" or not seen.calls:
            done = seen.stop in ("end_turn", "stop_sequence")
            return run.returned(seen.text, seen.stop, done=done, dropped=bool(seen.calls))
        if not early:
            runs = yield from run_calls(run, calls, options, language)
        if run.aborted:
            return failed(run, Failed(Fault(type="aborted"), 1, aborted=True), language)
        run.answer_with(results(run, calls, runs, language))
    if run.last is not None:
        return run.returned(run.last.text, run.last.stop, done=False, ended="limit")
    return run.threw("AnthropicError", language.no_call_message, "limit")


def completed(seen: Seen, language: Language) -> tuple[list[SeenCall], str | None]:
    """The calls with the arguments that the SDK has, up to the first that it can't read, and what it says of that one."""
    calls: list[SeenCall] = []
    for call in seen.calls:
        value = call.arguments
        if seen.streamed:
            try:
                value = language.complete(call.raw)
            except NotAPrefix as error:
                message = (
                    "Unable to parse tool parameter JSON from model. Please retry your request or adjust your prompt."
                )
                return calls, f"{message} Error: {error}"
        calls.append(SeenCall(call.id, call.name, call.raw, value))
    return calls, None


def started_early(seen: Seen, calls: list[SeenCall], options: Options) -> list[SeenCall]:
    """The calls that run while the reply streams: all but one that ends a reply which stops for another reason."""
    if not (options.eager and seen.streamed):
        return []
    ends_with_call = bool(seen.reply.blocks) and isinstance(seen.reply.blocks[-1], ToolCall)
    if len(calls) == len(seen.calls) and ends_with_call and seen.stop != "tool_use":
        return calls[:-1]
    return calls


def broke_off(run: Run, failure: Failed, options: Options, language: Language) -> Generator[Action, Event, Outcome]:
    """A stream that broke off. Eagerly, the calls that another block followed have run; Python takes a mere end for a reply."""
    seen, _ = run.partly(failure.fault)
    calls, _ = completed(Seen(seen.reply, seen.wire, True, "", None, seen.calls[:-1], None, None), language)
    yield from run_calls(run, calls if options.eager else [], options, language)
    if language.end_is_a_reply and failure.fault.disconnect == "end":
        run.count += 1
        return run.returned(seen.text, None, done=False, ended="broken_stream")
    return failed(run, failure, language)


def run_calls(
    run: Run, calls: list[SeenCall], options: Options, language: Language
) -> Generator[Action, Event, dict[int, ToolRun]]:
    """Run those of the calls that fit their tools; position -> run."""
    due, seen_ids = [], set()
    for at, call in enumerate(calls):
        if options.eager and language.eager_once_an_id and call.id in seen_ids:
            continue
        seen_ids.add(call.id)
        if language.problem(run, call) is None:
            due.append(at)
    runs = yield from run.use(
        [ToRun(calls[at].id, calls[at].name, language.fitted(run, calls[at])) for at in due],
        batches=() if options.eager or not language.sequential else (1,) * len(due),
        workers=1 if language.sequential else None,
        eager=options.eager,
    )
    return dict(zip(due, runs, strict=False))


def results(run: Run, calls: list[SeenCall], runs: dict[int, ToolRun], language: Language) -> list[ToolResult]:
    """One result a call, in order. Eagerly, what is kept is kept by id."""
    options: Options = run.options or Options()
    given = [language.render(runs[at]) if at in runs else language.refusal(run, call) for at, call in enumerate(calls)]
    if options.eager:
        by_id = {
            call.id: given[at]
            for at, call in enumerate(calls)
            if at in runs or call.id not in {c.id for c in calls[:at]}
        }
        given = [by_id[call.id] for call in calls]
    return given


def _style(language: Language, name: str, sdk: str, read_limit: Any) -> Style:
    return Style(
        name=name,
        sdk=sdk,
        unit="iteration",
        knob="max_iterations",
        default=None,
        loop=partial(loop, language=language),
        checks="before each call",
        at_limit='returns the last reply, whose stop_reason is "tool_use"',
        signal="stop_reason in {end_turn, stop_sequence}",
        read_limit=read_limit,
        configure=partial(configure, eager=language.eager_option),
        options={
            language.eager_option: "true, with streaming: a call runs when the next block starts",
            "thread": "false: the whole history is sent each time",
        },
        claims=CLAIMS,
    )


STYLES = (
    _style(JS, "anthropic-js/toolRunner", "@anthropic-ai/sdk 1.14.0", lambda value: value or None),
    _style(PYTHON, "anthropic/tool_runner", "anthropic 2.14.0", lambda value: value),
)
